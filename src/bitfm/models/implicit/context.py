"""Vectors of contexts: what is added to a user's vector in a context."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.core import event_scores, vector_sums
from bitfm.data.feature_table import FeatureTable
from bitfm.models.implicit.data import EventList
from bitfm.parameters import EventWeights

__all__ = ["fit_context"]

Vectors = npt.NDArray[np.float32]
Diagonal = npt.NDArray[np.float64]

_STEPS = 12  # of conjugate gradients


def fit_context(
    events: EventList,
    contexts: FeatureTable,
    users: Vectors,
    items: Vectors,
    gram: Diagonal,
    weights: EventWeights,
    strength: float,
    n_threads: int,
) -> Vectors:
    """Return a vector v per feature of contexts, such that a query's vector is p_u + Σ x v, given users and items.

    It minimises Σ e (y − ⟨p_u + Σ x v, c_j⟩)² over events, and a0 Σ ⟨p_u + Σ x v, c_j⟩² over all items and a user's
    contexts, which count for 1 together; and `strength` times the penalty that a row with these events would have.
    Items are given in the axes in which their Gram matrix is diagonal.
    """
    problem = _Problem(events, contexts, users, items, gram, weights, strength, n_threads)
    found = np.zeros((contexts.n_columns, items.shape[1]), np.float32)
    residual = problem.right_side()
    direction = step = residual / problem.scale
    size = _product(residual, step)
    for _ in range(_STEPS):
        if size <= 0:
            break
        image = problem.image(direction)
        length = np.float32(size / _product(direction, image))
        found += length * direction
        residual = residual - length * image
        step = residual / problem.scale
        before, size = size, _product(residual, step)
        direction = step + np.float32(size / before) * direction
    return found


class _Problem:
    """The normal equations; the events are sorted by context."""

    def __init__(
        self,
        events: EventList,
        contexts: FeatureTable,
        users: Vectors,
        items: Vectors,
        gram: Diagonal,
        weights: EventWeights,
        strength: float,
        n_threads: int,
    ) -> None:
        self.users, self.items, self.n_threads = users, items, n_threads
        self.unobserved = (weights.unobserved * gram).astype(np.float32)
        self.table, self.turned = _arrays(contexts), _arrays(contexts.transpose())
        known = _scores(events, users, items, n_threads)
        of_users = np.bincount(events.users, np.abs(events.values), len(users))
        order = np.argsort(events.contexts, kind="stable")
        events, self.known = events.take(order), known[order]
        starts = np.searchsorted(events.contexts, np.arange(len(contexts) + 1))
        self.of_items, self.of_users = (starts, events.items), (starts, events.users)
        self.weights, self.targets = np.abs(events.values), (events.values > 0).astype(np.float32)
        self.shares = (self.weights / np.maximum(of_users[events.users], 1e-30)).astype(np.float32)
        counts = [np.bincount(events.contexts, each, len(contexts)) for each in (self.weights, self.shares)]
        self.queries = counts[1].astype(np.float32)[:, None]  # of all users, in each context
        squares = self.turned[0], self.turned[1], self.turned[2] ** 2
        sizes = vector_sums(*squares, np.stack(counts, axis=1).astype(np.float32), n_threads)
        observed, asked = sizes[:, :1], sizes[:, 1:]
        n_items = int(np.count_nonzero(np.bincount(events.items)))
        penalty = strength * weights.regularization * (observed + weights.unobserved * n_items * asked)
        self.ridge = (penalty + 1e-12).astype(np.float32)
        mean_square = np.float32(np.mean(items.astype(np.float64) ** 2))
        self.scale = observed * mean_square + asked * self.unobserved + self.ridge  # about the diagonal

    def right_side(self) -> Vectors:
        lacking = self.weights * (self.targets - self.known)
        observed = vector_sums(*self.of_items, lacking, self.items, self.n_threads)
        asked = vector_sums(*self.of_users, self.shares, self.users, self.n_threads)
        return self._pull(observed - asked * self.unobserved)

    def image(self, v: Vectors) -> Vectors:
        """Return the matrix of the equations times v."""
        said = vector_sums(*self.table, v, self.n_threads)
        scores = event_scores(*self.of_items, self.weights, said, self.items, self.n_threads)
        observed = vector_sums(*self.of_items, self.weights * scores, self.items, self.n_threads)
        return self._pull(observed + self.queries * said * self.unobserved) + self.ridge * v

    def _pull(self, rows: Vectors) -> Vectors:
        return vector_sums(*self.turned, rows, self.n_threads)


def _arrays(table: FeatureTable) -> tuple[Any, Any, Vectors]:
    indptr, indices, values = table.arrays()
    return indptr, indices, values.astype(np.float32, copy=False)


def _scores(events: EventList, users: Vectors, items: Vectors, n_threads: int) -> Vectors:
    """Return ⟨p_u, c_j⟩ of each event."""
    order = np.argsort(events.users, kind="stable")
    starts = np.searchsorted(events.users[order], np.arange(len(users) + 1))
    scores = np.empty(len(events), np.float32)
    scores[order] = event_scores(starts, events.items[order], events.values[order], users, items, n_threads)
    return scores


def _product(a: Vectors, b: Vectors) -> float:
    return math.fsum(np.einsum("ij,ij->j", a, b, dtype=np.float64).tolist())
