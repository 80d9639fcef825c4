"""Real vectors made small without learning, to be beaten at equal bytes: rotated signs, levels, and RaBitQ."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from bitfm.core import multiply, normal_numbers, orthonormal
from bitfm.parameters import bits_of_dimensions, nearest_levels

__all__ = ["rotated_levels"]

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
