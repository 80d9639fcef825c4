"""Whole numbers in as few bytes as their range needs: offsets, indices, and places in a list."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["narrow_type", "narrowed"]

_UNSIGNED = ("uint8", "uint16", "uint32")


def narrow_type(most: int) -> str:
    """Return the narrowest type of whole numbers from 0 to `most`.

    Examples
    --------
    >>> narrow_type(255), narrow_type(256), narrow_type(2**32)
    ('uint8', 'uint16', 'int64')
    """
    return next((name for name in _UNSIGNED if most <= np.iinfo(name).max), "int64")


def narrowed(numbers: npt.NDArray[Any], most: int) -> npt.NDArray[Any]:
    """Return whole numbers from 0 to `most` in the narrowest type for these."""
    return numbers.astype(narrow_type(most), copy=False)
