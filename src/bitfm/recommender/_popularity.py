"""Ranks items by how many users have had them, for everybody alike: what every recommender has to beat."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.data.feature_table import FeatureTable
from bitfm.recommender._matrix import InteractionMatrix

__all__ = ["POPULARITY", "Popularity"]

POPULARITY = "popularity"  # what it is called in `Recommender.evaluate`


class Popularity:
    """A model of events that knows but one ranking; equally popular items stand in the order of their indices."""

    def __init__(self, counts: npt.NDArray[np.int64]) -> None:
        self._counts, self._order = counts, np.argsort(-counts, kind="stable")

    @classmethod
    def of(cls, log: InteractionMatrix) -> Popularity:
        """Count the users who like each item."""
        liked = log.by_user.indices[log.by_user.values > 0]
        return cls(np.bincount(liked, minlength=log.by_user.n_columns))

    def recommend(
        self, histories: Any, n: int, *, seen: bool = False
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """Return the best n items for histories, -1 where there are no more, and their scores."""
        table = FeatureTable.of("histories", histories)
        found = np.full((len(table), min(n, len(self._order))), -1)
        for row, (begin, end) in enumerate(zip(table.indptr[:-1], table.indptr[1:], strict=True)):
            had = table.indices[begin : begin if seen else end]
            best = self._order[: n + len(had)]
            best = best[~np.isin(best, had)][:n]
            found[row, : len(best)] = best
        return found, np.where(found >= 0, self._counts[found], -np.inf).astype(np.float32)
