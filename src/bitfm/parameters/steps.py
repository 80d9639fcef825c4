"""Numbers of 8 bits."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Steps"]

_PER_OCTAVE = 16
_ROOT = math.sqrt(math.sqrt(math.sqrt(math.sqrt(2.0))))
_ROOTS = np.cumprod([1.0, *[_ROOT] * (_PER_OCTAVE - 1)])
_MIDDLES = _ROOTS * math.sqrt(_ROOT)  # between a step and the next
_SIGN = 0x80


@dataclass(frozen=True, eq=False)
class Steps:
    """Numbers rounded to sixteenths of an octave below the largest; too small ones are 0.

    Parameters
    ----------
    bytes : array of uint8
        0 is 0. The others count the steps, so that the greatest is the largest number; if `signed`, the highest bit is
        set in what is below 0.
    largest : float
    signed : bool

    Examples
    --------
    >>> Steps.of(np.array([4.0, 1.01, 0.0])).values
    array([4., 1., 0.], dtype=float32)
    """

    bytes: npt.NDArray[np.uint8]
    largest: float
    signed: bool

    @classmethod
    def of(cls, values: npt.NDArray[Any], like: Steps | None = None) -> Steps:
        """Round numbers, to the steps of others if they are given: then none is beyond the largest of these."""
        values = np.asarray(values, np.float64)
        sizes = np.abs(values)
        largest = float(np.float32(sizes.max(initial=0.0))) if like is None or not like.largest else like.largest
        signed = bool((values < 0).any()) if like is None else like.signed
        if not signed:
            sizes = np.maximum(values, 0)
        shares = np.minimum(np.divide(sizes, largest, out=np.zeros_like(sizes), where=largest > 0), 1.0)
        mantissas, octaves = np.frexp(shares)  # and no logarithms, which differ between processors
        steps = _PER_OCTAVE * (octaves - 1) + np.searchsorted(_MIDDLES, 2 * mantissas)
        most = 127 if signed else 255
        found = np.where((steps > -most) & (shares > 0), np.minimum(steps, 0) + most, 0).astype(np.uint8)
        return cls(np.where(values < 0, found | (_SIGN * (found > 0)), found).astype(np.uint8), largest, signed)

    def __len__(self) -> int:
        return len(self.bytes)

    @cached_property
    def values(self) -> npt.NDArray[np.float32]:
        """The numbers."""
        most = 127 if self.signed else 255
        numbers = np.arange(256)
        steps = (numbers & most) - most
        table = np.ldexp(self.largest * _ROOTS[steps % _PER_OCTAVE], steps // _PER_OCTAVE)
        table[(numbers & most) == 0] = 0
        if self.signed:
            table[_SIGN:] *= -1
        return np.asarray(table.astype(np.float32)[self.bytes])

    def only(self, places: npt.NDArray[Any]) -> Steps:
        """Return the numbers at some places, in the same steps."""
        return replace(self, bytes=self.bytes[places])

    def with_values(self, places: npt.NDArray[Any], values: npt.NDArray[Any], size: int) -> Steps:
        """Return so many numbers, those at some places others."""
        found = np.zeros(size, np.uint8)
        found[: len(self)] = self.bytes
        new = Steps.of(values, self)
        found[places] = new.bytes
        return Steps(found, new.largest, new.signed)
