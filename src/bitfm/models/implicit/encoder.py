"""Codes of items: levels of a few bits per dimension, a gain and a weight, and the decoder that all share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bitfm.core import eigh, encode_levels, multiply, normal_numbers, orthonormal, solve_positive
from bitfm.models.implicit.events import Events
from bitfm.parameters import EventWeights, ItemCodes, bits_of_dimensions, nearest_levels

__all__ = ["encode_items"]

Vectors = npt.NDArray[np.float32]

_ROUNDS = 4  # of codes, then the decoder
_INNER_ROUNDS = 3  # of levels, then gain and weight
_ROTATIONS = 12  # of ITQ
_ROTATED_ITEMS = 10_000  # that ITQ learns from
_DECODER_RIDGE = 1e-3


def encode_items(
    events: Events, users: Vectors, items: Vectors, weights: EventWeights, bits: int, seed: int, n_threads: int
) -> ItemCodes:
    """Return codes near the teacher's vectors of items, each in its own metric: see ``implicit/levels.hpp``."""
    problem = _Encoding(events, users, items, weights, bits_of_dimensions(bits, items.shape[1]), n_threads)
    decoder, levels, gains, item_weights = problem.start(seed)
    for round_ in range(_ROUNDS + 1):
        problem.descend(decoder, levels, gains, item_weights)
        if round_ < _ROUNDS:
            decoder = problem.decoder(levels, gains, item_weights)
    return ItemCodes.of_levels(levels, gains, item_weights, decoder, bits)


@dataclass
class _Encoding:
    events: Events
    users: Vectors
    items: Vectors
    weights: EventWeights
    bits: npt.NDArray[np.int32]
    n_threads: int

    def __post_init__(self) -> None:
        sizes, n_users = self.events.item_sizes, int((self.events.user_sizes > 0).sum())
        self.ridge = self.weights.ridge(sizes, n_users)
        users = self.users.astype(np.float64)
        self.unobserved = self.weights.unobserved * multiply(users.T, users, self.n_threads)
        self.importance = np.sqrt(sizes + 0.1).astype(np.float64)

    def start(self, seed: int) -> tuple[Vectors, Vectors, Vectors, Vectors]:
        """Return a decoder with levels, gains and weights: the nearest levels after a rotation that suits signs.

        It all happens in a metric that is about the mean of the items'.
        """
        rank, n = self.items.shape[1], len(self.bits)
        observed = self.events.item_sizes > 0
        mean = self.events.item_sizes.mean(dtype=np.float64) / max(len(self.users), 1)
        metric = self.unobserved * (1 + mean / self.weights.unobserved)
        metric = metric + float(self.ridge[observed].mean(dtype=np.float64)) * np.eye(rank)
        sizes, axes = eigh(metric)
        root, inverse = axes * np.sqrt(sizes) @ axes.T, axes / np.sqrt(sizes) @ axes.T
        points = multiply(self.items.astype(np.float64), root, self.n_threads)
        mean_point = points[observed].mean(axis=0)
        length = float(np.sqrt(mean_point @ mean_point))
        direction = mean_point / length if length > 0 else np.eye(rank)[0]
        along = points @ direction
        rest = points - along[:, None] * direction
        rotation = self._rotation(rest, n, seed)
        turned = multiply(rest, rotation, self.n_threads)
        spread = np.sqrt(np.mean(turned**2, axis=1, keepdims=True))
        levels = nearest_levels(np.divide(turned, spread, out=np.zeros_like(turned), where=spread > 0), self.bits)
        squares = np.einsum("ij,ij->i", levels, levels, dtype=np.float64)
        gains = np.einsum("ij,ij->i", turned, levels) / squares
        decoder = multiply(np.vstack([direction, rotation.T]), inverse)
        return (*(np.ascontiguousarray(each, np.float32) for each in (decoder, levels, gains, along)),)  # type: ignore[return-value]

    def _rotation(self, points: npt.NDArray[np.float64], n: int, seed: int) -> npt.NDArray[np.float64]:
        """Return n orthonormal columns along which points lie near the corners of a cube (iterative quantization)."""
        order = np.argsort(-self.events.item_sizes, kind="stable")[:_ROTATED_ITEMS]
        sample = points[order]
        lengths = np.sqrt(np.einsum("ij,ij->i", sample, sample))
        sample = sample[lengths > 0] / lengths[lengths > 0, None]
        rotation = orthonormal(normal_numbers((points.shape[1], points.shape[1]), seed + 1))[:, :n]
        for _ in range(_ROTATIONS if len(sample) else 0):
            signs = np.where(multiply(sample, rotation, self.n_threads) >= 0, 1.0, -1.0)
            rotation = _nearest_rotation(multiply(sample.T, signs, self.n_threads))
        return rotation

    def descend(self, decoder: Vectors, levels: Vectors, gains: Vectors, item_weights: Vectors) -> float:
        """Improve codes in place for a decoder; return the objective, up to a constant."""
        objective = np.empty(len(levels))
        of_decoder = multiply(self.unobserved, decoder.T.astype(np.float64))
        encode_levels(
            *self.events.by_item.arrays(),
            self.users,
            self.items,
            multiply(self.users, decoder.T, self.n_threads),
            multiply(self.items, decoder.T, self.n_threads),
            multiply(self.items, of_decoder.astype(np.float32), self.n_threads),
            multiply(decoder.astype(np.float64), of_decoder).astype(np.float32),
            multiply(decoder, decoder.T),
            self.ridge,
            self.bits,
            _INNER_ROUNDS,
            levels,
            gains,
            item_weights,
            objective,
            self.n_threads,
        )
        return float(objective.sum())

    def decoder(self, levels: Vectors, gains: Vectors, item_weights: Vectors) -> Vectors:
        """Return the decoder that fits the codes best: least squares over items, the frequent ones first."""
        inputs = np.hstack([item_weights[:, None], gains[:, None] * levels]).astype(np.float64)
        weighted = inputs * self.importance[:, None]
        gram = multiply(weighted.T, inputs, self.n_threads)
        ridge = np.full(len(gram), _DECODER_RIDGE * np.trace(gram) / len(gram))
        ridge[0] = 1e-9 * gram[0, 0] + 1e-30
        return solve_positive(
            gram + np.diag(ridge), multiply(weighted.T, self.items.astype(np.float64), self.n_threads)
        ).astype(np.float32)


def _nearest_rotation(matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the matrix with orthonormal columns that is nearest: M (MᵀM)^(-1/2)."""
    sizes, axes = eigh(multiply(matrix.T, matrix))
    least = max(float(sizes[-1]) * 1e-12, 1e-300)
    return multiply(matrix, multiply(axes / np.sqrt(np.maximum(sizes, least)), axes.T))
