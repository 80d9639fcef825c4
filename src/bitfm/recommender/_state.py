"""Everything a fitted recommender knows, as one value: what changes it makes another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitfm.core import Design32
from bitfm.data.blocks import Block, Blocks
from bitfm.data.feature_table import FeatureTable
from bitfm.errors import BitfmError, ModelFileError
from bitfm.parameters import CodeParameters, ModelRecord, Prior, SideMoments, Tower, TowerRows, towers, with_all_ids
from bitfm.recommender._matrix import InteractionMatrix, seen_table
from bitfm.recommender._side import Side, one_hot_ids
from bitfm.recommender.user_towers import USER_TOWERS
from bitfm.retrieval import Index
from bitfm.validation import thread_count

if TYPE_CHECKING:
    from bitfm.data import FittedColumn
    from bitfm.data.tables import FrameKind

__all__ = ["CONTEXT", "SEEN_FIELDS", "FittedTables", "State", "field_name", "moments_of"]

CONTEXT = "context"  # the block of the context's columns
_MOST_NUMBERS = 1 << 24  # of a side's vectors, to keep them at hand
_ROWS_PER_THREAD = 256  # below, starting a thread costs more than it saves
_ROW, _ONE, _ONE_ENTRY = np.zeros(1, np.int32), np.ones(1, np.float32), np.array((0, 1))  # of one row
SEEN_FIELDS = {"user": "history", "item": "raters"}


def field_name(column: str) -> str:
    """Return the name of a column's field; those of the ids and what was seen are taken."""
    return f"{column} (column)" if column in ("id", *SEEN_FIELDS.values()) else column


@dataclass(frozen=True, eq=False)
class FittedTables:
    """Sides, contexts and interactions, and the parameters that were fitted to them: the rows of both towers."""

    users: Side
    items: Side
    context: tuple[FittedColumn, ...]
    log: InteractionMatrix
    parameters: CodeParameters
    n_jobs: int | None
    user_tower: str

    def side(self, name: str) -> Side:
        """Return users or items."""
        return self.users if name == "user" else self.items

    @property
    def sizes(self) -> dict[tuple[str, str], int]:
        """Number of features by block and field."""
        return self.parameters.sizes

    def widened(self, parameters: Any) -> Any:
        """Return parameters of another model of the same training data with a column for every id."""
        if parameters.sizes == self.sizes:
            return parameters
        observed = {name: np.flatnonzero(np.diff(self.log.side(name).indptr)) for name in SEEN_FIELDS}
        return with_all_ids(parameters, observed, {name: len(self.side(name)) for name in SEEN_FIELDS}, SEEN_FIELDS)

    @cached_property
    def towers(self) -> tuple[Tower, Tower]:
        """The towers of users, with their context, and of items."""
        return towers(self.parameters, "item")

    def tables(
        self,
        name: str,
        indices: npt.NDArray[Any],
        *,
        own: Mapping[str, FeatureTable] | None = None,
        seen: Any = None,
    ) -> dict[str, FeatureTable]:
        """Return the model's fields of a side for some rows.

        Parameters
        ----------
        name : "user" or "item"
        indices : array of int
            Which rows; -1 is one that is not known.
        own : tables of the columns, optional
            Instead of those of the rows.
        seen : table of rows × the other side, optional
            What the rows have seen, instead of what the log says.
        """
        own = self.side(name).own_tables(indices) if own is None else own
        tables = {field_name(column): table for column, table in own.items()}
        width = self.sizes.get((name, SEEN_FIELDS[name]))
        if width is not None:
            rows = self.log.side(name).take(indices) if seen is None else seen
            tables[SEEN_FIELDS[name]] = seen_table(rows, width)
        tables["id"] = one_hot_ids(indices, self.sizes[name, "id"])
        return tables

    def queries(self, users: npt.NDArray[Any], context: Block | None) -> Blocks:
        """Return the users' tower's blocks for queries: a user each, in a context each."""
        distinct, rows = np.unique(users, return_inverse=True)
        return self.with_context(Block(rows, self.tables("user", distinct)), context)

    def with_context(self, user: Block, context: Block | None) -> Blocks:
        """Put the block of contexts beside that of the users; none at all is an unknown one."""
        if not self.context:
            return Blocks(user=user)
        return Blocks(user=user, **{CONTEXT: self.no_context(len(user)) if context is None else context})

    def one_user(self, user: int) -> TowerRows | None:
        """Return the users' tower for one user without context, in a fifth of the time; None where it cannot be."""
        log, width = self.log.by_user, self.sizes.get(("user", SEEN_FIELDS["user"]))
        if self.context or user < 0 or any(table.is_dense for table in self.users.tables):
            return None
        if width not in (None, log.n_columns) or user >= self.sizes["user", "id"]:
            return None
        design = Design32()
        design.add_block(1, _ROW)
        try:
            for table in self.users.tables:
                design.add_table(table.n_columns, *table.row(user))
            if width is not None:
                indptr, items, _ = log.row(user)
                values = np.full(len(items), 1 / np.sqrt(max(len(items), 1)), np.float32)
                design.add_table(width, indptr, items, values)
            design.add_table(self.sizes["user", "id"], _ONE_ENTRY, np.array((user,), np.int32), _ONE)
        except ModelFileError:
            raise
        except (ValueError, TypeError) as error:  # the core refuses what a damaged file holds
            raise ModelFileError(f"a table of the model is damaged: {error}") from None
        return self.towers[0].rows_of_design(design)

    def query_rows(self, users: npt.NDArray[np.int32], context: Block | None) -> TowerRows:
        """Return the users' tower for queries, a user and a context each, by the way that the recommender names."""
        tower = USER_TOWERS.get(self.user_tower)
        if tower is None:
            known = ", ".join(USER_TOWERS.names())
            raise BitfmError(f"the user tower {self.user_tower!r} is not known here, only {known}; install it.")
        rows: TowerRows = tower.rows(self, users, context, self._threads(len(users)))
        return rows

    def user_rows(self, blocks: Blocks) -> TowerRows:
        """Return the users' tower for queries."""
        return self.towers[0].rows_of(blocks, self._threads(len(blocks)))

    def _threads(self, n_rows: int) -> int:
        return min(thread_count(self.n_jobs), 1 + n_rows // _ROWS_PER_THREAD)

    def no_context(self, n: int) -> Block:
        """Return n times an unknown context."""
        return Block(np.zeros(n, np.int32), {field_name(c.name): one_empty_row(c.width) for c in self.context})

    def rows(self, name: str, indices: npt.NDArray[Any], **tables: Any) -> TowerRows:
        """Return a side's tower for some rows, all as vectors; a user's constant holds the model's bias."""
        block = Block(np.arange(len(indices)), self.tables(name, indices, **tables))
        if name == "user":
            found = self.user_rows(self.with_context(block, None))
        else:
            found = self.towers[1].rows_of(Blocks(item=block), self._threads(len(block)))
        return TowerRows.of_vectors(found.constants, found.as_vectors())

    def blocks(self, users: npt.NDArray[Any], items: npt.NDArray[Any], context: Block | None) -> Blocks:
        """Return interactions as the model takes them; indices of -1 are users and items that are not known."""
        sides = {}
        for name, indices in (("user", users), ("item", items)):
            distinct, rows = np.unique(indices, return_inverse=True)
            sides[name] = Block(rows, self.tables(name, distinct))
        contexts = {}
        if self.context:
            contexts[CONTEXT] = context if context is not None else self.no_context(len(users))
        return Blocks(user=sides["user"], **contexts, item=sides["item"])

    def scores(
        self, users: npt.NDArray[Any], items: npt.NDArray[Any], context: Block | None
    ) -> npt.NDArray[np.float64]:
        """Return the model's scores of interactions."""
        if not len(users):
            return np.zeros(0)
        blocks = self.blocks(users, items, context)
        return np.asarray(self.parameters.scores(blocks.design(), thread_count(self.n_jobs)), np.float64)

    @cached_property
    def whole_sides(self) -> dict[str, TowerRows]:
        """The towers' rows of sides for which `all_rows` has been asked."""
        return {}

    def all_rows(self, name: str) -> TowerRows:
        """Return a side's tower for all of its rows."""
        if name not in self.whole_sides:
            self.whole_sides[name] = self.rows(name, np.arange(len(self.side(name))))
        return self.whole_sides[name]

    def other_side(self, name: str, indices: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return constants and vectors of some rows of the other side."""
        other = "item" if name == "user" else "user"
        if len(self.side(other)) * self.parameters.bits > _MOST_NUMBERS:
            found = self.rows(other, indices)
            return found.constants, found.vectors
        found = self.all_rows(other)
        return found.constants[indices], found.vectors[indices]


@dataclass(frozen=True, eq=False)
class State(FittedTables):
    """Everything a fitted recommender knows; a change makes another state and leaves this one as it was."""

    model: ModelRecord  # the estimator that yielded the parameters
    index: Index  # an item's position is its index
    priors: Mapping[str, Prior]  # of either side's ids
    moments: Mapping[str, SideMoments]  # of what a new id of a side meets, as it was at the fit
    negatives: float  # unseen items that count against an event; 0 for ratings
    target: str | None
    time: str | None
    frames: FrameKind

    @classmethod
    def of(cls, tables: FittedTables, **more: Any) -> State:
        """Return a state over tables."""
        state = cls(**{field.name: getattr(tables, field.name) for field in fields(tables)}, **more)
        state.whole_sides.update(tables.whole_sides)
        return state

    @cached_property
    def user_covariance(self) -> npt.NDArray[np.float32]:
        """How users' vectors vary together."""
        users = self.moments["item"].second_moment
        return np.asarray(users[1:-1, 1:-1] - np.outer(users[0, 1:-1], users[0, 1:-1]), np.float32)

    @cached_property
    def item_spreads(self) -> npt.NDArray[np.float32]:
        """How far the personal part of each item's score spreads over users."""
        vectors = self.all_rows("item").vectors
        squares = np.einsum("ij,ij->i", vectors @ self.user_covariance, vectors)
        return np.asarray(np.sqrt(np.maximum(squares, 0)), np.float32)


def moments_of(tables: FittedTables, negatives: float) -> dict[str, SideMoments]:
    """Return either side as a new id of the other sees it, by the name of the new id's side."""
    users, items = (np.diff(tables.log.side(name).indptr) for name in ("user", "item"))
    some_users, some_items = np.flatnonzero(users), np.flatnonzero(items)
    unseen = negatives * tables.log.by_user.n_entries / max(len(some_items), 1)
    return {
        "user": SideMoments.of_items(*tables.other_side("user", some_items), items[some_items], negatives),
        "item": SideMoments.of_users(*tables.other_side("item", some_users), users[some_users], unseen),
    }


def one_empty_row(width: int) -> FeatureTable:
    """Return a table of one row without entries."""
    return FeatureTable.empty(1, width)
