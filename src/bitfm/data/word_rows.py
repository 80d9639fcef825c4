"""Rows of words that are weighed and of unit length, and the words alone that a file keeps of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["fold", "unfold", "weigh"]

_MOST_OFTEN = 255  # that a row may have a word for it to be kept so
_MOST_AT_LEAST = 6  # that it may have all of its words

Rows = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float32]]  # indptr, columns and values


def weigh(
    rows: npt.NDArray[Any],
    columns: npt.NDArray[Any],
    counts: npt.NDArray[Any],
    weights: npt.NDArray[np.float64],
    n_rows: int,
) -> npt.NDArray[np.float32]:
    """Return count × weight of each entry, divided by the length of its row."""
    values = counts.astype(np.float32)
    values *= weights[columns]
    # Squares are rounded, and added one after the other in double precision.
    values /= np.sqrt(np.bincount(rows, weights=values * values, minlength=n_rows))[rows]
    return values


def unfold(indptr: npt.NDArray[np.int64], words: npt.NDArray[Any], weights: npt.NDArray[np.float64]) -> Rows:
    """Return rows of weighed words, of rows that have a word as often as it occurs.

    Examples
    --------
    >>> unfold(np.array([0, 3, 4]), np.array([1, 1, 2, 0]), np.array([2.0, 1.5, 4.0]))
    (array([0, 2, 3]), array([1, 2, 0], dtype=int32), array([0.6, 0.8, 1. ], dtype=float32))
    """
    n_rows = len(indptr) - 1
    rows = np.repeat(np.arange(n_rows), np.diff(indptr))
    first = np.ones(len(words), bool)
    first[1:] = (words[1:] != words[:-1]) | (rows[1:] != rows[:-1])
    at = np.flatnonzero(first)
    rows, columns, counts = rows[at], words[at].astype(np.int32), np.diff(np.append(at, len(words)))
    starts = np.append(0, np.cumsum(np.bincount(rows, minlength=n_rows)))
    return starts, columns, weigh(rows, columns, counts, weights, n_rows)


def fold(
    indptr: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int32],
    values: npt.NDArray[Any],
    weights: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]] | None:
    """Return the rows that `unfold` makes these of, to the last bit; None where there are none."""
    sizes = np.diff(indptr)
    starts, rows = indptr[:-1][sizes > 0], np.repeat(np.arange(np.count_nonzero(sizes)), sizes[sizes > 0])
    if not len(rows) or not (values > 0).all():
        return None
    shares = values / weights[columns]
    ratios = shares / np.minimum.reduceat(shares, starts)[rows]
    counts = np.zeros(len(rows), np.int64)
    for least in range(1, _MOST_AT_LEAST + 1):  # lengths tell nothing of it
        tried = np.minimum(np.rint(ratios * least), _MOST_OFTEN).astype(np.int64)
        same = weigh(rows, columns, tried, weights, len(starts)) == values
        right = np.logical_and.reduceat(same, starts)[rows] & (counts == 0)
        counts[right] = tried[right]
    if (counts == 0).any():
        return None
    return np.append(0, np.cumsum(counts))[indptr], np.repeat(columns, counts)
