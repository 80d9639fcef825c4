"""Frappe: which app is used next, with the context of its use and without."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy.sparse as sp
from bitfm import Recommender
from bitfm.core import multiply
from bitfm.evaluation import rank_metrics, split_per_user
from bitfm.models.implicit.choice import choose_settings
from bitfm.models.implicit.data import EventData
from bitfm.models.implicit.fit import EventFit
from bitfm.models.progress import Progress
from bitfm.validation import thread_count

from bitfm_research.bench.measure import Row
from bitfm_research.bench.readers import CONTEXT, app_usage

__all__ = ["next_apps"]

_K = [10, 20]
_AT_ONCE = 2000


def next_apps(folder: Path, seeds: Iterable[int], wanted: Callable[[str], bool]) -> Iterator[Row]:
    """Rank all apps for each use that was held out, a fifth of each user's; those a user has used before as well."""
    data = app_usage(folder)
    for seed in seeds:
        kept = split_per_user(data["user_id"].to_numpy(), 0.8, seed)
        train, test = data.filter(kept), data.filter(~kept)
        for name, scorer in _opponents(train, test, seed).items():
            if wanted(name):
                begin = time.perf_counter()
                row = _judge(train, test, scorer())
                yield {"method": name, **row, "seconds": time.perf_counter() - begin, "seed": seed}
        for name, context in (("bitfm, 256 bits + 8", ()), ("bitfm, 256 bits + 8, with context", CONTEXT)):
            if wanted(name):
                begin = time.perf_counter()
                rec = Recommender(random_state=seed).fit(train, target=None, context=context)
                seconds = time.perf_counter() - begin
                found = [rec.evaluate(test, by="interaction", k=k) for k in _K]
                measures = {f"NDCG@{k}": each.ndcg for k, each in zip(_K, found, strict=True)}
                yield {"method": name, **measures, "Recall@20": found[1].hit_rate, "seconds": seconds, "seed": seed}


Scorer = Callable[[npt.NDArray[np.intp]], npt.NDArray[np.float32]]  # rows of the test -> scores of all items


def _opponents(train: pl.DataFrame, test: pl.DataFrame, seed: int) -> dict[str, Callable[[], Scorer]]:
    users, items = (np.unique(train[name].to_numpy()) for name in ("user_id", "item_id"))
    of_users, of_items = (
        np.searchsorted(ids, train[n].to_numpy()) for ids, n in ((users, "user_id"), (items, "item_id"))
    )
    counts = sp.csr_matrix((np.ones(len(train), np.float32), (of_users, of_items)), shape=(len(users), len(items)))
    asked = np.searchsorted(users, test["user_id"].to_numpy())  # of everybody, most uses are in the training part
    popularity = np.asarray(counts.sum(0), np.float32).ravel()

    def popular() -> Scorer:
        return lambda rows: np.repeat(popularity[None], len(rows), axis=0)

    def own() -> Scorer:
        return lambda rows: counts[asked[rows]].toarray() + popularity / (10 * popularity.sum())

    def real() -> Scorer:
        threads = thread_count(-1)
        fit = EventFit(EventData.of(counts), 0, 0, 128, 8, seed, threads)
        teacher = fit.teacher(choose_settings(fit, Progress(0, None)))
        return lambda rows: multiply(teacher.users[asked[rows]], teacher.items.T, threads)

    return {"popularity": popular, "most used by the user": own, "real factors": real}


def _judge(train: pl.DataFrame, test: pl.DataFrame, scorer: Scorer) -> dict[str, float]:
    items = np.unique(train["item_id"].to_numpy())
    wanted = test["item_id"].to_numpy()
    places = np.searchsorted(items, wanted)
    known = items[np.minimum(places, len(items) - 1)] == wanted
    places = np.where(known, places, len(items) + np.arange(len(places)))  # nobody can find what is not known
    lists = []
    for begin in range(0, len(test), _AT_ONCE):
        scores = scorer(np.arange(begin, min(begin + _AT_ONCE, len(test))))
        lists.append(np.argsort(-scores, axis=1, kind="stable")[:, : max(_K)])
    shape = len(test), int(places.max()) + 1
    relevant = sp.csr_matrix((np.ones(len(test)), (np.arange(len(test)), places)), shape=shape)
    found = rank_metrics(np.concatenate(lists), relevant, _K)
    ndcg, recall = np.asarray(found.ndcg.mean()), np.asarray(found.recall.mean())
    return {"NDCG@10": float(ndcg[0]), "NDCG@20": float(ndcg[1]), "Recall@20": float(recall[1])}
