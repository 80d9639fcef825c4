"""Users, items and events that are taken out. Each removal makes a new state; the old one stays as it was."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitfm.parameters import only_event_features
from bitfm.recommender._events.changes import with_item_codes
from bitfm.recommender._removal import rest_of, without_reasons
from bitfm.recommender._side import CONTEXT

if TYPE_CHECKING:
    from bitfm.recommender._events.state import EventState

__all__ = ["without_events", "without_ids"]


def without_ids(state: EventState, name: str, gone: npt.NDArray[Any]) -> EventState:
    """Take users or items out: their rows, their features and their events, and items out of neighbours."""
    rest = rest_of(state, name, gone)
    if name == "user":
        parameters = only_event_features(state.parameters, rest.features)
        index = state.index.with_parameters(parameters)
    else:
        parameters = only_event_features(state.parameters, rest.features, rest.kept)
        index = state.index.only(rest.kept, parameters)
    kinds = None if state.kinds is None else state.kinds.only(state.log, name, rest.kept)
    return replace(state, **rest.parts, parameters=parameters, index=index, kinds=kinds)


def without_events(state: EventState, users: npt.NDArray[Any], items: npt.NDArray[Any]) -> EventState:
    """Take all events of some pairs out; their items get codes anew, and users have none."""
    notes = without_reasons(state.columns, CONTEXT, state.context)
    kinds = None if state.kinds is None else state.kinds.without(state.log, users, items)
    state = replace(state, log=state.log.without(users, items), columns=notes, kinds=kinds)
    state = with_item_codes(state, np.unique(items))
    return replace(state, index=state.index.only(np.arange(len(state.items)), state.parameters))
