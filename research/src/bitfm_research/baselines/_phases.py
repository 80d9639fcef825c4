"""Codes of points in a plane: the sector they lie in, and whether they are far out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from bitfm.models.base import Floats

__all__ = ["phase_codes", "sector_codes"]


def sector_codes(n_bits: int) -> npt.NDArray[np.bool_]:
    """Return codes of 2 · n_bits sectors of a circle, sectors × bits, as far from each other as the sectors are.

    They are Johnson's counter: the ones enter at one end until the code is full of them, and then leave.

    Examples
    --------
    >>> sector_codes(2).astype(int)
    array([[0, 0],
           [1, 0],
           [1, 1],
           [0, 1]])
    """
    sector, bit = np.arange(2 * n_bits)[:, None], np.arange(n_bits)
    return (bit < sector) & (bit >= sector - n_bits)


def phase_codes(factors: Floats, phase_bits: int) -> npt.NDArray[np.uint8]:
    """Return packed codes, given a row of factors each: two by two, bits of the phase and one of the magnitude."""
    pairs = factors.reshape(len(factors), -1, 2)
    phase = np.arctan2(pairs[..., 1], pairs[..., 0]) % (2 * np.pi)
    n_sectors = 2 * phase_bits
    sector = np.minimum((phase * (n_sectors / (2 * np.pi))).astype(np.intp), n_sectors - 1)
    magnitude = np.hypot(pairs[..., 0], pairs[..., 1])
    far = magnitude > np.median(magnitude, axis=0)
    bits = np.concatenate([sector_codes(phase_bits)[sector], far[..., None]], axis=2)
    return np.packbits(bits.reshape(len(factors), -1), axis=1, bitorder="little")
