"""Items to choose from, found once for any number of searches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy.typing as npt

from bitfm.retrieval._segments import Boosts, Mask, Segment

__all__ = ["Part", "Selection"]

_LARGEST_SHARE = 0.5  # of a segment whose items are worth a segment of their own


class Part(NamedTuple):
    """Some items of a segment, and their number."""

    segment: Segment
    mask: Mask
    n_items: int

    def narrowed(self, allowed: npt.NDArray[Any] | None, denied: npt.NDArray[Any] | None) -> Part:
        """Return those that are allowed and not denied."""
        if allowed is None and denied is None:
            return self
        mask = self.mask if allowed is None else self.mask & self.segment.mask(allowed)
        mask = mask if denied is None else mask & ~self.segment.mask(denied)
        return Part(self.segment, mask, self.segment.n_of(mask))


@dataclass(frozen=True, eq=False)
class Selection:
    """Items of an index to choose from, and what is added to their scores; `Index.select` makes it.

    A search within it takes less time than one that is told what to allow: nothing has to be found again. It is of
    the items that the index had when it was made.

    Attributes
    ----------
    n_items : int
        How many there are to choose from.
    """

    segments: tuple[Segment, ...]  # of the index
    parts: tuple[Part, ...]

    @property
    def n_items(self) -> int:
        return sum(part.n_items for part in self.parts)

    @property
    def n_copied(self) -> int:
        """How many of them are on segments of their own."""
        whole = zip(self.parts, self.segments, strict=True)
        return sum(part.n_items for part, segment in whole if part.segment.arrays is not segment.arrays)

    def compact(self, user_length: float) -> Selection:
        """Return the same items on segments of their own where they are few: a copy, which a scan has to itself."""

        def compacted(part: Part) -> Part:
            segment, mask, n = part
            if n > _LARGEST_SHARE * segment.n_items:
                return part
            small = segment.compact(mask, user_length)
            return Part(small if segment.boosts is None else small.boosted(segment.boosts), small.live, n)

        return replace(self, parts=tuple(compacted(part) for part in self.parts))

    def boosted(self, boosts: Boosts) -> Selection:
        """Return the same items with something added to the score of each position."""
        return replace(self, parts=tuple(part._replace(segment=part.segment.boosted(boosts)) for part in self.parts))
