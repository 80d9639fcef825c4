"""Vectors of users and items by alternating least squares over events and all that did not happen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bitfm.core import eigh, improve_rows, multiply, normal_numbers, solve_rows
from bitfm.data.feature_table import FeatureTable
from bitfm.models.implicit.context import Contexts
from bitfm.models.implicit.events import Events
from bitfm.models.implicit.features import SideFeatures
from bitfm.parameters import EventWeights

__all__ = ["Teacher", "fit_teacher", "own_axes"]

Vectors = npt.NDArray[np.float32]

_START = 0.1  # the length of a vector at first


@dataclass(frozen=True, eq=False)
class Teacher:
    """Vectors whose products are scores, and those of the features if any; the last of users is an intercept.

    `queries` are users in contexts, which the items were solved for; without contexts the users.
    """

    users: Vectors
    items: Vectors
    queries: Vectors
    user_features: Vectors | None = None
    item_features: Vectors | None = None


def fit_teacher(
    events: Events,
    weights: EventWeights,
    rank: int,
    n_iter: int,
    seed: int,
    n_threads: int,
    *,
    user_features: SideFeatures | None = None,
    item_features: SideFeatures | None = None,
    contexts: Contexts | None = None,
    cg_steps: int = 0,
    after_sweep: Callable[[int], bool] | None = None,
) -> Teacher:
    """Solve for users, for contexts and for items in turn; with `cg_steps`, by so many steps of conjugate gradients.

    `after_sweep` is called with the number of each sweep; where it returns True, that was the last.
    """
    n_users, n_items = events.shape
    observed = events.user_sizes > 0, events.item_sizes > 0  # what is known by features alone counts for nobody
    ridges = [weights.ridge(events.user_sizes, int(observed[1].sum()))]
    ridges += [weights.ridge(events.item_sizes, int(observed[0].sum()))]
    items = normal_numbers((n_items, rank), seed) * np.float32(_START / np.sqrt(rank))
    items[events.item_sizes == 0] = 0
    users = np.zeros((n_users, rank), np.float32)
    queries, told = users, None
    features = _Features((user_features, item_features), (events.user_sizes, events.item_sizes), n_threads)

    def solve(side: int, table: FeatureTable, others: Vectors, gram: npt.NDArray[np.float64], rows: Vectors) -> None:
        unobserved, prior = (weights.unobserved * gram).astype(np.float32), features.priors[side]
        if cg_steps and sweep > 0:
            improve_rows(*table.arrays(), others, unobserved, ridges[side], prior, cg_steps, rows, n_threads)
        else:
            solve_rows(*table.arrays(), others, unobserved, ridges[side], prior, rows, None, n_threads)
        _need_finite(rows)
        if sweep > 0:  # the first vectors say little
            features.fit(side, rows, ridges[side])

    for sweep in range(n_iter):
        gram, axes = own_axes(items[observed[1]], n_threads)
        items = multiply(items, axes, n_threads)
        users = multiply(users, axes, n_threads) if cg_steps else users  # what is solved for needs no start
        features.turn(axes)
        solve(0, events.by_user, items, gram, users)
        queries, table, counted = users, events.by_item, users[observed[0]]
        if contexts is not None:
            told = None if told is None else multiply(told, axes)
            told = contexts.fit(users, items, gram, weights, told, n_threads)
            queries, table = contexts.queries(users, told), contexts.by_item
            counted = queries * contexts.roots[:, None]
        gram, axes = own_axes(counted, n_threads)
        users = multiply(users, axes, n_threads)
        items = multiply(items, axes, n_threads) if cg_steps else items
        queries = users if contexts is None else multiply(queries, axes, n_threads)
        told = None if told is None else multiply(told, axes)
        features.turn(axes)
        solve(1, table, queries, gram, items)
        if after_sweep is not None and after_sweep(sweep + 1):
            break
    return Teacher(users, items, queries, *features.vectors)


class _Features:
    """What features say of either side, in the axes of the moment."""

    def __init__(
        self, sides: tuple[SideFeatures | None, SideFeatures | None], sizes: tuple[Vectors, Vectors], n_threads: int
    ) -> None:
        self._sides, self._sizes, self._n_threads = sides, sizes, n_threads
        self.vectors: list[Vectors | None] = [None, None]
        self.priors: list[Vectors | None] = [None, None]

    def turn(self, axes: Vectors) -> None:
        for found in (self.vectors, self.priors):
            found[:] = [None if each is None else multiply(each, axes, self._n_threads) for each in found]

    def fit(self, side: int, rows: Vectors, ridge: Vectors) -> None:
        """Learn from the rows with events; the others are what their features say."""
        features, sizes = self._sides[side], self._sizes[side]
        if features is not None:
            found = features.fit(rows, ridge * (sizes > 0), self.vectors[side], self._n_threads)
            self.vectors[side], prior = found, features.sums(found, self._n_threads)
            self.priors[side] = prior
            rows[sizes == 0] = prior[sizes == 0]


def own_axes(vectors: Vectors, n_threads: int) -> tuple[npt.NDArray[np.float64], Vectors]:
    """Return the Gram matrix's eigenvalues and eigenvectors, the largest first."""
    values, axes = eigh(multiply(vectors.T, vectors, n_threads))
    return np.maximum(values[::-1], 0), np.ascontiguousarray(axes[:, ::-1], np.float32)


def _need_finite(vectors: Vectors) -> None:
    if not np.isfinite(vectors).all():
        raise ValueError("ImplicitFM: the numbers overflow; scale the events' weights or the features.")
