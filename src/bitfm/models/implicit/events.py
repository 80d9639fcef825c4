"""Events as the solvers take them: one value per user and item, by user and by item."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bitfm.data.feature_table import FeatureTable

__all__ = ["Events", "Rows", "hold_out", "row_sizes"]

Rows: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float32]]


@dataclass(frozen=True, eq=False)
class Events:
    """Users × items: how much each event counts; below 0 it counts against the item."""

    by_user: FeatureTable

    @classmethod
    def of(cls, matrix: Any) -> Events:
        """Check a sparse matrix of users × items and take its entries other than 0."""
        indptr, indices, values = FeatureTable.of("X", matrix).arrays()
        with np.errstate(over="ignore"):
            values = values.astype(np.float32)
        if not np.isfinite(values).all():
            raise ValueError("X: an event counts for more than single precision can hold; scale the values down.")
        if not values.all():
            kept = values != 0
            indptr, indices, values = np.append(0, np.cumsum(kept))[indptr], indices[kept], values[kept]
        return cls(FeatureTable.sparse(indptr, indices, values, matrix.shape[1]))

    @cached_property
    def by_item(self) -> FeatureTable:
        """The same, items × users."""
        return self.by_user.transpose()

    @property
    def shape(self) -> tuple[int, int]:
        """Users × items."""
        return self.by_user.shape

    @cached_property
    def user_sizes(self) -> npt.NDArray[np.float32]:
        """How much the events of each user count in all."""
        return row_sizes(self.by_user)

    @cached_property
    def item_sizes(self) -> npt.NDArray[np.float32]:
        """How much the events of each item count in all."""
        return row_sizes(self.by_item)

    @property
    def density(self) -> float:
        """How much a pair of a user and an item counts on average; users and items without events do not count."""
        pairs = float(np.count_nonzero(self.user_sizes)) * float(np.count_nonzero(self.item_sizes))
        return float(self.user_sizes.sum(dtype=np.float64)) / max(pairs, 1.0)

    def liked(self) -> Events:
        """Return the events that count for their items."""
        indptr, indices, values = self.by_user.arrays()
        kept = values > 0
        ends = np.append(0, np.cumsum(kept))[indptr]
        return self if kept.all() else Events(FeatureTable.sparse(ends, indices[kept], values[kept], self.shape[1]))


def hold_out(events: Events, fraction: float, rng: np.random.Generator) -> tuple[Events, Events]:
    """Return most of the events, and this share of each user's, rounded, that count for their items."""
    indptr, indices, values = events.by_user.arrays()
    users = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    liked = values > 0
    order = np.lexsort((rng.random(len(users)), ~liked, users))  # at random, within each user's
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - indptr[users[order]]
    n_liked = np.bincount(users[liked], minlength=len(indptr) - 1)
    held = liked & (rank < np.rint(fraction * n_liked)[users])
    parts = []
    for kept in (~held, held):
        ends = np.append(0, np.cumsum(kept))[indptr]
        parts.append(Events(FeatureTable.sparse(ends, indices[kept], values[kept], events.shape[1])))
    return parts[0], parts[1]


def row_sizes(table: FeatureTable) -> npt.NDArray[np.float32]:
    """Return how much the entries of each row count in all."""
    indptr, _, values = table.arrays()
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return np.bincount(rows, np.abs(values).astype(np.float64), len(indptr) - 1).astype(np.float32)
