"""Rows and events that come after the fit. Each change makes a new state; the old one stays as it was."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitfm.data.feature_table import FeatureTable
from bitfm.parameters import with_event_items
from bitfm.recommender._events.kinds import EventKinds
from bitfm.recommender._matrix import InteractionMatrix

if TYPE_CHECKING:
    import polars as pl

    from bitfm.data.interactions import Interactions
    from bitfm.recommender._events.state import EventState

__all__ = ["with_events", "with_histories", "with_item_codes", "with_side_rows"]

_SHARE = 0.05  # of an item's events that are new, for its code to be worked out anew


def with_side_rows(state: EventState, name: str, ids: pl.Series, frame: pl.DataFrame) -> EventState:
    """Add users or items, or give known ones other values."""
    n_items = len(state.items)
    state = _with_ids(state, name, ids, frame)
    if name == "user":
        return state
    items = np.unique(state.items.ids.indices(ids))
    if not state.keeps_users:
        items = items[items >= n_items]  # of others there are no events to work with
    return with_item_codes(state, items)


def with_events(state: EventState, read: Interactions) -> EventState:
    """Add events; items of which they are a good part, and new ones, get codes anew."""
    import polars as pl

    n_items = len(state.items)
    state, more = _with_log(_with_ids(state, "item", read.items, pl.DataFrame()), read)
    touched = np.unique(state.items.ids.indices(read.items))
    fresh, whole = (np.diff(log.by_item.indptr)[touched] for log in (more, state.log))
    changed = touched[(fresh >= _SHARE * whole) | (touched >= n_items)]
    return with_item_codes(state, changed)


def with_histories(state: EventState, read: Interactions) -> EventState:
    """Give users, who may be new, events of items that are known, which stay as they are."""
    return _with_log(state, read)[0]


def _with_log(state: EventState, read: Interactions) -> tuple[EventState, InteractionMatrix]:
    """Add events to the log, and their users; return what was added as well."""
    import polars as pl

    values = state.strengths.values(read, "events")
    state = _with_ids(state, "user", read.users, pl.DataFrame())
    users, items = state.users.ids.indices(read.users), state.items.ids.indices(read.items)
    shape, kinds = state.log.by_user.shape, state.kinds
    more = InteractionMatrix.summed(users, items, shape, values)
    log = state.log.increased(more)
    if kinds is not None:
        kinds = kinds.increased(state.log, log, EventKinds.table(kinds.names, read.kinds, users, items, shape))
    return replace(state, log=log, kinds=kinds), more


def _with_ids(state: EventState, name: str, ids: pl.Series, frame: pl.DataFrame) -> EventState:
    """Make room for ids; the columns of the frame, if it has any, are theirs, which must then be distinct."""
    side = state.side(name).with_rows(ids, frame)
    users, items = (side, state.items) if name == "user" else (state.users, side)
    log = state.log.increased(InteractionMatrix(FeatureTable.empty(len(users), len(items))))
    return replace(state, users=users, items=items, log=log)


def with_item_codes(state: EventState, items: npt.NDArray[Any]) -> EventState:
    """Work out the codes of some items by their features and events, and put them into the index."""
    if not len(items):
        return state
    threads = state.threads(len(state.users))
    events = state.log.by_item.take(items)
    who, place = np.unique(events.indices, return_inverse=True)
    # New items have no codes yet, so nobody can be folded in by them.
    known = _known_part(state)
    vectors = known.vectors(who.astype(np.int32), threads)
    table = FeatureTable.sparse(events.indptr, place.astype(np.int32), events.values, len(who))
    parameters = with_event_items(state.parameters, items, state.items.fields(items), table, vectors, threads)
    index = state.index.with_parameters(parameters)
    old, new = items[items < index.n_positions], items[items >= index.n_positions]
    if len(new):
        index.add(new)
    if len(old):
        index.change(old, old)
    return replace(state, parameters=parameters, index=index)


def _known_part(state: EventState) -> EventState:
    """Return the state with the events of items that have codes."""
    n = len(state.parameters.items)
    if n == len(state.items):
        return state
    return replace(state, log=InteractionMatrix(state.log.by_user.columns(0, n)))
