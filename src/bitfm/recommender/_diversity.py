"""A list of items that are not all alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.recommender._kept.column import KeptColumn
from bitfm.recommender._likeness import Likeness
from bitfm.recommender._state import Found, State
from bitfm.recommender._where import kept_column
from bitfm.validation import check_integer

__all__ = ["diversified"]

_POOL = 100  # of the best items to choose from, at least
_TIMES = 10  # as many as are asked for


def diversified(state: State, find: Callable[[int], Found], n: int, diversity: Any) -> Found:
    """Return n items per query of those that a search finds: not too alike, or not too many of a value."""
    if isinstance(diversity, Mapping):
        limits = [
            (kept_column(state.items, "diversity", name), check_integer(f"diversity: {name}", most, 1))
            for name, most in diversity.items()
        ]
        return _limited(find, n, limits) if limits else find(n)
    number = not isinstance(diversity, bool) and isinstance(diversity, int | float | np.number)
    if not number or not 0 <= diversity <= 1:
        expected = 'a number from 0 to 1, or how many of each value of a column, such as {"author": 2}'
        raise ValueError(f"diversity: expected {expected}; got {diversity!r}.")
    if diversity == 0:
        return find(n)
    pool = find(max(_POOL, _TIMES * n))
    return Found.together([_marginal(state, *one, n, float(diversity)) for one in zip(*pool, strict=True)])


def _marginal(
    state: State, items: npt.NDArray[np.int64], scores: npt.NDArray[np.float32], n: int, diversity: float
) -> Found:
    """Return items one by one by maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998).

    The next item is the one with the most of (1 − d) × relevance − d × the largest likeness to those before it.
    Relevance is the score, from 0 for the last of the pool to 1 for the first.
    """
    items, scores = items[items >= 0], scores[items >= 0]
    if not len(items):
        return Found(items[None], scores[None])
    alike = Likeness(state.some_item_vectors(items), state.user_covariance).to_each_other()
    relevance = (scores - scores[-1]) / max(scores[0] - scores[-1], np.float32(1e-30))
    chosen, nearest = [0], alike[0]
    while len(chosen) < min(n, len(items)):
        worth = (1 - diversity) * relevance - diversity * nearest
        worth[chosen] = -np.inf
        chosen.append(int(np.argmax(worth)))
        nearest = np.maximum(nearest, alike[chosen[-1]])
    return Found(items[None, chosen], scores[None, chosen])


def _limited(find: Callable[[int], Found], n: int, limits: list[tuple[KeptColumn, int]]) -> Found:
    """Return the best items of which no value of a column has more than its limit; more are found until there are n."""
    asked = n
    while True:
        asked *= 4
        found = find(asked)
        chosen = [_within(*one, n, limits) for one in zip(*found, strict=True)]
        exhausted = (found.items < 0).any(axis=1) | (found.items.shape[1] < asked)
        if all(no_more or part.items.shape[1] == n for no_more, part in zip(exhausted, chosen, strict=True)):
            return Found.together(chosen)


def _within(
    items: npt.NDArray[np.int64], scores: npt.NDArray[np.float32], n: int, limits: list[tuple[KeptColumn, int]]
) -> Found:
    items, scores = items[items >= 0], scores[items >= 0]
    counts: list[Counter[Any]] = [Counter() for _ in limits]
    chosen: list[int] = []
    for place, own in enumerate(zip(*(column.groups(items) for column, _ in limits), strict=True)):
        if len(chosen) == n:
            break
        if any(counts[k][value] >= limits[k][1] for k, values in enumerate(own) for value in values):
            continue
        for k, values in enumerate(own):
            counts[k].update(values)
        chosen.append(place)
    return Found(items[None, chosen], scores[None, chosen])
