"""The design matrix as blocks: tables of distinct rows, and the row each interaction uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bitfm.core import Design, make_design
from bitfm.data.feature_table import FeatureTable, check_rows
from bitfm.validation import check_integer

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["Block", "Blocks", "FieldSpan"]

FieldSizes: TypeAlias = Sequence[int] | Mapping[str, int]


@dataclass(frozen=True)
class FieldSpan:
    """Where a field's columns are: ``start`` to ``stop`` of the matrix."""

    block: str
    name: str
    start: int
    stop: int

    @property
    def size(self) -> int:
        """Number of columns."""
        return self.stop - self.start

    def label(self, column: int) -> str:
        """Return a readable name for one of the field's columns, such as ``user.id[3]``."""
        return f"{self.block}.{self.name}[{column}]"


class Block:
    """One side of the interactions: a table of distinct rows, and the row each interaction uses.

    Parameters
    ----------
    rows : array of int, one per interaction
        The row of the tables that the interaction uses.
    fields : mapping of str to matrix
        The columns, split by name. Each matrix (SciPy sparse or dense) has the same number of rows.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> block = Block(rows=[0, 0, 2], fields={"id": sp.identity(3), "age": np.array([[0.2], [0.5], [0.1]])})
    >>> len(block), block.n_rows, block.n_features
    (3, 3, 4)
    """

    def __init__(self, rows: npt.ArrayLike, fields: Mapping[str, Any]) -> None:
        if not isinstance(fields, Mapping) or not fields:
            given = type(fields).__name__
            raise ValueError(f"Block: fields must be a non-empty mapping of names to matrices, got {given}.")
        names = _distinct("Block: fields", fields)
        self.tables: dict[str, FeatureTable] = {
            name: FeatureTable.of(name, matrix) for name, matrix in zip(names, fields.values(), strict=True)
        }
        sizes = {name: table.n_rows for name, table in self.tables.items()}
        if len(set(sizes.values())) > 1:
            raise ValueError(f"Block: all fields must have the same number of rows, got {sizes}.")
        self.n_rows: int = next(iter(sizes.values()))
        self.rows: npt.NDArray[np.int32] = check_rows("Block: rows", rows, self.n_rows)
        if not self.rows.flags.owndata or (self.rows is rows and self.rows.flags.writeable):
            self.rows = self.rows.copy()  # the core relies on them, and the caller may change its own
        self.rows.flags.writeable = False

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_features(self) -> int:
        """Number of columns of all fields together."""
        return sum(table.n_columns for table in self.tables.values())

    def take(self, index: Any) -> Block:
        """Return the same tables with a selection of the interactions."""
        block = Block.__new__(Block)
        block.rows, block.n_rows, block.tables = self.rows[index], self.n_rows, self.tables
        block.rows.flags.writeable = False
        plain = self.n_rows == len(self) and not any(table.identity for table in self.tables.values())
        if plain and (self.rows == np.arange(self.n_rows)).all():  # one row per interaction: keep only those left
            block.tables = {name: table.take(block.rows) for name, table in self.tables.items()}
            block.n_rows = len(block.rows)
            block.rows = np.arange(block.n_rows, dtype=np.int32)
        return block


class Blocks:
    """A design matrix kept as blocks; it is only expanded by `to_csr`.

    A user's features occur in each of the user's interactions. So each side is a table of distinct rows, and an
    interaction only names the row it uses.

    Parameters
    ----------
    **blocks : Block
        Named blocks, all with the same number of interactions. Their columns side by side are those of the matrix.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> X = Blocks(
    ...     user=Block(rows=[0, 0, 1], fields={"id": sp.identity(2)}),
    ...     item=Block(rows=[0, 2, 1], fields={"id": sp.identity(3), "year": [[0.9], [0.1], [0.5]]}),
    ... )
    >>> [(f.block, f.name, f.start, f.stop) for f in X.fields]
    [('user', 'id', 0, 2), ('item', 'id', 2, 5), ('item', 'year', 5, 6)]
    >>> X[[True, False, True]].to_csr().toarray()
    array([[1. , 0. , 1. , 0. , 0. , 0.9],
           [0. , 1. , 0. , 1. , 0. , 0.1]])
    """

    def __init__(self, /, **blocks: Block) -> None:
        if not blocks:
            raise ValueError("Blocks: give at least one block, e.g. Blocks(user=Block(...), item=Block(...)).")
        for name, block in blocks.items():
            if not isinstance(block, Block):
                raise TypeError(f"Blocks: {name} must be a Block, got {type(block).__name__}.")
        lengths = {name: len(block) for name, block in blocks.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"Blocks: all blocks must have the same number of interactions, got {lengths}.")
        self.blocks: dict[str, Block] = dict(blocks)
        self._designs: dict[np.dtype[Any], Design] = {}

    def __len__(self) -> int:
        return len(next(iter(self.blocks.values())))

    def __repr__(self) -> str:
        sides = ", ".join(
            f"{name}({block.n_rows} rows: {', '.join(f'{f} {t.n_columns}' for f, t in block.tables.items())})"
            for name, block in self.blocks.items()
        )
        return f"Blocks({len(self)} interactions, {self.n_features} features: {sides})"

    def __getitem__(self, index: Any) -> Blocks:
        if isinstance(index, tuple):  # scikit-learn indexes rows as X[index, ...]
            if len(index) != 2 or not (index[1] is ... or (isinstance(index[1], slice) and index[1] == slice(None))):
                raise IndexError("Blocks can be indexed by interactions only: X[mask], X[indices] or X[start:stop].")
            index = index[0]
        if not isinstance(index, slice):
            index = np.atleast_1d(index)
            if index.ndim != 1:
                raise IndexError(f"Blocks: an index must be one-dimensional, got shape {index.shape}.")
            if index.size == 0:
                index = index.astype(np.intp)
            elif index.dtype.kind not in "iub":
                raise IndexError(f"Blocks: an index must hold integers or booleans, got {index.dtype}.")
        return Blocks(**{name: block.take(index) for name, block in self.blocks.items()})

    @property
    def shape(self) -> tuple[int, int]:
        """Interactions × features, as of the expanded matrix."""
        return len(self), self.n_features

    @property
    def n_entries(self) -> int:
        """Number of non-zeros of the tables, of which identities have none to keep."""
        tables = (table for block in self.blocks.values() for table in block.tables.values())
        return sum(table.n_entries for table in tables if not table.identity)

    @property
    def n_features(self) -> int:
        """Number of columns of the matrix."""
        return sum(block.n_features for block in self.blocks.values())

    @property
    def dtype(self) -> np.dtype[Any]:
        """float64 if any table is; else float32 (identities fit either)."""
        tables = (table for block in self.blocks.values() for table in block.tables.values())
        wide = any(table.dtype == np.float64 for table in tables if not table.identity)
        return np.dtype(np.float64 if wide else np.float32)

    @property
    def fields(self) -> tuple[FieldSpan, ...]:
        """The layout of the columns."""
        spans, start = [], 0
        for block_name, block in self.blocks.items():
            for name, table in block.tables.items():
                spans.append(FieldSpan(block_name, name, start, start + table.n_columns))
                start += table.n_columns
        return tuple(spans)

    def occurring(self) -> npt.NDArray[np.bool_]:
        """Return which columns have a non-zero in some interaction."""
        parts = []
        for block in self.blocks.values():
            used = np.zeros(block.n_rows, bool)
            used[block.rows] = True
            parts += [table.occurring(used) for table in block.tables.values()]
        return np.concatenate(parts)

    def design(self, dtype: npt.DTypeLike | None = None) -> Design:
        """Return the matrix as the core takes it, made once: it borrows the tables' arrays."""
        precision = np.dtype(self.dtype if dtype is None else dtype)
        if precision not in self._designs:
            parts = [(block.n_rows, block.rows, list(block.tables.values())) for block in self.blocks.values()]
            self._designs[precision] = make_design(parts, precision)
        return self._designs[precision]

    def __getstate__(self) -> dict[str, Any]:
        return {"blocks": self.blocks}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state["blocks"])  # type: ignore[misc]

    def to_csr(self) -> sp.csr_matrix:
        """Return the expanded matrix: one row per interaction."""
        import scipy.sparse as sp

        parts = [table.take(block.rows).to_csr() for block in self.blocks.values() for table in block.tables.values()]
        return sp.csr_matrix(sp.hstack(parts, format="csr"))

    @classmethod
    def from_matrix(cls, X: Any, fields: FieldSizes | None = None) -> Blocks:
        """Take a SciPy sparse matrix or a dense array as blocks.

        Parameters
        ----------
        X : matrix, one row per interaction
        fields : sizes of the fields, optional
            ``[n_users, n_items]`` or ``{"user": n_users, "item": n_items}``. Each becomes a block of its own, kept as
            bare ids where every row has a single 1. Without it the matrix is one block with one field.

        Examples
        --------
        >>> Blocks.from_matrix([[1, 0, 0, 1, 0], [0, 1, 0, 0, 1]], fields={"user": 3, "item": 2})
        Blocks(2 interactions, 5 features: user(3 rows: id 3), item(2 rows: id 2))
        """
        table = FeatureTable.of("X", X)
        if fields is None:
            return cls(x=Block(np.arange(table.n_rows), {"x": table}))
        if not isinstance(fields, Iterable):
            raise ValueError(f"fields: expected a list or a mapping of sizes, got {fields!r}.")
        named = fields if isinstance(fields, Mapping) else {f"field{i}": size for i, size in enumerate(fields)}
        names = _distinct("fields", named)
        sizes = [check_integer("fields: a size", size, 0) for size in named.values()]
        if sum(sizes) != table.n_columns:
            raise ValueError(f"fields: sizes add up to {sum(sizes)}, but X has {table.n_columns} columns.")
        blocks, start = {}, 0
        for name, size in zip(names, sizes, strict=True):
            part = table.columns(start, start + size)
            indptr, indices, values = part.arrays()
            if (np.diff(indptr) == 1).all() and (values == 1).all():
                blocks[name] = Block(indices, {"id": FeatureTable.eye(size)})
            else:
                blocks[name] = Block(np.arange(len(table)), {"x": part})
            start += size
        return cls(**blocks)


def _distinct(what: str, names: Iterable[Any]) -> list[str]:
    """Return the names as strings, among which none may occur twice."""
    strings = [str(name) for name in names]
    if len(set(strings)) < len(strings):
        raise ValueError(f"{what}: the name {max(strings, key=strings.count)!r} is given twice.")
    return strings
