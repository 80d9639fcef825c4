"""The table of one field's features: sparse rows, dense rows, or the identity of a field of ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitfm.core import multiply, transpose
from bitfm.errors import ModelFileError
from bitfm.persist import Tensor, check_tensors, damage
from bitfm.validation import MOST_ROWS, check_count

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["FeatureTable", "check_rows", "check_sizes"]

_ENTRIES = {"indices": Tensor("int32", "entries"), "values": Tensor("float32", "entries")}
_SPARSE = {"indptr": Tensor("int64", "ends"), **_ENTRIES}
_DENSE = {"values": Tensor("float32", "rows columns", low=-np.inf)}
_LEVELS = {"values": Tensor("int8", "rows columns"), "scale": Tensor("float32", low=0)}
_MISPLACED = "its rows do not lie within its entries"


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Rows × columns of features; the entries of row i are at ``indptr[i]`` to ``indptr[i + 1]``.

    The identity, which is what a field of ids is, keeps no arrays. A dense table keeps its values alone, in 8 bits each
    if they are `levels`. The arrays of a sparse table are read-only, so that the core can borrow them: it checks them
    once and then relies on them.

    A table from a `file` is not checked yet: rows are checked as they are taken, so opening a large file costs nothing
    and a damaged one raises `ModelFileError`.

    Examples
    --------
    >>> ages = FeatureTable.of("age", np.array([[0.2], [0.0], [0.7]]))
    >>> len(ages), ages.n_columns, ages.n_entries
    (3, 1, 2)
    >>> FeatureTable.one_hot(np.array([2, 0, -1]), 3).to_csr().toarray()
    array([[0., 0., 1.],
           [1., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    """

    n_rows: int
    n_columns: int
    indptr: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    indices: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    values: npt.NDArray[Any] = field(default_factory=lambda: np.zeros(0, np.float32))  # rows × columns if dense
    file: str | None = None
    scale: float = 1.0  # of levels

    def __post_init__(self) -> None:
        if max(self.n_rows, self.n_columns, len(self.indices)) > MOST_ROWS:
            _refuse_sizes("a table", *self.shape, len(self.indices))

    @classmethod
    def eye(cls, size: int) -> FeatureTable:
        """Return the identity: row i is just column i with value 1."""
        return cls(size, size)

    @classmethod
    def empty(cls, n_rows: int, n_columns: int, dtype: Any = np.float32) -> FeatureTable:
        """Return a table without entries."""
        return cls.sparse(np.zeros(n_rows + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, dtype), n_columns)

    @classmethod
    def one_hot(cls, columns: npt.NDArray[Any], n_columns: int) -> FeatureTable:
        """Return a table with a single 1 per row, in that column; a row of -1 is empty."""
        known = columns >= 0
        indptr = np.zeros(len(columns) + 1, np.int64)
        np.cumsum(known, out=indptr[1:])
        return cls.sparse(indptr, columns[known].astype(np.int32), np.ones(int(indptr[-1]), np.float32), n_columns)

    @classmethod
    def sparse(
        cls, indptr: npt.NDArray[np.int64], indices: npt.NDArray[np.int32], values: npt.NDArray[Any], n_columns: int
    ) -> FeatureTable:
        """Take arrays that are known to be right and that nobody else writes to."""
        indptr.flags.writeable = indices.flags.writeable = False
        return cls(len(indptr) - 1, n_columns, indptr, indices, values)

    @classmethod
    def dense(cls, values: npt.NDArray[np.float32]) -> FeatureTable:
        """Take a matrix that has few zeros, such as vectors: half the memory of a sparse table."""
        if values.ndim != 2 or not np.isfinite(values).all():
            raise ValueError(f"a dense table needs rows × columns of finite numbers, got shape {values.shape}.")
        return cls(*values.shape, values=np.ascontiguousarray(values, np.float32))  # type: ignore[misc]

    @classmethod
    def levels(cls, levels: npt.NDArray[np.int8], scale: float) -> FeatureTable:
        """Take a matrix of whole numbers, each of which stands for so much: an eighth of the memory of a sparse table.

        Examples
        --------
        >>> FeatureTable.levels(np.array([[-2, 1], [0, 127]], np.int8), 0.5).toarray()
        array([[-1. ,  0.5],
               [ 0. , 63.5]], dtype=float32)
        """
        if levels.ndim != 2 or levels.dtype != np.int8 or not np.isfinite(scale):
            raise ValueError(f"levels must be rows × columns of int8, got {levels.dtype} {levels.shape} times {scale}.")
        return cls(*levels.shape, values=np.ascontiguousarray(levels), scale=float(np.float32(scale)))  # type: ignore[misc]

    @staticmethod
    def of(name: str, matrix: Any) -> FeatureTable:
        """Check a matrix, dense or of SciPy, and take it, its values without a copy; `name` is for messages."""
        if isinstance(matrix, FeatureTable):
            return matrix
        import scipy.sparse as sp

        try:
            matrix = matrix if sp.issparse(matrix) else np.asarray(matrix)
        except ValueError as error:
            raise ValueError(f"{name}: expected a matrix of rows × columns ({error}).") from None
        if len(matrix.shape) != 2:
            raise ValueError(f"{name}: expected a matrix of rows × columns, got {len(matrix.shape)} dimension(s).")
        if matrix.dtype.kind not in "biuf":
            raise ValueError(f"{name}: values must be numbers, got {matrix.dtype}.")
        dtype = matrix.dtype if matrix.dtype in (np.float32, np.float64) else np.dtype(np.float64)
        n_rows, n_columns = matrix.shape
        check_sizes(name, matrix)
        _check_arrays(name, matrix)
        csr = sp.csr_matrix(matrix, dtype=dtype)
        if getattr(matrix, "format", "dense") != "csr":
            _check_arrays(name, csr)
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        if not np.isfinite(csr.data).all():
            raise ValueError(f"{name}: values must be finite, but some are NaN or infinite.")
        single = n_rows == n_columns == csr.nnz > 0 and (np.diff(csr.indptr) == 1).all() and (csr.data == 1).all()
        if single and (csr.indices == np.arange(n_rows)).all():
            return FeatureTable.eye(n_rows)
        # The caller may change arrays of the matrix; the core relies on these.
        return FeatureTable.sparse(np.array(csr.indptr, np.int64), np.array(csr.indices, np.int32), csr.data, n_columns)

    @classmethod
    def unit_rows(cls, rows: npt.NDArray[Any], columns: npt.NDArray[Any], shape: tuple[int, int]) -> FeatureTable:
        """Return the table with these entries, each 1/√n for the n distinct columns of its row."""
        entries = np.unique(np.asarray(rows, np.int64) * shape[1] + columns)  # repeated entries are one
        of_rows = entries // max(shape[1], 1)
        indptr = np.searchsorted(of_rows, np.arange(shape[0] + 1))
        indices = (entries - of_rows * shape[1]).astype(np.int32)
        return cls.sparse(indptr, indices, np.zeros(len(indices), np.float32), shape[1]).with_unit_rows()

    def __len__(self) -> int:
        return self.n_rows

    @property
    def identity(self) -> bool:
        """Whether row i is just column i with value 1."""
        return len(self.indptr) == 0 and self.values.ndim == 1

    @property
    def is_dense(self) -> bool:
        """Whether all values are kept, zeros as well."""
        return self.values.ndim == 2

    @property
    def has_levels(self) -> bool:
        """Whether it is dense, with 8 bits per value."""
        return self.values.dtype == np.int8

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64: of levels, that of what they stand for."""
        return np.dtype(np.float32) if self.has_levels else self.values.dtype

    @property
    def n_entries(self) -> int:
        """Number of entries."""
        return self.n_rows if self.identity else self.values.size

    def arrays(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[Any]]:
        """Return indptr, indices and values, checked; those of a sparse table are its own."""
        if self.identity:
            n = self.n_rows
            return np.arange(n + 1), np.arange(n, dtype=np.int32), np.ones(n, np.float32)
        if self.is_dense:
            rows, columns = np.nonzero(self.values)
            indptr = np.append(0, np.cumsum(np.bincount(rows, minlength=self.n_rows)))
            return indptr, columns.astype(np.int32), self._reals(self.values[rows, columns])
        if self.file is not None:
            if self.indptr[0] != 0 or self.indptr[-1] != len(self.indices) or (np.diff(self.indptr) < 0).any():
                raise self.damage(_MISPLACED)
            self._check_entries(self.indices, self.values)
        return self.indptr, self.indices, self.values

    def to_csr(self) -> sp.csr_matrix:
        """Return the table as a SciPy matrix."""
        import scipy.sparse as sp

        indptr, indices, values = self.arrays()
        dtype = np.int32 if len(indices) < 2**31 else np.int64  # SciPy wants the same for both
        matrix = sp.csr_matrix(self.shape, dtype=values.dtype)  # without its checks, which cost more than a row
        matrix.indptr, matrix.indices, matrix.data = indptr.astype(dtype), indices.astype(dtype, copy=False), values
        return matrix

    @property
    def shape(self) -> tuple[int, int]:
        """Rows × columns."""
        return self.n_rows, self.n_columns

    def toarray(self) -> npt.NDArray[Any]:
        """Return the table with its zeros."""
        if self.is_dense:
            return self._reals(self.values)
        indptr, indices, values = self.arrays()
        filled = np.zeros(self.shape, values.dtype)
        filled[np.repeat(np.arange(self.n_rows), np.diff(indptr)), indices] = values
        return filled

    def row(self, row: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[Any]]:
        """Return indptr, indices and values of one row, not an identity's; a sparse one's entries are not looked at."""
        if self.is_dense:
            return self.take(np.array([row])).arrays()
        begin, end = int(self.indptr[row]), int(self.indptr[row + 1])
        if not 0 <= begin <= end <= len(self.indices):
            raise self.damage(_MISPLACED)
        return np.array((0, end - begin)), self.indices[begin:end], self.values[begin:end]

    def take(self, rows: npt.NDArray[Any]) -> FeatureTable:
        """Return some rows; a row of -1 is empty."""
        if self.identity:
            return FeatureTable.one_hot(rows, self.n_columns)
        if rows.max(initial=-1) >= self.n_rows:
            raise IndexError(f"row {int(rows.max())} of a table of {self.n_rows}")
        if self.is_dense:
            taken = np.zeros((len(rows), self.n_columns), self.values.dtype)
            taken[rows >= 0] = self.values[rows[rows >= 0]]
            return replace(self, n_rows=len(rows), values=taken)
        if self.n_rows == 0 or (len(rows) == 1 and rows[0] < 0):
            return FeatureTable.empty(len(rows), self.n_columns, self.dtype)
        if len(rows) == 1:
            indptr, indices, values = self.row(int(rows[0]))
        else:
            at = np.maximum(rows, 0)
            begins, ends = self.indptr[at], np.where(rows >= 0, self.indptr[at + 1], self.indptr[at])
            if (begins < 0).any() or (ends < begins).any() or (ends > len(self.indices)).any():
                raise self.damage(_MISPLACED)
            indptr = np.append(0, np.cumsum(ends - begins))
            entries = np.arange(indptr[-1]) + np.repeat(begins - indptr[:-1], ends - begins)
            indices, values = self.indices[entries], self.values[entries]
        if self.file is not None:
            self._check_entries(indices, values)
        return FeatureTable.sparse(indptr, indices, values, self.n_columns)

    def columns(self, start: int, stop: int) -> FeatureTable:
        """Return a range of the columns."""
        indptr, indices, values = self.arrays()
        inside = (indices >= start) & (indices < stop)
        before = np.append(0, np.cumsum(inside))
        return FeatureTable.sparse(before[indptr], indices[inside] - np.int32(start), values[inside], stop - start)

    def with_columns(self, kept: npt.NDArray[Any]) -> FeatureTable:
        """Return some of the columns in place of all; they are given in rising order."""
        if len(kept) == self.n_columns:
            return self
        if self.is_dense:
            return replace(self, n_columns=len(kept), values=np.ascontiguousarray(self.values[:, kept]))
        indptr, indices, values = self.arrays()
        places = np.full(self.n_columns, -1, np.int32)
        places[kept] = np.arange(len(kept), dtype=np.int32)
        found = places[indices]
        inside = found >= 0
        before = np.append(0, np.cumsum(inside))
        return FeatureTable.sparse(before[indptr], found[inside], values[inside], len(kept))

    def occurring(self, used: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return which columns have a non-zero in these rows."""
        if self.identity:
            return used
        if self.is_dense:
            return np.asarray(self.values[used].any(axis=0))
        indptr, indices, values = self.arrays()
        occurring = np.zeros(self.n_columns, bool)
        occurring[indices[np.repeat(used, np.diff(indptr)) & (values != 0)]] = True
        return occurring

    def sums(self, vectors: npt.NDArray[Any], n_threads: int = 1) -> npt.NDArray[Any]:
        """Return Σ x v of every row, for one vector v per column."""
        if self.identity:
            return np.ascontiguousarray(vectors)
        if self.is_dense:
            return np.asarray(multiply(self.toarray(), np.ascontiguousarray(vectors), n_threads), vectors.dtype)
        return np.asarray(self.to_csr().astype(vectors.dtype) @ vectors, vectors.dtype)

    def transpose(self) -> FeatureTable:
        """Return the table with one row per column."""
        if self.identity:
            return self
        indptr, indices, values = self.arrays()
        starts, rows, by_column = transpose(self.n_columns, indptr, indices, np.ascontiguousarray(values))
        return FeatureTable.sparse(starts, rows, by_column, self.n_rows)

    def with_unit_rows(self, n_columns: int | None = None) -> FeatureTable:
        """Return the same entries, each 1/√n for the n of its row, and `n_columns` columns if given."""
        indptr, indices, _ = self.arrays()
        n = np.diff(indptr)
        values = np.repeat(1 / np.sqrt(np.maximum(n, 1)), n).astype(np.float32)
        return FeatureTable.sparse(indptr, indices, values, self.n_columns if n_columns is None else n_columns)

    def padded(self, n_rows: int) -> FeatureTable:
        """Return the table with empty rows at its end, `n_rows` in all."""
        more = n_rows - self.n_rows
        if self.is_dense:
            return self.take(np.concatenate([np.arange(self.n_rows), np.full(max(more, 0), -1)]))
        return FeatureTable.stack([self, FeatureTable.empty(more, self.n_columns, self.dtype)]) if more > 0 else self

    def replaced(self, rows: npt.NDArray[Any], others: FeatureTable) -> FeatureTable:
        """Return a table in which some rows are others; those beyond its end are appended."""
        source = np.full(max(self.n_rows, int(rows.max(initial=-1)) + 1), -1)
        source[: self.n_rows] = np.arange(self.n_rows)
        source[rows] = self.n_rows + np.arange(len(rows))
        return FeatureTable.stack([self, others]).take(source)

    @classmethod
    def stack(cls, tables: Sequence[FeatureTable]) -> FeatureTable:
        """Return the rows of all tables, one after the other."""
        alike = {(table.values.dtype, table.scale) for table in tables}
        if all(table.is_dense for table in tables) and len(alike) == 1:
            return replace(tables[0], n_rows=sum(map(len, tables)), values=np.concatenate([t.values for t in tables]))
        parts = [table.arrays() for table in tables]
        ends = np.cumsum([0, *(len(indices) for _, indices, _ in parts)])
        indptr = np.concatenate([[0], *(indptr[1:] + end for (indptr, _, _), end in zip(parts, ends, strict=False))])
        indices, values = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
        return cls.sparse(indptr, indices, values, tables[0].n_columns)

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays as a model file holds them."""
        if self.has_levels:
            return {"values": self.values, "scale": np.array(self.scale, np.float32)}
        return {"values": self.values} if self.is_dense else dict(zip(_SPARSE, self.arrays(), strict=True))

    @classmethod
    def from_tensors(
        cls, n_rows: int, n_columns: int, tensors: Mapping[str, npt.NDArray[Any]], file: str = ""
    ) -> FeatureTable:
        """Take arrays of a model file, which errors about them name."""
        dense = tensors["values"].ndim == 2 if set(tensors) in (set(_DENSE), set(_LEVELS)) else False
        schema = (_LEVELS if "scale" in tensors else _DENSE) if dense else _SPARSE
        check_tensors(tensors, schema, {"rows": n_rows, "columns": n_columns, "ends": n_rows + 1}, prefix="table.")
        n_entries = 0 if dense else len(tensors["indices"])
        if max(n_rows, n_columns, n_entries) > MOST_ROWS:
            size = f"{n_rows:,} rows, {n_columns:,} columns and {n_entries:,} entries"
            raise ModelFileError(f"has a table of {size}, expected at most {MOST_ROWS:,} of each")
        if dense:
            return cls(n_rows, n_columns, values=tensors["values"], scale=float(tensors.get("scale", 1)))
        indptr, indices, values = (tensors[name] for name in _SPARSE)
        return cls(n_rows, n_columns, indptr, indices, values, file)

    def _reals(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the numbers that some values of a dense table stand for."""
        return values * np.float32(self.scale) if self.has_levels else values

    def damage(self, what: object) -> ModelFileError:
        """Return the error to raise where the arrays of a file turn out to be wrong."""
        return damage(self.file or "", f"a table is damaged: {what}")

    def _check_entries(self, indices: npt.NDArray[np.int32], values: npt.NDArray[Any]) -> None:
        if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < self.n_columns:
            raise self.damage("it names columns that it does not have")
        if not np.isfinite(values).all():
            raise self.damage("it holds values that are not numbers")


def check_rows(what: str, rows: npt.ArrayLike, n_rows: int) -> npt.NDArray[np.int32]:
    """Return indices of rows as the core takes them, all from 0 to ``n_rows - 1``."""
    array = np.asarray(rows)
    if array.ndim != 1:
        raise ValueError(f"{what} must be one-dimensional, got shape {array.shape}.")
    if array.size == 0:
        return np.zeros(0, np.int32)
    check_count(what, len(array), "numbers")
    if array.dtype.kind not in "iu":
        raise ValueError(f"{what} must be whole numbers, got {array.dtype}.")
    _check_range(what, array, n_rows)
    return np.ascontiguousarray(array, np.int32)


def check_sizes(name: str, matrix: Any) -> None:
    """Refuse a matrix, dense or of SciPy, that is larger than a table can be, without reading it."""
    kept = matrix.data.size if getattr(matrix, "format", "dense") in ("coo", "csr", "csc", "bsr") else 0
    _refuse_sizes(name, *getattr(matrix, "shape", (0, 0))[:2], kept)


def _refuse_sizes(name: str, *sizes: int) -> None:
    for n, of in zip(sizes, ("rows", "columns", "non-zeros"), strict=False):
        check_count(name, n, of)


def _check_arrays(name: str, m: Any) -> None:
    """SciPy trusts the arrays it is given, even while it converts them; the core must not."""
    form = getattr(m, "format", "dense")
    if form == "coo":
        if not len(m.row) == len(m.col) == len(m.data):
            raise ValueError(f"{name}: a damaged COO matrix ({len(m.row)}, {len(m.col)} and {len(m.data)} entries).")
        _check_range(f"{name}: row indices", m.row, m.shape[0])
        _check_range(f"{name}: column indices", m.col, m.shape[1])
    elif form in ("csr", "csc", "bsr"):
        by_row = [size // step for size, step in zip(m.shape, m.blocksize if form == "bsr" else (1, 1), strict=True)]
        outer, inner = by_row[::-1] if form == "csc" else by_row
        indptr, indices = m.indptr, m.indices
        if len(indptr) != outer + 1 or len(indices) != len(m.data):
            raise ValueError(f"{name}: a damaged {form.upper()} matrix (array lengths do not fit its shape).")
        if indptr[0] != 0 or indptr[-1] != len(indices) or (indptr[1:] < indptr[:-1]).any():
            raise ValueError(f"{name}: a damaged {form.upper()} matrix (indptr must rise from 0 to {len(indices)}).")
        _check_range(f"{name}: {'row' if form == 'csc' else 'column'} indices", indices, inner)


def _check_range(what: str, indices: npt.NDArray[Any], size: int) -> None:
    few = indices.tolist() if indices.size < 16 else [indices.min(), indices.max()]  # Python is faster if there are few
    low, high = int(min(few, default=0)), int(max(few, default=-1))
    if low < 0 or high >= size:
        raise ValueError(f"{what} must be from 0 to {size - 1}, but they go from {low} to {high}.")
