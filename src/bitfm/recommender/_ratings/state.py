"""What a recommender of ratings knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitfm.core import Design32, unpack_codes
from bitfm.data.blocks import Block, Blocks, FieldSpan
from bitfm.data.feature_table import FeatureTable
from bitfm.errors import ModelFileError
from bitfm.parameters import (
    CodeParameters,
    Explanation,
    Parameters,
    Prior,
    Ratings,
    SideMoments,
    Tower,
    TowerRows,
    explain,
    fold_in,
    towers,
    without_fields,
)
from bitfm.recommender._labels import feature_label
from bitfm.recommender._ratings import changes, removal
from bitfm.recommender._side import CONTEXT, SEEN_FIELDS, Side, field_name, field_tables
from bitfm.recommender._state import State
from bitfm.retrieval import Index
from bitfm.validation import thread_count

if TYPE_CHECKING:
    import polars as pl

    from bitfm.data.interactions import Interactions

__all__ = ["RatingState"]

_MOST_NUMBERS = 1 << 24  # of a side's vectors, to keep them at hand
_ROW, _ONE, _ONE_ENTRY = np.zeros(1, np.int32), np.ones(1, np.float32), np.array((0, 1))  # of one row


@dataclass(frozen=True, eq=False, kw_only=True)
class RatingState(State):
    """A code for every feature, and what a fold-in needs."""

    parameters: CodeParameters
    priors: Mapping[str, Prior] = field(default_factory=dict)  # of either side's ids
    moments: Mapping[str, SideMoments] = field(default_factory=dict)  # of what a new id of a side meets, at the fit
    whole_sides: dict[str, TowerRows] = field(default_factory=dict)  # for which `all_rows` has been asked

    @cached_property
    def towers(self) -> tuple[Tower, Tower]:
        """The towers of users, with their context, and of items."""
        return towers(self.parameters, "item")

    def fields(self) -> Iterator[tuple[tuple[str, str], int]]:
        """Yield the fields that the tables make, with their sizes, in the model's order."""
        yield from self._fields_of(self.users, len(self.items))
        for column in self.context:
            yield (CONTEXT, field_name(column.name)), column.width
        yield from self._fields_of(self.items, len(self.users))

    def _fields_of(self, side: Side, n_others: int) -> Iterator[tuple[tuple[str, str], int]]:
        for column in side.columns:
            yield (side.name, field_name(column.name)), column.width
        seen = side.name, SEEN_FIELDS[side.name]
        if seen in self.sizes:
            yield seen, min(self.sizes[seen], n_others)  # those who came later have no column
        yield (side.name, "id"), len(side)

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
        return Blocks(user=user, **{CONTEXT: self.unknown_context(len(user)) if context is None else context})

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

    def stored_rows(self, users: npt.NDArray[np.int32], context: Block | None, n_threads: int) -> TowerRows:
        """Return the users' tower for queries, by their features, histories and ids."""
        if len(users) == 1 and context is None:
            found = self.one_row(int(users[0]))
            if found is not None:
                return found
        return self.towers[0].rows_of(self.queries(users, context), n_threads)

    def one_row(self, user: int) -> TowerRows | None:
        """Return the row of one user without context, in a fifth of the time; None where it cannot be."""
        log, width, n_ids = self.log.by_user, self.sizes.get(("user", "history")), self.sizes["user", "id"]
        if self.context or not 0 <= user < n_ids or width not in (None, log.n_columns):
            return None
        design = Design32()
        design.add_block(1, _ROW)
        try:
            for table in self.users.tables:
                if table.has_levels:
                    design.add_dense(table.values[user : user + 1], table.scale)
                else:
                    design.add_table(table.n_columns, *table.row(user))
            if width is not None:
                indptr, items, _ = log.row(user)
                values = np.full(len(items), 1 / np.sqrt(max(len(items), 1)), np.float32)
                design.add_table(width, indptr, items, values)
            design.add_table(n_ids, _ONE_ENTRY, np.array((user,), np.int32), _ONE)
        except ModelFileError:
            raise
        except (ValueError, TypeError) as error:  # the core refuses what a damaged file holds
            raise log.damage(error) from None
        return self.towers[0].rows_of_design(design)

    def new_rows(self, features: Mapping[str, FeatureTable], history: FeatureTable, context: Block | None) -> TowerRows:
        """Return the users' tower for a new user, by features and ratings, which are NaN where none was given."""
        block = Block(np.zeros(1, np.int32), self.tables("user", np.array([-1]), features, history))
        plain = self.user_rows(self.with_context(block, None))
        rows = plain if context is None else self.user_rows(self.with_context(block, context))
        rated = ~np.isnan(history.values)
        if not rated.any():
            return rows
        own, vectors = plain.as_vectors(), rows.as_vectors()
        of_one = Ratings.of_one(history.values[rated], *self.other_side("user", history.indices[rated]))
        ids = fold_in(of_one, plain.constants, own, self.moments["user"], self.priors["user"])
        vector = ids.gains[:, None] * unpack_codes(ids.codes)
        # The context meets the id as well.
        constants = rows.constants + ids.weights + np.einsum("ij,j->i", vectors - own, vector[0])
        return TowerRows.of_vectors(constants, vectors + vector)

    def item_matrix(self) -> npt.NDArray[np.float32]:
        """Return the items' vectors, their constants, and 1 for the users' constants."""
        items = self.all_rows("item")
        return _with_constants(items.vectors, items.constants, np.ones(len(items)))

    def query_matrix(self, users: npt.NDArray[np.int32], context: Block | None) -> npt.NDArray[np.float32]:
        """Return the users' vectors, 1 for the items' constants, and their own constants."""
        rows = self.query_rows(users, context)
        return _with_constants(rows.as_vectors(), np.ones(len(rows)), rows.constants)

    def item_codes(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Return the code, the gain and the bias of every item, where each is known by its id alone."""
        found = self._item_rows(np.arange(len(self.items)))
        if found.coded is not None:
            raise ValueError(
                "item_codes: items have several features each, so none has a code of its own; take item_vectors, or "
                "fit without columns of items and with Recommender(raters=False)."
            )
        return found.codes, found.gains, found.constants.astype(np.float32)

    def code_query_matrix(self, users: npt.NDArray[np.int32], context: Block | None) -> npt.NDArray[np.float32]:
        """Return the users' vectors, 1 for the items' biases, and their own constants."""
        return self.query_matrix(users, context)

    def explain(self, user: int, item: int, context: Block | None) -> Explanation:
        """Take the score of a pair apart, with names for the features: ``user.age: 25-34``."""

        def name(field: FieldSpan, feature: int) -> str:
            return f"{field.block}.{field.name}: {feature_label(self, field, feature)}"

        return explain(self.parameters, self.blocks(np.array([user]), np.array([item]), context), name)

    def with_rows(self, name: str, ids: pl.Series, frame: pl.DataFrame) -> RatingState:
        """Add users or items, or give known ones other values."""
        return changes.with_side_rows(self, name, ids, frame)

    def with_interactions(self, read: Interactions, context: Block | None) -> RatingState:
        """Add ratings and solve anew for the codes of all ids that they name, which may be new."""
        assert read.target is not None
        return changes.with_ratings(self, read.users, read.items, read.target, context)

    def with_histories(self, read: Interactions, context: Block | None) -> RatingState:
        """Fold users in by ratings of items that are known; the items stay as they are."""
        assert read.target is not None
        return changes.with_ratings(self, read.users, read.items, read.target, context, ("user",))

    def without_ids(self, name: str, indices: npt.NDArray[Any]) -> RatingState:
        """Take users or items out, with all that is known of them."""
        return removal.without_ids(self, name, indices)

    def without_interactions(self, users: npt.NDArray[Any], items: npt.NDArray[Any]) -> RatingState:
        """Take ratings out and solve anew for the codes of all ids that they name."""
        return removal.without_ratings(self, users, items)

    def ranker(self, parameters: Any, users: npt.NDArray[Any], context: Block | None) -> tuple[Index, TowerRows]:
        """Return an index of all items and queries for it, by the model or by other parameters of its fields."""
        if parameters is self.index.parameters:
            return self.index, self.query_rows(users, context)
        catalogue = np.arange(len(self.items))
        index = Index(parameters, Block(catalogue, self.tables("item", catalogue)), "item")
        rows = towers(parameters, "item")[0].rows_of(self.queries(users, context), thread_count(self.n_jobs))
        return index, rows

    def without(self, fields: list[str]) -> CodeParameters:
        """Return parameters that do without some fields."""
        return without_fields(self.parameters, fields)

    def user_rows(self, blocks: Blocks) -> TowerRows:
        """Return the users' tower for queries."""
        return self.towers[0].rows_of(blocks, self.threads(len(blocks)))

    def rows(self, name: str, indices: npt.NDArray[Any]) -> TowerRows:
        """Return a side's tower for some rows, all as vectors; a user's constant holds the model's bias."""
        if name == "user":
            block = Block(np.arange(len(indices)), self.tables(name, indices))
            found = self.user_rows(self.with_context(block, None))
        else:
            found = self._item_rows(indices)
        return TowerRows.of_vectors(found.constants, found.as_vectors())

    def _item_rows(self, indices: npt.NDArray[Any]) -> TowerRows:
        block = Block(np.arange(len(indices)), self.tables("item", indices))
        return self.towers[1].rows_of(Blocks(item=block), self.threads(len(block)))

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

    @property
    def item_vectors(self) -> npt.NDArray[np.float32]:
        """All items' vectors, whose products with a user's are the personal part of scores."""
        return self.all_rows("item").vectors

    def some_item_vectors(self, items: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Return the vectors of a few items."""
        return np.asarray(self.other_side("user", items)[1], np.float32)

    @property
    def all_user_vectors(self) -> npt.NDArray[np.float32]:
        """All users' vectors, whose products with an item's are the personal part of scores."""
        return self.all_rows("user").vectors

    @cached_property
    def user_covariance(self) -> npt.NDArray[np.float32]:
        """How users' vectors vary together."""
        return _covariance(self.moments["item"])

    @cached_property
    def item_covariance(self) -> npt.NDArray[np.float32]:
        """How items' vectors vary together."""
        return _covariance(self.moments["user"])


def _with_constants(vectors: npt.NDArray[np.float32], *constants: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    return np.hstack([vectors, np.stack(constants, axis=1).astype(np.float32)])


def _covariance(met: SideMoments) -> npt.NDArray[np.float32]:
    """Return how the vectors vary of what a side meets."""
    moment = met.second_moment
    return np.asarray(moment[1:-1, 1:-1] - np.outer(moment[0, 1:-1], moment[0, 1:-1]), np.float32)
