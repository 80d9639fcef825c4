"""Row codes against FAISS's approximate searches, each set so that it finds as much as they do."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from bitfm.retrieval import Index

from bitfm_research.bench._comparison import OURS, compare_times, recall
from bitfm_research.bench._libraries import Tunable, hnsw, inverted_lists
from bitfm_research.bench._vectors import items_as_vectors, users_as_vectors
from bitfm_research.bench.generated import generated_features
from bitfm_research.bench.measure import Row

__all__ = ["approximate", "lowest"]

T = TypeVar("T")

_TOP, _BITS, _RECALL = 10, 64, 0.99
_MOST_CANDIDATES = 2000
_LINKS = (16, 32)  # per node of the graphs


def approximate(
    say: Callable[[str], None], *, n_items: int = 100_000, n_queries: int = 2000
) -> Iterator[tuple[str, list[Row]]]:
    """Search items with features at equal recall, one query after another and all at once, one thread each.

    A row has ``seconds to build`` besides what `compare_times` says.
    """
    say(f"generate {n_items:,} items with ten features each, and build each index on one thread")
    model, items = generated_features(n_queries, n_items)
    users = np.arange(n_queries)
    each = [users[u : u + 1] for u in users]
    with _one_core():
        exact, exact_took = _timed(lambda: model.index(items))
        by_codes, codes_took = _timed(lambda: model.index(items, mode="codes", bits=_BITS))
    best = exact.search(users, _TOP)[0]
    candidates, reached = _enough_candidates(by_codes, users, best)
    by_codes = _rescoring(by_codes, candidates)
    ours = f"{OURS}, row codes of {_BITS} bits, {candidates} candidates{_found(reached)}"
    took = {ours: codes_took}
    one: dict[str, Callable[[], Any]] = {ours: lambda: [by_codes.search(u, _TOP, n_jobs=1) for u in each]}
    many: dict[str, Callable[[], Any]] = {ours: lambda: by_codes.search(users, _TOP, n_jobs=1)}

    of_users, of_items = users_as_vectors(exact, users), items_as_vectors(exact)
    makers: list[Callable[..., Tunable]] = [*(partial(hnsw, links=links) for links in _LINKS), inverted_lists]
    for make in makers:
        library, seconds = _timed(partial(make, of_items, of_users))
        name = _tuned(library, best, reached)
        say(f"{name}: built in {seconds:.1f} s")
        took[name] = seconds
        one[name] = partial(library.search, library.queries, _TOP, 1)
        many[name] = partial(library.search, library.queries, _TOP)

    name = f"{OURS}, exact{_found(1.0)}"
    took[name] = exact_took
    one[name] = lambda: [exact.search(u, _TOP, n_jobs=1) for u in each]
    many[name] = lambda: exact.search(users, _TOP, n_jobs=1)
    title = f"{n_items:,} generated items with features, at equal recall"
    for what, methods in (("one query after another", one), (f"{n_queries:,} queries at once", many)):
        rows = compare_times(what, n_queries, methods)
        yield title, [{**row, "seconds to build": took[row["method"]]} for row in rows]


def _enough_candidates(index: Index, users: npt.NDArray[Any], best: npt.NDArray[np.int64]) -> tuple[int, float]:
    """Return how many candidates row codes need to find nearly all, and what they find."""

    def reached(candidates: int) -> float:
        return recall(best, _rescoring(index, candidates).search(users, _TOP)[0])

    candidates = lowest(lambda value: reached(value) >= _RECALL, _MOST_CANDIDATES)
    return candidates, reached(candidates)


def _rescoring(index: Index, candidates: int) -> Index:
    """Return the index with another number of candidates."""
    segments = tuple(replace(segment, rescore=candidates) for segment in index.segments)  # type: ignore[call-arg]
    return Index.of_segments(index.parameters, index.block, segments, index.n_positions, index.row_codes)


def _tuned(library: Tunable, best: npt.NDArray[np.int64], target: float) -> str:
    """Set it as low as it still finds so much, and return its name, setting and recall."""

    def reached(setting: int) -> float:
        library.set(setting)
        return recall(best, library.find(library.queries, _TOP))

    setting = lowest(lambda value: reached(value) >= target, library.highest)
    found = reached(setting)
    most = "" if found >= target else ", its most"
    return f"{library.name}, {library.setting} {setting}{most}{_found(found)}"


def lowest(enough: Callable[[int], bool], highest: int) -> int:
    """Return the lowest setting that is enough, by doubling and bisecting; if none is, the highest.

    >>> lowest(lambda setting: setting >= 37, 100), lowest(lambda setting: False, 100)
    (37, 100)
    """
    short, setting = 0, 1
    while not enough(setting):
        if setting == highest:
            return highest
        short, setting = setting, min(2 * setting, highest)
    while setting - short > 1:
        middle = (short + setting) // 2
        if enough(middle):
            setting = middle
        else:
            short = middle
    return setting


def _found(share: float) -> str:
    return f" (recall@{_TOP} {share:.4f})"


def _timed(make: Callable[[], T]) -> tuple[T, float]:
    begin = time.perf_counter()
    made = make()
    return made, time.perf_counter() - begin


@contextmanager
def _one_core() -> Iterator[None]:
    """Keep to one core meanwhile: an index is built by as many threads as there are cores for them."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
