"""Codes of items for events: levels of a few bits per dimension, read by one decoder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.core import level_magnitudes, multiply, pack_signs, unpack_codes
from bitfm.parameters.steps import Steps

__all__ = ["ItemCodes", "bits_of_dimensions", "nearest_levels"]

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class ItemCodes:
    """Items j as vectors w_j t + g_j Σ_r q_jr D_r, with q_jr a level: a sum of signs, one per bit, times magnitudes.

    Bit ``i * n + r`` is the i-th sign of dimension r, of n; the first dimensions may have one bit more than the others.

    Parameters
    ----------
    codes : array of uint8, items × bits / 8
    gain_steps, weight_steps : Steps, one per item
        g and w.
    decoder : array of float32, (1 + dimensions) × rank
        t, and then D.
    """

    codes: npt.NDArray[np.uint8]
    gain_steps: Steps
    weight_steps: Steps
    decoder: Vectors

    @classmethod
    def of_levels(cls, levels: Vectors, gains: Vectors, weights: Vectors, decoder: Vectors, bits: int) -> ItemCodes:
        """Pack levels into bits, and round gains and weights to their steps."""
        return cls(packed_levels(levels, bits), Steps.of(gains), Steps.of(weights), decoder)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def gains(self) -> Vectors:
        """G of each item."""
        return self.gain_steps.values

    @property
    def weights(self) -> Vectors:
        """W of each item."""
        return self.weight_steps.values

    def with_items(self, which: npt.NDArray[Any], levels: Vectors, gains: Vectors, weights: Vectors) -> ItemCodes:
        """Return codes of which some are others, or new."""
        size = max(len(self), int(which.max(initial=-1)) + 1)
        codes = np.zeros((size, self.codes.shape[1]), np.uint8)
        codes[: len(self)] = self.codes
        codes[which] = packed_levels(levels, self.bits)
        return replace(
            self,
            codes=codes,
            gain_steps=self.gain_steps.with_values(which, gains, size),
            weight_steps=self.weight_steps.with_values(which, weights, size),
        )

    def only(self, items: npt.NDArray[Any]) -> ItemCodes:
        """Return the codes of some items."""
        gains, weights = self.gain_steps.only(items), self.weight_steps.only(items)
        return replace(self, codes=self.codes[items], gain_steps=gains, weight_steps=weights)

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


def packed_levels(levels: Vectors, bits: int) -> npt.NDArray[np.uint8]:
    """Return the signs of levels as bits."""
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
    return pack_signs(signs)
