"""Codes of items: levels of a few bits per dimension, a gain and a weight, and the decoder that all share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bitfm.core import eigh, multiply, normal_numbers, orthonormal, solve_positive
from bitfm.data.feature_table import FeatureTable
from bitfm.models.implicit.events import row_sizes
from bitfm.parameters import Encoding, ItemCodes, Levels, bits_of_dimensions

__all__ = ["encode_items"]

Vectors = npt.NDArray[np.float32]

_ROUNDS = 4  # of codes, then the decoder
_ROTATIONS = 12  # of ITQ
_ROTATED_ITEMS = 10_000  # that ITQ learns from
_DECODER_RIDGE = 1e-3


def encode_items(
    events: FeatureTable,
    queries: Vectors,
    gram: npt.NDArray[np.float64],
    items: Vectors,
    ridge: Vectors,
    unobserved: float,
    bits: int,
    seed: int,
    n_threads: int,
) -> ItemCodes:
    """Return codes near the teacher's vectors of items, each in its own metric.

    `events` are items × queries, which have this Gram matrix.
    """
    bits_ = bits_of_dimensions(bits, items.shape[1])
    encoding = Encoding(events, queries, items, unobserved * gram, ridge, bits_, n_threads)
    sizes = row_sizes(events)
    decoder, codes = _start(encoding, sizes, unobserved, seed)
    importance = np.sqrt(sizes + 0.1).astype(np.float64)
    for round_ in range(_ROUNDS + 1):
        encoding.improve(decoder, codes)
        if round_ < _ROUNDS:
            decoder = _decoder(codes, items, importance, n_threads)
    return ItemCodes.of_levels(codes.levels, codes.gains, codes.weights, decoder, bits)


def _start(encoding: Encoding, sizes: Vectors, unobserved: float, seed: int) -> tuple[Vectors, Levels]:
    """Return a decoder with codes: the nearest levels after a rotation that suits signs.

    It all happens in a metric that is about the mean of the items'.
    """
    rank, n, threads = encoding.items.shape[1], len(encoding.bits), encoding.n_threads
    observed = sizes > 0
    mean = sizes.mean(dtype=np.float64) / max(len(encoding.users), 1)
    metric = encoding.unobserved * (1 + mean / unobserved)
    metric = metric + float(encoding.ridge[observed].mean(dtype=np.float64)) * np.eye(rank)
    squares, axes = eigh(metric)
    root, inverse = multiply(axes * np.sqrt(squares), axes.T), multiply(axes / np.sqrt(squares), axes.T)
    points = multiply(encoding.items.astype(np.float64), root, threads)
    mean_point = points[observed].mean(axis=0)
    length = float(np.sqrt(np.sum(mean_point**2)))
    direction = mean_point / length if length > 0 else np.eye(rank)[0]
    along = multiply(points, direction[:, None], encoding.n_threads)[:, 0]
    rest = points - along[:, None] * direction
    order = np.argsort(-sizes, kind="stable")[:_ROTATED_ITEMS]
    rotation = _rotation(rest[order], n, seed, threads)
    decoder = multiply(np.vstack([direction, rotation.T]), inverse)
    return decoder.astype(np.float32), Levels.near(multiply(rest, rotation, threads), along, encoding.bits)


def _rotation(points: npt.NDArray[np.float64], n: int, seed: int, n_threads: int) -> npt.NDArray[np.float64]:
    """Return n orthonormal columns along which points lie near the corners of a cube (iterative quantization)."""
    lengths = np.sqrt(np.einsum("ij,ij->i", points, points))
    sample = points[lengths > 0] / lengths[lengths > 0, None]
    rotation = orthonormal(normal_numbers((points.shape[1], points.shape[1]), seed + 1))[:, :n]
    for _ in range(_ROTATIONS if len(sample) else 0):
        signs = np.where(multiply(sample, rotation, n_threads) >= 0, 1.0, -1.0)
        rotation = _nearest_rotation(multiply(sample.T, signs, n_threads))
    return rotation


def _decoder(codes: Levels, items: Vectors, importance: npt.NDArray[np.float64], n_threads: int) -> Vectors:
    """Return the decoder that fits the codes best: least squares over items, the frequent ones first."""
    inputs = np.hstack([codes.weights[:, None], codes.gains[:, None] * codes.levels]).astype(np.float64)
    weighted = inputs * importance[:, None]
    gram = multiply(weighted.T, inputs, n_threads)
    ridge = np.full(len(gram), _DECODER_RIDGE * np.trace(gram) / len(gram))
    ridge[0] = 1e-9 * gram[0, 0] + 1e-30
    return solve_positive(gram + np.diag(ridge), multiply(weighted.T, items.astype(np.float64), n_threads)).astype(
        np.float32
    )


def _nearest_rotation(matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the matrix with orthonormal columns that is nearest: M (MᵀM)^(-1/2)."""
    sizes, axes = eigh(multiply(matrix.T, matrix))
    least = max(float(sizes[-1]) * 1e-12, 1e-300)
    return multiply(matrix, multiply(axes / np.sqrt(np.maximum(sizes, least)), axes.T))
