"""What works in a forked process: a fork copies none of Polars' threads, and waiting for them would never end.

Methods of a Polars series that are no expressions run on the thread that calls them, in all processes: casts,
comparisons, ``set``, ``zip_with``, ``filter`` and indexing. What they cannot do is done in Python if values are `few`.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bitfm.errors import ForkedProcessError

__all__ = ["few", "gathered", "need_threads", "present", "with_nulls"]

_FEW = 100  # values, which Python reads in less time than it takes to set up expressions
_FEW_IN_FORK = 100_000  # which Python reads within a second
_PATIENCE = 5.0  # seconds; threads that are there answer within one thousandth of this


class _Fork:
    """A forked process, and whether Polars' threads answer in it: they do if its parent had not started them."""

    def __init__(self) -> None:
        self._answer: threading.Event | None = None
        self._until = 0.0
        self._lock = threading.Lock()

    def has_threads(self) -> bool:
        with self._lock:
            if self._answer is None:
                self._answer, self._until = threading.Event(), time.monotonic() + _PATIENCE
                threading.Thread(target=self._ask, args=(self._answer,), daemon=True).start()
        return self._answer.wait(max(0.0, self._until - time.monotonic()))

    @staticmethod
    def _ask(answer: threading.Event) -> None:
        pl.Series([2, 1]).sort()
        answer.set()


_fork: _Fork | None = None  # of a process that was started by itself


def _forked() -> None:
    global _fork
    _fork = _Fork()


os.register_at_fork(after_in_child=_forked)


def few(n: int) -> bool:
    """Return whether so many values are to be read one by one, without Polars' threads, which are there if not."""
    if n <= (_FEW if _fork is None else _FEW_IN_FORK):
        return True
    need_threads(f"a table of {n:,} values", f"give up to {_FEW_IN_FORK:,} at a time")
    return False


def need_threads(what: str, advice: str) -> None:
    """Raise an error where Polars' threads are missing, without which there is no doing something."""
    if _fork is not None and not _fork.has_threads():
        raise ForkedProcessError(
            f"{what} needs Polars' threads, which this process lacks, as it was forked from one that had started them; "
            f'{advice}, or use a process that is started anew (multiprocessing\'s "spawn").'
        )


def present(values: pl.Series) -> NDArray[np.bool_]:
    """Tell which values are not null, of strings, numbers or times, without Polars' threads."""
    if not values.null_count():
        return np.ones(len(values), bool)
    return pl.Series(np.zeros(len(values), bool)).set(values == values, True).to_numpy()


def gathered(values: pl.Series, indices: NDArray[np.integer[Any]]) -> pl.Series:
    """Return the values of some indices, null for -1, without Polars' threads."""
    if not len(values):
        return pl.Series(values.name, [None] * len(indices), dtype=values.dtype)
    return with_nulls(values[np.maximum(indices, 0)], indices < 0)


def with_nulls(values: pl.Series, where: NDArray[np.bool_]) -> pl.Series:
    """Return values with some of them null, without Polars' threads."""
    if not where.any():
        return values
    return values.zip_with(pl.Series(~where), pl.Series([None], dtype=values.dtype))
