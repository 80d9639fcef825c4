"""Everything a fitted recommender knows, as one value: what changes it makes another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitfm.data.blocks import Block, Blocks
from bitfm.data.feature_table import FeatureTable
from bitfm.models import CodeModel
from bitfm.models._half import Rows
from bitfm.recommender._fold_in import Opposite, Prior
from bitfm.recommender._log import Log, seen_table
from bitfm.recommender._side import Side, one_hot_ids
from bitfm.retrieval import Index
from bitfm.validation import thread_count

if TYPE_CHECKING:
    from bitfm.data.columns import FittedColumn
    from bitfm.data.tables import FrameKind

__all__ = ["CONTEXT", "SEEN_FIELDS", "Amounts", "State", "field_name", "opposites_of"]

CONTEXT = "context"  # the block of the context's columns
_MOST_NUMBERS = 1 << 24  # of a side's vectors, to keep them at hand
_ROWS_A_THREAD = 256  # below, starting a thread costs more than it saves
SEEN_FIELDS = {"user": "history", "item": "raters"}


class Amounts(NamedTuple):
    """What rows of one side add to a score: a constant, and a vector to multiply with the other side's."""

    constants: npt.NDArray[np.float64]
    vectors: npt.NDArray[np.float32]


def field_name(column: str) -> str:
    """Return the name of a column's field; those of the ids and what was seen are taken."""
    return f"{column} (column)" if column in ("id", *SEEN_FIELDS.values()) else column


@dataclass(frozen=True, eq=False)
class State:
    """Sides, context, interactions, model and index that belong together."""

    users: Side
    items: Side
    context: tuple[FittedColumn, ...]
    log: Log
    model: CodeModel
    index: Index  # an item's position is its number
    priors: Mapping[str, Prior]  # of either side's ids
    opposites: Mapping[str, Opposite]  # what a new id of a side meets, as it was at the fit
    negatives: float  # unseen items that count against an event; 0 for ratings
    target: str | None
    time: str | None
    frames: FrameKind
    n_jobs: int | None

    def side(self, name: str) -> Side:
        """Return users or items."""
        return self.users if name == "user" else self.items

    @cached_property
    def sizes(self) -> dict[tuple[str, str], int]:
        """Number of features by block and field."""
        return {(field.block, field.name): field.size for field in self.model.fields_}

    def tables(
        self,
        name: str,
        numbers: npt.NDArray[Any],
        *,
        own: Mapping[str, FeatureTable] | None = None,
        seen: Any = None,
        with_id: bool = True,
    ) -> dict[str, FeatureTable]:
        """Return the model's fields of a side for some rows.

        Parameters
        ----------
        name : "user" or "item"
        numbers : array of int
            Which rows; -1 is one that is not known.
        own : tables of the columns, optional
            Instead of those of the rows.
        seen : table of rows × the other side, optional
            What the rows have seen, instead of what the log says.
        with_id : bool, default True
            Whether the rows have their ids.
        """
        own = self.side(name).own_tables(numbers) if own is None else own
        tables = {field_name(column): table for column, table in own.items()}
        width = self.sizes.get((name, SEEN_FIELDS[name]))
        if width is not None:
            rows = self.log.side(name).take(numbers) if seen is None else seen
            tables[SEEN_FIELDS[name]] = seen_table(rows, width)
        tables["id"] = one_hot_ids(numbers if with_id else np.full(len(numbers), -1), self.sizes[name, "id"])
        return tables

    def user_rows(self, user: Block, context: Block | None) -> Rows:
        """Return what queries amount to: a user each, in a context each."""
        blocks = {"user": user}
        if self.context:
            blocks[CONTEXT] = context if context is not None else self.no_context(len(user))
        return self.index._users.rows("users", Blocks(**blocks), self._threads(len(user)))

    def _threads(self, n_rows: int) -> int:
        return min(thread_count(self.n_jobs), 1 + n_rows // _ROWS_A_THREAD)

    def no_context(self, n: int) -> Block:
        """Return n times an unknown context."""
        return Block(np.zeros(n, np.int32), {field_name(c.name): one_empty_row(c.width) for c in self.context})

    def amounts(self, name: str, numbers: npt.NDArray[Any], **tables: Any) -> Amounts:
        """Return what rows of one side amount to; a user's constant holds the model's bias."""
        block = Block(np.arange(len(numbers)), self.tables(name, numbers, **tables))
        if name == "user":
            rows = self.user_rows(block, None)
        else:
            rows = self.index._items.rows("items", block, self._threads(len(block)))
        return Amounts(rows.constants, rows.as_vectors())

    def blocks(self, users: npt.NDArray[Any], items: npt.NDArray[Any], context: Block | None) -> Blocks:
        """Return interactions as the model takes them; numbers of -1 are users and items that are not known."""
        sides = {}
        for name, numbers in (("user", users), ("item", items)):
            distinct, rows = np.unique(numbers, return_inverse=True)
            sides[name] = Block(rows, self.tables(name, distinct))
        contexts = {}
        if self.context:
            contexts[CONTEXT] = context if context is not None else self.no_context(len(users))
        return Blocks(user=sides["user"], **contexts, item=sides["item"])

    def scores(
        self, users: npt.NDArray[Any], items: npt.NDArray[Any], context: Block | None
    ) -> npt.NDArray[np.float64]:
        """Return the model's scores of interactions."""
        return self.model.predict(self.blocks(users, items, context))

    @cached_property
    def whole_sides(self) -> dict[str, Amounts]:
        """What every row of a side amounts to, of sides for which `all_amounts` has been asked."""
        return {}

    def all_amounts(self, name: str) -> Amounts:
        """Return what every row of a side amounts to."""
        if name not in self.whole_sides:
            self.whole_sides[name] = self.amounts(name, np.arange(len(self.side(name))))
        return self.whole_sides[name]

    @cached_property
    def user_covariance(self) -> npt.NDArray[np.float32]:
        """How users' vectors vary together."""
        users = self.opposites["item"].moment
        return np.asarray(users[1:-1, 1:-1] - np.outer(users[0, 1:-1], users[0, 1:-1]), np.float32)

    @cached_property
    def item_spreads(self) -> npt.NDArray[np.float32]:
        """How far the personal part of each item's score spreads over users."""
        vectors = self.all_amounts("item").vectors
        squares = np.einsum("ij,ij->i", vectors @ self.user_covariance, vectors)
        return np.asarray(np.sqrt(np.maximum(squares, 0)), np.float32)

    def opposite_amounts(self, name: str, numbers: npt.NDArray[Any]) -> Amounts:
        """Return what rows of the other side amount to."""
        other = "item" if name == "user" else "user"
        if len(self.side(other)) * self.model.bits > _MOST_NUMBERS:
            return self.amounts(other, numbers)
        constants, vectors = self.all_amounts(other)
        return Amounts(constants[numbers], vectors[numbers])


def opposites_of(state: State) -> dict[str, Opposite]:
    """Return either side as a new id of the other sees it, by the name of the new id's side."""
    users, items = (np.diff(state.log.side(name).indptr) for name in ("user", "item"))
    some_users, some_items = np.flatnonzero(users), np.flatnonzero(items)
    unseen = state.negatives * state.log.by_user.n_entries / max(len(some_items), 1)
    return {
        "user": Opposite.of_items(*state.opposite_amounts("user", some_items), items[some_items], state.negatives),
        "item": Opposite.of_users(*state.opposite_amounts("item", some_users), users[some_users], unseen),
    }


def one_empty_row(width: int) -> FeatureTable:
    """Return a table of one row without entries."""
    return FeatureTable.empty(1, width)
