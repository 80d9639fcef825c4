"""Ratings with users and items as numbers: collected, averaged and filtered as the paper does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bitfm_research.prepare._progress import Stage
from bitfm_research.prepare.source import BadLines, Source

Steps = dict[str, dict[str, int]]


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


def average(ratings: Ratings) -> Ratings:
    """Return one rating per pair of user and item: the mean, at the latest of the times, in the place of the first."""
    n_items = int(ratings.items.max(initial=0)) + 1
    pair = ratings.users.astype(np.int64) * n_items + ratings.items
    order = np.argsort(pair, kind="stable")
    begins = np.flatnonzero(np.diff(pair[order], prepend=-1))
    if len(begins) == len(pair):
        return ratings
    counts = np.diff(begins, append=len(pair))
    means = np.add.reduceat(ratings.ratings[order], begins) / counts
    times = np.maximum.reduceat(ratings.times[order], begins)
    first = order[begins]
    by_place = np.argsort(first)
    first = first[by_place]
    return Ratings(ratings.users[first], ratings.items[first], means[by_place], times[by_place])


def keep_frequent(ratings: Ratings, min_ratings: int, iterate: bool) -> tuple[Ratings, Steps]:
    """Drop users with too few ratings, then items with too few of what is left; return the counts after each step.

    The paper says "we remove users with less than 20 ratings and items rated by less than 20 users", and this is the
    sentence in its order, each once. In the data that its authors publish one side always has 20 ratings or more, and
    the other has fewer in places: they removed one side after the other, and did not repeat it to the end.
    """
    steps: Steps = {}
    while True:
        before = len(ratings.ratings)
        ratings = ratings[_frequent(ratings.users, min_ratings)]
        steps.setdefault("users_filtered", ratings.counts())
        ratings = ratings[_frequent(ratings.items, min_ratings)]
        steps.setdefault("items_filtered", ratings.counts())
        if not iterate or len(ratings.ratings) == before:
            break
    if iterate:
        steps["repeated"] = ratings.counts()
    return ratings, steps


def _numbers(ids: Sequence[str], known: dict[str, int]) -> npt.NDArray[np.int32]:
    return np.array([known.setdefault(name, len(known)) for name in ids], np.int32)


def _distinct(numbers: npt.NDArray[np.int32]) -> int:
    return int(np.count_nonzero(np.bincount(numbers))) if len(numbers) else 0


def _frequent(numbers: npt.NDArray[np.int32], least: int) -> npt.NDArray[np.bool_]:
    if not len(numbers):
        return np.zeros(0, bool)
    enough: npt.NDArray[np.bool_] = (np.bincount(numbers) >= least)[numbers]
    return enough
