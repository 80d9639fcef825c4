"""How fast rankings are measured, next to scikit-learn: users and ratings as many as those of Amazon to test on."""

from __future__ import annotations

import importlib.metadata
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from bitfm.evaluation import compare, ndcg, ndcg_per_user, rank_metrics
from sklearn.metrics import ndcg_score

from bitfm_research.bench._comparison import best_seconds
from bitfm_research.bench.measure import Row

__all__ = ["run"]

_USERS, _ITEMS, _RATINGS = 35_151, 33_195, 857_280
_KS = range(1, 11)


def run(n_users: int = _USERS, n_ratings: int = _RATINGS, *, repeat: int = 5) -> list[Row]:
    """Measure generated scores of generated ratings, all users at once; the best time counts.

    Returns
    -------
    list of dict
        One row per measure, with ``what``, ``method`` and ``seconds``; scikit-learn takes one user at a time, and is
        timed on a hundredth of them.
    """
    rng = np.random.default_rng(0)
    users, truth = rng.integers(n_users, size=n_ratings), rng.integers(1, 6, n_ratings).astype(float)
    scores, others = truth + rng.normal(size=(2, n_ratings))
    each = ndcg_per_user(users, truth, scores, _KS)
    less = ndcg_per_user(users, truth, others, _KS)
    found = rng.integers(_ITEMS // 10, size=(n_users, 10)) * 10 + np.arange(10)  # no item twice
    liked = sp.csr_matrix((np.ones(n_ratings), (users, rng.integers(_ITEMS, size=n_ratings))), (n_users, _ITEMS))
    ours = f"bitfm {importlib.metadata.version('bitfm')}"
    measures: dict[str, Callable[[], Any]] = {
        "NDCG@1 to @10 of ranked test items": lambda: ndcg(users, truth, scores, _KS),
        "precision, recall, MAP, MRR, hits and NDCG@1 to @10 of a search": lambda: rank_metrics(found, liked, _KS),
        "95 % intervals of NDCG@1 to @10, 1,000 draws": lambda: each.interval(),
        "paired test of two models by NDCG@1 to @10, 10,000 draws": lambda: compare(each, less),
    }
    best = best_seconds(measures, repeat)
    rows = [{"what": what, "method": ours, "seconds": taken} for what, taken in best.items()]
    theirs = f"scikit-learn {importlib.metadata.version('scikit-learn')}"
    seconds = _user_by_user(users, truth, scores, max(n_users // 100, 1)) * n_users / max(n_users // 100, 1)
    return [*rows, {"what": "NDCG@10 alone, a user at a time", "method": theirs, "seconds": seconds}]


def _user_by_user(
    users: npt.NDArray[Any], truth: npt.NDArray[np.float64], scores: npt.NDArray[np.float64], n: int
) -> float:
    order = np.argsort(users, kind="stable")
    bounds = np.searchsorted(users[order], np.arange(n + 1))
    begin = time.perf_counter()
    for first, last in pairwise(bounds):
        mine = order[first:last]
        if len(mine) > 1:
            ndcg_score([2.0 ** truth[mine] - 1], [scores[mine]], k=10)
    return time.perf_counter() - begin
