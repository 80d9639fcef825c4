"""Measures a recommender, or another model of the same data, on interactions that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.data.blocks import Block
from bitfm.data.feature_table import FeatureTable
from bitfm.data.interactions import Interactions
from bitfm.data.vocabulary import Vocabulary
from bitfm.errors import EmptyTableError
from bitfm.parameters import with_all_ids
from bitfm.recommender._evaluation import Evaluation, evaluation_of
from bitfm.recommender._events.state import EventState
from bitfm.recommender._inputs import contexts_of
from bitfm.recommender._matrix import InteractionMatrix, entry_keys
from bitfm.recommender._popularity import POPULARITY, Popularity
from bitfm.recommender._side import SEEN_FIELDS
from bitfm.recommender._state import State
from bitfm.validation import check_choice

__all__ = ["evaluate", "is_liked", "is_ranked_by_interaction"]

_MEASURES = {  # names of rank_metrics, by ours
    "ndcg": "ndcg",
    "recall": "recall",
    "precision": "precision",
    "map": "average_precision",
    "mrr": "reciprocal_rank",
    "hit_rate": "hit",
}


def evaluate(
    state: State, test: Interactions, *, k: int, by: str = "auto", model: Any = None, without: Sequence[str] = ()
) -> Evaluation:
    """Return how good a state is on interactions, or another model, or it without some fields."""
    by = check_choice("by", by, ("auto", "user", "interaction"))
    fitted = state
    if test.given is not None:
        state = _with_histories(state, test.given)
    parameters = _parameters(state, fitted, model, without)
    users, items = state.users.ids.indices(test.users), state.items.ids.indices(test.items)
    context, who = contexts_of(state, test), Vocabulary.of(test.users)
    names = who.indices(test.users)  # tells those apart who are not known
    ids = np.array(who.take(np.arange(len(who))).to_list(), object)
    if test.target is not None:
        return _of_ratings(ids, names, test.target, state.scores(users, items, context, parameters), k)
    liked = is_liked(state, test)
    if not liked.all():
        test, users, items, names = test.take(liked), users[liked], items[liked], names[liked]
        context = None if context is None else context.take(liked)
    unknown = test.items.filter(items < 0)
    items = items.astype(np.int64)
    items[items < 0] = len(state.items) + Vocabulary.of(unknown).indices(unknown)  # which nobody can find
    lists = _Lists(state, parameters, fitted.log, k, ids)
    if is_ranked_by_interaction(by, state):
        return lists.evaluation(users, context, None, np.arange(len(items)), items, names, pooled=True)
    _, first, query = np.unique(names, return_index=True, return_inverse=True)
    seen = state.log.by_user.take(users[first])
    n = seen.n_columns
    new = (items >= n) | ~np.isin(query * n + items, entry_keys(seen))  # else there is nothing to recommend
    return lists.evaluation(users[first], None, seen, query[new], items[new], names[first], pooled=False)


def is_ranked_by_interaction(by: str, *states: State) -> bool:
    """Tell whether each interaction is to find its item among all: by default if there is a context."""
    return by == "interaction" or (by == "auto" and any(state.context for state in states))


def is_liked(state: State, test: Interactions) -> npt.NDArray[np.bool_]:
    """Return which events count for their items: these are to be found."""
    assert isinstance(state, EventState)
    return state.strengths.values(test, "test") > 0


def _with_histories(state: State, given: Interactions) -> State:
    """Fold users in by what is given of them, of items that are known."""
    state.need_users("evaluate")
    known = given.take(state.items.ids.indices(given.items) >= 0)
    return state.with_histories(known, contexts_of(state, known)) if len(known) else state


def _parameters(state: State, fitted: State, model: Any, without: Sequence[str]) -> Any:
    """Return what scores: the state's own parameters, those of another model, or such without some fields."""
    if model is None:
        return (
            state.without([without] if isinstance(without, str) else list(without))
            if len(without)
            else state.parameters
        )
    if len(without):
        raise ValueError("evaluate: fields can be left out of the recommender's own model only; give no model=.")
    if isinstance(model, str):
        check_choice("model", model, (POPULARITY,))
        if state.target is not None:
            raise ValueError("evaluate: model='popularity' ranks events; compare ratings with a fitted BiasModel.")
        return Popularity.of(fitted.log)
    if (state.target is None) != hasattr(model, "recommend"):
        needed = "recommend(histories, n, seen=)" if state.target is None else "parameters_, as an FM has"
        raise TypeError(f"evaluate: expected a model with {needed}; got a {type(model).__name__}.")
    return model if state.target is None else _widened(state, fitted, model.parameters_)


def _widened(state: State, fitted: State, parameters: Any) -> Any:
    """Return parameters of another model of the same training data with a column for every id.

    It has one for all that were known at the fit, or for those who had interactions.
    """
    if parameters.sizes == state.sizes:
        return parameters
    observed = {name: np.arange(len(fitted.side(name))) for name in SEEN_FIELDS}
    if parameters.sizes != fitted.sizes:
        observed = {name: np.flatnonzero(np.diff(fitted.log.side(name).indptr)) for name in SEEN_FIELDS}
    return with_all_ids(parameters, observed, {name: len(state.side(name)) for name in SEEN_FIELDS}, SEEN_FIELDS)


def _of_ratings(
    ids: npt.NDArray[Any], users: npt.NDArray[Any], ratings: npt.NDArray[np.float64], scores: Any, k: int
) -> Evaluation:
    from bitfm.evaluation import Pooled, ndcg_per_user

    errors = scores - ratings
    measures: dict[str, Any] = {
        "ndcg": ndcg_per_user(users, ratings, scores, k=k),
        "rmse": Pooled.of(users, errors**2, root=True),
        "mae": Pooled.of(users, np.abs(errors)),
    }
    named = {name: replace(each, users=ids[each.users]) for name, each in measures.items()}
    return evaluation_of(k, len(named["rmse"]), len(ratings), named)


class _Lists:
    """Ranks the catalogue for queries, and measures the lists; `ids` are those of users by number."""

    def __init__(
        self, state: State, parameters: Any, learnt_from: InteractionMatrix, k: int, ids: npt.NDArray[Any]
    ) -> None:
        self._state, self._parameters, self._log, self._k, self._ids = state, parameters, learnt_from, k, ids

    def evaluation(
        self,
        users: npt.NDArray[Any],
        context: Block | None,
        seen: FeatureTable | None,
        queries: npt.NDArray[Any],
        items: npt.NDArray[Any],
        names: npt.NDArray[Any],
        *,
        pooled: bool,
    ) -> Evaluation:
        """Rank all items but those seen for queries: each of the items should come first in its query.

        `names` are the numbers of the queries' users; pooled, a measure is a mean over queries, else over users.
        """
        import scipy.sparse as sp

        from bitfm.evaluation import Pooled, coverage, rank_metrics

        if not len(items):
            raise EmptyTableError("test: no interaction has an item that is new to its user; give others.")
        n_items = len(self._state.items)
        shape = len(users), max(n_items, int(items.max()) + 1)
        relevant = sp.csr_matrix((np.ones(len(items)), (queries, items)), shape=shape)
        asked = np.flatnonzero(np.diff(relevant.indptr))  # with a context, all of them
        found = self._found(users[asked], context, None if seen is None else seen.take(asked))
        lists = rank_metrics(found, relevant[asked], k=min(self._k, found.shape[1]))
        each: dict[str, Any] = {ours: getattr(lists, name) for ours, name in _MEASURES.items()}
        for name, values in (each | self._beyond_accuracy(found)).items():
            who = names[asked][values.users]
            by_user = Pooled.of(who, values.values) if pooled else replace(values, users=who)
            each[name] = replace(by_user, users=self._ids[by_user.users])
        share = coverage(found, n_items)
        return evaluation_of(self._k, len(np.unique(names[asked])), int(relevant.nnz), each, coverage=share)

    def _beyond_accuracy(self, found: npt.NDArray[np.int64]) -> dict[str, Any]:
        """Return how novel and how diverse lists are, by what the model has learnt from and by its codes."""
        from bitfm.evaluation import diversity, novelty

        had = np.bincount(self._log.by_user.indices, minlength=len(self._state.items))
        n_users = max(1, int(np.count_nonzero(np.diff(self._log.by_user.indptr))))
        used, places = np.unique(found, return_inverse=True)
        vectors = self._state.parameters.items.vectors(used[used >= 0])
        own_places = places.reshape(found.shape) - int(used[0] < 0)  # -1 is the first, if there is any
        return {"novelty": novelty(found, had, n_users), "diversity": diversity(own_places, vectors)}

    def _found(
        self, users: npt.NDArray[Any], context: Block | None, seen: FeatureTable | None
    ) -> npt.NDArray[np.int64]:
        state, parameters = self._state, self._parameters
        if hasattr(parameters, "recommend"):  # another model of events
            histories = state.log.by_user.take(users).to_csr()
            return np.asarray(parameters.recommend(histories, self._k, seen=seen is None)[0])
        index, rows = state.ranker(parameters, users, context)
        return index.search_rows(rows, self._k, exclude=seen, n_jobs=state.n_jobs)[0]
