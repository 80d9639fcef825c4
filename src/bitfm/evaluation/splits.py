"""Which interactions to train on, and which to test on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["split_cold_items", "split_per_user"]


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

    Returns
    -------
    ndarray of bool, one an interaction
        True in the training part, False in the test part.

    Examples
    --------
    >>> users = np.array(["Ann", "Ann", "Ann", "Bob", "Bob", "Cid"])
    >>> train = split_per_user(users)
    >>> users[train], users[~train]
    (array(['Ann', 'Ann', 'Bob', 'Cid'], dtype='<U3'), array(['Ann', 'Bob'], dtype='<U3'))
    """
    _, user, count = _distinct("split_per_user", "users", users, fraction)
    order = np.lexsort((np.random.default_rng(seed).random(len(user)), user))
    rank = np.arange(len(user)) - np.repeat(np.cumsum(count) - count, count)
    train = np.zeros(len(user), bool)
    # Rounded first: 0.07 of 100 is 7.000000000000001 in floats, and not to be 8.
    train[order] = rank < np.repeat(np.ceil(np.round(count * fraction, 9)), count)
    return train


def split_cold_items(items: npt.ArrayLike, fraction: float = 0.2, seed: int = 0) -> npt.NDArray[np.bool_]:
    """Return a mask of the training part: the interactions whose item is not one of a random share of the items.

    No interaction with a cold item is left to train on. Only features can tell what it is like.

    Parameters
    ----------
    items : array, the item of each interaction (numbers or strings)
    fraction : float, default 0.2
        The share of the distinct items that are cold, above 0 and below 1, rounded to whole items.
    seed : int, default 0
        The same seed gives the same split.

    Returns
    -------
    ndarray of bool, one an interaction
        True in the training part, False for all interactions with a cold item.

    Examples
    --------
    >>> items = np.array(["rum", "gin", "rum", "tea", "ale", "oil", "oil"])
    >>> train = split_cold_items(items)
    >>> items[~train]
    array(['rum', 'rum'], dtype='<U3')
    """
    n_items, item, _ = _distinct("split_cold_items", "items", items, fraction)
    place = np.random.default_rng(seed).permutation(n_items)
    warm: npt.NDArray[np.bool_] = place[item] >= round(n_items * fraction)
    return warm


def _distinct(
    caller: str, side: str, values: npt.ArrayLike, fraction: float
) -> tuple[int, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return how many distinct values there are, the number of each value, and how often each number occurs."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{caller}: {side} must be one-dimensional, got shape {array.shape}.")
    if not 0 < fraction < 1:
        raise ValueError(f"{caller}: fraction must be above 0 and below 1, got {fraction!r}.")
    distinct, numbers, counts = np.unique(array, return_inverse=True, return_counts=True)
    return len(distinct), numbers, counts
