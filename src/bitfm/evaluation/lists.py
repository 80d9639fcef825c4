"""What lists of recommended items are like, whether or not they are right: coverage, novelty, diversity."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.evaluation.per_user import PerUser
from bitfm.validation import check_integer

__all__ = ["coverage", "diversity", "novelty"]

_NUMBERS_AT_ONCE = 2**22  # of items' vectors, 16 MB of float32


def coverage(found: npt.ArrayLike, n_items: int) -> float:
    """Return the share of all items that is in at least one list.

    Parameters
    ----------
    found : array of int, lists × k
        The items of each list; -1 where there are no more, as `Index.search` has it.
    n_items : int
        How many items there are.

    Examples
    --------
    >>> coverage([[0, 1], [1, -1]], n_items=4)
    0.5
    """
    n_items = check_integer("n_items", n_items, 1)
    items = _lists("coverage", found, n_items)
    return len(np.unique(items[items >= 0])) / n_items


def novelty(
    found: npt.ArrayLike, counts: npt.ArrayLike, n_users: int, *, users: npt.ArrayLike | None = None
) -> PerUser:
    """Return how surprising each list is: the mean of −log2 of the share of users who have had an item.

    An item that nobody has had counts as one that a single user has had. Empty lists are left out.

    Parameters
    ----------
    found : array of int, lists × k
        As for `coverage`.
    counts : array of int
        How many users have had each item.
    n_users : int
        Of how many.
    users : array, optional
        Whose lists they are; by default the numbers of the rows.

    Examples
    --------
    >>> novelty([[0, 1], [1, -1]], counts=[8, 2], n_users=8).values
    array([1., 2.])
    """
    had, n_users = np.asarray(counts), check_integer("n_users", n_users, 1)
    if had.ndim != 1 or had.dtype.kind not in "iu" or (len(had) and not 0 <= had.min() <= had.max() <= n_users):
        raise ValueError(f"novelty: counts must be whole numbers from 0 to the {n_users} users, one per item.")
    items = _lists("novelty", found, len(had))
    surprise = np.append(-np.log2(np.maximum(had, 1) / n_users), 0.0)[items]
    length = (items >= 0).sum(axis=1)
    return _of_lists("novelty", users, surprise.sum(axis=1), length, length > 0)


def diversity(found: npt.ArrayLike, vectors: npt.ArrayLike, *, users: npt.ArrayLike | None = None) -> PerUser:
    """Return how unlike the items of each list are: the mean over its pairs of 1 − the cosine of their vectors.

    Lists of fewer than two items are left out. A vector of zeros is unlike all others.

    Parameters
    ----------
    found : array of int, lists × k
        As for `coverage`.
    vectors : array, items × dimensions
        What items are like: codes, or features.
    users : array, optional
        Whose lists they are; by default the numbers of the rows.

    Examples
    --------
    >>> diversity([[0, 1, 2], [0, 1, -1]], [[1, 0], [2, 0], [0, 1]]).values.round(3)
    array([0.667, 0.   ])
    """
    table = np.asarray(vectors)
    if table.ndim != 2 or table.dtype.kind not in "biuf" or not np.isfinite(table).all():
        raise ValueError(f"diversity: vectors must be finite numbers, one row per item, got shape {table.shape}.")
    items = _lists("diversity", found, len(table))
    lengths = np.sqrt(np.einsum("ij,ij->i", table, table, dtype=np.float64))
    unit = np.zeros((len(table) + 1, table.shape[1]), np.float32)  # the last is of -1
    np.divide(table, lengths[:, None], out=unit[:-1], where=lengths[:, None] > 0, casting="unsafe")
    there = np.append(lengths > 0, False)
    sums = np.empty(len(items))  # of the cosines of all ordered pairs
    step = max(1, _NUMBERS_AT_ONCE // max(1, items.shape[1] * table.shape[1]))
    for begin in range(0, len(items), step):
        rows = items[begin : begin + step]
        total = unit[rows].sum(axis=1, dtype=np.float64)
        sums[begin : begin + step] = np.einsum("ij,ij->i", total, total) - there[rows].sum(axis=1)
    n = (items >= 0).sum(axis=1)
    pairs = n * (n - 1)
    return _of_lists("diversity", users, pairs - sums, pairs, n > 1)


def _of_lists(caller: str, users: npt.ArrayLike | None, sums: Any, counts: Any, counted: Any) -> PerUser:
    names = np.arange(len(sums)) if users is None else np.asarray(users)
    if names.shape != sums.shape:
        raise ValueError(f"{caller}: expected {len(sums)} users, one per list, got an array of shape {names.shape}.")
    return PerUser(names[counted], sums[counted] / counts[counted])


def _lists(caller: str, found: npt.ArrayLike, n_items: int) -> npt.NDArray[np.int64]:
    items = np.asarray(found)
    if items.ndim != 2 or items.dtype.kind not in "iu":
        raise ValueError(f"{caller}: found must be whole numbers, lists × k, got {items.dtype} of shape {items.shape}.")
    if items.size and not -1 <= items.min() <= items.max() < n_items:
        raise ValueError(
            f"{caller}: found must have items from 0 to {n_items - 1}, or -1 for none, but they go from {items.min()} "
            f"to {items.max()}."
        )
    return items.astype(np.int64)
