"""From vectors of items to codes, by one decoder, each item in its own metric."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bitfm.core import encode_levels, multiply, solve_positive
from bitfm.data.feature_table import FeatureTable
from bitfm.parameters.item_codes import nearest_levels

__all__ = ["Encoding", "Levels"]

Vectors = npt.NDArray[np.float32]

_ROUNDS = 3  # of levels, then gain and weight
_LEAST_RIDGE = 1e-6  # beside the mean of a metric's diagonal


@dataclass(frozen=True, eq=False)
class Levels:
    """Codes before they are packed: items × dimensions, and a gain and a weight per item."""

    levels: Vectors
    gains: Vectors
    weights: Vectors

    @classmethod
    def near(
        cls, points: npt.NDArray[np.float64], weights: npt.NDArray[np.float64], bits: npt.NDArray[np.int32]
    ) -> Levels:
        """Return the levels nearest to points, each after a scale of its own."""
        spread = np.sqrt(np.mean(points**2, axis=1, keepdims=True))
        levels = nearest_levels(np.divide(points, spread, out=np.zeros_like(points), where=spread > 0), bits)
        squares = np.einsum("ij,ij->i", levels, levels, dtype=np.float64)
        gains = np.einsum("ij,ij->i", points, levels) / squares
        return cls(*(np.ascontiguousarray(each, np.float32) for each in (levels, gains, weights)))


@dataclass(frozen=True, eq=False)
class Encoding:
    """Items, their events and the metrics A_j = unobserved + Σ e p pᵀ over the events + ridge_j Id; see ``levels.hpp``.

    Parameters
    ----------
    events : FeatureTable, items × users
    users, items : arrays of float32
        p, and the vectors to encode.
    unobserved : array of float64, rank × rank
    ridge : array of float32, one per item
    bits : array of int32
        Bits of each dimension.
    """

    events: FeatureTable
    users: Vectors
    items: Vectors
    unobserved: npt.NDArray[np.float64]
    ridge: Vectors
    bits: npt.NDArray[np.int32]
    n_threads: int

    def start(self, decoder: Vectors) -> Levels:
        """Return codes for a decoder, nearest in the metric that all items share."""
        rank = self.items.shape[1]
        ridge = float(self.ridge.mean(dtype=np.float64)) if len(self.ridge) else 0.0
        wide = decoder.astype(np.float64)
        turned = multiply(wide, self.unobserved + ridge * np.eye(rank))
        gram = multiply(turned, wide.T)
        gram += np.diag(np.full(len(gram), _LEAST_RIDGE * np.trace(gram) / len(gram) + 1e-30))
        points = solve_positive(gram, multiply(turned, self.items.T.astype(np.float64))).T
        return Levels.near(np.ascontiguousarray(points[:, 1:]), points[:, 0], self.bits)

    def improve(self, decoder: Vectors, codes: Levels) -> float:
        """Improve codes in place for a decoder; return the objective, up to a constant."""
        objective = np.empty(len(self.items))
        of_decoder = multiply(self.unobserved, decoder.T.astype(np.float64))
        encode_levels(
            *self.events.arrays(),
            self.users,
            self.items,
            multiply(self.users, decoder.T, self.n_threads),
            multiply(self.items, decoder.T, self.n_threads),
            multiply(self.items, of_decoder.astype(np.float32), self.n_threads),
            multiply(decoder.astype(np.float64), of_decoder).astype(np.float32),
            multiply(decoder, decoder.T),
            self.ridge,
            self.bits,
            _ROUNDS,
            codes.levels,
            codes.gains,
            codes.weights,
            objective,
            self.n_threads,
        )
        return float(objective.sum())
