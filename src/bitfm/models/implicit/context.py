"""Vectors of contexts: what is added to a user's vector in a context."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.core import event_scores, vector_sums
from bitfm.data.feature_table import FeatureTable
from bitfm.models.implicit.data import EventList
from bitfm.parameters import EventWeights

__all__ = ["Contexts"]

Vectors = npt.NDArray[np.float32]
Diagonal = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Contexts:
    """Contexts, and the events in each."""

    events: EventList
    table: FeatureTable  # contexts × features
    shape: tuple[int, int]  # users × items
    strength: float  # of the penalty, beside that of a user with the same events

    @cached_property
    def _rows(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The distinct pairs of a user and a context, and which of them each event has."""
        keys = self.events.users * np.int64(len(self.table)) + self.events.contexts
        return np.unique(keys, return_inverse=True)

    @cached_property
    def by_item(self) -> FeatureTable:
        """Items × queries: how much their events count."""
        import scipy.sparse as sp

        rows, which = self._rows
        sums = sp.csr_matrix((self.events.values, (self.events.items, which)), shape=(self.shape[1], len(rows)))
        sums.sum_duplicates()
        return FeatureTable.sparse(sums.indptr.astype(np.int64), sums.indices.astype(np.int32), sums.data, len(rows))

    @cached_property
    def roots(self) -> Vectors:
        """The root of each query's share of its user's events."""
        rows, which = self._rows
        counts = np.bincount(which, np.abs(self.events.values), len(rows))
        users = rows // max(len(self.table), 1)
        of_users = np.bincount(users, counts, self.shape[0])
        return np.sqrt(counts / np.maximum(of_users[users], 1e-30)).astype(np.float32)

    def queries(self, users: Vectors, told: Vectors) -> Vectors:
        """Return users in contexts."""
        of_users, contexts = np.divmod(self._rows[0], max(len(self.table), 1))
        return np.asarray(users[of_users] + self.table.sums(told)[contexts])

    def fit(
        self,
        users: Vectors,
        items: Vectors,
        gram: Diagonal,
        weights: EventWeights,
        start: Vectors | None,
        n_threads: int,
        steps: int = 4,
    ) -> Vectors:
        """Return a vector v per feature of contexts, such that a query's vector is p_u + Σ x v, given users and items.

        It minimises Σ e (y − ⟨p_u + Σ x v, c_j⟩)² over events, and a0 Σ ⟨p_u + Σ x v, c_j⟩² over all items and a user's
        contexts, which count for 1 together; and the penalty that a row with these events would have, times `strength`.
        Items are given in the axes in which their Gram matrix is diagonal. So many steps of conjugate gradients are
        taken from the start.
        """
        problem = _Problem(self, users, items, gram, weights, n_threads)
        found = np.zeros((self.table.n_columns, items.shape[1]), np.float32) if start is None else start
        residual = problem.right_side() - (0 if start is None else problem.image(start))
        direction = step = residual / problem.scale
        size = _product(residual, step)
        for _ in range(steps):
            if size <= 0:
                break
            image = problem.image(direction)
            length = np.float32(size / _product(direction, image))
            found = found + length * direction
            residual = residual - length * image
            step = residual / problem.scale
            before, size = size, _product(residual, step)
            direction = step + np.float32(size / before) * direction
        return found


class _Problem:
    """The normal equations; the events are sorted by context."""

    def __init__(
        self,
        contexts: Contexts,
        users: Vectors,
        items: Vectors,
        gram: Diagonal,
        weights: EventWeights,
        n_threads: int,
    ) -> None:
        events, table = contexts.events, contexts.table
        self.users, self.items, self.n_threads = users, items, n_threads
        self.unobserved = (weights.unobserved * gram).astype(np.float32)
        self.table, self.turned = _arrays(table), _arrays(table.transpose())
        known = _scores(events, users, items, n_threads)
        of_users = np.bincount(events.users, np.abs(events.values), len(users))
        order = np.argsort(events.contexts, kind="stable")
        events, self.known = events.take(order), known[order]
        starts = np.searchsorted(events.contexts, np.arange(len(table) + 1))
        self.of_items, self.of_users = (starts, events.items), (starts, events.users)
        self.weights, self.targets = np.abs(events.values), (events.values > 0).astype(np.float32)
        self.shares = (self.weights / np.maximum(of_users[events.users], 1e-30)).astype(np.float32)
        counts = [np.bincount(events.contexts, each, len(table)) for each in (self.weights, self.shares)]
        self.queries = counts[1].astype(np.float32)[:, None]  # of all users, in each context
        squares = self.turned[0], self.turned[1], self.turned[2] ** 2
        sizes = vector_sums(*squares, np.stack(counts, axis=1).astype(np.float32), n_threads)
        observed, asked = sizes[:, :1], sizes[:, 1:]
        n_items = int(np.count_nonzero(np.bincount(events.items)))
        penalty = contexts.strength * weights.regularization * (observed + weights.unobserved * n_items * asked)
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
