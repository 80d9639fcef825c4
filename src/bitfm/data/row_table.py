"""A sparse table in three arrays that may lie in a file, of which single rows are taken without reading the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from bitfm.data._tables import csr_of
from bitfm.errors import ModelFileError

__all__ = ["RowTable"]

_TYPES = {"indptr": np.dtype(np.int64), "indices": np.dtype(np.int32), "values": np.dtype(np.float32)}


@dataclass(frozen=True, eq=False)
class RowTable:
    """Rows × columns; the entries of row i are at ``indptr[i]`` to ``indptr[i + 1]``.

    Nothing is believed: what `take` returns is checked as it is read, so a damaged file raises `ModelFileError` and
    opening a large one costs nothing.
    """

    n_columns: int
    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]

    @classmethod
    def of(cls, matrix: Any) -> RowTable:
        """Take a SciPy matrix; its rows must not name a column twice."""
        m = sp.csr_matrix(matrix)
        return cls(m.shape[1], m.indptr.astype(np.int64), m.indices.astype(np.int32), m.data.astype(np.float32))

    @classmethod
    def empty(cls, n_rows: int, n_columns: int) -> RowTable:
        """Return a table without entries."""
        return cls(n_columns, np.zeros(n_rows + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def n_entries(self) -> int:
        """Number of entries."""
        return len(self.indices)

    def take(self, rows: npt.NDArray[Any]) -> sp.csr_matrix:
        """Return some rows; one of number -1 is empty."""
        known = rows >= 0
        at = np.where(known, rows, 0)
        if at.max(initial=-1) >= len(self):  # of an empty table only -1 can be asked for
            if known.any():
                raise IndexError(f"row {int(rows.max())} of a table of {len(self)}")
            return _matrix(np.zeros(len(rows) + 1, np.int64), self.indices[:0], self.values[:0], self.n_columns)
        begin, end = self.indptr[at], np.where(known, self.indptr[at + 1], self.indptr[at])
        if (begin < 0).any() or (end < begin).any() or (end > self.n_entries).any():
            raise ModelFileError("a table of the model is damaged: its rows do not lie within its entries")
        indptr = np.concatenate([[0], np.cumsum(end - begin)])
        if len(rows) == 1:
            entries: Any = slice(int(begin[0]), int(end[0]))
        else:
            entries = np.arange(indptr[-1]) + np.repeat(begin - indptr[:-1], end - begin)
        return _matrix(indptr, self.indices[entries], self.values[entries], self.n_columns)

    def whole(self) -> sp.csr_matrix:
        """Return all rows."""
        steps = np.diff(self.indptr)
        if self.indptr[0] != 0 or self.indptr[-1] != self.n_entries or (steps < 0).any():
            raise ModelFileError("a table of the model is damaged: its rows do not lie within its entries")
        return _matrix(self.indptr, self.indices, self.values, self.n_columns)

    def padded(self, n_rows: int) -> RowTable:
        """Return the table with empty rows at its end, so that there are so many."""
        more = n_rows - len(self)
        if more <= 0:
            return self
        return replace(self, indptr=np.concatenate([self.indptr, np.full(more, self.indptr[-1])]))

    def replaced(self, rows: npt.NDArray[Any], matrix: Any) -> RowTable:
        """Return a table in which some rows are others; those beyond its end are appended."""
        n_rows = max(len(self), int(rows.max(initial=-1)) + 1)
        source = np.arange(n_rows)
        source[len(self) :] = -1
        source[rows] = len(self) + np.arange(len(rows))
        together = RowTable.of(sp.vstack([self.whole(), matrix], format="csr"))
        return RowTable.of(together.take(source))

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays as a model file holds them."""
        return {name: getattr(self, name) for name in _TYPES}

    @classmethod
    def from_tensors(cls, n_rows: int, n_columns: int, tensors: Mapping[str, npt.NDArray[Any]]) -> RowTable:
        """Take arrays of a model file."""
        arrays = {name: tensors.get(name) for name in _TYPES}
        for name, dtype in _TYPES.items():
            array = arrays[name]
            if array is None or array.dtype != dtype or array.ndim != 1:
                raise ModelFileError(f"has a table without {name!r} of {dtype}")
        found = cls(n_columns, **arrays)  # type: ignore[arg-type]
        if len(found.indptr) != n_rows + 1 or len(found.values) != len(found.indices):
            raise ModelFileError(f"has a table of {len(found.indptr) - 1} rows, expected {n_rows}")
        return found


def _matrix(
    indptr: npt.NDArray[Any], indices: npt.NDArray[np.int32], values: npt.NDArray[np.float32], n_columns: int
) -> sp.csr_matrix:
    """Return a SciPy matrix over arrays, once they are checked."""
    if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < n_columns:
        raise ModelFileError("a table of the model is damaged: it names columns that it does not have")
    if not np.isfinite(values).all():
        raise ModelFileError("a table of the model is damaged: it holds values that are not numbers")
    return csr_of(indptr, indices, values, n_columns)
