"""Queries of a fitted state: recommendations, new users, similar items and explanations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitfm.core import unpack_codes
from bitfm.data.blocks import Block, FieldSpan
from bitfm.data.feature_table import FeatureTable
from bitfm.data.tables import as_frame, need_columns
from bitfm.errors import MissingColumnError, ModelFileError, UnknownIdError
from bitfm.parameters import Explanation, Ids, Ratings, TowerRows, fold_in
from bitfm.parameters import explain as explain_row
from bitfm.recommender._contexts import context_block
from bitfm.recommender._side import one_value
from bitfm.recommender._state import CONTEXT, State, field_name

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Found", "best_for", "best_for_new", "context_of", "explain", "item_index", "similar_items", "titles_of"]


class Found(NamedTuple):
    """Items by index and their scores, best first; -1 where there are no more."""

    items: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]


def item_index(state: State, item: Any) -> int:
    """Return an item's index, or refuse one that is not known."""
    number = int(state.items.indices_of([item])[0])
    if number < 0:
        raise UnknownIdError(f"item {item!r} is not known; add it with add_items, or ask for one of {_some(state)}.")
    return number


def context_of(state: State, context: Mapping[str, Any], n: int) -> Block | None:
    """Return one context for n queries."""
    import polars as pl

    names = {column.name for column in state.context}
    unknown = sorted(set(context) - names)
    if unknown:
        known = ", ".join(sorted(names)) or "none; name them at the fit with context="
        raise MissingColumnError(f"context: there is no column {unknown[0]!r}; the context's columns are {known}.")
    if not state.context:
        return None
    values = [one_value(column.name, context.get(column.name)) for column in state.context]
    block = context_block(state.context, pl.DataFrame(values))
    return Block(np.zeros(n, np.int32), block.tables)


def best_for(
    state: State, users: npt.NDArray[np.int32], context: Block | None, n: int, *, seen: bool, allow: Any, deny: Any
) -> Found:
    """Return the best items for known users, or for those of index -1, of whom nothing is known."""
    queries = state.query_rows(users, context)
    exclude = None if seen else state.log.by_user.take(users)
    return _search(state, queries, n, exclude, allow, deny)


def best_for_new(
    state: State,
    history: Iterable[Any],
    features: Mapping[str, Any],
    context: Block | None,
    n: int,
    *,
    allow: Any,
    deny: Any,
) -> Found:
    """Return the best items for a new user, by features and what they have rated."""
    unknown = sorted(set(features) - {column.name for column in state.users.columns})
    if unknown:
        known = ", ".join(column.name for column in state.users.columns) or "none"
        raise MissingColumnError(f"features: users have no column {unknown[0]!r}; the columns are {known}.")
    items, ratings = _history(state, history)
    unknown_user = np.array([-1])
    seen = FeatureTable.sparse(np.array([0, len(items)]), items, np.ones(len(items), np.float32), len(state.items))
    tables = state.tables("user", unknown_user, own=state.users.encode(features, 1), seen=seen)
    block = Block(np.zeros(1, np.int32), tables)
    plain = state.user_rows(state.with_context(block, None))
    rows = plain if context is None else state.user_rows(state.with_context(block, context))
    rated = ~np.isnan(ratings)
    if rated.any():
        own = plain.as_vectors()
        of_one = Ratings.of_one(ratings[rated], *state.other_side("user", items[rated]))
        ids = fold_in(of_one, plain.constants, own, state.moments["user"], state.priors["user"])
        rows = _with_id(rows, own, ids)
    return _search(state, rows, n, seen, allow, deny)


def similar_items(state: State, item: int, n: int) -> Found:
    """Return the items whose scores go up and down with this one's from user to user, by their correlation."""
    vectors = state.all_rows("item").vectors
    spreads = state.item_spreads * state.item_spreads[item]
    alike = np.zeros(len(vectors), np.float32)
    np.divide(vectors @ (state.user_covariance @ vectors[item]), spreads, where=spreads > 0, out=alike)
    alike[item] = -np.inf
    n = min(n, len(vectors) - 1)
    best = np.lexsort((np.arange(len(alike)), -alike))[:n]
    return Found(best, alike[best])


def explain(state: State, user: int, item: int, context: Block | None) -> Explanation:
    """Take the score of a pair apart, with names for the features."""
    blocks = state.blocks(np.array([user]), np.array([item]), context)
    return explain_row(state.parameters, blocks, FeatureNames(state))


def titles_of(state: State, items: npt.NDArray[Any]) -> pl.Series | None:
    """Return the titles of items, if there are any."""
    return None if state.items.titles is None else state.items.titles.take(items)


class FeatureNames:
    """Names of features as people know them: ``user.age: 25-34``."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._columns = {("user", field_name(c.name)): c for c in state.users.columns}
        self._columns |= {("item", field_name(c.name)): c for c in state.items.columns}
        self._columns |= {(CONTEXT, field_name(c.name)): c for c in state.context}

    def __call__(self, field: FieldSpan, feature: int) -> str:
        state, place = self._state, f"{field.block}.{field.name}"
        if (field.block, field.name) in self._columns:
            return f"{place}: {self._columns[field.block, field.name].label(feature)}"
        of_items = (field.name == "id") == (field.block == "item")
        if not of_items:
            return f"{place}: {state.users.ids[feature]}"
        title = titles_of(state, np.array([feature]))
        shown = None if title is None else title[0]
        return f"{place}: {shown if shown is not None else state.items.ids[feature]}"


def _search(state: State, rows: TowerRows, n: int, exclude: Any, allow: Any, deny: Any) -> Found:
    allowed, denied = (None if given is None else _known_items(state, given) for given in (allow, deny))
    found = Found(*state.index.search_rows(rows, n, exclude=exclude, allow=allowed, deny=denied, n_jobs=state.n_jobs))
    if found.items.max(initial=-1) >= len(state.items):
        raise ModelFileError("the index of the model is damaged: it holds items that there are not; save it again.")
    return found


def _known_items(state: State, given: Any) -> npt.NDArray[np.int32]:
    """Return the indices of items to choose from, or to leave out; a single id is one."""
    alone = isinstance(given, str) or not isinstance(given, Iterable)
    indices = state.items.indices_of([given] if alone else list(given))
    return indices[indices >= 0]


def _history(state: State, history: Any) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """Return known items and their ratings, NaN where there is none; of an item given twice, the last rating."""
    pairs: dict[int, float] = {}
    for one in _entries(state, history):
        item, rating = one if isinstance(one, tuple | list) and len(one) == 2 else (one, None)
        number = int(state.items.indices_of([item])[0])
        if number < 0:
            continue
        if state.target is None:
            pairs[number] = 1.0
        else:
            pairs[number] = float("nan") if rating is None else _rating(item, rating)
    indices = np.array(sorted(pairs), np.int32)
    return indices, np.array([pairs[int(number)] for number in indices])


def _entries(state: State, history: Any) -> Iterable[Any]:
    """Return items, or pairs of an item and a rating, from all that people give."""
    if isinstance(history, Mapping):
        return history.items()
    if hasattr(history, "columns"):  # a frame
        frame, _ = as_frame("history", history)
        names = [state.items.id_column, *([state.target] if state.target in frame.columns else [])]
        need_columns("history", frame, names)
        return frame.select(names).rows() if len(names) == 2 else frame[names[0]].to_list()
    if isinstance(history, np.ndarray):
        return [tuple(row) for row in history.tolist()] if history.ndim == 2 else list(history.tolist())
    alone = isinstance(history, tuple) and len(history) == 2 and isinstance(history[1], int | float)
    if isinstance(history, str) or not isinstance(history, Iterable) or alone:
        raise TypeError(
            f"history: expected a list of items, or of pairs of an item and a rating, got {history!r}; make it a list."
        )
    return history


def _rating(item: Any, rating: Any) -> float:
    try:
        value = float(rating)
    except (TypeError, ValueError):
        value = float("nan")
    if not np.isfinite(value):
        raise ValueError(f"history: the rating of item {item!r} is {rating!r}; give a number, or the bare item.")
    return value


def _with_id(rows: TowerRows, own: npt.NDArray[np.float32], ids: Ids) -> TowerRows:
    """Return a query with an id of its own; the rows are the same without it."""
    vector = ids.gains[:, None] * unpack_codes(ids.codes)
    vectors = rows.as_vectors()
    constants = rows.constants + ids.weights + (vectors - own) @ vector[0]  # the context meets the id as well
    return TowerRows.of_vectors(constants, vectors + vector)


def _some(state: State) -> str:
    ids = state.items.ids_of(np.arange(min(3, len(state.items)))).to_list()
    return ", ".join(map(repr, ids)) + ", …"
