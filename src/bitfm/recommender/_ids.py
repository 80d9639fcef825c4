"""Ids that people ask about: one or several, in all the ways that they are given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitfm.data.files import quoted
from bitfm.data.tables import as_frame, need_columns
from bitfm.data.texts import one_as_text
from bitfm.errors import UnknownIdError
from bitfm.recommender._state import State
from bitfm.recommender._warnings import warn

__all__ = [
    "AskedUsers",
    "ids_in",
    "index_of",
    "known_ids",
    "known_items",
    "looked_up",
    "refuse_mask",
    "users_of",
    "warn_of_unknown",
]

_NAMED = 3  # of ids that are not known


class AskedUsers(NamedTuple):
    """Users by their ids and indices; -1 is one that is not known."""

    ids: list[Any]
    indices: npt.NDArray[np.int32]
    single: bool


def users_of(state: State, what: str, given: Any, done: str) -> AskedUsers:
    """Return the users that somebody asks for, and warn of those that are not known, and what is done with them."""
    single = _is_id(given)
    ids = [given] if single else _several("users", given, state.users.id_column)
    indices = state.users.indices_of(ids)
    if indices.min(initial=0) < 0:
        for place, one in enumerate(ids):
            if one_as_text(one) is None:
                which = "the user" if single else f"user {place + 1} of {len(ids)}"
                raise ValueError(f"{which} is missing ({one!r}); give an id, or call recommend_new() for a new user.")
        if len(state.users):
            warn_of_unknown(what, "user", ids, indices, done)
    return AskedUsers(ids, indices, single)


def looked_up(state: State, name: str, what: str, ids: Sequence[Any]) -> npt.NDArray[np.int32]:
    """Return the indices of users or items to be scored, and warn of those that are not known.

    None stands for one that is not known; what is missing in another way, such as NaN, is refused.
    """
    side = state.side(name)
    indices = side.indices_of(ids)
    if indices.min(initial=0) < 0:
        for place, one in enumerate(ids):
            if one is not None and one_as_text(one) is None:
                raise ValueError(f"{what}: the {name} of pair {place + 1} is missing ({one!r}); give an id or None.")
        named = [place for place, one in enumerate(ids) if one is not None]
        if len(side):
            warn_of_unknown(what, name, [ids[place] for place in named], indices[named], "scored by what is known")
    return indices


def index_of(state: State, name: str, given: Any) -> int:
    """Return the index of a user or an item, or refuse one that is not known."""
    side = state.side(name)
    if not _is_id(given):
        ids = _several(name, given, side.id_column)
        raise TypeError(f"{name}: expected one id, got {len(ids)}; ask for one after another.")
    index = int(side.indices_of([given])[0])
    if index < 0 and not len(side):
        raise UnknownIdError(f"{name} {quoted(given)} is not known, as there are no {name}s; add it with add_{name}s.")
    if index < 0:
        some = ", ".join(map(quoted, side.ids_of(np.arange(min(3, len(side)))).to_list()))
        advice = f"add it with add_{name}s, or ask for one of {some}, …"
        raise UnknownIdError(f"{name} {quoted(given)} is not known; {advice}.")
    return index


def known_items(state: State, what: str, given: Any) -> npt.NDArray[np.int32] | None:
    """Return the indices of items to choose from, or to leave out; a single id is one. Warn of others."""
    return None if given is None else known_ids(state, "item", what, given)


def known_ids(state: State, name: str, what: str, given: Any) -> npt.NDArray[np.int32]:
    """Return the indices of users or items; a single id is one. Warn of those that are not known."""
    side = state.side(name)
    ids = ids_in(what, given, side.id_column)
    indices = side.indices_of(ids)
    warn_of_unknown(what, name, ids, indices, "passed over")
    return indices[indices >= 0]


def ids_in(what: str, given: Any, column: str) -> list[Any]:
    """Return ids: one, several, or those of a frame's column."""
    return [given] if _is_id(given) else _several(what, given, column)


def warn_of_unknown(what: str, side: str, ids: Sequence[Any], indices: Iterable[int], done: str) -> None:
    """Warn of ids that are not known, by their names."""
    unknown = list(dict.fromkeys(quoted(one) for one, index in zip(ids, indices, strict=True) if index < 0))
    if unknown:
        named = ", ".join(unknown[:_NAMED])
        more = f" and {len(unknown) - _NAMED:,} more" if len(unknown) > _NAMED else ""
        warn(f"{what}: {side} {named}{more} not known, so {done}.")


def refuse_mask(what: str, ids: Sequence[Any]) -> None:
    """Refuse booleans where ids are meant."""
    if ids and all(isinstance(one, bool | np.bool_) for one in ids):
        raise TypeError(f"{what}: expected ids, got a mask of {len(ids)} booleans; select the ids by it first.")


def _several(what: str, given: Any, column: str) -> list[Any]:
    """Return ids in a list, or in the column of ids of a frame."""
    if isinstance(given, Mapping):
        raise TypeError(f"{what}: expected an id or a sequence of ids, got a mapping; give a list of ids.")
    if hasattr(given, "columns"):
        frame, _ = as_frame(what, given)
        need_columns(what, frame, [column])
        return frame[column].to_list()
    ids = given.tolist() if isinstance(given, np.ndarray) else list(given)
    refuse_mask(what, ids)
    return ids


def _is_id(given: Any) -> bool:
    """Tell an id from several."""
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes)
    return not several or getattr(given, "ndim", 1) == 0
