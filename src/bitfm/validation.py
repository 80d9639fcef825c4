"""Checks of arguments, and the number of threads: what everything else stands on."""

from __future__ import annotations

import os
from numbers import Real
from typing import Any

import numpy as np

__all__ = [
    "MOST_ROWS",
    "check_bits",
    "check_choice",
    "check_count",
    "check_integer",
    "check_path",
    "check_real",
    "is_text",
    "limit_threads",
    "thread_count",
]

MOST_ROWS = 2**31 - 2  # and columns, entries, interactions, ids: the core numbers them in 32 bits
_MOST_THREADS = 1024  # as many as the core starts at most
_limit: int | None = None  # that `limit_threads` has set


def check_real(name: str, value: Any, low: float = 0.0, *, above: bool = False, high: float = float("inf")) -> float:
    """Return the value if it is a finite number from `low` up, or above it, and no more than `high`."""
    if isinstance(value, Real) and high < float(value) < float("inf"):
        raise ValueError(f"{name} must be at most {high:g}, got {value!r}.")
    fits = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if not fits or not low <= value < float("inf") or (above and value == low):
        raise ValueError(f"{name} must be a number {f'above {low:g}' if above else f'from {low:g} up'}, got {value!r}.")
    return float(value)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return the value if it is one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}.")
    return str(value)


def check_integer(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return the value if it is a whole number in the range."""
    fits = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not fits or value < low or (high is not None and value > high):
        bounds = f"from {low} up" if high is None else f"from {low} to {high}"
        raise ValueError(f"{name} must be a whole number {bounds}, got {value!r}.")
    return int(value)


def check_count(what: str, n: int, of: str, advice: str = "split it", error: type[ValueError] = ValueError) -> None:
    """Refuse more rows, columns or the like than the core can number; call it before anything is computed from them."""
    if n > MOST_ROWS:
        raise error(f"{what} has {n:,} {of}; at most {MOST_ROWS:,} are supported: {advice}.")


def check_bits(bits: Any) -> int:
    """Return the length of the codes if it is a multiple of 8 from 8 to 512."""
    if check_integer("bits", bits, 8, 512) % 8:
        raise ValueError(f"bits must be a multiple of 8 from 8 to 512, got {bits}.")
    return int(bits)


def check_path(path: str | os.PathLike[str]) -> None:
    """Refuse a path that no file can have: one with a NUL, or with half of a surrogate pair."""
    try:
        if b"\0" not in os.fsencode(path):
            return
    except UnicodeEncodeError:
        pass
    given = os.fspath(path)
    raise ValueError(f"{given!r} is no path: it holds a character that no file name can have; leave it out.")


def is_text(value: object) -> bool:
    """Tell whether a value is a string that UTF-8 can hold, that is, one without lone surrogates."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def limit_threads(most: int | None) -> int | None:
    """Let this process use so many threads at most, whatever ``n_jobs`` asks for; None is no limit.

    Returns
    -------
    int or None
        The limit before.

    Examples
    --------
    >>> before = limit_threads(1)
    >>> thread_count(-1), thread_count(4)
    (1, 1)
    >>> limit_threads(before)
    1
    """
    global _limit
    before, _limit = _limit, None if most is None else check_integer("threads", most, 1)
    return before


def thread_count(n_jobs: int | None) -> int:
    """Return the number of threads: -1 is all this process may use, -2 all but one, and so on."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, int | np.integer) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(f"n_jobs must be a whole number other than 0, got {n_jobs!r}.")
    most = _MOST_THREADS if _limit is None else min(_limit, _MOST_THREADS)
    if n_jobs > 0:
        return min(int(n_jobs), most)
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(available + 1 + int(n_jobs), most))
