"""Codes of items for events: levels of a few bits per dimension, read by one decoder."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.core import level_magnitudes, multiply, pack_signs, unpack_codes

__all__ = ["ItemCodes", "bits_of_dimensions", "nearest_levels", "to_steps"]

Vectors = npt.NDArray[np.float32]

STEPS_PER_OCTAVE = 16
_ROOT = math.sqrt(math.sqrt(math.sqrt(math.sqrt(2.0))))
_ROOTS = np.cumprod([1.0, *[_ROOT] * (STEPS_PER_OCTAVE - 1)])
_MIDDLES = _ROOTS * math.sqrt(_ROOT)  # between a step and the next


@dataclass(frozen=True, eq=False)
class ItemCodes:
    """Items j as vectors w_j t + g_j Σ_r q_jr D_r, with q_jr a level: a sum of signs, one per bit, times magnitudes.

    Bit ``i * n + r`` is the i-th sign of dimension r, of n; the first dimensions may have one bit more than the others.

    Parameters
    ----------
    codes : array of uint8, items × bits / 8
    gains, weights : arrays of float32, one per item
        g and w, each one of 255 steps; see `to_steps`.
    decoder : array of float32, (1 + dimensions) × rank
        t, and then D.
    """

    codes: npt.NDArray[np.uint8]
    gains: Vectors
    weights: Vectors
    decoder: Vectors

    @classmethod
    def of_levels(cls, levels: Vectors, gains: Vectors, weights: Vectors, decoder: Vectors, bits: int) -> ItemCodes:
        """Pack levels into bits, and round gains and weights to their steps."""
        n = levels.shape[1]
        of_dimensions = bits_of_dimensions(bits, n)
        signs = np.empty((len(levels), bits), np.float32)
        left = levels.astype(np.float64)
        for plane in range(-(-bits // n)):
            width = min(n, bits - plane * n)
            sizes = np.array([level_magnitudes(int(b))[plane] for b in of_dimensions[:width]])
            positive = left[:, :width] > 0
            signs[:, plane * n : plane * n + width] = np.where(positive, 1, -1)
            left[:, :width] -= np.where(positive, sizes, -sizes)
        return cls(pack_signs(signs), to_steps(gains), to_steps(weights), decoder)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def bits(self) -> int:
        """Length of the codes."""
        return int(self.codes.shape[1]) * 8

    @property
    def rank(self) -> int:
        """Number of a vector's elements."""
        return int(self.decoder.shape[1])

    @cached_property
    def magnitudes(self) -> Vectors:
        """What each bit's sign is multiplied by."""
        n = len(self.decoder) - 1
        of_dimensions = bits_of_dimensions(self.bits, n)
        each = [level_magnitudes(int(of_dimensions[bit % n]))[bit // n] for bit in range(self.bits)]
        return np.array(each, np.float32)

    @cached_property
    def _bit_decoder(self) -> Vectors:
        """One row per bit: its magnitude times the row of its dimension."""
        n = len(self.decoder) - 1
        return self.magnitudes[:, None] * self.decoder[1 + np.arange(self.bits) % n]

    def vectors(self, items: npt.NDArray[Any] | slice = slice(None), n_threads: int = 1) -> Vectors:
        """Return the vectors that codes stand for."""
        signs = unpack_codes(np.ascontiguousarray(self.codes[items]))
        turned = multiply(signs, self._bit_decoder, n_threads)
        return np.asarray(self.weights[items][:, None] * self.decoder[0] + self.gains[items][:, None] * turned)

    def queries(self, users: Vectors, n_threads: int = 1) -> tuple[Vectors, Vectors]:
        """Return s and z of vectors p: ⟨p, c_j⟩ = s w_j + g_j ⟨b_j, z⟩ with b_j the signs of item j."""
        return multiply(users, self.decoder[:1].T)[:, 0], multiply(users, self._bit_decoder.T, n_threads)


def bits_of_dimensions(bits: int, rank: int) -> npt.NDArray[np.int32]:
    """Return how many bits each dimension of a code has: as many for all as can be, the first ones one more.

    Examples
    --------
    >>> bits_of_dimensions(8, 6)
    array([2, 2, 1, 1, 1, 1], dtype=int32)
    """
    n = min(bits, rank)
    return np.asarray(bits // n + (np.arange(n) < bits % n), np.int32)


def nearest_levels(values: npt.NDArray[np.float64], bits: npt.NDArray[np.int32]) -> Vectors:
    """Return the level nearest to each value, of those that its column's number of bits has."""
    levels = np.empty(values.shape, np.float32)
    for count in np.unique(bits):
        magnitudes = np.array(level_magnitudes(int(count)))
        signs = np.array([[1 if code >> (count - 1 - i) & 1 else -1 for i in range(count)] for code in range(2**count)])
        possible = np.sum(signs * magnitudes, axis=1)
        columns = bits == count
        at = np.searchsorted((possible[1:] + possible[:-1]) / 2, values[:, columns])
        levels[:, columns] = possible[at]
    return levels


def to_steps(values: Vectors) -> Vectors:
    """Round numbers to what 8 bits hold: sixteenths of an octave below the largest; too small ones become 0.

    There are 255 steps, or a sign and 127 where signs differ.
    """
    values = np.asarray(values, np.float64)
    sizes = np.abs(values)
    top = float(sizes.max(initial=0.0))
    if top == 0:
        return np.zeros(len(values), np.float32)
    lowest = 127 if (values < 0).any() else 255
    mantissas, octaves = np.frexp(sizes / top)  # and no logarithms, which differ between processors
    steps = STEPS_PER_OCTAVE * (octaves - 1) + np.searchsorted(_MIDDLES, 2 * mantissas)
    rounded = np.sign(values) * np.ldexp(top * _ROOTS[steps % STEPS_PER_OCTAVE], steps // STEPS_PER_OCTAVE)
    return np.where((steps > -lowest) & (sizes > 0), rounded, 0).astype(np.float32)
