"""What is given to a fitted recommender, checked; and what it answers, as frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitfm.data.blocks import Block
from bitfm.data.interactions import Interactions
from bitfm.data.tables import as_frame, ids_of, in_kind, need_columns, need_distinct, need_rows
from bitfm.recommender._contexts import context_block
from bitfm.recommender._query import Found, titles_of
from bitfm.recommender._state import State

if TYPE_CHECKING:
    import polars as pl

__all__ = ["answer", "contexts_of", "interactions_of", "is_id", "pairs_of", "rows_of"]


def interactions_of(state: State, table: Any, what: str) -> Interactions:
    """Read interactions as those that the recommender was fitted on; contexts and times may be left out."""
    context = tuple(column.name for column in state.context)
    roles = {"user": state.users.id_column, "item": state.items.id_column, "target": state.target}
    optional = (*context, *([] if state.time is None else [state.time]))
    return Interactions.of(table, **roles, context=context, time=state.time, what=what, optional=optional)  # type: ignore[arg-type]


def contexts_of(state: State, read: Interactions) -> Block | None:
    """Return the contexts of interactions."""
    return context_block(state.context, read.context) if state.context and read.context is not None else None


def pairs_of(state: State, pairs: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Block | None]:
    """Return the indices of users and items to be scored, and contexts where there are any."""
    import polars as pl

    if isinstance(pairs, Sequence) and not isinstance(pairs, str) and all(_is_pair(pair) for pair in pairs):
        return state.users.indices_of([u for u, _ in pairs]), state.items.indices_of([i for _, i in pairs]), None
    frame, _ = as_frame("pairs", pairs)
    user, item = state.users.id_column, state.items.id_column
    need_columns("pairs", frame, [user, item])
    users = state.users.ids.indices(ids_of("pairs", frame, user).text)
    items = state.items.ids.indices(ids_of("pairs", frame, item).text)
    if not state.context:
        return users, items, None
    missing = [pl.lit(None).alias(c.name) for c in state.context if c.name not in frame.columns]
    return users, items, context_block(state.context, frame.with_columns(missing))


def rows_of(state: State, name: str, table: Any) -> tuple[pl.Series, pl.DataFrame]:
    """Return the ids and the columns of users or items."""
    what, id_column = f"{name}s", state.side(name).id_column
    frame, _ = as_frame(what, table)
    need_columns(what, frame, [id_column])
    need_rows(what, frame)
    ids = ids_of(what, frame, id_column).text
    need_distinct(what, ids)
    return ids, frame


def answer(state: State, found: Found, users: list[Any] | None) -> Any:
    """Return items that were found as a frame of the kind that the recommender was fitted on."""
    import polars as pl

    if users is None and len(found.items) == 1 and found.items[0].min(initial=0) >= 0:  # one query should take no time
        items, n = found.items[0], found.items.shape[1]
        series = [_ranks(n), state.items.ids_of(items).alias("item")]
        series.append(pl.Series("score", found.scores[0].tolist(), dtype=pl.Float32))
        titles = titles_of(state, items)
        return in_kind(pl.DataFrame(series if titles is None else [*series, titles.alias("title")]), state.frames)
    there = found.items >= 0
    queries, ranks = np.nonzero(there)
    items = found.items[there]
    columns: dict[str, Any] = {} if users is None else {"user": pl.Series(users, strict=False).gather(queries)}
    columns |= {"rank": ranks + 1, "item": state.items.ids_of(items), "score": found.scores[there]}
    titles = titles_of(state, items)
    if titles is not None:
        columns["title"] = titles
    return in_kind(pl.DataFrame(columns), state.frames)


@lru_cache(maxsize=16)
def _ranks(n: int) -> pl.Series:
    import polars as pl

    return pl.Series("rank", range(1, n + 1), dtype=pl.Int64)


def is_id(given: Any) -> bool:
    """Tell an id from several."""
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes)
    return not several or getattr(given, "ndim", 1) == 0


def _is_pair(given: Any) -> bool:
    return isinstance(given, tuple | list) and len(given) == 2
