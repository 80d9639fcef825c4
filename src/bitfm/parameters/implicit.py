"""What a fit to events yields: codes of items, a decoder and neighbours. Users are folded in from their histories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.core import score_listed
from bitfm.data.blocks import FieldSpan
from bitfm.data.feature_table import FeatureTable, check_rows
from bitfm.parameters.event_fold_in import EventWeights, fold_in_events
from bitfm.parameters.item_codes import ItemCodes
from bitfm.parameters.neighbors import Neighbors
from bitfm.parameters.tower import TowerRows

__all__ = ["HistoryTower", "ImplicitParameters", "ItemTower"]

Vectors = npt.NDArray[np.float32]

_LEAST_SCALE = 1e-12  # beside a query's largest number: what a weight adds is less than rounding


@dataclass(frozen=True, eq=False)
class ImplicitParameters:
    """score(u, j) = scale ⟨p_u, c_j⟩ + Σ S_ij over the items i in the history of u.

    Parameters
    ----------
    items : ItemCodes
        c, in the axes in which their Gram matrix is diagonal.
    gram : array of float64, one per dimension
        That diagonal.
    neighbors : Neighbors
        S and the scale.
    weights : EventWeights
        The weights of the fold-in.
    n_observed : int
        How many items had events at the fit.
    mean_user : array of float32, one per dimension
        p of a user of whom nothing is known.
    """

    items: ItemCodes
    gram: npt.NDArray[np.float64]
    neighbors: Neighbors
    weights: EventWeights
    n_observed: int
    mean_user: Vectors

    @property
    def bits(self) -> int:
        """Length of the codes."""
        return self.items.bits

    @property
    def width(self) -> int:
        """Numbers of a query's vector."""
        return self.items.bits

    @property
    def fields(self) -> tuple[FieldSpan, ...]:
        """The items and, as histories, the users; neither has features of its own."""
        n = len(self.items)
        return FieldSpan("user", "history", 0, n), FieldSpan("item", "id", n, 2 * n)

    @property
    def n_features(self) -> int:
        """Number of features of all fields."""
        return 2 * len(self.items)

    def users(self, histories: FeatureTable, priors: Vectors | None = None, n_threads: int = 1) -> Vectors:
        """Fold users in from their histories, users × items, whose values are those of events.

        A user without events is its prior; without one, the mean of those at the fit.
        """
        indptr, indices, values = histories.arrays()
        distinct, local = np.unique(indices, return_inverse=True)
        table = FeatureTable.sparse(indptr, local.astype(np.int32), values.astype(np.float32), len(distinct))
        vectors = self.items.vectors(distinct, n_threads)
        found = fold_in_events(table, vectors, self.gram, self.weights, self.n_observed, priors, n_threads)
        if priors is None:
            found[np.diff(indptr) == 0] = self.mean_user
        return found

    def rows(self, histories: FeatureTable, priors: Vectors | None = None, n_threads: int = 1) -> TowerRows:
        """Return queries for an index of the items: folded-in users, and what their histories add."""
        return self.rows_of(self.users(histories, priors, n_threads), histories, n_threads)

    def rows_of(self, users: Vectors, histories: FeatureTable, n_threads: int = 1) -> TowerRows:
        """Return queries of vectors of users."""
        of_weights, vectors = self.items.queries(users, n_threads)
        scales, vectors = (
            of_weights.astype(np.float64) * self.neighbors.scale,
            np.float32(self.neighbors.scale) * vectors,
        )
        least = np.maximum(_LEAST_SCALE * np.abs(vectors).max(axis=1, initial=0), 1e-30)
        scales = np.where(np.abs(scales) > least, scales, least)
        scored = None
        if self.neighbors.table.n_entries:
            indptr, indices, added = self.neighbors.sums(histories).arrays()
            scores, items = np.empty(len(indices), np.float32), self.items
            score_listed(
                items.codes, items.gains, items.weights, vectors, scales, indptr, indices, added, scores, n_threads
            )
            scored = FeatureTable.sparse(indptr, indices, scores, len(items))
        n_codes = np.zeros((0, self.bits // 8), np.uint8)
        none = np.zeros(len(users), bool)
        return TowerRows(np.zeros(len(users)), n_codes, np.zeros(0, np.float32), vectors, none, scales, scored)


class ItemTower:
    """The items: a code, a gain and a weight each."""

    blocks = ("item",)

    def __init__(self, parameters: ImplicitParameters) -> None:
        self._items = parameters.items
        self._none = np.zeros((0, parameters.bits), np.float32)

    @property
    def n_features(self) -> int:
        """Number of items."""
        return len(self._items)

    def rows(self, what: str, given: Any, n_threads: int = 1) -> TowerRows:
        """Return the rows of items, given by their indices."""
        ids = check_rows(what, np.atleast_1d(given), len(self._items))
        codes, gains = self._items.codes.take(ids, axis=0), self._items.gains.take(ids)
        return TowerRows(self._items.weights.take(ids).astype(np.float64), codes, gains, self._none)


class HistoryTower:
    """Users by their histories."""

    blocks = ("user",)

    def __init__(self, parameters: ImplicitParameters) -> None:
        self._parameters = parameters

    def rows(self, what: str, given: Any, n_threads: int = 1) -> TowerRows:
        """Return queries for histories: a sparse matrix of users × items, of events."""
        histories = FeatureTable.of(what, given)
        n_items = len(self._parameters.items)
        if histories.n_columns != n_items:
            raise ValueError(f"{what}: expected histories of {n_items} items, got {histories.n_columns} columns.")
        return self._parameters.rows(histories, None, n_threads)

    def typical_length(self) -> float:
        """Return about how long a query's vector is, where what a weight counts for is 1."""
        scales, vectors = self._parameters.items.queries(self._parameters.mean_user[None])
        length = float(np.sqrt(np.sum(vectors.astype(np.float64) ** 2)))
        return length / max(abs(float(scales[0])), 1e-12 * length, 1e-30)
