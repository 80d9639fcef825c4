"""Metrics of predicted ratings: how far they are from the true ones, and how well they order each user's items."""

from __future__ import annotations

from collections.abc import Iterable
from typing import overload

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.data.splits import distinct_indices
from bitfm.evaluation.per_user import Ks, Mean, PerUser, check_ks
from bitfm.validation import thread_count

__all__ = ["mae", "mae_per_user", "ndcg", "ndcg_per_user", "rmse", "rmse_per_user"]

_RATINGS_PER_THREAD = 20_000  # below, starting a thread costs more than it saves


def rmse(targets: npt.ArrayLike, predictions: npt.ArrayLike) -> float:
    """Return the root of the mean squared error over all ratings.

    Examples
    --------
    >>> rmse([1, 2, 3], [1, 2, 6]) == 3**0.5
    True
    """
    return float(np.sqrt(np.mean(np.square(_errors("rmse", targets, predictions)))))


def mae(targets: npt.ArrayLike, predictions: npt.ArrayLike) -> float:
    """Return the mean absolute error over all ratings.

    Examples
    --------
    >>> mae([1, 2, 3], [1, 2, 6])
    1.0
    """
    return float(np.mean(np.abs(_errors("mae", targets, predictions))))


def rmse_per_user(users: npt.ArrayLike, targets: npt.ArrayLike, predictions: npt.ArrayLike) -> PerUser:
    """Return the root of the mean squared error of every user's ratings.

    Its mean is not `rmse`: here a user counts once, there a rating does. `users` are numbers or strings.

    Examples
    --------
    >>> rmse_per_user(["Ann", "Ann", "Bob"], [1, 3, 5], [2, 2, 2]).values
    array([1., 3.])
    """
    distinct, means = _means_per_user("rmse_per_user", users, targets, predictions, np.square)
    return PerUser(distinct, np.sqrt(means))


def mae_per_user(users: npt.ArrayLike, targets: npt.ArrayLike, predictions: npt.ArrayLike) -> PerUser:
    """Return the mean absolute error of every user's ratings; as `rmse_per_user`.

    Examples
    --------
    >>> mae_per_user(["Ann", "Ann", "Bob"], [1, 3, 5], [2, 3, 2]).values
    array([0.5, 3. ])
    """
    return PerUser(*_means_per_user("mae_per_user", users, targets, predictions, np.abs))


@overload
def ndcg(users: npt.ArrayLike, relevance: npt.ArrayLike, scores: npt.ArrayLike, k: int = ...) -> float: ...
@overload
def ndcg(
    users: npt.ArrayLike, relevance: npt.ArrayLike, scores: npt.ArrayLike, k: Iterable[int]
) -> npt.NDArray[np.float64]: ...
def ndcg(users: npt.ArrayLike, relevance: npt.ArrayLike, scores: npt.ArrayLike, k: Ks = 10) -> Mean:
    """Return the mean over users of NDCG@k with gain 2^relevance − 1 and discount log2(rank + 1).

    Ties are averaged: items with equal scores share the gain of the ranks they take, as scikit-learn's ``ndcg_score``
    does. Users whose ideal gain is not above 0, at every k, are left out; without any, the mean is NaN.

    Parameters
    ----------
    users : array, the user of each rating (numbers or strings)
    relevance : array, the true rating, at most 1000
    scores : array, the predicted score
    k : int or several of them, such as ``range(1, 11)``, default 10

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
    >>> ndcg_per_user([7, 7, 3, 3, 5], [1, 2, 3, 3, 0], [0.2, 0.1, 0.5, 0.4, 0.9], k=[1, 2])
    PerUser(2 users, k=1, 2, mean [0.6667 0.8984])
    """
    return _ndcg("ndcg_per_user", users, relevance, scores, k)


def _ndcg(caller: str, users: npt.ArrayLike, relevance: npt.ArrayLike, scores: npt.ArrayLike, k: Ks) -> PerUser:
    ks, several = check_ks(k)
    distinct, user = distinct_indices(caller, "users", users)
    rating, score = (np.asarray(values, np.float64, order="C") for values in (relevance, scores))
    if not rating.shape == score.shape == user.shape:
        counts = [len(array) if array.ndim == 1 else array.shape for array in (user, rating, score)]
        raise ValueError(f"{caller}: {counts[0]} users, {counts[1]} ratings and {counts[2]} scores; give one each.")
    if np.isnan(score).any() or not (np.isfinite(rating) & (rating <= 1000)).all():
        raise ValueError(f"{caller}: ratings must be finite and at most 1000, and scores must not be NaN.")
    threads = min(thread_count(-1), 1 + len(user) // _RATINGS_PER_THREAD)
    values = _core.ndcg(user, rating, score, len(distinct), np.array(ks, np.int64), threads).reshape(-1, len(ks))
    counted = ~np.isnan(values[:, 0])
    return PerUser(distinct[counted], values[counted] if several else values[counted, 0], ks)


def _means_per_user(
    caller: str, users: npt.ArrayLike, targets: npt.ArrayLike, predictions: npt.ArrayLike, size: np.ufunc
) -> tuple[npt.NDArray[np.generic], npt.NDArray[np.float64]]:
    distinct, user = distinct_indices(caller, "users", users)
    errors = _errors(caller, targets, predictions)
    if len(user) != len(errors):
        raise ValueError(f"{caller}: {len(user)} users and {len(errors)} ratings; give one each.")
    return distinct, np.bincount(user, size(errors)) / np.bincount(user)


def _errors(caller: str, targets: npt.ArrayLike, predictions: npt.ArrayLike) -> npt.NDArray[np.float64]:
    truth, guess = np.asarray(targets, np.float64), np.asarray(predictions, np.float64)
    for name, array in (("targets", truth), ("predictions", guess)):
        if array.ndim != 1:
            raise ValueError(f"{caller}: {name} must be one-dimensional, got shape {array.shape}.")
        if not np.isfinite(array).all():
            raise ValueError(f"{caller}: {name} must be finite, but some are NaN or infinite.")
    if len(truth) != len(guess):
        raise ValueError(f"{caller}: {len(truth)} targets and {len(guess)} predictions; give one each.")
    if len(truth) == 0:
        raise ValueError(f"{caller}: there are no ratings; give at least one.")
    return truth - guess
