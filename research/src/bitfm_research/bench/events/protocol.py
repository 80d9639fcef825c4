"""How rankings of events are judged: a fifth of each user's events held out, all items that are new ranked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy.sparse as sp
from bitfm.core import best_of_scores
from bitfm.evaluation import rank_metrics
from bitfm.models.implicit.events import Events, hold_out
from bitfm.validation import thread_count

from bitfm_research.bench.readers import Ratings, likes, paper_likes, read_1m, read_douban, read_paper

__all__ = ["READERS", "Scorer", "Split", "judge", "splits"]

Scorer = Callable[[npt.NDArray[np.intp]], npt.NDArray[np.float32]]  # users -> their scores of all items

_AT_ONCE = 512
_K = 20


@dataclass(frozen=True, eq=False)
class Split:
    """Events to learn from, and those to find."""

    train: Events
    test: Events
    seed: int

    def for_tuning(self) -> Split:
        """Return the training part, split again in the same way."""
        train, held_out = hold_out(self.train, 0.2, np.random.default_rng(1000 + self.seed))
        return Split(train, held_out, self.seed)


def _likes(folder: Path, read: Callable[[Path], Ratings]) -> Events:
    """Take ratings of 4 and 5 as events."""
    ratings = read(folder)
    liked = ratings.ratings >= 4
    return _events(ratings.users[liked], ratings.items[liked])


def _likes_100k(folder: Path) -> Events:
    return _of_frame(likes(folder))


def _papers(folder: Path) -> Events:
    return _of_frame(paper_likes(folder))


# Defaults and rules were found on the first three; the last two have only ever judged them.
READERS: dict[str, Callable[[Path], Events]] = {
    "ml-100k": _likes_100k,
    "ml-1m": partial(_likes, read=read_1m),
    "citeulike-t": _papers,
    "douban": partial(_likes, read=read_douban),
    "yelp": partial(_likes, read=partial(read_paper, name="yelp")),
}


def splits(name: str, folder: Path, seeds: Iterable[int]) -> list[Split]:
    """Return a set, split once per seed."""
    events = READERS[name](folder)
    return [Split(*hold_out(events, 0.2, np.random.default_rng(seed)), seed) for seed in seeds]


def judge(split: Split, scorer: Scorer) -> dict[str, float]:
    """Return what the first items of the rankings are worth."""
    users = np.flatnonzero((split.train.user_sizes > 0) & (split.test.user_sizes > 0))
    n_items, threads = split.train.shape[1], thread_count(-1)
    lists = []
    for begin in range(0, len(users), _AT_ONCE):
        some = users[begin : begin + _AT_ONCE]
        seen = split.train.by_user.take(some)
        scores = np.ascontiguousarray(scorer(some), np.float32)
        lists.append(best_of_scores(scores, seen.indptr, seen.indices, min(_K, n_items), threads)[0])
    found = np.concatenate(lists)
    measured = rank_metrics(found, split.test.by_user.take(users).to_csr(), [10, _K])
    ndcg, recall = np.asarray(measured.ndcg.mean()), np.asarray(measured.recall.mean())
    return {
        "NDCG@10": float(ndcg[0]),
        "NDCG@20": float(ndcg[1]),
        "Recall@20": float(recall[1]),
        "coverage": len(np.unique(found)) / n_items,
    }


def _of_frame(frame: pl.DataFrame) -> Events:
    users, items = (np.unique(frame[name].to_numpy(), return_inverse=True)[1] for name in ("user_id", "item_id"))
    return _events(users, items)


def _events(users: npt.NDArray[np.integer], items: npt.NDArray[np.integer]) -> Events:
    used = [np.unique(each, return_inverse=True)[1] for each in (users, items)]
    matrix = sp.csr_matrix((np.ones(len(users), np.float32), tuple(used)))
    matrix.data[:] = 1  # whoever has it twice
    return Events.of(matrix)
