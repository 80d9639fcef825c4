"""What a recommender of events knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitfm.core import multiply
from bitfm.data.blocks import Block, FieldSpan
from bitfm.data.feature_table import FeatureTable
from bitfm.errors import UnknownIdError
from bitfm.parameters import HISTORY, Explanation, ImplicitParameters, TowerRows, explain_event
from bitfm.recommender._events import changes, removal
from bitfm.recommender._events.kinds import EventKinds
from bitfm.recommender._events.strengths import Strengths
from bitfm.recommender._labels import feature_label
from bitfm.recommender._side import CONTEXT, field_name
from bitfm.recommender._state import State
from bitfm.retrieval import Index

if TYPE_CHECKING:
    import polars as pl

    from bitfm.data.interactions import Interactions

__all__ = ["EventState"]

Vectors = npt.NDArray[np.float32]
_NO_KINDS = "exclude: nothing says what events are; name their column with fit(event=...), or give users and items."


@dataclass(frozen=True, eq=False, kw_only=True)
class EventState(State):
    """Codes of items, and the events of users, from whom their vectors are worked out as they are asked for."""

    parameters: ImplicitParameters
    strengths: Strengths
    keeps_users: bool  # and their events
    kinds: EventKinds | None = None  # of these, where the fit was told

    def need_users(self, what: str) -> None:
        """Refuse what needs to know users where none were kept."""
        if not self.keeps_users:
            raise UnknownIdError(
                f"{what}: this recommender keeps no users (keep_interactions=False); ask for recommendations by a "
                "history, with recommend_new(history=...)."
            )

    def fields(self) -> Iterator[tuple[tuple[str, str], int]]:
        """Yield the fields that the tables make, with their sizes, in the model's order."""
        for column in self.users.columns:
            yield ("user", field_name(column.name)), column.width
        yield ("user", HISTORY), len(self.items)
        for block, columns in ((CONTEXT, self.context), ("item", self.items.columns)):
            for column in columns:
                yield (block, field_name(column.name)), column.width
        yield ("item", "id"), len(self.items)

    def had_by(self, users: npt.NDArray[np.int32], kinds: list[str]) -> FeatureTable:
        """Return the items that users have had by events of some kinds."""
        self.need_users("exclude")
        if self.kinds is None:
            raise ValueError(_NO_KINDS)
        for kind in kinds:
            if kind not in self.kinds.names:
                known = ", ".join(map(repr, self.kinds.names))
                raise ValueError(f"exclude: there are no events {kind!r}; the kinds of events are {known}.")
        return self.kinds.had(self.log, users, kinds)

    def stored_rows(self, users: npt.NDArray[np.int32], context: Block | None, n_threads: int) -> TowerRows:
        """Return queries, by the users' events and features."""
        self.need_users("recommend")
        histories = self.log.by_user.take(users)
        return self._rows(histories, self._features(users), context, n_threads)

    def new_rows(self, features: Mapping[str, FeatureTable], history: FeatureTable, context: Block | None) -> TowerRows:
        """Return the query of a new user."""
        return self._rows(history, features, context, 1)

    def _rows(
        self, histories: FeatureTable, features: Mapping[str, FeatureTable], context: Block | None, n_threads: int
    ) -> TowerRows:
        priors = self.parameters.priors(features, n_threads)
        return self.parameters.rows(histories, priors, self._said(context, n_threads), n_threads)

    def vectors(self, users: npt.NDArray[np.int32], n_threads: int) -> Vectors:
        """Return the vectors of users, without context."""
        priors = self.parameters.priors(self._features(users), n_threads)
        return self.parameters.fold_in(self.log.by_user.take(users), priors, n_threads)

    def _features(self, users: npt.NDArray[np.int32]) -> Mapping[str, FeatureTable]:
        return self.users.fields(users) if self.parameters.user_features else {}

    def _said(self, context: Block | None, n_threads: int) -> Vectors | None:
        if context is None:
            return None
        used, rows = np.unique(context.rows, return_inverse=True)
        tables = {name: table.take(used) for name, table in context.tables.items()}
        said = self.parameters.said(CONTEXT, tables, n_threads)
        return None if said is None else said[rows]

    def scores(
        self, users: npt.NDArray[Any], items: npt.NDArray[Any], context: Block | None, parameters: Any = None
    ) -> npt.NDArray[np.float64]:
        """Return the scores of interactions; of an item that is not known, what a user without events would have."""
        p: ImplicitParameters = self.parameters if parameters is None else parameters
        if not len(users):
            return np.zeros(0)
        self.need_users("predict")
        threads = self.threads(len(users))
        found, known = np.zeros(len(users)), items >= 0
        who, place = np.unique(users, return_inverse=True)
        vectors = p.fold_in(self.log.by_user.take(who), p.priors(self._features(who), threads), threads)
        said = self._said(context, threads)
        vectors = vectors[place] if said is None else vectors[place] + said
        wanted = FeatureTable.one_hot(np.where(known, items, -1), len(self.items))
        histories = self.log.by_user.take(users)
        found[known] = p.scores(vectors, histories, wanted, threads)
        return self.need_finite(found)

    @cached_property
    def item_vectors(self) -> Vectors:
        """All items' vectors, whose products with a user's are the personal part of scores."""
        return self.parameters.items.vectors()

    @cached_property
    def user_covariance(self) -> Vectors:
        """How users' vectors vary together."""
        return self.parameters.users.covariance

    def some_item_vectors(self, items: npt.NDArray[Any]) -> Vectors:
        """Return the vectors of a few items."""
        return self.parameters.items.vectors(items)

    @cached_property
    def all_user_vectors(self) -> Vectors:
        """All users' vectors, whose products with an item's are the personal part of scores."""
        everybody = np.arange(len(self.users), dtype=np.int32)
        return self.vectors(everybody, self.threads(len(everybody)))

    @cached_property
    def item_covariance(self) -> Vectors:
        """How items' vectors vary together."""
        vectors = self.item_vectors.astype(np.float64)
        mean = vectors.mean(axis=0)
        return np.asarray(multiply(vectors.T, vectors) / max(len(vectors), 1) - np.outer(mean, mean), np.float32)

    def item_matrix(self) -> Vectors:
        """Return the items' vectors, which the caller may change."""
        return self.item_vectors.copy()

    def query_matrix(self, users: npt.NDArray[np.int32], context: Block | None) -> Vectors:
        """Return the vectors of users in a context; what neighbours add to scores is not in them."""
        self.need_users("user_vectors")
        threads = self.threads(len(users))
        vectors, said = self.vectors(users, threads), self._said(context, threads)
        return np.float32(self.parameters.neighbors.scale) * (vectors if said is None else vectors + said)

    def item_codes(self) -> tuple[npt.NDArray[np.uint8], Vectors, Vectors]:
        """Return the code, the gain and the bias of every item."""
        items = self.parameters.items
        return np.array(items.codes), np.array(items.gains), np.array(items.weights)

    def code_query_matrix(self, users: npt.NDArray[np.int32], context: Block | None) -> Vectors:
        """Return what the users' vectors are to each bit, what they are to biases of items, and 0."""
        vectors = self.query_matrix(users, context)
        of_biases, of_bits = self.parameters.items.queries(vectors, self.threads(len(users)))
        return np.hstack([of_bits, of_biases[:, None], np.zeros((len(users), 1), np.float32)])

    def explain(self, user: int, item: int, context: Block | None) -> Explanation:
        """Take the score of a pair apart: which past items and which features have brought it."""
        if user >= 0 or not self.keeps_users:
            self.need_users("explain")

        def name(field: FieldSpan, feature: int) -> str:
            return f"{field.block}.{field.name}: {feature_label(self, field, feature)}"

        who = np.array([user])
        tables: dict[str, Mapping[str, FeatureTable]] = {self.parameters.fields[0].block: self._features(who)}
        if context is not None:
            tables[CONTEXT] = {name: table.take(context.rows) for name, table in context.tables.items()}
        return explain_event(self.parameters, self.log.by_user.take(who), item, tables, name)

    def with_rows(self, name: str, ids: pl.Series, frame: pl.DataFrame) -> EventState:
        """Add users or items, or give known ones other values."""
        if name == "user":
            self.need_users("add_users")
        return changes.with_side_rows(self, name, ids, frame)

    def with_interactions(self, read: Interactions, context: Block | None) -> EventState:
        """Add events; items of which they are a good part get codes anew."""
        self.need_users("add_events")
        return changes.with_events(self, read)

    def with_histories(self, read: Interactions, context: Block | None) -> EventState:
        """Give users events of items that are known; the items stay as they are."""
        return changes.with_histories(self, read)

    def without_ids(self, name: str, indices: npt.NDArray[Any]) -> EventState:
        """Take users or items out, with all that is known of them."""
        return removal.without_ids(self, name, indices)

    def without_interactions(self, users: npt.NDArray[Any], items: npt.NDArray[Any]) -> EventState:
        """Take events out; their items get codes anew."""
        return removal.without_events(self, users, items)

    def ranker(self, parameters: Any, users: npt.NDArray[Any], context: Block | None) -> tuple[Index, TowerRows]:
        """Return an index of all items and queries for it, by the model or by other parameters of its fields."""
        self.need_users("evaluate")
        if parameters is self.parameters:
            return self.index, self.query_rows(users, context)
        p: ImplicitParameters = parameters
        threads = self.threads(len(users))
        priors = p.priors(self._features(users), threads)
        said = None
        if context is not None:
            said = p.said(CONTEXT, {name: table.take(context.rows) for name, table in context.tables.items()}, threads)
        return self.index.with_parameters(p), p.rows(self.log.by_user.take(users), priors, said, threads)

    def without(self, fields: list[str]) -> ImplicitParameters:
        """Return parameters for which some features of users or contexts count for nothing."""
        return self.parameters.without(fields)
