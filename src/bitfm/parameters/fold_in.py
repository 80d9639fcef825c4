"""Codes for those who were not there at the fit: solved from ratings, with all else as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.core import multiply

__all__ = ["Ids", "Prior", "Ratings", "SideMoments", "fold_in", "nearest_codes", "prior_variance", "solve"]

_PASSES, _ROUNDS = 5, 3


class Prior(NamedTuple):
    """What is known of ids before their ratings: how far weights and factors of a side are from 0, and the noise."""

    noise: float
    weight: float
    factor: float


class Ratings(NamedTuple):
    """What some ids have rated: those of id i are at ``start[i]`` to ``start[i + 1]``.

    `rows` says which of the other side's rows a rating is of; `constants` and `vectors` are their rows of the tower.
    `before` is what a value was when the id was last solved for; NaN for one that is fresh.
    """

    start: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64]
    before: npt.NDArray[np.float64]
    constants: npt.NDArray[np.float64]
    vectors: npt.NDArray[np.float32]

    @classmethod
    def of_one(cls, values: npt.NDArray[Any], constants: npt.NDArray[Any], vectors: npt.NDArray[Any]) -> Ratings:
        """Return the ratings of a single id that is new."""
        n = len(values)
        fresh = np.full(n, np.nan)
        return cls(np.array([0, n]), np.arange(n, dtype=np.int32), values.astype(np.float64), fresh, constants, vectors)


class Ids(NamedTuple):
    """Ids, a row each: what they have, or what they get."""

    codes: npt.NDArray[np.uint8]
    gains: npt.NDArray[np.float32]
    weights: npt.NDArray[np.float64]


@dataclass(frozen=True)
class SideMoments:
    """The other side as a new id sees it: a mean over its rows, each as often as the ratings name it.

    Of a row, z = (1, vector, constant); `second_moment` is the mean of z zᵀ.
    """

    second_moment: npt.NDArray[np.float64]

    @classmethod
    def of(cls, constants: npt.NDArray[Any], vectors: npt.NDArray[Any], counts: npt.NDArray[Any]) -> SideMoments:
        """Sum up rows of the other side, each as often as it counts."""
        z = np.concatenate([np.ones((len(vectors), 1)), vectors, constants[:, None]], axis=1)
        share = counts / max(float(counts.sum()), 1.0)
        return cls(multiply((z * share[:, None]).T, z))

    @property
    def hessian(self) -> npt.NDArray[np.float32]:
        """The mean of vector vectorᵀ."""
        return np.ascontiguousarray(self.second_moment[1:-1, 1:-1], np.float32)


def fold_in(
    ratings: Ratings,
    own_constants: npt.NDArray[np.float64],
    own_vectors: npt.NDArray[np.float32],
    other_side: SideMoments,
    prior: Prior,
    known: tuple[npt.NDArray[Any], npt.NDArray[np.float32]] | None = None,
    n_threads: int = 1,
) -> Ids:
    """Solve for the weights, the codes and the gains of ids.

    First real numbers w, v that lower

        Σ (y − c − c' − w − ⟨own + v, q⟩)² + λ_w w² + λ_v ‖v‖²      λ = noise / variance of those that were fitted

    over an id's ratings y of rows with constants c' and vectors q. Then the code and the gain next to v in the eyes of
    the other side's rows.

    An id that had ratings before is where those have put it. So only what is fresh pulls, and what has changed by its
    change; the others hold it back by their squares: recursive least squares.

    Parameters
    ----------
    ratings
        All that the ids have.
    own_constants, own_vectors
        Their rows of the tower, with the weights and the codes that the ids have by now.
    other_side, prior
        The other side as a whole, and what fitted ids are like.
    known : optional
        The weights and the vectors that the ids have by now; None is nothing.
    n_threads : int, default 1
        The result does not depend on it.
    """
    weights, vectors = solve(ratings, own_constants, own_vectors, prior, n_threads)
    if known is not None:
        weights, vectors = weights + known[0], vectors + known[1]
    return Ids(*nearest_codes(vectors, other_side.hessian, n_threads), weights)


def solve(
    ratings: Ratings,
    own_constants: npt.NDArray[np.float64],
    own_vectors: npt.NDArray[np.float32],
    prior: Prior,
    n_threads: int = 1,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the weights and the vectors to add to what the ids have."""
    solved = np.empty((len(own_constants), ratings.vectors.shape[1] + 1))
    _core.solve_ids(*ratings, own_constants, own_vectors, *prior, solved, n_threads)
    return solved[:, 0], solved[:, 1:]


def nearest_codes(
    vectors: npt.NDArray[Any], hessian: npt.NDArray[np.float32], n_threads: int = 1
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
    """Return the codes and the gains that say about the rows of the other side what the vectors say."""
    n, bits = vectors.shape
    codes, gains = np.empty((n, bits // 8), np.uint8), np.empty(n, np.float32)
    _core.nearest_codes(vectors.astype(np.float32), hessian, _PASSES, _ROUNDS, codes, gains, n_threads)
    return codes, gains


def prior_variance(square: float, noises: npt.NDArray[np.float64]) -> float:
    """Return the variance that ids had before their ratings pulled them, from the mean square of where they are.

    Ratings that leave a noise of s draw an id of variance t to t² / (t + s) in the mean square: the fewer they are, the
    nearer it stays to 0. Those who come later should not start from where others were held.
    """
    low, high = square, square + float(np.sqrt(square * noises.max(initial=0)))
    for _ in range(60):
        middle = (low + high) / 2
        drawn = float(np.mean(middle**2 / (middle + noises))) if middle > 0 else 0.0
        low, high = (middle, high) if drawn < square else (low, middle)
    return high
