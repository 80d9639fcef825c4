"""Which interactions to train on, and which to test on: masks with one entry per interaction."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.validation import check_count

__all__ = [
    "distinct_indices",
    "split_by_time",
    "split_cold",
    "split_histories",
    "split_leave_one_out",
    "split_per_user",
]

_WIDE = 4  # numbers closer together than so many times their count are found in a table, without sorting


def distinct_indices(caller: str, name: str, values: npt.ArrayLike) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    """Return the distinct values, sorted, and the index of each value among them; the names are for messages."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{caller}: {name} must be one-dimensional, got shape {array.shape}.")
    check_count(f"{caller}: {name}", len(array), "values")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ValueError(f"{caller}: {name} must be numbers or strings, but some are NaN.")
    if array.dtype.kind in "iu" and len(array):
        low, high = int(array.min()), int(array.max())
        if high - low < _WIDE * len(array):
            wide = array if array.dtype.kind == "u" else array.astype(np.int64)
            offset = (wide - wide.dtype.type(low)).astype(np.intp)
            there = np.zeros(high - low + 1, bool)
            there[offset] = True
            place = np.cumsum(there, dtype=np.int32) - np.int32(1)
            distinct = np.flatnonzero(there).astype(wide.dtype) + wide.dtype.type(low)
            return distinct.astype(array.dtype), place[offset]
    try:
        distinct, places = np.unique(array, return_inverse=True)
    except TypeError as error:
        raise TypeError(f"{caller}: {name} must be all numbers or all strings ({error}).") from None
    return distinct, places.astype(np.int32)


def split_per_user(users: npt.ArrayLike, fraction: float = 0.5, seed: int = 0) -> npt.NDArray[np.bool_]:
    """Return a mask of the training part: a random share of each user's interactions.

    This is the paper's protocol. Every user is in the training part, since a share is rounded up: of three
    interactions, half is two.

    Parameters
    ----------
    users : array, the user of each interaction (numbers or strings)
    fraction : float, default 0.5
        The share to train on, above 0 and below 1.
    seed : int, default 0
        The same seed gives the same split.

    Examples
    --------
    >>> users = np.array(["Ann", "Ann", "Ann", "Bob", "Bob", "Cid"])
    >>> train = split_per_user(users)
    >>> users[train], users[~train]
    (array(['Ann', 'Ann', 'Bob', 'Cid'], dtype='<U3'), array(['Ann', 'Bob'], dtype='<U3'))
    """
    _check_fraction("split_per_user", fraction)
    _, user = distinct_indices("split_per_user", "users", users)
    count = np.bincount(user)
    order = np.lexsort((np.random.default_rng(seed).random(len(user)), user))
    rank = np.arange(len(user)) - np.repeat(np.cumsum(count) - count, count)
    train = np.zeros(len(user), bool)
    # Rounded first: 0.07 of 100 is 7.000000000000001 in floats, and not to be 8.
    train[order] = rank < np.repeat(np.ceil(np.round(count * fraction, 9)), count)
    return train


def split_cold(ids: npt.ArrayLike, fraction: float = 0.2, seed: int = 0) -> npt.NDArray[np.bool_]:
    """Return a mask of the training part: all interactions but those of a random share of the users, or of the items.

    Nothing is known about a cold user or item but its features.

    Parameters
    ----------
    ids : array, the user of each interaction, or the item (numbers or strings)
    fraction : float, default 0.2
        The share of the distinct ids that are cold, above 0 and below 1, rounded to whole ids.
    seed : int, default 0
        The same seed gives the same split.

    Examples
    --------
    >>> items = np.array(["rum", "gin", "rum", "tea", "ale", "oil", "oil"])
    >>> train = split_cold(items)
    >>> items[~train]
    array(['rum', 'rum'], dtype='<U3')
    """
    _check_fraction("split_cold", fraction)
    distinct, index = distinct_indices("split_cold", "ids", ids)
    place = np.random.default_rng(seed).permutation(len(distinct))
    warm: npt.NDArray[np.bool_] = place[index] >= round(len(distinct) * fraction)
    return warm


def split_leave_one_out(
    users: npt.ArrayLike, times: npt.ArrayLike | None = None, seed: int = 0
) -> npt.NDArray[np.bool_]:
    """Return a mask of the training part: all but one interaction of each user.

    A user with a single interaction keeps it, and is not tested.

    Parameters
    ----------
    users : array, the user of each interaction (numbers or strings)
    times : array of numbers or datetime64, optional
        When each interaction was. The one left out is then the user's last, or a random one of several that are last
        at the same time. Without times, it is a random one of all.
    seed : int, default 0
        The same seed gives the same split.

    Examples
    --------
    >>> users = np.array(["Ann", "Ann", "Ann", "Bob", "Bob", "Cid"])
    >>> split_leave_one_out(users, times=[3, 9, 5, 2, 1, 7])
    array([ True, False,  True, False,  True,  True])
    """
    user, count, order = _by_user("split_leave_one_out", users, times, seed)
    train = np.ones(len(user), bool)
    train[order[np.cumsum(count)[count > 1] - 1]] = False
    return train


def split_histories(
    users: npt.ArrayLike, times: npt.ArrayLike | None = None, fraction: float = 0.8, seed: int = 0
) -> npt.NDArray[np.bool_]:
    """Return a mask of what is given of each user's history, to be asked for the rest.

    Of two interactions or more, at least one is given and at least one is left; a single one is given.

    Parameters
    ----------
    users : array, the user of each interaction (numbers or strings)
    times : array of numbers or datetime64, optional
        When each interaction was: the first of each user are then given, else random ones.
    fraction : float, default 0.8
        The share that is given, above 0 and below 1, rounded to whole interactions.
    seed : int, default 0
        The same seed gives the same split.

    Examples
    --------
    >>> users = np.array(["Ann", "Ann", "Ann", "Bob", "Bob", "Cid"])
    >>> split_histories(users, times=[3, 9, 5, 2, 1, 7])
    array([ True, False,  True, False,  True,  True])
    """
    _check_fraction("split_histories", fraction)
    user, count, order = _by_user("split_histories", users, times, seed)
    rank = np.arange(len(user)) - np.repeat(np.cumsum(count) - count, count)
    given = np.clip(np.rint(count * fraction), 1, np.maximum(count - 1, 1))
    mask = np.zeros(len(user), bool)
    mask[order] = rank < np.repeat(given, count)
    return mask


def split_by_time(times: npt.ArrayLike, fraction: float = 0.8) -> npt.NDArray[np.bool_]:
    """Return a mask of the training part: the interactions before some moment.

    Interactions of the same time stay together. So the cut lies between two times: where the training part comes
    closest to the share that is asked for, and of two that are equally close, at the earlier; neither part is empty.

    Parameters
    ----------
    times : array of numbers or datetime64, when each interaction was
    fraction : float, default 0.8
        The share to train on, above 0 and below 1.

    Examples
    --------
    >>> split_by_time([10, 40, 20, 30, 40, 50])
    array([ True,  True,  True,  True,  True, False])
    >>> split_by_time(np.array(["2024-05-01", "2024-05-01", "2024-05-02"], "M8[D]"))
    array([ True,  True, False])
    """
    _check_fraction("split_by_time", fraction)
    when = _times("split_by_time", times)
    moments, count = np.unique(when, return_counts=True)
    if len(when) == 0:
        return np.zeros(0, bool)
    if len(moments) == 1:
        raise ValueError(f"split_by_time: all {len(when)} interactions have the same time; give at least two times.")
    off = np.abs(np.cumsum(count)[:-1] - len(when) * fraction)
    cut = int(np.argmin(np.round(off, 9)))  # rounded, so that floats do not decide which of two is closer
    before: npt.NDArray[np.bool_] = when <= moments[cut]
    return before


def _by_user(
    caller: str, users: npt.ArrayLike, times: npt.ArrayLike | None, seed: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return users by number, how often each occurs, and an order of user by user and of time by time."""
    _, user = distinct_indices(caller, "users", users)
    when = np.zeros(len(user)) if times is None else _times(caller, times)
    if len(when) != len(user):
        raise ValueError(f"{caller}: {len(user)} users and {len(when)} times; give one each.")
    return user, np.bincount(user), np.lexsort((np.random.default_rng(seed).random(len(user)), when, user))


def _check_fraction(caller: str, fraction: float) -> None:
    if not 0 < fraction < 1:
        raise ValueError(f"{caller}: fraction must be above 0 and below 1, got {fraction!r}.")


def _times(caller: str, times: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return times that can be sorted, one-dimensional."""
    array = np.asarray(times)
    if array.ndim != 1:
        raise ValueError(f"{caller}: times must be one-dimensional, got shape {array.shape}.")
    if array.size and array.dtype.kind not in "iufM":
        raise ValueError(f"{caller}: times must be numbers or datetime64, got {array.dtype}.")
    if array.dtype.kind in "fM" and (np.isnan(array) if array.dtype.kind == "f" else np.isnat(array)).any():
        raise ValueError(f"{caller}: every interaction needs a time, but some are missing (NaN or NaT).")
    return array
