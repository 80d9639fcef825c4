"""What is given to a fitted recommender, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitfm.data.blocks import Block
from bitfm.data.feature_table import FeatureTable
from bitfm.data.interactions import Interactions
from bitfm.data.tables import as_frame, ids_of, need_columns, with_missing
from bitfm.errors import MissingColumnError
from bitfm.recommender._ids import looked_up, refuse_mask, warn_of_unknown
from bitfm.recommender._side import CONTEXT, Side, context_block, distinct_ids, encode
from bitfm.recommender._state import State
from bitfm.recommender._warnings import warn

if TYPE_CHECKING:
    import polars as pl

    from bitfm.data import FittedColumn

__all__ = [
    "context_of",
    "contexts_of",
    "decimal_of",
    "history_of",
    "interactions_of",
    "logged_pairs_of",
    "pairs_of",
    "row_of",
    "rows_of",
]


def interactions_of(state: State, table: Any, what: str) -> Interactions:
    """Read interactions as those that the recommender was fitted on; contexts, times and strengths may be left out."""
    roles = state.roles
    optional = (*roles.context, *(name for name in (roles.time, roles.event, roles.weight) if name is not None))
    if not isinstance(table, Interactions) and decimal_of(state.context) is not None:
        table, _ = as_frame(what, table, ",")
    return Interactions.of(table, **roles._asdict(), what=what, optional=optional)


def decimal_of(columns: Sequence[FittedColumn]) -> str | None:
    """Return the decimal mark to read a file with, so that no number is misread: a comma if any column has it."""
    return "," if any(getattr(column.kind, "decimal", None) == "," for column in columns) else None


def contexts_of(state: State, read: Interactions) -> Block | None:
    """Return the contexts of interactions."""
    return context_block(state.context, read.context) if state.context and read.context is not None else None


def pairs_of(state: State, pairs: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Block | None]:
    """Return the indices of users and items to be scored, and contexts where there are any."""
    if _are_pairs(pairs):
        asked = {"user": [u for u, _ in pairs], "item": [i for _, i in pairs]}
        users, items = (looked_up(state, name, "predict", ids) for name, ids in asked.items())
        return users, items, None
    frame, _ = as_frame("pairs", pairs, decimal_of(state.context))
    users, items = (_known_in(side, ids_of("pairs", frame, side.id_column).text) for side in (state.users, state.items))
    if not state.context:
        return users, items, None
    absent = [column.name for column in state.context if column.name not in frame.columns]
    return users, items, context_block(state.context, with_missing(frame, absent))


def _known_in(side: Side, ids: pl.Series) -> npt.NDArray[np.int32]:
    """Return the indices of a table's ids, and warn of those that are not known."""
    indices = side.ids.indices(ids)
    unknown = np.flatnonzero(indices < 0)
    if len(unknown) and len(side):
        distinct = list(dict.fromkeys(ids[unknown].to_list()))
        warn_of_unknown("predict", side.name, distinct, [-1] * len(distinct), "scored by what is known")
    return indices


def logged_pairs_of(state: State, what: str, pairs: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the users and the items of interactions that there are; warn of others."""
    if _are_pairs(pairs):
        given = [u for u, _ in pairs], [i for _, i in pairs]
        users, items = state.users.indices_of(given[0]), state.items.indices_of(given[1])
    else:
        frame, _ = as_frame(what, pairs)
        sides = state.users, state.items
        need_columns(what, frame, [side.id_column for side in sides])
        texts = [ids_of(what, frame, side.id_column).text for side in sides]
        users, items = (side.ids.indices(ids) for side, ids in zip(sides, texts, strict=True))
        given = texts[0].to_list(), texts[1].to_list()
    there = (users >= 0) & (items >= 0)
    there[there] = state.log.holds(users[there], items[there])
    if not there.all():
        named = list(zip(*given, strict=True))
        warn_of_unknown(what, "interaction", named, np.where(there, 0, -1), "passed over")
    return users[there], items[there]


def rows_of(state: State, name: str, table: Any, what: str) -> tuple[pl.Series, pl.DataFrame]:
    """Return the ids and the columns of users or items; warn of columns that the fit did not have."""
    side = state.side(name)
    frame, _ = as_frame(f"{name}s", table, decimal_of(side.columns))
    known = {side.id_column, *(note.column for note in state.columns if note.side == name)}
    known |= {side.titles.column} if side.titles is not None else set()
    unknown = [column for column in frame.columns if column not in known]
    if unknown:
        expected = ", ".join(sorted(known))
        warn(f"{what}: passed over {', '.join(map(repr, unknown[:3]))}, not among the fit's columns: {expected}.")
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


def history_of(state: State, history: Any) -> FeatureTable:
    """Return one row of known items with their ratings, NaN if none; of an item given twice, the last rating.

    Of events, with how much they count, 1 if nothing else is said.
    """
    entries = [one if _is_pair(one) else (one, None) for one in _entries(state, history)]
    items = [item for item, _ in entries]
    refuse_mask("history", items)
    indices = state.items.indices_of(items).tolist()
    warn_of_unknown("history", "item", items, indices, "passed over")
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


def _are_pairs(given: Any) -> bool:
    return isinstance(given, Sequence) and not isinstance(given, str) and all(_is_pair(pair) for pair in given)


def _is_pair(given: Any) -> bool:
    return isinstance(given, tuple | list) and len(given) == 2
