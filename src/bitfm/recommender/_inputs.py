"""What is given to a fitted recommender, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitfm.data.blocks import Block
from bitfm.data.feature_table import FeatureTable
from bitfm.data.files import quoted
from bitfm.data.interactions import Interactions
from bitfm.data.tables import as_frame, ids_of, need_columns, with_missing
from bitfm.errors import MissingColumnError, UnknownIdError
from bitfm.recommender._side import CONTEXT, context_block, distinct_ids, encode
from bitfm.recommender._state import State

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "context_of",
    "contexts_of",
    "history_of",
    "interactions_of",
    "is_id",
    "item_index",
    "known_items",
    "pairs_of",
    "row_of",
    "rows_of",
]


def interactions_of(state: State, table: Any, what: str) -> Interactions:
    """Read interactions as those that the recommender was fitted on; contexts, times and strengths may be left out."""
    roles = state.roles
    optional = (*roles.context, *(name for name in (roles.time, roles.event, roles.weight) if name is not None))
    return Interactions.of(table, **roles._asdict(), what=what, optional=optional)


def contexts_of(state: State, read: Interactions) -> Block | None:
    """Return the contexts of interactions."""
    return context_block(state.context, read.context) if state.context and read.context is not None else None


def pairs_of(state: State, pairs: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Block | None]:
    """Return the indices of users and items to be scored, and contexts where there are any."""
    if isinstance(pairs, Sequence) and not isinstance(pairs, str) and all(_is_pair(pair) for pair in pairs):
        return state.users.indices_of([u for u, _ in pairs]), state.items.indices_of([i for _, i in pairs]), None
    frame, _ = as_frame("pairs", pairs)
    users, items = (
        side.ids.indices(ids_of("pairs", frame, side.id_column).text) for side in (state.users, state.items)
    )
    if not state.context:
        return users, items, None
    absent = [column.name for column in state.context if column.name not in frame.columns]
    return users, items, context_block(state.context, with_missing(frame, absent))


def rows_of(state: State, name: str, table: Any) -> tuple[pl.Series, pl.DataFrame]:
    """Return the ids and the columns of users or items."""
    frame, _ = as_frame(f"{name}s", table)
    return distinct_ids(f"{name}s", frame, state.side(name).id_column).text, frame


def context_of(state: State, context: Mapping[str, Any] | None, n: int) -> Block | None:
    """Return one context for n queries."""
    fields = row_of(state, CONTEXT, context)
    return Block(np.zeros(n, np.int32), fields) if state.context else None


def row_of(state: State, side: str, given: Mapping[str, Any] | None) -> dict[str, FeatureTable]:
    """Return the fields of one user, or context; columns that the fit found to tell nothing are passed over."""
    columns, values = state.context if side == CONTEXT else state.users.columns, dict(given or {})
    ignored = {note.column for note in state.columns if note.side == side and not note.features} if values else set()
    unknown = sorted(set(values) - {column.name for column in columns} - ignored)
    if unknown:
        known = ", ".join(sorted(column.name for column in columns))
        if side == CONTEXT:
            known = known or "none; name them at the fit with context="
            raise MissingColumnError(f"context: there is no column {unknown[0]!r}; the context's columns are {known}.")
        raise MissingColumnError(f"features: users have no column {unknown[0]!r}; the columns are {known or 'none'}.")
    return encode(columns, values)


def item_index(state: State, item: Any) -> int:
    """Return an item's index, or refuse one that is not known."""
    index = int(state.items.indices_of([item])[0])
    if index < 0:
        some = ", ".join(map(quoted, state.items.ids_of(np.arange(min(3, len(state.items)))).to_list()))
        raise UnknownIdError(f"item {quoted(item)} is not known; add it with add_items, or ask for one of {some}, ….")
    return index


def known_items(state: State, given: Any) -> npt.NDArray[np.int32] | None:
    """Return the indices of items to choose from, or to leave out; a single id is one."""
    if given is None:
        return None
    indices = state.items.indices_of([given] if is_id(given) else list(given))
    return indices[indices >= 0]


def history_of(state: State, history: Any) -> FeatureTable:
    """Return one row of known items with their ratings, NaN if none; of an item given twice, the last rating.

    Of events, with how much they count, 1 if nothing else is said.
    """
    entries = [one if _is_pair(one) else (one, None) for one in _entries(state, history)]
    indices = state.items.indices_of([item for item, _ in entries]).tolist()
    events, nothing = state.target is None, 1.0 if state.target is None else float("nan")
    pairs: dict[int, float] = {}
    for index, (item, value) in zip(indices, entries, strict=True):
        if index >= 0:
            pairs[index] = nothing if value is None else _number(item, value, events=events)
    known = sorted(pairs)
    values = np.array([pairs[index] for index in known], np.float32 if events else np.float64)
    return FeatureTable.sparse(np.array([0, len(known)]), np.array(known, np.int32), values, len(state.items))


def _entries(state: State, history: Any) -> Iterable[Any]:
    """Return items, or pairs of an item and a rating, from all that people give."""
    if isinstance(history, Mapping):
        return history.items()
    if hasattr(history, "columns"):  # a frame
        frame, _ = as_frame("history", history)
        names = [state.items.id_column, *([state.target] if state.target in frame.columns else [])]
        need_columns("history", frame, names)
        return frame[names].rows() if len(names) == 2 else frame[names[0]].to_list()
    if isinstance(history, np.ndarray):
        return [tuple(row) for row in history.tolist()] if history.ndim == 2 else list(history.tolist())
    alone = isinstance(history, tuple) and len(history) == 2 and isinstance(history[1], int | float)
    if isinstance(history, str) or not isinstance(history, Iterable) or alone:
        raise TypeError(
            f"history: expected a list of items, or of pairs of an item and a rating, got {history!r}; make it a list."
        )
    return history


def _number(item: Any, given: Any, *, events: bool) -> float:
    try:
        value = float(given)
    except (TypeError, ValueError):
        value = float("nan")
    if not np.isfinite(value) or (events and not 0 < abs(value) <= float(np.finfo(np.float32).max)):
        what = "the event" if events else "the rating"
        expected = "a number above 0, or below it for a dislike" if events else "a number"
        raise ValueError(f"history: {what} of item {item!r} is {given!r}; give {expected}, or the bare item.")
    return value


def is_id(given: Any) -> bool:
    """Tell an id from several."""
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes)
    return not several or getattr(given, "ndim", 1) == 0


def _is_pair(given: Any) -> bool:
    return isinstance(given, tuple | list) and len(given) == 2
