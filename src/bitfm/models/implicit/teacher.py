"""Vectors of users and items by alternating least squares over events and all that did not happen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bitfm.core import eigh, improve_rows, multiply, normal_numbers, solve_rows
from bitfm.models.implicit.events import Events
from bitfm.models.implicit.features import SideFeatures
from bitfm.parameters import EventWeights

__all__ = ["Teacher", "fit_teacher", "own_axes"]

Vectors = npt.NDArray[np.float32]

_START = 0.1  # the length of a vector at first


@dataclass(frozen=True, eq=False)
class Teacher:
    """Vectors whose products are scores, and those of the features where there are any, their intercept the last."""

    users: Vectors
    items: Vectors
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
    cg_steps: int = 0,
    after_sweep: Callable[[int], bool] | None = None,
) -> Teacher:
    """Solve for users and for items in turn; with `cg_steps`, by so many steps of conjugate gradients per row.

    `after_sweep` is called with the number of each sweep; where it returns True, that was the last.
    """
    n_users, n_items = events.shape
    others_observed = events.item_sizes > 0, events.user_sizes > 0  # what is known by features alone counts for nobody
    n_items_, n_users_ = (int(each.sum()) for each in others_observed)
    ridges = weights.ridge(events.user_sizes, n_items_), weights.ridge(events.item_sizes, n_users_)
    items = normal_numbers((n_items, rank), seed) * np.float32(_START / np.sqrt(rank))
    items[events.item_sizes == 0] = 0
    users = np.zeros((n_users, rank), np.float32)
    sides = [(user_features, events.user_sizes), (item_features, events.item_sizes)]
    said: list[tuple[Vectors | None, Vectors | None]] = [(None, None), (None, None)]  # vectors of features, and priors
    for sweep in range(n_iter):
        for side, table in enumerate((events.by_user, events.by_item)):
            others, start = (items, users) if side == 0 else (users, items)
            gram, axes = own_axes(others[others_observed[side]], n_threads)
            others, start = (multiply(each, axes, n_threads) for each in (others, start))
            said = [
                (None, None) if v is None or m is None else (multiply(v, axes), multiply(m, axes, n_threads))
                for v, m in said
            ]
            unobserved = (weights.unobserved * gram).astype(np.float32)
            prior = said[side][1]
            if cg_steps and sweep > 0:
                improve_rows(*table.arrays(), others, unobserved, ridges[side], prior, cg_steps, start, n_threads)
            else:
                solve_rows(*table.arrays(), others, unobserved, ridges[side], prior, start, None, n_threads)
            _need_finite(start)
            features, sizes = sides[side]
            if features is not None and sweep > 0:  # the first vectors say little
                found = features.fit(start, ridges[side] * (sizes > 0), said[side][0], n_threads)
                said[side] = found, features.sums(found, n_threads)
                unseen = sizes == 0
                start[unseen] = said[side][1][unseen]  # type: ignore[index]
            items, users = (others, start) if side == 0 else (start, others)
        if after_sweep is not None and after_sweep(sweep + 1):
            break
    return Teacher(users, items, said[0][0], said[1][0])


def own_axes(vectors: Vectors, n_threads: int) -> tuple[npt.NDArray[np.float64], Vectors]:
    """Return the Gram matrix's eigenvalues and eigenvectors, the largest first."""
    values, axes = eigh(multiply(vectors.T, vectors, n_threads))
    return np.maximum(values[::-1], 0), np.ascontiguousarray(axes[:, ::-1], np.float32)


def _need_finite(vectors: Vectors) -> None:
    if not np.isfinite(vectors).all():
        raise ValueError("ImplicitFM: the numbers overflow; scale the events' weights or the features.")
