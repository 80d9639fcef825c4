"""Vectors of users, or of items, from their events, given the vectors of the other side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bitfm.core import solve_rows
from bitfm.data.feature_table import FeatureTable

__all__ = ["EventWeights", "fold_in_events"]

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True)
class EventWeights:
    """What the objective of events weighs.

    It is Σ e (y − ⟨p, c⟩)² over events, a0 Σ ⟨p, c⟩² over all pairs, and λ (n + a0 N) times the squared distance of
    each row from what its features say; n is how much the row's events count, N how many rows the other side has.
    """

    unobserved: float  # a0
    regularization: float  # λ

    def ridge(self, sizes: npt.NDArray[np.float32], n_others: int) -> npt.NDArray[np.float32]:
        """Return λ (n + a0 N) of each row."""
        return np.asarray(self.regularization * (sizes + self.unobserved * n_others), np.float32)


def fold_in_events(
    table: FeatureTable,
    others: Vectors,
    gram: npt.NDArray[np.float64],
    weights: EventWeights,
    n_others: int,
    prior: Vectors | None,
    n_threads: int,
    leverage: npt.NDArray[np.float32] | None = None,
) -> Vectors:
    """Return vectors of rows given those of the other side, whose Gram matrix has this diagonal and nothing else."""
    indptr, indices, values = table.arrays()
    rows = np.repeat(np.arange(table.n_rows), np.diff(indptr))
    sizes = np.bincount(rows, np.abs(values).astype(np.float64), table.n_rows).astype(np.float32)
    found = np.zeros((table.n_rows, others.shape[1]), np.float32)
    unobserved = (weights.unobserved * gram).astype(np.float32)
    ridge = weights.ridge(sizes, n_others)
    solve_rows(indptr, indices, values, others, unobserved, ridge, prior, found, leverage, n_threads)
    return found
