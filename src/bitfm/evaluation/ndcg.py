"""NDCG: how well each user's test items are ranked."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["ndcg"]


def ndcg(users: npt.ArrayLike, relevance: npt.ArrayLike, scores: npt.ArrayLike, k: int = 10) -> float:
    """Return the mean over users of NDCG@k with gain 2^relevance − 1 and discount log2(rank + 1).

    Ties are averaged: items with equal scores share the gain of the ranks they take, as scikit-learn's
    ``ndcg_score`` does. Users whose ideal gain is 0 are left out.

    Parameters
    ----------
    users : array, the user of each rating (numbers or strings)
    relevance : array, the true rating
    scores : array, the predicted score
    k : int, default 10

    Examples
    --------
    >>> ndcg([0, 0, 0, 1, 1], [5, 1, 3, 2, 4], [0.9, 0.1, 0.5, 0.2, 0.8], k=2)
    1.0
    >>> round(ndcg([0, 0], [1, 0], [0.5, 0.5], k=1), 2)  # a tie: right half of the time
    0.5
    """
    scores = np.asarray(scores, np.float64)
    _, users = np.unique(np.asarray(users), return_inverse=True)
    gain = 2.0 ** np.asarray(relevance, np.float64) - 1
    if not len(users) == len(gain) == len(scores):
        raise ValueError(f"ndcg: {len(users)} users, {len(gain)} ratings and {len(scores)} scores; give one each.")
    if len(users) == 0:
        return float("nan")
    if np.isnan(scores).any() or not np.isfinite(gain).all():
        raise ValueError("ndcg: ratings must be finite, and scores must not be NaN.")
    order = np.lexsort((-scores, users))
    start = _first(users[order])
    rank = np.arange(len(users)) - np.repeat(start, np.diff(np.r_[start, len(users)]))
    discount = np.where(rank < k, 1 / np.log2(rank + 2), 0.0)
    ranked, owner = scores[order], users[order]
    tie = np.flatnonzero(np.r_[True, (ranked[1:] != ranked[:-1]) | (owner[1:] != owner[:-1])])
    size = np.diff(np.r_[tie, len(users)])
    shared = np.repeat(np.add.reduceat(gain[order], tie) / size, size)
    ideal = gain[np.lexsort((-gain, users))]
    reached: npt.NDArray[Any] = np.add.reduceat(shared * discount, start)
    best = np.add.reduceat(ideal * discount, start)
    counted = best > 0
    return float(np.mean(reached[counted] / best[counted])) if counted.any() else float("nan")


def _first(sorted_users: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Return where each user's stretch begins."""
    return np.flatnonzero(np.r_[True, sorted_users[1:] != sorted_users[:-1]])
