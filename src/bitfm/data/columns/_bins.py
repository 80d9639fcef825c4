"""Ranges of numbers that hold about equally many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bitfm.data.columns._column import damage, reals
from bitfm.data.parsing import number_text


@dataclass(frozen=True)
class Bins:
    """The lowest and the highest number of each bin, rising."""

    lows: NDArray[np.float64]
    highs: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.lows)

    @classmethod
    def of(cls, numbers: NDArray[np.float64], most: int, alone: int) -> Bins:
        """Return up to `most` bins of equal counts, or a bin a number if there are up to `alone` different ones."""
        distinct, counts = np.unique(numbers, return_counts=True)
        if len(distinct) <= alone:
            return cls(distinct, distinct)
        # Equal numbers share a bin, so a bin ends with the number by which its share is complete.
        ends = np.unique(np.searchsorted(np.cumsum(counts) * most, np.arange(1, most + 1) * len(numbers)))
        return cls(distinct[np.concatenate([[0], ends[:-1] + 1])], distinct[ends])

    def find(self, numbers: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the bin of each number, -1 for NaN; the outer bins go on for ever."""
        if not len(self):
            return np.full(len(numbers), -1, np.int32)
        found = np.searchsorted(self.highs[:-1], numbers)
        return np.where(np.isnan(numbers), -1, found).astype(np.int32)

    def label(self, number: int) -> str:
        """Return a bin as people write it."""
        low, high = (number_text(float(ends[number])) for ends in (self.lows, self.highs))
        return low if low == high else f"{low} to {high}"

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that a model file keeps."""
        return {"lows": self.lows, "highs": self.highs}

    @classmethod
    def restored(cls, name: str, tensors: Mapping[str, NDArray[Any]]) -> Self:
        """Return the bins of `tensors`."""
        lows = reals(name, tensors, "lows", (-1,))
        highs = reals(name, tensors, "highs", lows.shape)
        if (lows > highs).any() or (highs[:-1] >= lows[1:]).any():
            raise damage(name, "its bins do not rise")
        return cls(lows, highs)
