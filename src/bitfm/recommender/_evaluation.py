"""How good a recommender is on interactions that it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.data.blocks import Block
from bitfm.errors import EmptyTableError
from bitfm.parameters import Parameters, towers
from bitfm.recommender._state import State
from bitfm.retrieval import Index
from bitfm.validation import thread_count

__all__ = ["Evaluation", "evaluate_each_event", "evaluate_events", "evaluate_ratings"]


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


def evaluate_ratings(
    state: State,
    parameters: Parameters,
    users: npt.NDArray[Any],
    items: npt.NDArray[Any],
    ratings: npt.NDArray[np.float64],
    context: Block | None,
    names: npt.NDArray[Any],
    k: int,
) -> Evaluation:
    """Rank each user's interactions; `names` tells users apart that are not known."""
    from bitfm.evaluation import mae, ndcg, rmse

    scores = parameters.scores(state.blocks(users, items, context).design(), thread_count(state.n_jobs))
    scores = np.asarray(scores, np.float64)
    return Evaluation(
        ndcg=float(ndcg(names, ratings, scores, k=k)),
        k=k,
        users=len(np.unique(names)),
        interactions=len(ratings),
        rmse=float(rmse(ratings, scores)),
        mae=float(mae(ratings, scores)),
    )


def evaluate_events(
    state: State,
    parameters: Parameters,
    users: npt.NDArray[Any],
    items: npt.NDArray[Any],
    names: npt.NDArray[Any],
    k: int,
) -> Evaluation:
    """Rank for each user what is new to them: all held-out items should come first.

    Items that are not known have indices beyond those that are.
    """
    import scipy.sparse as sp

    _, first, query = np.unique(names, return_index=True, return_inverse=True)
    of_queries = users[first]
    width = max(len(state.items), int(items.max(initial=-1)) + 1)
    seen = state.log.by_user.take(of_queries)
    keys = query * width + items
    had = np.repeat(np.arange(len(first)), np.diff(seen.indptr)) * width + seen.indices
    new = ~np.isin(keys, had)  # else there is nothing to recommend
    entries = np.ones(int(new.sum())), (query[new], items[new])
    relevant = sp.csr_matrix(entries, shape=(len(of_queries), width))
    return _measured(_best(state, parameters, of_queries, None, seen, k), relevant, k)


def evaluate_each_event(
    state: State,
    parameters: Parameters,
    users: npt.NDArray[Any],
    items: npt.NDArray[Any],
    context: Block | None,
    k: int,
) -> Evaluation:
    """Rank the catalogue for each interaction, in its context: its item should come first, seen before or not."""
    import scipy.sparse as sp

    n = len(state.items)
    entries = np.ones(len(items)), (np.arange(len(items)), np.where(items < 0, n, items))
    relevant = sp.csr_matrix(entries, shape=(len(items), n + 1))
    return _measured(_best(state, parameters, users, context, None, k), relevant, k)


def _measured(found: npt.NDArray[np.int64], relevant: Any, k: int) -> Evaluation:
    from bitfm.evaluation import rank_metrics

    if not relevant.nnz:
        raise EmptyTableError("test: no interaction has an item that is new to its user; give others.")
    means = rank_metrics(found, relevant, k=min(k, found.shape[1])).means()
    return Evaluation(
        ndcg=float(means["ndcg"]),
        k=k,
        users=int((np.diff(relevant.indptr) > 0).sum()),
        interactions=int(relevant.nnz),
        hit_rate=float(means["hit"]),
        mrr=float(means["reciprocal_rank"]),
    )


def _best(
    state: State, parameters: Parameters, users: npt.NDArray[Any], context: Block | None, seen: Any, k: int
) -> npt.NDArray[np.int64]:
    """Return the best items, ranked as they are served: by an index."""
    if parameters is state.index.parameters:
        index, rows = state.index, state.query_rows(users, context)
    else:
        catalogue = np.arange(len(state.items))
        index = Index(parameters, Block(catalogue, state.tables("item", catalogue)), "item")
        rows = towers(parameters, "item")[0].rows_of(state.queries(users, context), thread_count(state.n_jobs))
    return index.search_rows(rows, k, exclude=seen, n_jobs=state.n_jobs)[0]
