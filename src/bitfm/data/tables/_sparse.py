"""Sparse matrices as tables: the fields of a libFM file, and matrices in MATLAB files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from bitfm.data.libfm import read_libfm
from bitfm.errors import DataFileError, EmptyTableError


def read_libfm_fields(name: str, columns: Sequence[str] | None) -> pl.DataFrame:
    """Read the targets, and for each field the index within it, or the list of indices if there are several."""
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
    X.resize(len(y), total)
    made, begin = [pl.Series("target", y)], 0
    for field, size in fields:
        made.append(_by_row(field, X[:, begin : begin + size]))
        begin += size
    return pl.DataFrame(made)


def _field(text: str) -> tuple[str, int]:
    name, _, size = text.rpartition(":")
    if not name or not size.isdecimal() or name == "target":
        raise ValueError(f"the column {text!r} of a libFM file; expected a name and a number of features: user:943")
    return name, int(size)


def read_matlab(name: str, columns: Sequence[str] | None) -> pl.DataFrame:
    """Read a matrix, one row per non-zero or per row of the matrix; rows and columns count from 0."""
    path, _, address = name.partition("#")
    matrix = _matrix(name, path, address)
    columns = columns or ("row", "column", "value")
    if len(columns) not in (2, 3):
        raise DataFileError(
            f"{name} is a matrix, but {len(columns)} names were given; expected three (row, column, value), or two "
            "(row, list of columns)"
        )
    if len(columns) == 2:
        rows = pl.Series(columns[0], np.arange(matrix.shape[0], dtype=np.int64))
        return pl.DataFrame([rows, _by_row(columns[1], matrix, lists=True)])
    return pl.DataFrame([pl.Series(column, part) for column, part in zip(columns, _entries(matrix), strict=True)])


def _matrix(name: str, path: str, address: str) -> Any:
    import scipy.io  # slow to import

    variable, _, element = address.partition("/")
    with open(path, "rb") as file:
        if not file.read(1):
            raise EmptyTableError(f"{path} is empty; expected a MATLAB file")
    try:
        held = {held: f"{shape[0]} × {shape[-1]}" for held, shape, _ in scipy.io.whosmat(path, appendmat=False)}
        content = scipy.io.loadmat(path, appendmat=False, variable_names=[variable]) if variable in held else {}
    except NotImplementedError:
        raise DataFileError(f"{path} is in MATLAB's format 7.3; save it in MATLAB with the option -v7") from None
    except Exception as error:  # SciPy raises all sorts on damaged files
        raise DataFileError(f"{path} cannot be read as a MATLAB file ({error}); get the whole file") from None
    if variable not in content:
        listed = ", ".join(f"{held} ({shape})" for held, shape in held.items()) or "nothing"
        raise DataFileError(f"{path} holds {listed}; name one of them behind the path: {path}#name")
    matrix = content[variable]
    if not sp.issparse(matrix) and matrix.dtype == object:
        cells = matrix.ravel()
        if not element.isdecimal() or int(element) >= len(cells):
            raise DataFileError(f"{path}#{variable} has {len(cells)} cells; name one, from {path}#{variable}/0 on")
        matrix = cells[int(element)]
    elif element:
        raise DataFileError(f"{name}: {variable} has no cells; leave out what follows the stroke")
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise DataFileError(f"{name} is an array of {matrix.dtype}; expected a matrix of numbers")
    return matrix


def _by_row(name: str, matrix: Any, lists: bool = False) -> pl.Series:
    """Return the column of each row's non-zero, or lists of them if a row has several."""
    rows, columns, _ = _entries(matrix)
    if not lists and (np.diff(rows) > 0).all():
        of_rows = np.full(matrix.shape[0], -1, np.int64)
        of_rows[rows] = columns
        return pl.Series(name, of_rows).set(pl.Series(of_rows < 0), None)
    grouped = pl.DataFrame({"row": rows, "columns": columns}).group_by("row").agg("columns")
    every = pl.DataFrame({"row": np.arange(matrix.shape[0], dtype=np.int64)})
    joined = every.join(grouped, on="row", how="left", maintain_order="left")["columns"].alias(name)
    return joined.fill_null(pl.Series([[]], dtype=pl.List(pl.Int64)))


def _entries(matrix: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return row, column and value of each non-zero, row by row."""
    csr = sp.csr_matrix(matrix)
    csr.sort_indices()
    csr.eliminate_zeros()
    coo = csr.tocoo()
    return coo.row.astype(np.int64), coo.col.astype(np.int64), coo.data
