"""bitfm as a scorer of LensKit: factorization machines on the attributes of users and items, in bits.

`topn_pipeline(BitFMScorer(bits=64))` of `lenskit.pipeline` is a whole recommender; see README.md beside this file.
"""

from __future__ import annotations

import numpy as np
from lenskit.data import Dataset, ItemList, QueryInput, RecQuery
from lenskit.pipeline import Component
from lenskit.training import Trainable, TrainingOptions
from pydantic import BaseModel, PositiveInt

from bitfm import Recommender


class BitFMConfig(BaseModel):
    """Settings of `BitFMScorer`."""

    bits: PositiveInt = 64
    """Bits per feature."""

    ratings: bool = True
    """Learn from ratings, where the data set has them; if False, from which items users had."""


class BitFMScorer(Component[ItemList], Trainable):
    """Scores items by `bitfm.Recommender`, with the attributes that the data set has of users and items as features.

    Users that were not there when it was trained are folded in from the history of their query. Without one they get
    the scores that are not personal. Items that the data set did not have are not scored.
    """

    config: BitFMConfig
    recommender: Recommender
    """The fitted recommender, with all that it can do: save, explain, similar_items, ..."""

    def train(self, data: Dataset, options: TrainingOptions = TrainingOptions()) -> None:  # noqa: B008
        """Fit to the data set's interactions; attributes of users and items are features."""
        if hasattr(self, "recommender") and not options.retrain:
            return
        interactions = data.interactions().pandas(ids=True)
        target = "rating" if self.config.ratings and "rating" in interactions else None
        columns = ["user_id", "item_id"] + ([target] if target else [])
        seed = int(options.random_generator().integers(2**31))
        self.recommender = Recommender(bits=self.config.bits, random_state=seed).fit(
            interactions[columns],
            users=data.entities("user").pandas(),
            items=data.entities("item").pandas(),
            user="user_id",
            item="item_id",
            target=target,
        )
        self._users, self._items = data.users, data.items

    def __call__(self, query: QueryInput, items: ItemList) -> ItemList:
        """Score items for a user, or for a history."""
        query = RecQuery.create(query)
        scores = np.full(len(items), np.nan)
        known = np.flatnonzero(items.numbers(vocabulary=self._items, missing="negative") >= 0)
        ids = np.asarray(items.ids())[known].tolist()
        if query.user_id is not None and query.user_id in self._users:
            scores[known] = self.recommender.predict({"user_id": [query.user_id] * len(ids), "item_id": ids})
        elif ids:
            best = self.recommender.recommend_new(self._history(query), n=len(ids), allow=ids)
            of = dict(zip(best["item"], best["score"], strict=True))  # not of those in the history
            scores[known] = [of.get(item, np.nan) for item in ids]
        return ItemList(items, scores=scores)

    def _history(self, query: RecQuery) -> list[object]:
        """Return the items of the query that are known, with their ratings if the model is of ratings."""
        had = query.query_items
        if had is None:
            return []
        known = had.numbers(vocabulary=self._items, missing="negative") >= 0
        ids, ratings = np.asarray(had.ids())[known].tolist(), had.field("rating")
        if ratings is None or not self.config.ratings:
            return ids
        return list(zip(ids, np.asarray(ratings)[known].tolist(), strict=True))
