"""How good a recommender is on interactions that it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.data.blocks import Block
from bitfm.data.interactions import Interactions
from bitfm.data.vocabulary import Vocabulary
from bitfm.errors import EmptyTableError
from bitfm.parameters import with_all_ids
from bitfm.recommender._events.state import EventState
from bitfm.recommender._inputs import contexts_of
from bitfm.recommender._matrix import entry_keys
from bitfm.recommender._side import SEEN_FIELDS
from bitfm.recommender._state import State

__all__ = ["Evaluation", "evaluate", "widened"]


@dataclass(frozen=True)
class Evaluation:
    """What `Recommender.evaluate` found.

    Attributes
    ----------
    ndcg : float
        NDCG@k. Of ratings: each user's held-out items ranked, with gain 2^r − 1. Of events: the whole catalogue ranked.
    k : int
    users, interactions : int
        How many there were to test on. Of events that are ranked by interaction, the two are the same.
    rmse, mae : float or None
        Of ratings.
    hit_rate, mrr : float or None
        Of events: the share of users with a hit among the first k, and the mean of 1 / rank of the first hit.

    Examples
    --------
    >>> Evaluation(ndcg=0.81, k=10, users=6040, interactions=497000, rmse=0.85, mae=0.67).rows()
    {'NDCG@10': 0.81, 'RMSE': 0.85, 'MAE': 0.67}
    """

    ndcg: float
    k: int
    users: int
    interactions: int
    rmse: float | None = None
    mae: float | None = None
    hit_rate: float | None = None
    mrr: float | None = None

    def rows(self) -> dict[str, float]:
        """Return the measures by the names that tables show."""
        named = {f"NDCG@{self.k}": self.ndcg, "RMSE": self.rmse, "MAE": self.mae}
        named |= {f"hit rate@{self.k}": self.hit_rate, f"MRR@{self.k}": self.mrr}
        return {name: value for name, value in named.items() if value is not None}


def widened(state: State, parameters: Any) -> Any:
    """Return parameters of another model of the same training data with a column for every id."""
    if parameters.sizes == state.sizes:
        return parameters
    observed = {name: np.flatnonzero(np.diff(state.log.side(name).indptr)) for name in SEEN_FIELDS}
    return with_all_ids(parameters, observed, {name: len(state.side(name)) for name in SEEN_FIELDS}, SEEN_FIELDS)


def evaluate(state: State, parameters: Any, test: Interactions, k: int, by: str) -> Evaluation:
    """Return how good parameters are on interactions; `by` says how events are ranked."""
    from bitfm.evaluation import mae, ndcg, rmse

    users, items = state.users.ids.indices(test.users), state.items.ids.indices(test.items)
    context = contexts_of(state, test)
    names = Vocabulary.of(test.users).indices(test.users)  # tells those apart who are not known
    if test.target is None:
        liked = _liked(state, test)
        if not liked.all():
            test, users, items, names = test.take(liked), users[liked], items[liked], names[liked]
            context = None if context is None else context.take(liked)
        unknown = test.items.filter(items < 0)
        items = items.astype(np.int64)
        items[items < 0] = len(state.items) + Vocabulary.of(unknown).indices(unknown)  # which nobody can find
        if by == "interaction" or (by == "auto" and state.context):
            return _ranked(state, parameters, users, context, None, np.arange(len(items)), items, k)
        _, first, query = np.unique(names, return_index=True, return_inverse=True)
        seen = state.log.by_user.take(users[first])
        n = seen.n_columns
        new = (items >= n) | ~np.isin(query * n + items, entry_keys(seen))  # else there is nothing to recommend
        return _ranked(state, parameters, users[first], None, seen, query[new], items[new], k)
    scores = state.scores(users, items, context, parameters)
    return Evaluation(
        ndcg=float(ndcg(names, test.target, scores, k=k)),
        k=k,
        users=len(np.unique(names)),
        interactions=len(test),
        rmse=float(rmse(test.target, scores)),
        mae=float(mae(test.target, scores)),
    )


def _liked(state: State, test: Interactions) -> npt.NDArray[np.bool_]:
    """Return which events count for their items: these are to be found."""
    assert isinstance(state, EventState)
    return state.strengths.values(test, "test") > 0


def _ranked(
    state: State,
    parameters: Any,
    users: npt.NDArray[Any],
    context: Block | None,
    seen: Any,
    queries: npt.NDArray[Any],
    items: npt.NDArray[Any],
    k: int,
) -> Evaluation:
    """Rank the catalogue for queries, without what their users have seen: each item should come first in its query."""
    import scipy.sparse as sp

    from bitfm.evaluation import rank_metrics

    if not len(items):
        raise EmptyTableError("test: no interaction has an item that is new to its user; give others.")
    if hasattr(parameters, "recommend"):  # another model of events
        histories = state.log.by_user.take(users).to_csr()
        found = np.asarray(parameters.recommend(histories, k, seen=seen is None)[0])
    else:
        index, rows = state.ranker(parameters, users, context)
        found = index.search_rows(rows, k, exclude=seen, n_jobs=state.n_jobs)[0]
    shape = len(users), max(len(state.items), int(items.max()) + 1)
    relevant = sp.csr_matrix((np.ones(len(items)), (queries, items)), shape=shape)
    means = rank_metrics(found, relevant, k=min(k, found.shape[1])).means()
    return Evaluation(
        ndcg=float(means["ndcg"]),
        k=k,
        users=int((np.diff(relevant.indptr) > 0).sum()),
        interactions=int(relevant.nnz),
        hit_rate=float(means["hit"]),
        mrr=float(means["reciprocal_rank"]),
    )
