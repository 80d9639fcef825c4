"""Held-out parts of the events, and how well rankings find them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bitfm.core import best_of_scores, logarithm
from bitfm.models.implicit.events import Events, hold_out
from bitfm.models.implicit.fit import EventFit

__all__ = ["FRACTION", "K", "Report", "Trial", "make_trials", "most_rows", "ndcg", "rows_at_once"]

Vectors = npt.NDArray[np.float32]
Report = Callable[[str, int, int, float], bool]  # stage, trial of how many, quality; whether to stop

FRACTION = 0.2
K = 20
_MOST_USERS, _FEWEST_USERS, _MOST_SCORES = 8000, 300, 5 * 10**7
_MOST_TRIALS, _ENOUGH_USERS = 4, 3000
_MOST_AT_ONCE, _NUMBERS_AT_ONCE = 512, 1 << 24  # rows of scores, and the numbers in them


@dataclass(frozen=True, eq=False)
class Trial:
    """A part of the events to learn from, and the rest to rank."""

    fit: EventFit
    held_out: Events
    users: npt.NDArray[np.intp]  # of those with something held out, whose rankings are looked at

    def qualities(
        self, scores: Callable[[npt.NDArray[np.intp]], Iterable[Vectors]], n: int = 1
    ) -> npt.NDArray[np.float64]:
        """Return the NDCG@20 of each user's ranking of what is new, for each of n ways to score all items."""
        found, threads, step = np.zeros((n, len(self.users))), self.fit.n_threads, rows_at_once(self.held_out.shape[1])
        for begin in range(0, len(self.users), step):
            users = self.users[begin : begin + step]
            seen, held = (each.by_user.take(users) for each in (self.fit.data.events, self.held_out))
            k = min(K, seen.n_columns)
            for way, rows in enumerate(scores(users)):
                best, _ = best_of_scores(rows, seen.indptr, seen.indices, k, threads)
                found[way, begin : begin + step] = ndcg(best, held.indptr, held.indices, seen.n_columns)
        return found


def make_trials(fit: EventFit) -> list[Trial]:
    """Hold events out: once, or several times where there are few users to look at."""
    events, rng = fit.data.events, np.random.default_rng(fit.seed)
    trials: list[Trial] = []
    while len(trials) < _MOST_TRIALS:
        part, held_out = hold_out(events, FRACTION, rng)
        users = np.flatnonzero((part.user_sizes > 0) & (held_out.user_sizes > 0))
        users = np.sort(rng.permutation(users)[: most_rows(events)])
        if not len(users):
            break
        trial = replace(fit, data=fit.data.with_events(part, None), share=1 - FRACTION)
        trials.append(Trial(trial, held_out, users))
        if len(trials) * len(users) >= _ENOUGH_USERS:
            break
    return trials


def rows_at_once(n_items: int) -> int:
    """Return for how many users to score all items at once."""
    return int(np.clip(_NUMBERS_AT_ONCE // max(n_items, 1), 1, _MOST_AT_ONCE))


def most_rows(events: Events) -> int:
    """Return how many rankings to look at."""
    return int(np.clip(_MOST_SCORES // max(events.shape[1], 1), _FEWEST_USERS, _MOST_USERS))


def ndcg(
    found: npt.NDArray[np.int64], start: npt.NDArray[np.int64], relevant: npt.NDArray[np.int32], n_items: int
) -> npt.NDArray[np.float64]:
    """Return the NDCG of each row of items found, best first; `relevant` are the items that should be."""
    n, k = found.shape
    discounts = np.array([_DISCOUNTS[place] for place in range(k)])
    sizes = np.diff(start)
    rows = np.repeat(np.arange(n), sizes)
    hits = np.isin(np.arange(n)[:, None] * n_items + found, rows * n_items + relevant) & (found >= 0)
    ideal = np.append(0.0, np.cumsum(discounts))[np.minimum(sizes, k)]
    return np.asarray(np.divide(np.sum(hits * discounts, axis=1), ideal, out=np.zeros(n), where=ideal > 0))


_DISCOUNTS = logarithm(np.array([2.0])) / logarithm(np.arange(2.0, K + 2))
