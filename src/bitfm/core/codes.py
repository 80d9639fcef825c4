"""Codes as the core keeps them: one bit per dimension, packed into bytes, the first dimension in the lowest bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["pack_signs", "unpack_codes"]

_ROWS = 1 << 16


def unpack_codes(codes: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Return packed codes as a matrix of -1 and +1."""
    return np.unpackbits(codes, axis=1, bitorder="little").astype(np.float32) * 2 - 1


def pack_signs(values: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return the signs of a matrix as packed codes; 0 counts as +1, as the paper's sgn does."""
    codes = np.empty((len(values), values.shape[1] // 8), np.uint8)
    for start in range(0, len(values), _ROWS):  # the comparison takes a byte per value: not for all at once
        part = slice(start, start + _ROWS)
        codes[part] = np.packbits(values[part] >= 0, axis=1, bitorder="little")
    return codes
