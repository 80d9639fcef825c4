"""NDCG: how well each user's test items are ranked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import overload

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.data.splits import distinct_indices
from bitfm.evaluation._checks import Ks, check_ks
from bitfm.evaluation.per_user import Mean, PerUser
from bitfm.validation import thread_count

__all__ = ["ndcg", "ndcg_per_user"]

_RATINGS_PER_THREAD = 20_000  # below, starting a thread costs more than it saves


@overload
def ndcg(users: npt.ArrayLike, relevance: npt.ArrayLike, scores: npt.ArrayLike, k: int = ...) -> float: ...
@overload
def ndcg(
    users: npt.ArrayLike, relevance: npt.ArrayLike, scores: npt.ArrayLike, k: Iterable[int]
) -> npt.NDArray[np.float64]: ...
def ndcg(users: npt.ArrayLike, relevance: npt.ArrayLike, scores: npt.ArrayLike, k: Ks = 10) -> Mean:
    """Return the mean over users of NDCG@k with gain 2^relevance − 1 and discount log2(rank + 1).

    Ties are averaged: items with equal scores share the gain of the ranks they take, as scikit-learn's ``ndcg_score``
    does. Users whose ideal gain is not above 0, at every k, are left out. `ndcg_per_user` returns the same before the
    mean is taken, for intervals and comparisons.

    Parameters
    ----------
    users : array, the user of each rating (numbers or strings)
    relevance : array, the true rating, at most 1000
    scores : array, the predicted score
    k : int or several of them, such as ``range(1, 11)``, default 10

    Returns
    -------
    float, or array with one for each k
        NaN if no user is left.

    Examples
    --------
    >>> round(ndcg([0, 0], [1, 0], [0.5, 0.5], k=1), 2)  # a tie: right half of the time
    0.5
    >>> ndcg([0, 0, 0], [1, 2, 3], [0.2, 0.3, 0.1], k=[1, 2, 3]).round(2)
    array([0.43, 0.41, 0.76])
    """
    return _ndcg("ndcg", users, relevance, scores, k).mean()


def ndcg_per_user(users: npt.ArrayLike, relevance: npt.ArrayLike, scores: npt.ArrayLike, k: Ks = 10) -> PerUser:
    """Return every user's NDCG@k, of those whose ideal gain is above 0; parameters and definition are `ndcg`'s.

    Examples
    --------
    >>> each = ndcg_per_user([7, 7, 3, 3, 5], [1, 2, 3, 3, 0], [0.2, 0.1, 0.5, 0.4, 0.9], k=[1, 2])
    >>> each
    PerUser(2 users, k=1, 2, mean [0.6667 0.8984])
    >>> each.users
    array([3, 7])
    """
    return _ndcg("ndcg_per_user", users, relevance, scores, k)


def _ndcg(caller: str, users: npt.ArrayLike, relevance: npt.ArrayLike, scores: npt.ArrayLike, k: Ks) -> PerUser:
    ks, several = check_ks(k)
    distinct, user = distinct_indices(caller, "users", users)
    rating, score = np.asarray(relevance, np.float64), np.asarray(scores, np.float64)
    if not rating.shape == score.shape == user.shape:
        counts = [len(array) if array.ndim == 1 else array.shape for array in (user, rating, score)]
        raise ValueError(f"{caller}: {counts[0]} users, {counts[1]} ratings and {counts[2]} scores; give one each.")
    if np.isnan(score).any() or not (np.isfinite(rating) & (rating <= 1000)).all():
        raise ValueError(f"{caller}: ratings must be finite and at most 1000, and scores must not be NaN.")
    threads = min(thread_count(-1), 1 + len(user) // _RATINGS_PER_THREAD)
    arrays = np.ascontiguousarray(rating), np.ascontiguousarray(score)
    values = _core.ndcg(user, *arrays, len(distinct), np.array(ks, np.int64), threads).reshape(-1, len(ks))
    counted = ~np.isnan(values[:, 0])
    return PerUser(distinct[counted], values[counted] if several else values[counted, 0], ks)
