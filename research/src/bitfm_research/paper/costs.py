"""What a plan costs before it is run: seconds of each job on one thread, as measured once on Yelp."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import NamedTuple

from bitfm_research.paper.jobs import Job
from bitfm_research.paper.libfm import TUNED
from bitfm_research.paper.names import EVENTS, FEATURES, LIBFM, RETRIEVAL, WORDS, plain
from bitfm_research.paper.results import Results

__all__ = ["Cost", "costs_of"]

_YELP = 323_348
_RATINGS = {"yelp": _YELP, "amazon": 874_780, "ml-1m": 499_263, "douban": 498_387}  # to train on
# Seconds of processor time at 8 and at 64 bits, measured once on Yelp, on one thread of a shared two-core machine.
_SECONDS = {
    "random": (0.0, 0.0), "popularity": (0.0, 0.0), "bias only": (0.1, 0.1), "FM, ALS": (0.4, 0.4),
    "FM, Gibbs": (9.7, 9.7), "FM, SGD": (0.5, 0.9), "random projection": (0.6, 0.6), "sign rounding": (0.4, 2.2),
    "FM + ITQ": (0.4, 2.9), "CH": (0.1, 1.0), "PPH": (0.1, 1.2), "BCCF": (0.2, 1.7), "DCF": (0.2, 1.3),
    "DCMF": (0.9, 4.9), "DCMF, logit": (1.5, 9.2), "LSH": (0.1, 0.13),
    "DFM, without linear terms": (0.2, 1.2), "DFM, paper": (0.3, 1.4),
    "DFM, distilled": (1.3, 1.6), TUNED: (23.0, 53.0),
}  # fmt: skip
_WITH_WORDS = 8.0  # how many times as much FM by SGD takes with the plot words of MovieLens 1M


class Cost(NamedTuple):
    """The jobs of a method on a data set that are left, and their seconds on one thread; None where nobody knows."""

    dataset: str
    method: str
    jobs: int
    seconds: float | None


def costs_of(jobs: Iterable[tuple[str, Job]], results: Results) -> list[Cost]:
    """Sum the jobs of each method and data set.

    A fit that the results have with another seed costs what it did there; others are scaled from Yelp by the number of
    ratings. Not known before they are run: libFM's own program, searches with words, events, and methods that are new.
    """
    known: dict[tuple[str, str, int | None], list[float]] = {}
    for m in results:
        if m.metric == "seconds":
            known.setdefault((m.dataset, m.method, m.bits), []).append(m.value)
    sums: dict[tuple[str, str], list[float | None]] = {}
    for dataset, job in jobs:
        seen = known.get((dataset, job.label, job.bits))
        seconds = statistics.fmean(seen) if seen else _estimate(dataset, job)
        sums.setdefault((dataset, _method(job.label)), []).append(seconds)
    return [
        Cost(dataset, method, len(each), None if None in each else sum(s for s in each if s is not None))
        for (dataset, method), each in sums.items()
    ]


def _method(label: str) -> str:
    """Return what a job is listed under: the settings of Figure 2 together."""
    name, _, setting = label.partition("; ")
    return f"{name}; Figure 2" if setting.startswith(("beta=", "l2=")) else label


def _estimate(dataset: str, job: Job) -> float | None:
    label = plain(job.label)
    if label == RETRIEVAL:
        return _TABLE_1.get(dataset)
    name = label if label in (TUNED, LIBFM) else label.partition("; ")[0]
    if name not in _SECONDS:
        return None
    if dataset in EVENTS:
        return None
    low, high = _SECONDS[name]
    share = ((job.bits or 8) - 8) / 56
    with_words = job.label.endswith(FEATURES)
    if with_words and name == TUNED:
        return None
    times = _WITH_WORDS if with_words and name == "FM, SGD" else 1.0
    return times * (low + share * (high - low)) * _RATINGS[dataset.removesuffix(WORDS)] / _YELP


_TABLE_1 = {"yelp": 12.0, "amazon": 28.0}  # seconds per length, of as many runs as a steady time needs
