"""A step of Gibbs sampling against myFM's: the same blocks, rank and iterations."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from functools import partial
from typing import Any

from bitfm.evaluation import rmse
from bitfm.models import FM

from bitfm_research.bench._comparison import best_seconds
from bitfm_research.bench._myfm import fit_myfm, relations
from bitfm_research.bench.datasets import Split
from bitfm_research.bench.measure import WITH_HISTORY, Row, named

__all__ = ["compare_gibbs"]

_SHORT, _LONG = 1, 11  # iterations; their difference leaves out what is done once


def compare_gibbs(
    split: Split, *, rank: int = 16, n_iter: int = 200, n_samples: int = 100, rounds: int = 3
) -> list[Row]:
    """Return seconds per iteration on one thread and two, and RMSE on the test part, beside myFM's."""
    fits: dict[tuple[str, int], Callable[[int, int], Any]] = {
        ("myFM", 1): lambda n, kept: fit_myfm(split, WITH_HISTORY, rank, n, kept),
        ("bitfm", 1): lambda n, kept: _fit_bitfm(split, rank, n, kept, threads=1),
        ("bitfm", 2): lambda n, kept: _fit_bitfm(split, rank, n, kept, threads=2),
    }
    seconds = _seconds_per_iteration(fits, rounds)
    truth = split.test[2]
    errors = {
        "myFM": rmse(truth, fits["myFM", 1](n_iter, n_samples).predict(None, relations(split, "test", WITH_HISTORY))),
        "bitfm": rmse(truth, fits["bitfm", 2](n_iter, n_samples).predict(split.blocks("test", WITH_HISTORY))),
    }
    version = {"myFM": f"myFM {importlib.metadata.version('myfm')}", "bitfm": "bitfm, float32"}
    baseline = seconds["myFM", 1]
    return [
        {
            "dataset": split.name,
            "what": f"1 iteration of Gibbs, rank {rank}, {named(WITH_HISTORY)}; RMSE after {n_iter}, {n_samples} kept",
            "method": version[name],
            "threads": threads,
            "seconds": taken,
            "ratio": baseline / taken,
            "RMSE": errors[name],
        }
        for (name, threads), taken in seconds.items()
    ]


def _seconds_per_iteration(
    fits: dict[tuple[str, int], Callable[[int, int], Any]], rounds: int
) -> dict[tuple[str, int], float]:
    """Time short and long fits in turns, so that a busy moment does not fall on one of them alone; the best count."""
    best = best_seconds({(key, n): partial(fit, n, 1) for n in (_SHORT, _LONG) for key, fit in fits.items()}, rounds)
    return {key: (best[key, _LONG] - best[key, _SHORT]) / (_LONG - _SHORT) for key in fits}


def _fit_bitfm(split: Split, rank: int, n_iter: int, n_samples: int, threads: int) -> FM:
    model = FM(rank, solver="gibbs", pairs="all", n_iter=n_iter, n_samples=n_samples, thin=1, n_chains=1)
    model.set_params(n_jobs=threads)
    return model.fit(split.blocks("train", WITH_HISTORY), split.train[2])
