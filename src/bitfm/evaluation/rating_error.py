"""How far predictions are from the ratings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bitfm.data.splits import distinct_indices
from bitfm.evaluation._checks import check_numbers
from bitfm.evaluation.per_user import PerUser

__all__ = ["mae", "mae_per_user", "rmse", "rmse_per_user"]


def rmse(targets: npt.ArrayLike, predictions: npt.ArrayLike) -> float:
    """Return the root of the mean squared error over all ratings.

    Parameters
    ----------
    targets : array, the true ratings
    predictions : array, one for each

    Examples
    --------
    >>> rmse([1, 2, 3], [1, 2, 6]) == 3**0.5
    True
    """
    return float(np.sqrt(np.mean(np.square(_errors("rmse", targets, predictions)))))


def mae(targets: npt.ArrayLike, predictions: npt.ArrayLike) -> float:
    """Return the mean absolute error over all ratings.

    Parameters
    ----------
    targets : array, the true ratings
    predictions : array, one for each

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
    """Return the mean absolute error of every user's ratings.

    Its mean is not `mae`: here a user counts once, there a rating does. `users` are numbers or strings.

    Examples
    --------
    >>> mae_per_user(["Ann", "Ann", "Bob"], [1, 3, 5], [2, 3, 2]).values
    array([0.5, 3. ])
    """
    return PerUser(*_means_per_user("mae_per_user", users, targets, predictions, np.abs))


def _means_per_user(
    caller: str, users: npt.ArrayLike, targets: npt.ArrayLike, predictions: npt.ArrayLike, size: np.ufunc
) -> tuple[npt.NDArray[np.generic], npt.NDArray[np.float64]]:
    distinct, user = distinct_indices(caller, "users", users)
    errors = _errors(caller, targets, predictions)
    if len(user) != len(errors):
        raise ValueError(f"{caller}: {len(user)} users and {len(errors)} ratings; give one each.")
    return distinct, np.bincount(user, size(errors)) / np.bincount(user)


def _errors(caller: str, targets: npt.ArrayLike, predictions: npt.ArrayLike) -> npt.NDArray[np.float64]:
    truth, guess = check_numbers(caller, "targets", targets), check_numbers(caller, "predictions", predictions)
    if len(truth) != len(guess):
        raise ValueError(f"{caller}: {len(truth)} targets and {len(guess)} predictions; give one each.")
    if len(truth) == 0:
        raise ValueError(f"{caller}: there are no ratings; give at least one.")
    return truth - guess
