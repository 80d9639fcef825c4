"""Everything a fitted recommender knows, as one value: what changes it makes another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt

from bitfm.data.blocks import Block
from bitfm.data.feature_table import FeatureTable
from bitfm.errors import BitfmError
from bitfm.parameters import Explanation, ModelRecord, TowerRows
from bitfm.persist import damage
from bitfm.recommender._likeness import Likeness
from bitfm.recommender._matrix import InteractionMatrix
from bitfm.recommender._selections import Selections
from bitfm.recommender._side import ColumnNote, Side, encode
from bitfm.recommender.user_towers import USER_TOWERS
from bitfm.retrieval import Index
from bitfm.validation import thread_count

if TYPE_CHECKING:
    import polars as pl

    from bitfm.data import FittedColumn
    from bitfm.data.interactions import ColumnRoles, Interactions
    from bitfm.data.tables import FrameKind

__all__ = ["Found", "State"]

Vectors = npt.NDArray[np.float32]
A = TypeVar("A", npt.NDArray[np.float32], npt.NDArray[np.float64])
_ROWS_PER_THREAD = 256  # below, starting a thread costs more than it saves


class Found(NamedTuple):
    """Items by index and their scores, best first; -1 where there are no more."""

    items: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]

    @classmethod
    def together(cls, parts: Sequence[Found]) -> Found:
        """Return what was found for queries one by one."""
        n = max((part.items.shape[1] for part in parts), default=0)
        items, scores = np.full((len(parts), n), -1), np.full((len(parts), n), -np.inf, np.float32)
        for row, part in enumerate(parts):
            items[row, : part.items.shape[1]], scores[row, : part.items.shape[1]] = part.items[0], part.scores[0]
        return cls(items, scores)

    @classmethod
    def alike(
        cls, scores: npt.NDArray[np.float32], one: int, n: int, allowed: npt.NDArray[np.bool_] | None = None
    ) -> Found:
        """Return the best n others than one, by how alike all are to it, of all or of those that are allowed."""
        others = np.ones(len(scores), bool) if allowed is None else allowed.copy()
        others[one] = False
        among = np.flatnonzero(others)
        if n < len(among) // 8:  # a sort of those that may be among the best takes less time
            least = -np.partition(-scores[among], n - 1)[n - 1]
            among = among[scores[among] >= least]
        best = among[np.lexsort((among, -scores[among]))][None, :n]
        return cls(best, scores[best])


@dataclass(frozen=True, eq=False, kw_only=True)
class State(ABC):
    """Everything a fitted recommender knows; a change makes another state and leaves this one as it was."""

    users: Side
    items: Side
    context: tuple[FittedColumn, ...]
    log: InteractionMatrix
    parameters: Any
    index: Index  # an item's position is its index
    model: ModelRecord  # the estimator that yielded the parameters
    n_jobs: int | None
    user_tower: str
    roles: ColumnRoles  # of the interactions' columns
    frames: FrameKind
    columns: list[ColumnNote]  # what was made of each
    unsaved: Mapping[str, Any] = field(default_factory=dict)  # settings of the estimator that no file holds

    @property
    def counts(self) -> dict[str, int]:
        """How many users, items and interactions are known, by what they are called."""
        interactions = "pairs with events" if self.target is None else "ratings"
        return {"users": len(self.users), "items": len(self.items), interactions: self.log.by_user.n_entries}

    def side(self, name: str) -> Side:
        """Return users or items."""
        return self.users if name == "user" else self.items

    @cached_property
    def selections(self) -> Selections:
        """Items that conditions allow, as they were asked for."""
        return Selections()

    @property
    def target(self) -> str | None:
        """The column of ratings; None of events."""
        return self.roles.target

    @property
    def sizes(self) -> dict[tuple[str, str], int]:
        """Number of features by block and field."""
        found: dict[tuple[str, str], int] = self.parameters.sizes
        return found

    def need_users(self, what: str) -> None:  # noqa: B027
        """Refuse what needs to know users where none were kept; those of ratings always are."""

    def had_by(self, users: npt.NDArray[np.int32], kinds: list[str]) -> FeatureTable:
        """Return the items that users have had by events of some kinds."""
        raise ValueError("exclude: ratings are of no kinds; give pairs of users and items, or seen=False hides all.")

    def query_rows(self, users: npt.NDArray[np.int32], context: Block | None) -> TowerRows:
        """Return the users' tower for queries, a user and a context each, by the way that the recommender names."""
        tower = USER_TOWERS.get(self.user_tower)
        if tower is None:
            known = ", ".join(USER_TOWERS.names())
            file = f"{self.index.file}: " if self.index.file else ""
            raise BitfmError(f"{file}the user tower {self.user_tower!r} is not known here, only {known}; install it.")
        rows: TowerRows = tower.rows(self, users, context, self.threads(len(users)))
        return rows

    def unknown_context(self, n: int) -> Block:
        """Return a context of which nothing is known, for n queries."""
        return Block(np.zeros(n, np.int32), encode(self.context, {}))

    def has_seen(self, read: Interactions) -> npt.NDArray[np.bool_]:
        """Return of which interactions the user and the item are known to belong together."""
        users, items = self.users.ids.indices(read.users), self.items.ids.indices(read.items)
        seen = (users >= 0) & (items >= 0)
        seen[seen] = self.log.holds(users[seen], items[seen])
        return np.asarray(seen)

    def need_finite(self, scores: A) -> A:
        """Return scores, unless a damaged file made them something else than numbers."""
        if self.index.file is not None and not np.isfinite(scores).all():
            raise damage(self.index.file, "the model is damaged: it gives scores that are not numbers")
        return scores

    def threads(self, n_rows: int) -> int:
        """Return how many threads so many rows are worth."""
        return min(thread_count(self.n_jobs), 1 + n_rows // _ROWS_PER_THREAD)

    @abstractmethod
    def item_matrix(self) -> Vectors:
        """Return one row per item, whose products with those of `query_matrix` are scores."""

    @abstractmethod
    def query_matrix(self, users: npt.NDArray[np.int32], context: Block | None) -> Vectors:
        """Return one row per query, as wide as those of `item_matrix`; -1 is a user who is not known."""

    @abstractmethod
    def fields(self) -> Iterator[tuple[tuple[str, str], int]]:
        """Yield the fields that the tables make, with their sizes, in the model's order."""

    @abstractmethod
    def stored_rows(self, users: npt.NDArray[np.int32], context: Block | None, n_threads: int) -> TowerRows:
        """Return the users' tower for queries, by what is known of their users; -1 is one that is not known."""

    @abstractmethod
    def new_rows(self, features: Mapping[str, FeatureTable], history: FeatureTable, context: Block | None) -> TowerRows:
        """Return the users' tower for one new user, by features and a history."""

    @abstractmethod
    def scores(
        self, users: npt.NDArray[Any], items: npt.NDArray[Any], context: Block | None, parameters: Any = None
    ) -> npt.NDArray[np.float64]:
        """Return the scores of interactions, by the model or by other parameters of its fields.

        Indices of -1 are users and items that are not known.
        """

    @property
    @abstractmethod
    def item_vectors(self) -> Vectors:
        """All items' vectors, whose products with a user's are the personal part of scores."""

    @property
    @abstractmethod
    def user_covariance(self) -> Vectors:
        """How users' vectors vary together."""

    @property
    @abstractmethod
    def all_user_vectors(self) -> Vectors:
        """All users' vectors, whose products with an item's are the personal part of scores."""

    @property
    @abstractmethod
    def item_covariance(self) -> Vectors:
        """How items' vectors vary together."""

    @abstractmethod
    def some_item_vectors(self, items: npt.NDArray[Any]) -> Vectors:
        """Return the vectors of a few items."""

    @cached_property
    def item_likeness(self) -> Likeness:
        """How alike items are: by their scores from user to user."""
        return Likeness(self.item_vectors, self.user_covariance)

    @cached_property
    def user_likeness(self) -> Likeness:
        """How alike users are: by their scores from item to item."""
        return Likeness(self.all_user_vectors, self.item_covariance)

    @abstractmethod
    def item_codes(self) -> tuple[npt.NDArray[np.uint8], Vectors, Vectors]:
        """Return the code, the gain and the bias of every item."""

    @abstractmethod
    def code_query_matrix(self, users: npt.NDArray[np.int32], context: Block | None) -> Vectors:
        """Return one row per query: a number per bit, what biases of items count for, and the query's own constant."""

    @abstractmethod
    def explain(self, user: int, item: int, context: Block | None) -> Explanation:
        """Take the score of a pair apart, with names for the features."""

    @abstractmethod
    def with_rows(self, name: str, ids: pl.Series, frame: pl.DataFrame) -> Self:
        """Add users or items, or give known ones other values."""

    def with_values(self, ids: pl.Series, frame: pl.DataFrame) -> Self:
        """Give known items other values of columns that no feature is made from."""
        return replace(self, items=self.items.with_values(self.items.ids.indices(ids), frame))

    @abstractmethod
    def with_interactions(self, read: Interactions, context: Block | None) -> Self:
        """Add ratings or events, and solve anew for what they name, which may be new."""

    @abstractmethod
    def with_histories(self, read: Interactions, context: Block | None) -> Self:
        """Fold users in by interactions with items that are known; the items stay as they are."""

    @abstractmethod
    def without_ids(self, name: str, indices: npt.NDArray[Any]) -> Self:
        """Take users or items out, with all that is known of them; the others are numbered anew in the same order."""

    @abstractmethod
    def without_interactions(self, users: npt.NDArray[Any], items: npt.NDArray[Any]) -> Self:
        """Take pairs that are in the log out of it, and solve anew for what they name."""

    @abstractmethod
    def ranker(self, parameters: Any, users: npt.NDArray[Any], context: Block | None) -> tuple[Index, TowerRows]:
        """Return an index of all items and queries for it, by the model or by other parameters of its fields."""

    @abstractmethod
    def without(self, fields: list[str]) -> Any:
        """Return parameters that do without some fields."""
