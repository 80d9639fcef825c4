"""What a file keeps of a recommender of events beside its tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from bitfm.errors import ModelFileError
from bitfm.parameters import ImplicitParameters
from bitfm.recommender._events.state import EventState
from bitfm.recommender._events.strengths import Strengths

__all__ = ["EventEntry", "open_events", "pack_events"]


class EventEntry(msgspec.Struct, forbid_unknown_fields=True):
    """The time from which ages are counted, and whether users were kept."""

    newest: int | None
    keeps_users: bool


def pack_events(state: EventState) -> EventEntry:
    """Return what to write."""
    return EventEntry(state.strengths.newest, state.keeps_users)


def open_events(
    about: EventEntry, known: dict[str, Any], by_kind: Mapping[str, float] | None, half_life: float | None
) -> EventState:
    """Return the state."""
    if not isinstance(known["parameters"], ImplicitParameters):
        raise ModelFileError("holds events with a model of something else")
    if not about.keeps_users and len(known["users"]):
        raise ModelFileError("holds users that were not to be kept")
    return EventState(**known, strengths=Strengths(by_kind, half_life, about.newest), keeps_users=about.keeps_users)
