"""What a file keeps of a recommender of events beside its tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from bitfm import persist
from bitfm.errors import ModelFileError
from bitfm.parameters import ImplicitParameters
from bitfm.persist import Tensor, Tensors, check_tensors
from bitfm.recommender._events.kinds import MOST_KINDS, EventKinds
from bitfm.recommender._events.state import EventState
from bitfm.recommender._events.strengths import Strengths

__all__ = ["EventEntry", "open_events", "pack_events"]


class EventEntry(msgspec.Struct, forbid_unknown_fields=True):
    """The time from which ages are counted, whether users were kept, and the kinds of their events."""

    newest: int | None
    keeps_users: bool
    kinds: list[str] | None


def pack_events(state: EventState, tables: dict[str, Any]) -> EventEntry:
    """Return what to write, and put tensors to the tables."""
    kinds = state.kinds
    if kinds is not None:
        tables["kinds.marks"] = kinds.marks
    return EventEntry(state.strengths.newest, state.keeps_users, None if kinds is None else list(kinds.names))


def open_events(
    about: EventEntry,
    known: dict[str, Any],
    tables: Tensors,
    by_kind: Mapping[str, float] | None,
    half_life: float | None,
) -> EventState:
    """Return the state."""
    if not isinstance(known["parameters"], ImplicitParameters):
        raise ModelFileError("holds events with a model of something else")
    if not about.keeps_users and len(known["users"]):
        raise ModelFileError("holds users that were not to be kept")
    marks, kinds = persist.below(tables, "kinds."), None
    if about.kinds is not None:
        if about.kinds != sorted(by_kind or ()) or not 0 < len(about.kinds) <= MOST_KINDS:
            raise ModelFileError("has kinds of events other than those that it says the weights of")
        declared = Tensor("uint8" if len(about.kinds) <= 8 else "uint64", "entries")
        check_tensors(marks, {"marks": declared}, {"entries": known["log"].by_user.n_entries}, prefix="tables.kinds.")
        kinds = EventKinds(tuple(about.kinds), marks["marks"])
    elif marks:
        raise ModelFileError("has marks of events whose kinds it does not name")
    strengths = Strengths(by_kind, half_life, about.newest)
    return EventState(**known, strengths=strengths, keeps_users=about.keeps_users, kinds=kinds)
