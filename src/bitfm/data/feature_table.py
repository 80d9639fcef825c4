"""The table of one field's features: sparse rows, dense rows, or the identity of a field of ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitfm.core import multiply, transpose
from bitfm.data import table_tensors
from bitfm.data.matrix_checks import check_arrays, check_range, check_sizes, refuse_sizes
from bitfm.data.word_rows import unfold
from bitfm.errors import ModelFileError
from bitfm.persist import damage
from bitfm.validation import MOST_ROWS, check_count

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["FeatureTable", "check_rows"]

_MISPLACED = "its rows do not lie within its entries"
_UNKNOWN_COLUMNS = "it names columns that it does not have"
_ONE = np.ones(1, np.float32)


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Rows × columns of features; the entries of row i are at ``indptr[i]`` to ``indptr[i + 1]``.

    The identity, which is what a field of ids is, keeps no arrays. A dense table keeps its values alone, in 8 bits each
    if they are `levels`. The arrays of a sparse table are read-only, so that the core can borrow them: it checks them
    once and then relies on them.

    A table from a `file` is not checked yet: rows are checked as they are taken, so opening a large file costs nothing
    and a damaged one raises `ModelFileError`. Its arrays may be of narrower types, which are widened as rows are taken:
    `values` may be missing, if all are 1/√n for the n of their row, or if `indices` are words that have `weights`, each
    as often as it occurs; and `singles` may be in the place of all three.

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
    singles: npt.NDArray[Any] | None = None  # 1 + the column of the only entry of each row, which is 1; 0 for none
    weights: npt.NDArray[np.float64] | None = None  # of the columns, which are words

    def __post_init__(self) -> None:
        if max(self.n_rows, self.n_columns, len(self.indices)) > MOST_ROWS:
            refuse_sizes("a table", *self.shape, len(self.indices))

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
        check_arrays(name, matrix)
        csr = sp.csr_matrix(matrix, dtype=dtype)
        if getattr(matrix, "format", "dense") != "csr":
            check_arrays(name, csr)
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
        return len(self.indptr) == 0 and self.values.ndim == 1 and self.singles is None

    @property
    def is_dense(self) -> bool:
        """Whether all values are kept, zeros as well."""
        return self.values.ndim == 2

    @property
    def has_levels(self) -> bool:
        """Whether it is dense, with 8 bits per value."""
        return self.is_dense and self.values.dtype == np.int8

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64: of 8 bits, that of what they stand for."""
        return np.dtype(np.float32) if self.values.dtype == np.int8 else self.values.dtype

    @property
    def n_entries(self) -> int:
        """Number of entries."""
        if self.singles is not None:
            return int(np.count_nonzero(self.singles))
        if self.weights is not None:
            return len(self.arrays()[1])
        return self.n_rows if self.identity else self.values.size if self.is_dense else len(self.indices)

    def arrays(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[Any]]:
        """Return indptr, indices and values, checked; those of a sparse table are its own."""
        if self.identity:
            n = self.n_rows
            return np.arange(n + 1), np.arange(n, dtype=np.int32), np.ones(n, np.float32)
        if self.is_dense:
            rows, columns = np.nonzero(self.values)
            indptr = np.append(0, np.cumsum(np.bincount(rows, minlength=self.n_rows)))
            return indptr, columns.astype(np.int32), self._reals(self.values[rows, columns])
        if self.singles is not None:
            return self.take(np.arange(self.n_rows)).arrays()
        indptr = self.indptr.astype(np.int64, copy=False)
        if self.file is not None and (
            indptr[0] != 0 or indptr[-1] != len(self.indices) or (indptr[1:] < indptr[:-1]).any()
        ):
            raise self.damage(_MISPLACED)
        indptr, indices, values = self._widened(indptr, self.indices, self.values)
        if self.file is not None:
            self._check_entries(indices, values)
        return indptr, indices, values

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
        if self.singles is not None:
            single = int(self.singles[row])
            if single > self.n_columns:
                raise self.damage(_UNKNOWN_COLUMNS)
            there = min(single, 1)
            return np.array((0, there)), np.array([single - 1] * there, np.int32), _ONE[:there]
        begin, end = int(self.indptr[row]), int(self.indptr[row + 1])
        if not 0 <= begin <= end <= len(self.indices):
            raise self.damage(_MISPLACED)
        indptr = np.array((0, end - begin))
        return self._widened(indptr, self.indices[begin:end], self.values[begin:end])

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
        if self.singles is not None:
            columns = np.where(rows >= 0, self.singles[np.maximum(rows, 0)].astype(np.int64) - 1, -1)
            if columns.max(initial=-1) >= self.n_columns:
                raise self.damage(_UNKNOWN_COLUMNS)
            return FeatureTable.one_hot(columns, self.n_columns)
        if len(rows) == 1:
            indptr, indices, values = self.row(int(rows[0]))
        else:
            at = np.maximum(rows, 0)
            begins, ends = (self.indptr[places].astype(np.int64, copy=False) for places in (at, at + (rows >= 0)))
            if (begins < 0).any() or (ends < begins).any() or (ends > len(self.indices)).any():
                raise self.damage(_MISPLACED)
            indptr = np.append(0, np.cumsum(ends - begins))
            entries = np.arange(indptr[-1]) + np.repeat(begins - indptr[:-1], ends - begins)
            told = self.values[entries] if len(self.values) else self.values
            indptr, indices, values = self._widened(indptr, self.indices[entries], told)
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
        n_columns = self.n_columns if n_columns is None else n_columns
        return FeatureTable.sparse(indptr, indices, table_tensors.unit_values(indptr), n_columns)

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

    def tensors(
        self, weights: npt.NDArray[np.float64] | None = None, *, any_form: bool = True
    ) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays as a model file holds them: in the form that takes fewest bytes, or the sparse one.

        `weights` are of the columns if these are words, and will be given to `from_tensors`.
        """
        if self.has_levels:
            return {"values": self.values, "scale": np.array(self.scale, np.float32)}
        if self.is_dense:
            return {"values": self.values}
        return table_tensors.packed(self.n_columns, *self.arrays(), any_form=any_form, weights=weights)

    @classmethod
    def from_tensors(
        cls,
        n_rows: int,
        n_columns: int,
        tensors: Mapping[str, npt.NDArray[Any]],
        file: str = "",
        weights: npt.NDArray[np.float64] | None = None,
        *,
        any_form: bool = True,
    ) -> FeatureTable:
        """Take arrays of a model file, which errors about them name; of any form, or only of the sparse one."""
        table_tensors.check(n_rows, n_columns, tensors, any_form=any_form)
        if "singles" in tensors:
            return cls(n_rows, n_columns, file=file, singles=tensors["singles"])
        values = tensors.get("values", np.zeros(0, np.float32))
        if values.ndim == 2:
            return cls(n_rows, n_columns, values=values, scale=float(tensors.get("scale", 1)))
        if "words" in tensors:
            if weights is None:
                raise ModelFileError("has a table of words for a column that has none")
            return cls(n_rows, n_columns, tensors["indptr"], tensors["words"], values, file, weights=weights)
        indices = tensors["members"] if "members" in tensors else tensors["indices"]
        return cls(n_rows, n_columns, tensors["indptr"], indices, values, file)

    def _widened(
        self, indptr: npt.NDArray[np.int64], indices: npt.NDArray[Any], values: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[Any]]:
        """Return some rows as the core takes them; those of a table that is not from a file are."""
        if self.weights is not None:
            if indices.max(initial=0) >= max(self.n_columns, 1):
                raise self.damage(_UNKNOWN_COLUMNS)
            return unfold(indptr, indices, self.weights)
        if len(values) < len(indices):
            values = table_tensors.unit_values(indptr)
        return indptr, indices.astype(np.int32, copy=False), values.astype(self.dtype, copy=False)

    def _reals(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the numbers that some values of a dense table stand for."""
        return values * np.float32(self.scale) if self.has_levels else values

    def damage(self, what: object) -> ModelFileError:
        """Return the error to raise where the arrays of a file turn out to be wrong."""
        return damage(self.file or "", f"a table is damaged: {what}")

    def _check_entries(self, indices: npt.NDArray[np.int32], values: npt.NDArray[Any]) -> None:
        if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < self.n_columns:
            raise self.damage(_UNKNOWN_COLUMNS)
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
    check_range(what, array, n_rows)
    return np.ascontiguousarray(array, np.int32)
