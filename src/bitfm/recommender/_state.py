"""Everything a fitted recommender knows, as one value: what changes it makes another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from bitfm.core import multiply
from bitfm.data.blocks import Block, Blocks
from bitfm.data.feature_table import FeatureTable
from bitfm.errors import BitfmError
from bitfm.parameters import CodeParameters, ModelRecord, Parameters, Prior, SideMoments, Tower, TowerRows, towers
from bitfm.persist import damage
from bitfm.recommender._matrix import InteractionMatrix
from bitfm.recommender._side import CONTEXT, SEEN_FIELDS, ColumnNote, Side, encode, field_tables
from bitfm.recommender.user_towers import USER_TOWERS
from bitfm.retrieval import Index
from bitfm.validation import thread_count

if TYPE_CHECKING:
    from bitfm.data import FittedColumn
    from bitfm.data.tables import FrameKind

__all__ = ["State"]

A = TypeVar("A", npt.NDArray[np.float32], npt.NDArray[np.float64])

_MOST_NUMBERS = 1 << 24  # of a side's vectors, to keep them at hand
_ROWS_PER_THREAD = 256  # below, starting a thread costs more than it saves


@dataclass(frozen=True, eq=False)
class State:
    """Everything a fitted recommender knows; a change makes another state and leaves this one as it was."""

    users: Side
    items: Side
    context: tuple[FittedColumn, ...]
    log: InteractionMatrix
    parameters: CodeParameters
    index: Index  # an item's position is its index
    model: ModelRecord  # the estimator that yielded the parameters
    n_jobs: int | None
    user_tower: str
    negatives: float  # unseen items that count against an event; 0 for ratings
    target: str | None
    time: str | None
    frames: FrameKind
    columns: list[ColumnNote]  # what was made of each
    priors: Mapping[str, Prior] = field(default_factory=dict)  # of either side's ids
    moments: Mapping[str, SideMoments] = field(default_factory=dict)  # of what a new id of a side meets, at the fit
    unsaved: Mapping[str, Any] = field(default_factory=dict)  # settings of the estimator that no file holds
    whole_sides: dict[str, TowerRows] = field(default_factory=dict)  # for which `all_rows` has been asked

    def side(self, name: str) -> Side:
        """Return users or items."""
        return self.users if name == "user" else self.items

    @property
    def sizes(self) -> dict[tuple[str, str], int]:
        """Number of features by block and field."""
        return self.parameters.sizes

    @cached_property
    def towers(self) -> tuple[Tower, Tower]:
        """The towers of users, with their context, and of items."""
        return towers(self.parameters, "item")

    def tables(
        self,
        name: str,
        indices: npt.NDArray[Any],
        columns: Mapping[str, FeatureTable] | None = None,
        seen: FeatureTable | None = None,
    ) -> dict[str, FeatureTable]:
        """Return the model's fields of a side for some rows; an index of -1 is one that is not known.

        Fields of columns, and a table of rows × the other side of what was seen, may be given in place of their own.
        """
        columns = self.side(name).fields(indices) if columns is None else columns
        width, n_ids = self.sizes.get((name, SEEN_FIELDS[name])), self.sizes[name, "id"]
        if width is not None and seen is None:
            seen = self.log.side(name).take(indices)
        ids = FeatureTable.one_hot(np.where(indices < n_ids, indices, -1), n_ids)
        return field_tables(name, columns, seen, width, ids)

    def queries(self, users: npt.NDArray[Any], context: Block | None) -> Blocks:
        """Return the users' tower's blocks for queries: a user each, in a context each."""
        return self.with_context(self._block("user", users), context)

    def with_context(self, user: Block, context: Block | None) -> Blocks:
        """Put the block of contexts beside that of the users; none at all is an unknown one."""
        if not self.context:
            return Blocks(user=user)
        unknown = Block(np.zeros(len(user), np.int32), encode(self.context, {}))
        return Blocks(user=user, **{CONTEXT: unknown if context is None else context})

    def blocks(self, users: npt.NDArray[Any], items: npt.NDArray[Any], context: Block | None) -> Blocks:
        """Return interactions as the model takes them; indices of -1 are users and items that are not known."""
        return Blocks(**self.queries(users, context).blocks, item=self._block("item", items))

    def _block(self, name: str, indices: npt.NDArray[Any]) -> Block:
        distinct, rows = np.unique(indices, return_inverse=True)
        return Block(rows, self.tables(name, distinct))

    def scores(
        self,
        users: npt.NDArray[Any],
        items: npt.NDArray[Any],
        context: Block | None,
        parameters: Parameters | None = None,
    ) -> npt.NDArray[np.float64]:
        """Return the scores of interactions, by the model or by other parameters of its fields."""
        if not len(users):
            return np.zeros(0)
        blocks = self.blocks(users, items, context)
        found = (parameters or self.parameters).scores(blocks.design(), thread_count(self.n_jobs))
        return self.need_finite(np.asarray(found, np.float64))

    def need_finite(self, scores: A) -> A:
        """Return scores, unless a damaged file made them something else than numbers."""
        if self.index.file is not None and not np.isfinite(scores).all():
            raise damage(self.index.file, "the model is damaged: it gives scores that are not numbers")
        return scores

    def query_rows(self, users: npt.NDArray[np.int32], context: Block | None) -> TowerRows:
        """Return the users' tower for queries, a user and a context each, by the way that the recommender names."""
        tower = USER_TOWERS.get(self.user_tower)
        if tower is None:
            known = ", ".join(USER_TOWERS.names())
            file = f"{self.index.file}: " if self.index.file else ""
            raise BitfmError(f"{file}the user tower {self.user_tower!r} is not known here, only {known}; install it.")
        rows: TowerRows = tower.rows(self, users, context, self._threads(len(users)))
        return rows

    def user_rows(self, blocks: Blocks) -> TowerRows:
        """Return the users' tower for queries."""
        return self.towers[0].rows_of(blocks, self._threads(len(blocks)))

    def rows(self, name: str, indices: npt.NDArray[Any]) -> TowerRows:
        """Return a side's tower for some rows, all as vectors; a user's constant holds the model's bias."""
        block = Block(np.arange(len(indices)), self.tables(name, indices))
        if name == "user":
            found = self.user_rows(self.with_context(block, None))
        else:
            found = self.towers[1].rows_of(Blocks(item=block), self._threads(len(block)))
        return TowerRows.of_vectors(found.constants, found.as_vectors())

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

    def _threads(self, n_rows: int) -> int:
        return min(thread_count(self.n_jobs), 1 + n_rows // _ROWS_PER_THREAD)

    @cached_property
    def user_covariance(self) -> npt.NDArray[np.float32]:
        """How users' vectors vary together."""
        users = self.moments["item"].second_moment
        return np.asarray(users[1:-1, 1:-1] - np.outer(users[0, 1:-1], users[0, 1:-1]), np.float32)

    @cached_property
    def item_spreads(self) -> npt.NDArray[np.float32]:
        """How far the personal part of each item's score spreads over users."""
        vectors = self.all_rows("item").vectors
        squares = np.einsum("ij,ij->i", multiply(vectors, self.user_covariance), vectors)
        return np.asarray(np.sqrt(np.maximum(squares, 0)), np.float32)
