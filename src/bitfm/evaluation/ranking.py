"""How well a model ranks the whole catalogue: the items that come first, and AUC."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from bitfm import _core
from bitfm.data.blocks import Block, Blocks
from bitfm.data.feature_table import FeatureTable
from bitfm.data.splits import distinct_indices
from bitfm.evaluation.per_user import Ks, Mean, PerUser, check_ks
from bitfm.validation import thread_count

if TYPE_CHECKING:
    from bitfm.retrieval import Index

__all__ = ["RankMetrics", "auc", "rank_catalogue", "rank_metrics"]

ItemLists: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]  # where each user's items start; the items
ScoreRows: TypeAlias = Callable[[slice], npt.ArrayLike]

_ITEMS_PER_THREAD = 50_000  # below, starting a thread costs more than it saves
_QUERIES_AT_ONCE = 16_384
_SCORES_AT_ONCE = 2**22  # 32 MB of float64


@dataclass(frozen=True)
class RankMetrics:
    """How good the first k items are, by every measure; R is the number of a user's relevant items.

    Attributes
    ----------
    precision : PerUser
        The share of the first k that is relevant.
    recall : PerUser
        The share of the R relevant items that is among the first k.
    average_precision : PerUser
        The sum of the precision at each hit, divided by min(R, k); its mean over users is called MAP.
    reciprocal_rank : PerUser
        1 / the rank of the first hit, or 0; its mean over users is called MRR.
    hit : PerUser
        1 if any of the first k is relevant, or 0; its mean over users is called hit rate.
    ndcg : PerUser
        The sum of 1 / log2(rank + 1) over the hits, divided by what min(R, k) hits in front would have.
    """

    precision: PerUser
    recall: PerUser
    average_precision: PerUser
    reciprocal_rank: PerUser
    hit: PerUser
    ndcg: PerUser

    def means(self) -> dict[str, Mean]:
        """Return the mean over users of every measure."""
        return {field.name: getattr(self, field.name).mean() for field in fields(self)}


def rank_metrics(found: npt.ArrayLike, relevant: Any, k: Ks = 10, *, users: npt.ArrayLike | None = None) -> RankMetrics:
    """Return how many of the items that were found are relevant, and how far up they stand; see `rank_catalogue`.

    Users without a relevant item are left out.

    Parameters
    ----------
    found : array of int, users × n
        The items found for each user, best first; -1 where there are no more, as `Index.search` has it. A relevant
        item that a user has twice is refused.
    relevant : sparse matrix, users × items
        The held-out items that should be found: every entry other than 0.
    k : int or several of them, default 10
        How many of those found to look at, at most n.
    users : array, optional
        The users' names; by default the numbers of their rows.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> found = [[3, 1, 0], [2, 0, -1]]
    >>> relevant = sp.csr_matrix([[0, 1, 0, 1], [0, 1, 0, 0]])
    >>> rank_metrics(found, relevant, k=[1, 2, 3]).recall.values
    array([[0.5, 1. , 1. ],
           [0. , 0. , 0. ]])
    >>> {name: round(value, 3) for name, value in rank_metrics([[2, 0, 1]], relevant[:1], k=3).means().items()}
    {'precision': 0.333, 'recall': 0.5, 'average_precision': 0.167, 'reciprocal_rank': 0.333, 'hit': 1.0, 'ndcg': 0.307}
    """
    ks, several = check_ks(k)
    relevant = _as_rows("relevant", relevant)
    n_users, n_items = relevant.shape
    array = np.asarray(found)
    if array.ndim != 2 or len(array) != n_users or array.dtype.kind not in "iu":
        raise ValueError(
            f"found: expected whole numbers, a row for each of the {n_users} users of relevant, "
            f"got {array.dtype} of shape {array.shape}."
        )
    if array.shape[1] < max(ks):
        raise ValueError(
            f"k: the first {max(ks)} are asked for, but only {array.shape[1]} per user were found; find more."
        )
    if array.size and (array.min() < -1 or array.max() >= n_items):
        raise ValueError(
            f"found: items must be from 0 to {n_items - 1}, the columns of relevant, or -1 for none, "
            f"but they go from {array.min()} to {array.max()}."
        )
    rows = np.ascontiguousarray(array, np.int64)
    names = _user_names("rank_metrics", users, len(rows))
    return _metrics(rows, _relevant_items(relevant), n_items, ks, several, names)


def rank_catalogue(
    index: Index, users: Any, relevant: Any, exclude: Any = None, k: Ks = 10, *, n_jobs: int | None = -1
) -> RankMetrics:
    """Search a catalogue for every user, and return how good the items are that come first.

    Users without a relevant item are left out. Only the first items are kept, so there is no need of memory for the
    scores of all users and items, as for `auc`.

    Parameters
    ----------
    index : Index
        The catalogue: `DistilledFM.index`.
    users : Blocks, Block or array of int
        The queries, as for `Index.search`; one per row of `relevant`. Where they are indices of ids, these name the
        users in the result, and are all different; otherwise the indices of the rows do.
    relevant, k
        As for `rank_metrics`; items by their positions.
    exclude : sparse matrix, users × positions, optional
        Items not to find, such as those of the training part: every entry, whatever its value. They are not relevant
        either, since no search could find them.
    n_jobs : int, default -1
        Threads of the search; -1 is all. The result does not depend on it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from bitfm import Block, Blocks, DistilledFM
    >>> readers, books, ratings = [0, 0, 1, 1], [0, 1, 1, 2], [5, 4, 3, 5]
    >>> X = Blocks(user=Block(readers, {"id": sp.identity(2)}), item=Block(books, {"id": sp.identity(3)}))
    >>> model = DistilledFM(bits=32).fit(X, ratings)
    >>> known = sp.csr_matrix((ratings, (readers, books)), shape=(2, 3))
    >>> rank_catalogue(model.index(), [0, 1], relevant=sp.csr_matrix([[0, 0, 1], [1, 0, 0]]), exclude=known, k=1).hit
    PerUser(2 users, k=1, mean 1.0)
    """
    ks, several = check_ks(k)
    relevant = _as_rows("relevant", relevant)
    exclude = None if exclude is None else _as_rows("exclude", exclude, relevant.shape[0])
    if not isinstance(users, Block | Blocks):
        users = np.asarray(users)
    if len(users) != relevant.shape[0]:
        raise ValueError(f"rank_catalogue: {len(users)} users and {relevant.shape[0]} rows of relevant; give one each.")
    names = _user_names("rank_catalogue", None if isinstance(users, Block | Blocks) else users, len(users))
    best = np.full((len(users), max(ks)), -1, np.int64)
    for begin in range(0, len(users), _QUERIES_AT_ONCE):
        rows = slice(begin, min(begin + _QUERIES_AT_ONCE, len(users)))
        some = users.take(rows) if isinstance(users, Block) else users[rows]
        excluded = None if exclude is None else exclude[rows]
        positions, _ = index.search(some, max(ks), exclude=excluded, n_jobs=n_jobs)
        best[rows, : positions.shape[1]] = positions
    if best.max(initial=-1) >= relevant.shape[1]:
        raise ValueError(
            f"relevant: expected a column for each position of the index, got {relevant.shape[1]} columns, "
            f"but position {best.max()} was found."
        )
    return _metrics(best, _relevant_items(relevant, exclude), relevant.shape[1], ks, several, names)


def auc(
    scores: npt.ArrayLike | ScoreRows, relevant: Any, exclude: Any = None, *, users: npt.ArrayLike | None = None
) -> PerUser:
    """Return for each user how likely a relevant item is scored above one that is not, ties counting half.

    Users need a relevant and another item to count. It is exact, and needs the score of every item. Where there are
    many users, give a function for the scores: it is asked for some rows at a time, and all scores are never in memory
    together.

    Parameters
    ----------
    scores : array of users × items, or function that takes a slice of users and returns their rows
        A function is called with slices from the first user to the last. No score may be NaN.
    relevant, users
        As for `rank_metrics`.
    exclude : sparse matrix, users × items, optional
        Items that count neither as relevant nor as others, such as those of the training part: every entry, whatever
        its value, as for `Index.search`.

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
    relevant = _as_rows("relevant", relevant)
    n_users, n_items = relevant.shape
    exclude = None if exclude is None else _as_rows("exclude", exclude, n_users)
    if exclude is not None and exclude.shape[1] > n_items:
        raise ValueError(f"exclude: expected at most {n_items} items, as relevant has, got {exclude.shape[1]}.")
    names = _user_names("auc", users, n_users)
    rows_of: ScoreRows = scores if callable(scores) else np.asarray(scores).__getitem__
    if not callable(scores) and np.shape(scores) != (n_users, n_items):
        raise ValueError(f"auc: expected {n_users} × {n_items} scores, as relevant has, got shape {np.shape(scores)}.")
    step = max(1, _SCORES_AT_ONCE // max(1, n_items))
    values = np.empty(n_users)
    for begin in range(0, n_users, step):
        rows = slice(begin, min(begin + step, n_users))
        some = _score_rows(rows_of(rows), (rows.stop - rows.start, n_items))
        excluded: tuple[Any, Any] = (None, None) if exclude is None else _items_of(exclude[rows])
        values[rows] = _core.auc(some, *_relevant_items(relevant[rows]), *excluded, thread_count(-1))
    counted = ~np.isnan(values)
    return PerUser(names[counted], values[counted])


def _metrics(
    found: npt.NDArray[np.int64], relevant: ItemLists, n_items: int, ks: tuple[int, ...], several: bool, names: Any
) -> RankMetrics:
    threads = min(thread_count(-1), 1 + found.size // _ITEMS_PER_THREAD)
    values = _core.rank_metrics(found, *relevant, n_items, np.array(ks, np.int64), threads)
    counted = np.diff(relevant[0]) > 0
    tables = values.reshape(-1, len(found), len(ks))[:, counted]
    return RankMetrics(*(PerUser(names[counted], table if several else table[:, 0].copy(), ks) for table in tables))


def _score_rows(scores: npt.ArrayLike, shape: tuple[int, int]) -> npt.NDArray[Any]:
    some = np.asarray(scores)
    if some.shape != shape or some.dtype.kind not in "biuf":
        raise ValueError(f"auc: expected {shape[0]} × {shape[1]} scores, got {some.dtype} of shape {some.shape}.")
    some = np.ascontiguousarray(some, np.float32 if some.dtype == np.float32 else np.float64)
    if np.isnan(some).any():
        raise ValueError("auc: scores must not be NaN.")
    return some


def _as_rows(name: str, values: Any, n_users: int | None = None) -> sp.csr_matrix:
    """Return a sparse matrix of users × items with sorted columns."""
    if not sp.issparse(values):
        raise TypeError(f"{name}: expected a sparse matrix of users × items, got {type(values).__name__}.")
    matrix = FeatureTable.of(name, values).to_csr()
    if n_users is not None and matrix.shape[0] != n_users:
        raise ValueError(f"{name}: expected a row for each of {n_users} users, got a matrix of shape {matrix.shape}.")
    return matrix


def _user_names(caller: str, users: npt.ArrayLike | None, n_users: int) -> npt.NDArray[Any]:
    """Return the users' names, all different, or the numbers of the rows without any."""
    if users is None:
        return np.arange(n_users)
    distinct, places = distinct_indices(caller, "users", users)
    if not len(distinct) == len(places) == n_users:
        raise ValueError(
            f"{caller}: expected {n_users} different users, one per row, got {len(places)} ({len(distinct)} different)."
        )
    return distinct[places]


def _items_of(matrix: sp.csr_matrix) -> ItemLists:
    """Return each user's items, whatever their values: copies, which no one else can change."""
    return np.array(matrix.indptr, np.int64), np.array(matrix.indices, np.int32)


def _relevant_items(relevant: sp.csr_matrix, exclude: sp.csr_matrix | None = None) -> ItemLists:
    """Return each user's relevant items, without those of value 0 and those that are excluded."""
    shape = relevant.shape if exclude is None else (relevant.shape[0], max(relevant.shape[1], exclude.shape[1]))
    items = sp.csr_matrix((relevant.data != 0, relevant.indices, relevant.indptr), shape)
    if exclude is not None:
        items = items > sp.csr_matrix((np.ones(exclude.nnz, bool), exclude.indices, exclude.indptr), shape)
    items = sp.csr_matrix(items, copy=True)
    items.eliminate_zeros()
    items.sort_indices()
    return _items_of(items)
