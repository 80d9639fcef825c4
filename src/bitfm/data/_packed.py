"""Many strings as UTF-8 bytes and offsets, without a Python object each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

_AT_ONCE = 1 << 20  # strings that are Python objects, or one joined string, at the same time


@dataclass(frozen=True)
class PackedStrings:
    """Strings one after the other: string ``i`` is ``data[offsets[i]:offsets[i + 1]]``."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def of(cls, strings: pl.Series) -> PackedStrings:
        """Pack a String series without nulls."""
        offsets = np.zeros(len(strings) + 1, np.int64)
        np.cumsum(strings.str.len_bytes().to_numpy(), out=offsets[1:])
        data = np.empty(offsets[-1], np.uint8)
        for begin in range(0, len(strings), _AT_ONCE):
            part = strings[begin : begin + _AT_ONCE]
            joined = part.str.join("").item().encode()
            data[offsets[begin] : offsets[begin + len(part)]] = np.frombuffer(joined, np.uint8)
        return cls(data, offsets)

    def encoded(self, number: int) -> bytes:
        """Return the bytes of one string."""
        return self.data[self.offsets[number] : self.offsets[number + 1]].tobytes()

    def text(self, number: int) -> str:
        """Return one string; bytes that are not UTF-8, as a damaged file may hold, are replaced."""
        return self.encoded(number).decode(errors="replace")

    def search(self, wanted: bytes) -> int:
        """Return the number of a string, or -1 if it is not there; the strings must be sorted."""
        data, offsets = self.data.data, self.offsets.data  # elements of memory views cost less than NumPy's
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if bytes(data[offsets[middle] : offsets[middle + 1]]) < wanted:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self) and self.encoded(low) == wanted else -1

    def part(self, begin: int, end: int) -> PackedStrings:
        """Return some of the strings that follow each other; the bytes are shared."""
        first, last = self.offsets[begin], self.offsets[end]
        offsets = self.offsets[begin : end + 1]
        return PackedStrings(self.data[first:last], offsets - first if first else offsets)

    def followed_by(self, others: PackedStrings) -> PackedStrings:
        """Return these strings and then the others."""
        if not len(others):
            return self
        return PackedStrings(
            np.concatenate([self.data, others.data]),
            np.concatenate([self.offsets, others.offsets[1:] + self.offsets[-1]]),
        )

    def series(self) -> pl.Series:
        """Return the strings as a Polars series."""
        import polars as pl

        # Python's strings go as soon as their part is made: there are never many at a time.
        parts = [
            pl.Series(list(self.part(begin, min(begin + _AT_ONCE, len(self))).strings()), dtype=pl.String)
            for begin in range(0, len(self), _AT_ONCE)
        ]
        return pl.concat(parts).rechunk() if parts else pl.Series([], dtype=pl.String)

    def strings(self) -> Iterator[str]:
        """Yield the strings."""
        raw, offsets = self.data.tobytes(), self.offsets.tolist()
        for begin, end in pairwise(offsets):
            yield raw[begin:end].decode(errors="replace")
