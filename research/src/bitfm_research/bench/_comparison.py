"""Methods timed in turns: what each of them takes at its best, and how it compares."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from bitfm_research.bench.measure import Row

__all__ = ["OURS", "best_seconds", "compare_times", "recall"]

OURS = "bitfm"
K = TypeVar("K")


def compare_times(
    what: str,
    n_queries: int,
    methods: Mapping[str, Callable[[], Any]],
    *,
    rounds: int = 5,
    seconds: float = 20.0,
    turn: float = 0.05,
) -> list[Row]:
    """Time all methods in turns, round after round, and return a row for each.

    The computer is noisy, so each is taken at its best, and what counts is ``times``: how many times as long as bitfm's
    row, the first, it takes. A turn is one run, or several of a short one until `turn` seconds are over: the first
    finds the caches full of what the method before has left. Rounds end early when they have taken `seconds`.
    """
    best = best_seconds(methods, rounds, seconds, turn)
    ours = next(iter(best.values()))
    return [
        {"what": what, "method": name, "µs per query": 1e6 * taken / n_queries, "times": taken / ours}
        for name, taken in best.items()
    ]


def best_seconds(
    methods: Mapping[K, Callable[[], Any]], rounds: int, seconds: float = float("inf"), turn: float = 0.0
) -> dict[K, float]:
    """Return the seconds of each method's best run, in turns as `compare_times` takes them."""
    best = dict.fromkeys(methods, float("inf"))
    begin = time.perf_counter()
    for number in range(rounds):
        for name, run in methods.items():
            came = time.perf_counter()
            while True:
                start = time.perf_counter()
                run()
                end = time.perf_counter()
                best[name] = min(best[name], end - start)
                if end - came >= turn:
                    break
        if number and time.perf_counter() - begin > seconds:
            break
    return best


def recall(best: npt.NDArray[np.int64], found: npt.NDArray[np.int64]) -> float:
    """Return the share of the best that was found, over queries."""
    return float(np.mean([np.isin(b, f).mean() for b, f in zip(best, found, strict=True)]))
