"""How good a recommender is on interactions that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from bitfm.data.blocks import Block
from bitfm.errors import EmptyTableError
from bitfm.evaluation import mae, ndcg, rank_metrics, rmse
from bitfm.models.base import FeatureModel
from bitfm.models.codes import CodeModel
from bitfm.recommender._growth import without_fields
from bitfm.recommender._state import CONTEXT, State

__all__ = ["Evaluation", "evaluate_each_event", "evaluate_events", "evaluate_ratings", "without"]

_SCORES_AT_ONCE = 1 << 24


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


def without(state: State, fields: Sequence[str]) -> State:
    """Return a state whose model knows nothing of some fields."""
    return replace(state, model=without_fields(state.model, fields)) if fields else state


def evaluate_ratings(
    state: State,
    model: FeatureModel,
    users: npt.NDArray[Any],
    items: npt.NDArray[Any],
    ratings: npt.NDArray[np.float64],
    context: Block | None,
    names: npt.NDArray[Any],
    k: int,
) -> Evaluation:
    """Rank each user's interactions; `names` tells users apart that are not known."""
    scores = model.predict(state.blocks(users, items, context))
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
    model: FeatureModel,
    users: npt.NDArray[Any],
    items: npt.NDArray[Any],
    names: npt.NDArray[Any],
    k: int,
) -> Evaluation:
    """Rank for each user what is new to them: all held-out items should come first.

    Items that are not known have numbers beyond those that are.
    """
    _, first, query = np.unique(names, return_index=True, return_inverse=True)
    of_queries = users[first]
    width = max(len(state.items), int(items.max(initial=-1)) + 1)
    seen = state.log.by_user.take(of_queries)
    keys = query * width + items
    had = np.repeat(np.arange(len(first)), np.diff(seen.indptr)) * width + seen.indices
    new = ~np.isin(keys, had)  # else there is nothing to recommend
    entries = np.ones(int(new.sum())), (query[new], items[new])
    relevant = sp.csr_matrix(entries, shape=(len(of_queries), width))
    return _measured(_best(state, model, of_queries, None, seen, k), relevant, k)


def evaluate_each_event(
    state: State,
    model: FeatureModel,
    users: npt.NDArray[Any],
    items: npt.NDArray[Any],
    context: Block | None,
    k: int,
) -> Evaluation:
    """Rank the catalogue for each interaction, in its context: its item should come first, seen before or not."""
    n = len(state.items)
    entries = np.ones(len(items)), (np.arange(len(items)), np.where(items < 0, n, items))
    relevant = sp.csr_matrix(entries, shape=(len(items), n + 1))
    return _measured(_best(state, model, users, context, None, k), relevant, k)


def _measured(found: npt.NDArray[np.int64], relevant: sp.csr_matrix, k: int) -> Evaluation:
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
    state: State, model: FeatureModel, users: npt.NDArray[Any], context: Block | None, seen: Any, k: int
) -> npt.NDArray[np.int64]:
    """Return the best items of any model whose features meet across blocks only, such as those we compare with."""
    catalogue = np.arange(len(state.items))
    vectors = _query_vectors(state, model, users, context)
    item_constants, item_vectors = _sums(model, "item", Block(catalogue, state.tables("item", catalogue)))
    k = min(k, len(catalogue))
    found = np.empty((len(users), k), np.int64)
    step = max(1, _SCORES_AT_ONCE // max(len(catalogue), 1))
    for begin in range(0, len(users), step):
        part = slice(begin, begin + step)
        scores = vectors[part] @ item_vectors.T + item_constants
        if seen is not None:
            rows = seen[part]
            scores[np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)), rows.indices] = -np.inf
        first = np.argpartition(-scores, k - 1, axis=1)[:, :k]
        order = np.lexsort((first, -np.take_along_axis(scores, first, axis=1)))
        found[part] = np.take_along_axis(first, order, axis=1)
    return found


def _query_vectors(
    state: State, model: FeatureModel, users: npt.NDArray[Any], context: Block | None
) -> npt.NDArray[Any]:
    """Return the vectors of queries; their constants do not change what is best."""
    distinct, rows = np.unique(users, return_inverse=True)
    blocks = {"user": Block(rows, state.tables("user", distinct))}
    if state.context:
        blocks[CONTEXT] = context if context is not None else state.no_context(len(users))
    return np.asarray(sum(_sums(model, name, block)[1] for name, block in blocks.items()))


def _sums(model: FeatureModel, name: str, block: Block) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return Σ w x and Σ v x of a block's rows."""
    spans = [field for field in model.fields_ if field.block == name]
    constants: Any = 0.0
    vectors: Any = 0.0
    for span, table in zip(spans, block.tables.values(), strict=True):
        part = np.arange(span.start, span.stop)
        matrix = table.to_csr()
        constants = constants + matrix @ np.asarray(model.weights_[part], np.float64)
        vectors = vectors + matrix @ _factors(model, part)
    return constants[block.rows], vectors[block.rows]


def _factors(model: FeatureModel, part: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if isinstance(model, CodeModel):
        return model._factors_of(part)
    factors = getattr(model, "factors_", None)
    return np.zeros((len(part), 1), np.float32) if factors is None else np.asarray(factors[part], np.float32)
