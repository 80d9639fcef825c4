"""Tables of what is on: one value per row, or several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp


def one_hot(values: npt.ArrayLike) -> sp.csr_matrix:
    """Return one 1 per row, in the column of its value; columns are the distinct values, sorted."""
    _, column = np.unique(np.asarray(values), return_inverse=True)
    n = len(column)
    return sp.csr_matrix((np.ones(n, np.float32), (np.arange(n), column)))


def many_hot(lists: Iterable[Iterable[Any]], min_rows: int = 1) -> sp.csr_matrix:
    """Return one row of unit length per list, with the list's distinct values on.

    Columns are the distinct values, sorted, that occur in at least ``min_rows`` of the lists.
    """
    rows = [set(values) for values in lists]
    counts = Counter(value for values in rows for value in values)
    column = {value: j for j, value in enumerate(sorted(v for v, n in counts.items() if n >= min_rows))}
    on = [(i, column[value]) for i, values in enumerate(rows) for value in values if value in column]
    pairs = np.array(on, np.int64).reshape(-1, 2)
    return unit_rows(pairs[:, 0], pairs[:, 1], (len(rows), len(column)))


def unit_rows(rows: npt.NDArray[Any], columns: npt.NDArray[Any], shape: tuple[int, int]) -> sp.csr_matrix:
    """Return a table with the given entries on, each 1/√n for the n distinct columns of its row."""
    table = sp.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)  # repeated entries are one
    n = np.diff(table.indptr)
    table.data = np.repeat(1 / np.sqrt(np.maximum(n, 1)), n).astype(np.float32)
    return table
