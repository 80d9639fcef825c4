"""Frappe: which app is used next, with the context of its use and without."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy.sparse as sp
from bitfm import Recommender
from bitfm.core import best_of_scores, multiply
from bitfm.evaluation import rank_metrics, split_per_user
from bitfm.models.implicit.choice import choose_settings
from bitfm.models.implicit.data import EventData
from bitfm.models.implicit.events import Events
from bitfm.models.implicit.fit import EventFit
from bitfm.models.progress import Progress
from bitfm.validation import thread_count

from bitfm_research.bench.events.opponents import OPPONENTS, Opponent
from bitfm_research.bench.events.protocol import Scorer, Split
from bitfm_research.bench.measure import Row
from bitfm_research.bench.readers import CONTEXT, app_usage

__all__ = ["next_apps"]

_K = [10, 20]
_TUNED = ("item kNN", "implicit ALS, 128 factors", "EASE")
_COUNTS: tuple[Callable[[Any], Any], ...] = (np.sign, np.log1p, lambda counts: counts)  # what several uses count for


def next_apps(folder: Path, seeds: Iterable[int], wanted: Callable[[str], bool]) -> Iterator[Row]:
    """Rank all apps for each use that was held out, a fifth of each user's; those a user has used before as well."""
    data = app_usage(folder)
    for seed in seeds:
        uses = _Uses.of(data, seed, seed)
        for name, scorer in _opponents(uses).items():
            if wanted(name):
                begin = time.perf_counter()
                row = uses.judge(scorer())
                yield {"method": name, **row, "seconds": time.perf_counter() - begin, "seed": seed}
        for name, context in (("bitfm, 256 bits + 8", ()), ("bitfm, 256 bits + 8, with context", CONTEXT)):
            if wanted(name):
                begin = time.perf_counter()
                rec = Recommender(random_state=seed).fit(uses.train, target=None, context=context)
                seconds = time.perf_counter() - begin
                found = [rec.evaluate(uses.test, by="interaction", k=k) for k in _K]
                measures = {f"NDCG@{k}": each.ndcg for k, each in zip(_K, found, strict=True)}
                yield {"method": name, **measures, "Recall@20": found[1].hit_rate, "seconds": seconds, "seed": seed}


@dataclass(frozen=True, eq=False)
class _Uses:
    """Uses of apps to learn from, and those to find."""

    train: pl.DataFrame
    test: pl.DataFrame
    seed: int

    @classmethod
    def of(cls, data: pl.DataFrame, split_seed: int, seed: int) -> _Uses:
        """Hold out a fifth of each user's uses."""
        kept = split_per_user(data["user_id"].to_numpy(), 0.8, split_seed)
        return cls(data.filter(kept), data.filter(~kept), seed)

    def for_tuning(self) -> _Uses:
        """Return the training part, split again in the same way."""
        return self.of(self.train, 1000 + self.seed, self.seed)

    @cached_property
    def ids(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The users and the apps of the training part."""
        return np.unique(self.train["user_id"].to_numpy()), np.unique(self.train["item_id"].to_numpy())

    @cached_property
    def counts(self) -> sp.csr_matrix:
        """How often each user has used each app."""
        of_users, of_items = (
            np.searchsorted(ids, self.train[name].to_numpy())
            for ids, name in zip(self.ids, ("user_id", "item_id"), strict=True)
        )
        shape = len(self.ids[0]), len(self.ids[1])
        return sp.csr_matrix((np.ones(len(self.train), np.float32), (of_users, of_items)), shape=shape)

    def split(self, count: Callable[[Any], Any]) -> Split:
        """Return the training part as the opponents take it."""
        counts = self.counts.copy()
        counts.data[:] = count(counts.data)
        events = Events.of(counts)
        return Split(events, events, self.seed)

    def judge(self, scorer: Scorer) -> dict[str, float]:
        """Return what the rankings of all apps are worth for the uses that are to be found."""
        users, items = self.ids
        none = np.zeros(len(users) + 1, np.int64), np.empty(0, np.int32)
        scores = np.ascontiguousarray(scorer(np.arange(len(users))), np.float32)
        lists = best_of_scores(scores, *none, max(_K), thread_count(-1))[0]
        asked = np.searchsorted(users, self.test["user_id"].to_numpy())  # of everybody, most uses are to learn from
        wanted = self.test["item_id"].to_numpy()
        places = np.searchsorted(items, wanted)
        known = items[np.minimum(places, len(items) - 1)] == wanted
        places = np.where(known, places, len(items) + np.arange(len(places)))  # nobody can find what is not known
        shape = len(wanted), int(places.max()) + 1
        relevant = sp.csr_matrix((np.ones(len(wanted)), (np.arange(len(wanted)), places)), shape=shape)
        found = rank_metrics(lists[asked], relevant, _K)
        ndcg, recall = np.asarray(found.ndcg.mean()), np.asarray(found.recall.mean())
        return {"NDCG@10": float(ndcg[0]), "NDCG@20": float(ndcg[1]), "Recall@20": float(recall[1])}


def _opponents(uses: _Uses) -> dict[str, Callable[[], Scorer]]:
    counts = uses.counts
    popularity = np.asarray(counts.sum(0), np.float32).ravel()

    def popular() -> Scorer:
        return lambda users: np.tile(popularity, (len(users), 1))

    def own() -> Scorer:
        return lambda users: counts[users].toarray() + popularity / (10 * popularity.sum())

    def real() -> Scorer:
        threads = thread_count(-1)
        fit = EventFit(EventData.of(counts), 0, 0, 128, 8, uses.seed, threads)
        teacher = fit.teacher(choose_settings(fit, Progress(0, None)))
        return lambda users: multiply(teacher.users[users], teacher.items.T, threads)

    tuned = {each.name: (lambda it=each: _tuned(it, uses)) for each in OPPONENTS if each.name in _TUNED}
    return {"popularity": popular, "most used by the user": own, **tuned, "real factors": real}


def _tuned(opponent: Opponent, uses: _Uses) -> Scorer:
    """Fit an opponent with the setting, and the way to count several uses, that rank a part of the training best."""
    part = uses.for_tuning()

    def quality(way: tuple[Callable[[Any], Any], Any]) -> float:
        count, setting = way
        return part.judge(opponent.fit(part.split(count), setting))["NDCG@10"]

    count, setting = max(product(_COUNTS, opponent.grid), key=quality)
    return opponent.fit(uses.split(count), setting)
