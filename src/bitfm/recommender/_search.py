"""Searches of a fitted state, and what they found as a frame."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitfm.data.feature_table import FeatureTable
from bitfm.data.tables import in_kind
from bitfm.parameters import TowerRows
from bitfm.recommender._diversity import diversified
from bitfm.recommender._ids import AskedUsers, known_items
from bitfm.recommender._matrix import union
from bitfm.recommender._rules import NO_RULES, Rules, is_per_user, lists_per_user, selection_of
from bitfm.recommender._state import Found, State

if TYPE_CHECKING:
    import polars as pl

__all__ = ["answer", "answer_users", "search", "side_frame"]


def search(
    state: State,
    rows: TowerRows,
    n: int,
    hidden: FeatureTable | None,
    rules: Rules,
    users: AskedUsers | None = None,
) -> Found:
    """Return the best items for queries that the rules allow, without what is hidden from each."""
    if rules is NO_RULES:  # one query should take no time
        return Found(*state.index.search_rows(rows, n, exclude=hidden, n_jobs=state.n_jobs))
    allow, deny = rules.allow, rules.deny
    if users is not None and is_per_user(state, deny):
        denied = lists_per_user(state, "deny", deny, users)
        hidden, deny = denied if hidden is None else union([hidden, denied]), None
    within, denied_to_all = selection_of(state, rules), known_items(state, "deny", deny)

    def find(rows: TowerRows, n: int, hidden: FeatureTable | None, allowed: npt.NDArray[np.int32] | None) -> Found:
        how: dict[str, Any] = {"exclude": hidden, "allow": allowed, "deny": denied_to_all, "within": within}
        return Found(*state.index.search_rows(rows, n, **how, n_jobs=state.n_jobs))

    if users is None or not is_per_user(state, allow):
        allowed = known_items(state, "allow", allow)

        def find_all(n: int) -> Found:
            return find(rows, n, hidden, allowed)
    else:
        lists, ones = lists_per_user(state, "allow", allow, users), np.arange(len(rows))[:, None]

        def find_all(n: int) -> Found:
            hids = [None if hidden is None else hidden.take(one) for one in ones]
            own = zip(ones, hids, strict=True)
            return Found.together([find(rows.take(one), n, hid, lists.take(one).indices) for one, hid in own])

    return find_all(n) if rules.diversity is None else diversified(state, find_all, n, rules.diversity)


def answer(state: State, found: Found, users: AskedUsers | None = None) -> Any:
    """Return items that were found as a frame of the kind that the recommender was fitted on."""
    import polars as pl

    titles, single = state.items.titles, users is None or users.single
    if single and found.items[0].min(initial=0) >= 0:  # one query should take no time
        items, n = found.items[0], found.items.shape[1]
        series = [_ranks(n), state.items.ids_of(items).alias("item")]
        series.append(pl.Series("score", found.scores[0].tolist(), dtype=pl.Float32))
    else:
        queries, ranks = np.nonzero(found.items >= 0)
        items, scores = found.items[queries, ranks], found.scores[queries, ranks]
        series = []
        if users is not None and not single:
            series.append(pl.Series("user", users.ids, strict=False)[queries])
            series.append(pl.Series("known", users.indices >= 0)[queries])
        series += [pl.Series("rank", ranks + 1), state.items.ids_of(items).alias("item"), pl.Series("score", scores)]
    if titles is not None:
        series.append(titles.take(items).alias("title"))
    return in_kind(pl.DataFrame(series), state.frames)


def answer_users(state: State, found: Found) -> Any:
    """Return users that were found as a frame."""
    import polars as pl

    series = [_ranks(found.items.shape[1]), state.users.ids_of(found.items[0]).alias("user")]
    return in_kind(pl.DataFrame([*series, pl.Series("score", found.scores[0])]), state.frames)


def side_frame(state: State, name: str) -> Any:
    """Return users or items as a frame: ids, titles if there are any, and how many interactions each has."""
    import polars as pl

    side, everything = state.side(name), np.arange(len(state.side(name)))
    series = [side.ids_of(everything).alias(side.id_column)]
    if side.titles is not None and side.titles.column != side.id_column:
        series.append(side.titles.take(everything).alias(side.titles.column))
    indptr = state.log.side(name).indptr
    series.append(pl.Series("interactions", np.diff(indptr).astype(np.int64)))
    return in_kind(pl.DataFrame(series), state.frames)


@lru_cache(maxsize=16)
def _ranks(n: int) -> pl.Series:
    import polars as pl

    return pl.Series("rank", range(1, n + 1), dtype=pl.Int64)
