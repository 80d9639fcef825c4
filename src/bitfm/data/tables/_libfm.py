"""libFM files whose features are the values of a few fields: each field as a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from bitfm.data.libfm import read_libfm
from bitfm.data.tables._sparse import lists_of
from bitfm.errors import DataFileError, EmptyTableError

if TYPE_CHECKING:
    import polars as pl


def read_libfm_fields(name: str, columns: Sequence[str] | None) -> pl.DataFrame:
    """Read the targets, and for each field the number within it, or the list of numbers if there are several."""
    import polars as pl

    fields = [_field(text) for text in columns or ()]
    if not fields:
        raise ValueError(
            f"{name}: a libFM file does not say which features belong together; give columns such as user:943 item:1682"
        )
    X, y = read_libfm(name)
    if not len(y):
        raise EmptyTableError(f"{name} is empty; expected a table")
    total = sum(size for _, size in fields)
    if X.shape[1] > total:
        raise DataFileError(f"{name} holds {X.shape[1]} features, but the columns have {total}; give their true sizes")
    other = np.flatnonzero((X.data != 1) & (X.data != 0))
    if len(other):
        row = int(np.searchsorted(X.indptr, other[0], side="right"))
        raise DataFileError(
            f"{name}, row {row}: a feature has the value {X.data[other[0]]:g}, but a table's columns hold values that "
            "are there or not; read it with bitfm.data.read_libfm and fit a DiscreteFM"
        )
    X = sp.csr_matrix((X.data, X.indices, X.indptr), shape=(len(y), total))
    made, begin = [pl.Series("target", y)], 0
    for field, size in fields:
        made.append(_column(field, sp.csr_matrix(X[:, begin : begin + size])))
        begin += size
    return pl.DataFrame(made)


def _field(text: str) -> tuple[str, int]:
    name, _, size = text.rpartition(":")
    if not name or not size.isdecimal() or name == "target":
        raise ValueError(f"the column {text!r} of a libFM file; expected a name and a number of features: user:943")
    return name, int(size)


def _column(name: str, matrix: sp.csr_matrix) -> pl.Series:
    import polars as pl

    matrix.eliminate_zeros()
    counts = np.diff(matrix.indptr)
    if counts.max(initial=0) > 1:
        return lists_of(name, matrix)
    numbers = np.zeros(len(counts), np.int64)
    numbers[counts == 1] = matrix.indices
    return pl.Series(name, numbers).set(pl.Series(counts == 0), None)
