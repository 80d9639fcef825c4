"""Real vectors made small without learning, to be beaten at equal bytes: rotated signs, levels, and RaBitQ."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import numpy.typing as npt
from bitfm.core import multiply, normal_numbers, orthonormal
from bitfm.parameters import bits_of_dimensions, nearest_levels

from bitfm_research.bench.events.protocol import Scorer

__all__ = ["has_rabitq", "rabitq", "rotated_levels"]

Floats = npt.NDArray[np.float32]


def rotated_levels(items: Floats, bits: int, seed: int) -> Floats:
    """Return vectors of which each dimension, after centring and a random rotation, is at its nearest level.

    An item keeps its levels and a least-squares scale.
    """
    mean = items.mean(axis=0, dtype=np.float64)
    rotation = orthonormal(normal_numbers((items.shape[1], items.shape[1]), seed))
    turned = multiply(items.astype(np.float64) - mean, rotation)
    spread = np.sqrt(np.mean(turned**2, axis=1, keepdims=True))
    levels = nearest_levels(turned / np.maximum(spread, 1e-30), bits_of_dimensions(bits, items.shape[1]))
    scale = np.sum(turned * levels, axis=1) / np.sum(levels.astype(np.float64) ** 2, axis=1)
    return np.asarray(mean + multiply(scale[:, None] * levels, rotation.T), np.float32)


def has_rabitq() -> bool:
    """Whether FAISS is installed."""
    return importlib.util.find_spec("faiss") is not None


def rabitq(users: Floats, items: Floats, bits: int, seed: int) -> tuple[Scorer, float]:
    """Return the scores of real users by FAISS's RaBitQ of items, after a random rotation, and its bytes per item."""
    import faiss

    width = items.shape[1]
    rotation = faiss.RandomRotationMatrix(width, width)
    rotation.init(seed)
    codes: Any = faiss.IndexRaBitQ(width, faiss.METRIC_INNER_PRODUCT, bits // width)
    index = faiss.IndexPreTransform(rotation, codes)
    index.train(items)
    index.add(items)

    def scores(which: npt.NDArray[np.intp]) -> Floats:
        values, found = index.search(users[which], len(items))
        out = np.empty(values.shape, np.float32)
        np.put_along_axis(out, found, values, axis=1)
        return out

    return scores, float(codes.code_size)
