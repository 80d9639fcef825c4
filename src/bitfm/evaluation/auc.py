"""AUC: how often a relevant item is scored above another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.evaluation._checks import as_rows, items_of, relevant_items, user_names
from bitfm.evaluation.per_user import PerUser
from bitfm.validation import thread_count

__all__ = ["auc"]

ScoreRows: TypeAlias = Callable[[slice], npt.ArrayLike]

_SCORES_AT_ONCE = 2**22  # 32 MB of float64


def auc(
    scores: npt.ArrayLike | ScoreRows, relevant: Any, exclude: Any = None, *, users: npt.ArrayLike | None = None
) -> PerUser:
    """Return for each user how likely a relevant item is scored above one that is not, ties counting half.

    It is exact, and needs the score of every item. Where there are many users, give a function for the scores: it is
    asked for some rows at a time, and all scores are never in memory together.

    Parameters
    ----------
    scores : array of users × items, or function that takes a slice of users and returns their rows
        A function is called with slices from the first user to the last. No score may be NaN.
    relevant : sparse matrix, users × items
        The held-out items that should come first: every entry other than 0.
    exclude : sparse matrix, users × items, optional
        Items that count neither as relevant nor as others, such as those of the training part: every entry, whatever
        its value, as for `Index.search`.
    users : array, optional
        The users' names; by default the numbers of their rows.

    Returns
    -------
    PerUser
        Of the users with at least one relevant and one other item.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> scores = np.array([[0.9, 0.5, 0.5, 0.1], [0.1, 0.2, 0.3, 0.4]])
    >>> relevant = sp.csr_matrix([[0, 1, 0, 0], [1, 0, 0, 1]])
    >>> auc(scores, relevant, exclude=sp.csr_matrix([[1, 0, 0, 0], [1, 0, 0, 0]])).values
    array([0.75, 1.  ])
    >>> auc(lambda rows: scores[rows], relevant)
    PerUser(2 users, mean 0.5)
    """
    relevant = as_rows("relevant", relevant)
    n_users, n_items = relevant.shape
    exclude = None if exclude is None else as_rows("exclude", exclude, n_users)
    if exclude is not None and exclude.shape[1] > n_items:
        raise ValueError(f"exclude: expected at most {n_items} items, as relevant has, got {exclude.shape[1]}.")
    names = user_names("auc", users, n_users)
    rows_of: ScoreRows = scores if callable(scores) else np.asarray(scores).__getitem__
    if not callable(scores) and np.shape(scores) != (n_users, n_items):
        raise ValueError(f"auc: expected {n_users} × {n_items} scores, as relevant has, got shape {np.shape(scores)}.")
    step = max(1, _SCORES_AT_ONCE // max(1, n_items))
    values = np.empty(n_users)
    for begin in range(0, n_users, step):
        rows = slice(begin, min(begin + step, n_users))
        some = _score_rows(rows_of(rows), (rows.stop - rows.start, n_items))
        excluded: tuple[Any, Any] = (None, None) if exclude is None else items_of(exclude[rows])
        values[rows] = _core.auc(some, *relevant_items(relevant[rows]), *excluded, thread_count(-1))
    counted = ~np.isnan(values)
    return PerUser(names[counted], values[counted])


def _score_rows(scores: npt.ArrayLike, shape: tuple[int, int]) -> npt.NDArray[Any]:
    some = np.asarray(scores)
    if some.shape != shape or some.dtype.kind not in "biuf":
        raise ValueError(f"auc: expected {shape[0]} × {shape[1]} scores, got {some.dtype} of shape {some.shape}.")
    some = np.ascontiguousarray(some, np.float32 if some.dtype == np.float32 else np.float64)
    if np.isnan(some).any():
        raise ValueError("auc: scores must not be NaN.")
    return some
