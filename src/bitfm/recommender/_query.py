"""Queries of a fitted state: recommendations, new users, similar items and explanations."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitfm.core import unpack_codes
from bitfm.data.blocks import Block, FieldSpan
from bitfm.data.feature_table import FeatureTable
from bitfm.data.tables import in_kind
from bitfm.parameters import Explanation, Ratings, TowerRows, fold_in
from bitfm.parameters import explain as explain_row
from bitfm.recommender._inputs import known_items
from bitfm.recommender._side import CONTEXT, field_name
from bitfm.recommender._state import State

if TYPE_CHECKING:
    import polars as pl

    from bitfm.data import FittedColumn

__all__ = ["Found", "answer", "explain", "feature_label", "row_of_new", "search", "similar_items"]


class Found(NamedTuple):
    """Items by index and their scores, best first; -1 where there are no more."""

    items: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]


def search(state: State, rows: TowerRows, n: int, exclude: FeatureTable | None, allow: Any, deny: Any) -> Found:
    """Return the best items for queries; items to choose from and to leave out are given by their ids."""
    allowed, denied = known_items(state, allow), known_items(state, deny)
    return Found(*state.index.search_rows(rows, n, exclude=exclude, allow=allowed, deny=denied, n_jobs=state.n_jobs))


def row_of_new(
    state: State, features: dict[str, FeatureTable], history: FeatureTable, context: Block | None
) -> TowerRows:
    """Return the users' tower for a new user, by features and what they have rated, NaN where there is no rating."""
    block = Block(np.zeros(1, np.int32), state.tables("user", np.array([-1]), features, history))
    plain = state.user_rows(state.with_context(block, None))
    rows = plain if context is None else state.user_rows(state.with_context(block, context))
    rated = ~np.isnan(history.values)
    if not rated.any():
        return rows
    own, vectors = plain.as_vectors(), rows.as_vectors()
    of_one = Ratings.of_one(history.values[rated], *state.other_side("user", history.indices[rated]))
    ids = fold_in(of_one, plain.constants, own, state.moments["user"], state.priors["user"])
    vector = ids.gains[:, None] * unpack_codes(ids.codes)
    constants = (
        rows.constants + ids.weights + np.einsum("ij,j->i", vectors - own, vector[0])
    )  # the context meets the id as well
    return TowerRows.of_vectors(constants, vectors + vector)


def similar_items(state: State, item: int, n: int) -> Found:
    """Return the items whose scores go up and down with this one's from user to user, by their correlation."""
    vectors = state.all_rows("item").vectors
    spreads = state.item_spreads * state.item_spreads[item]
    alike = np.zeros(len(vectors), np.float32)
    direction = np.einsum("ij,j->i", state.user_covariance, vectors[item])
    np.divide(np.einsum("ij,j->i", vectors, direction), spreads, where=spreads > 0, out=alike)
    state.need_finite(alike)[item] = -np.inf
    best = np.lexsort((np.arange(len(alike)), -alike))[None, : min(n, len(vectors) - 1)]
    return Found(best, alike[best])


def explain(state: State, user: int, item: int, context: Block | None) -> Explanation:
    """Take the score of a pair apart, with names for the features: ``user.age: 25-34``."""

    def name(field: FieldSpan, feature: int) -> str:
        return f"{field.block}.{field.name}: {feature_label(state, field, feature)}"

    return explain_row(state.parameters, state.blocks(np.array([user]), np.array([item]), context), name)


def feature_label(state: State, field: FieldSpan, feature: int) -> str:
    """Return what a feature stands for, as people know it."""
    columns: tuple[FittedColumn, ...] = state.context if field.block == CONTEXT else state.side(field.block).columns
    for column in columns:
        if field_name(column.name) == field.name:
            return column.label(feature)
    if (field.name == "id") != (field.block == "item"):
        return state.users.ids[feature]
    titles = state.items.titles
    title = None if titles is None else titles.take(np.array([feature]))[0]
    return title if title is not None else state.items.ids[feature]


def answer(state: State, found: Found, users: list[Any] | None = None) -> Any:
    """Return items that were found as a frame of the kind that the recommender was fitted on."""
    import polars as pl

    titles = state.items.titles
    if users is None and found.items[0].min(initial=0) >= 0:  # one query should take no time
        items, n = found.items[0], found.items.shape[1]
        series = [_ranks(n), state.items.ids_of(items).alias("item")]
        series.append(pl.Series("score", found.scores[0].tolist(), dtype=pl.Float32))
    else:
        queries, ranks = np.nonzero(found.items >= 0)
        items, scores = found.items[queries, ranks], found.scores[queries, ranks]
        series = [] if users is None else [pl.Series("user", users, strict=False)[queries]]
        series += [pl.Series("rank", ranks + 1), state.items.ids_of(items).alias("item"), pl.Series("score", scores)]
    if titles is not None:
        series.append(titles.take(items).alias("title"))
    return in_kind(pl.DataFrame(series), state.frames)


@lru_cache(maxsize=16)
def _ranks(n: int) -> pl.Series:
    import polars as pl

    return pl.Series("rank", range(1, n + 1), dtype=pl.Int64)
