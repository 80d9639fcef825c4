"""One field's table: a CSR matrix, or an identity that keeps no arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

LIMIT = 2**31 - 2  # rows or columns of a table; the core counts them in 32 bits


@dataclass(frozen=True)
class Table:
    """Rows × columns of one field."""

    n_rows: int
    n_columns: int
    matrix: sp.csr_matrix | None  # None: the identity

    @property
    def identity(self) -> bool:
        """Whether row i is just column i with value 1."""
        return self.matrix is None

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return np.dtype(np.float32) if self.matrix is None else self.matrix.dtype

    @classmethod
    def eye(cls, size: int) -> Table:
        """Return the identity of a bare id field."""
        return cls(size, size, None)

    def to_csr(self) -> sp.csr_matrix:
        """Return the table as a SciPy matrix."""
        return sp.identity(self.n_rows, np.float32, "csr") if self.matrix is None else self.matrix

    def take(self, rows: npt.NDArray[np.int32]) -> Table:
        """Return a selection of the rows."""
        if self.matrix is not None:
            return Table(len(rows), self.n_columns, self.matrix[rows])
        ones = np.ones(len(rows), np.float32), rows, np.arange(len(rows) + 1)  # no need of the whole identity
        return Table(len(rows), self.n_columns, sp.csr_matrix(ones, shape=(len(rows), self.n_columns)))

    def columns(self, start: int, stop: int) -> Table:
        """Return a range of the columns."""
        return Table(self.n_rows, stop - start, self.to_csr()[:, start:stop])

    def occurring(self, used: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return which columns have a non-zero in the rows used."""
        if self.matrix is None:
            return used
        m = self.matrix
        found = np.zeros(self.n_columns, bool)
        found[m.indices[np.repeat(used, np.diff(m.indptr)) & (m.data != 0)]] = True
        return found

    def one_hot(self) -> npt.NDArray[np.int32] | None:
        """Return the column of each row's single 1, or None if some row is anything else."""
        if self.matrix is None:
            return np.arange(self.n_rows, dtype=np.int32)
        m = self.matrix
        if m.nnz != self.n_rows or not (np.diff(m.indptr) == 1).all() or not (m.data == 1).all():
            return None
        return m.indices.astype(np.int32)

    def native(self, dtype: npt.DTypeLike) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[Any]]:
        """Return indptr, indices and values as the core takes them.

        The first two are copies: the core checks them once and then trusts them, while the caller's may change.
        """
        m = self.to_csr()
        return np.array(m.indptr, np.int64), np.array(m.indices, np.int32), np.ascontiguousarray(m.data, dtype)


def csr_of(
    indptr: npt.NDArray[Any], indices: npt.NDArray[Any], values: npt.NDArray[np.float32], n_columns: int
) -> sp.csr_matrix:
    """Return a SciPy matrix over arrays that are known to be right, without its checks, which cost more than a row."""
    matrix = empty_csr(len(indptr) - 1, n_columns)
    dtype = np.int32 if len(indices) < 2**31 else np.int64  # SciPy wants the same for both
    matrix.indptr, matrix.indices, matrix.data = indptr.astype(dtype), indices.astype(dtype, copy=False), values
    return matrix


def empty_csr(n_rows: int, n_columns: int) -> sp.csr_matrix:
    """Return a matrix of float32 without entries."""
    shape: Any = (n_rows, n_columns)
    return sp.csr_matrix(shape, dtype=np.float32)


def as_table(name: str, matrix: Any) -> Table:
    """Check a matrix and take it as a table, without copying where its types allow."""
    if isinstance(matrix, Table):
        return matrix
    if not sp.issparse(matrix):
        try:
            matrix = np.asarray(matrix)
        except ValueError as error:
            raise ValueError(f"{name}: expected a matrix of rows × columns ({error}).") from None
    if len(matrix.shape) != 2:
        raise ValueError(f"{name}: expected a matrix of rows × columns, got {len(matrix.shape)} dimension(s).")
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"{name}: values must be numbers, got {matrix.dtype}.")
    dtype = matrix.dtype if matrix.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    n_rows, n_columns = matrix.shape
    if max(n_rows, n_columns) > LIMIT:
        raise ValueError(f"{name}: at most {LIMIT} rows and columns, got {n_rows} × {n_columns}.")
    _check_arrays(name, matrix)
    csr = sp.csr_matrix(matrix, dtype=dtype)
    if getattr(matrix, "format", "dense") != "csr":
        _check_arrays(name, csr)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    if not np.isfinite(csr.data).all():
        raise ValueError(f"{name}: values must be finite, but some are NaN or infinite.")
    return Table(n_rows, n_columns, None if _is_identity(csr) else csr)


def check_rows(what: str, rows: npt.ArrayLike, n_rows: int) -> npt.NDArray[np.int32]:
    """Return row numbers as the core takes them, all from 0 to ``n_rows - 1``."""
    array = np.asarray(rows)
    if array.ndim != 1:
        raise ValueError(f"{what} must be one-dimensional, got shape {array.shape}.")
    if array.size == 0:
        return np.zeros(0, np.int32)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{what} must be whole numbers, got {array.dtype}.")
    few = array.tolist() if array.size < 16 else (array.min(), array.max())  # of few, Python is faster
    low, high = int(min(few)), int(max(few))
    if low < 0 or high >= n_rows:
        raise ValueError(f"{what} must be from 0 to {n_rows - 1}, but they go from {low} to {high}.")
    return np.ascontiguousarray(array, np.int32)


def _check_arrays(name: str, m: Any) -> None:
    """SciPy trusts the arrays it is given, even while it converts them; the core must not."""
    form = getattr(m, "format", "dense")
    if form == "coo":
        if not len(m.row) == len(m.col) == len(m.data):
            raise ValueError(f"{name}: a damaged COO matrix ({len(m.row)}, {len(m.col)} and {len(m.data)} entries).")
        _check_range(name, "row", m.row, m.shape[0])
        _check_range(name, "column", m.col, m.shape[1])
    elif form in ("csr", "csc", "bsr"):
        by_row = [size // step for size, step in zip(m.shape, m.blocksize if form == "bsr" else (1, 1), strict=True)]
        outer, inner = by_row[::-1] if form == "csc" else by_row
        indptr, indices = m.indptr, m.indices
        if len(indptr) != outer + 1 or len(indices) != len(m.data):
            raise ValueError(f"{name}: a damaged {form.upper()} matrix (array lengths do not fit its shape).")
        if indptr[0] != 0 or indptr[-1] != len(indices) or (indptr[1:] < indptr[:-1]).any():
            raise ValueError(
                f"{name}: a damaged {form.upper()} matrix (indptr must rise from 0 to the number of non-zeros)."
            )
        _check_range(name, "row" if form == "csc" else "column", indices, inner)


def _check_range(name: str, what: str, indices: npt.NDArray[Any], size: int) -> None:
    if len(indices) and (indices.min() < 0 or indices.max() >= size):
        raise ValueError(
            f"{name}: {what} indices must be from 0 to {size - 1}, but they go from {indices.min()} to {indices.max()}."
        )


def _is_identity(m: sp.csr_matrix) -> bool:
    n = m.shape[0]
    return bool(
        n == m.shape[1]
        and m.nnz == n
        and n > 0
        and (m.indices == np.arange(n)).all()
        and (np.diff(m.indptr) == 1).all()
        and (m.data == 1).all()
    )
