"""The first pass: every rating, with users and items as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bitfm_research.prepare._progress import Stage
from bitfm_research.prepare.source import BadLines, Source


@dataclass(frozen=True)
class Ratings:
    """Ratings with their users and items, numbered in the order in which they first occur."""

    users: npt.NDArray[np.int32]
    items: npt.NDArray[np.int32]
    ratings: npt.NDArray[np.float64]
    times: npt.NDArray[np.int64]

    def __getitem__(self, kept: npt.NDArray[np.bool_]) -> Ratings:
        return Ratings(self.users[kept], self.items[kept], self.ratings[kept], self.times[kept])

    def counts(self) -> dict[str, int]:
        """Return how many users, items and ratings there are."""
        return {"users": _distinct(self.users), "items": _distinct(self.items), "ratings": len(self.ratings)}


def collect(source: Source, bad: BadLines, stage: Stage) -> tuple[Ratings, list[str], list[str]]:
    """Return all ratings of a source, and the ids of its users and items."""
    users: dict[str, int] = {}
    items: dict[str, int] = {}
    parts = [Ratings(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.int64))]
    for batch in source.ratings(bad):
        parts.append(Ratings(_numbers(batch.users, users), _numbers(batch.items, items), batch.ratings, batch.times))
        stage.update(batch.done)
    columns = ("users", "items", "ratings", "times")
    whole = Ratings(*(np.concatenate([getattr(part, name) for part in parts]) for name in columns))
    return whole, list(users), list(items)


def _numbers(ids: Sequence[str], known: dict[str, int]) -> npt.NDArray[np.int32]:
    return np.array([known.setdefault(name, len(known)) for name in ids], np.int32)


def _distinct(numbers: npt.NDArray[np.int32]) -> int:
    return int(np.count_nonzero(np.bincount(numbers))) if len(numbers) else 0
