"""What a query says about the items it may have: conditions, lists of ids, boosts and diversity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitfm.data.feature_table import FeatureTable
from bitfm.data.tables import as_frame, ids_of, need_columns
from bitfm.data.texts import one_as_text
from bitfm.data.vocabulary import Vocabulary
from bitfm.recommender._boosts import boosts_of
from bitfm.recommender._ids import AskedUsers, ids_in, known_items, warn_of_unknown
from bitfm.recommender._matrix import table_of_keys
from bitfm.recommender._state import State
from bitfm.recommender._where import condition_key, rows_where
from bitfm.retrieval import Selection

__all__ = [
    "NO_RULES",
    "Rules",
    "allowed_items",
    "hidden_items",
    "is_per_user",
    "lists_per_user",
    "rules_of",
    "selection_of",
]


class Rules(NamedTuple):
    """What is asked beside how many items; see `Recommender.recommend`."""

    where: Any = None
    allow: Any = None
    deny: Any = None
    boost: Any = None
    diversity: Any = None


NO_RULES = Rules()


def rules_of(*given: Any) -> Rules:
    """Return what is asked; nothing at all is always the same."""
    for one in given:
        if one is not None:
            return Rules(*given)
    return NO_RULES


def selection_of(state: State, rules: Rules) -> Selection | None:
    """Return the items that the conditions allow, with what is added to their scores; None if nothing is said."""
    where, boost = rules.where, rules.boost
    if where is None and boost is None:
        return None

    def make() -> Selection:
        allowed = None if where is None else rows_where(state.items, where)
        return state.index.select(allowed, boost=None if boost is None else boosts_of(state, boost))

    key = condition_key([where, boost])
    return state.selections.get(key, state.index, make)


def allowed_items(state: State, rules: Rules) -> npt.NDArray[np.bool_] | None:
    """Return which of all items may be had by anybody; None if all may."""
    if rules is NO_RULES:
        return None
    allowed = np.ones(len(state.items), bool) if rules.where is None else rows_where(state.items, rules.where)
    listed, denied = known_items(state, "allow", rules.allow), known_items(state, "deny", rules.deny)
    if listed is not None:
        among = np.zeros(len(allowed), bool)
        among[listed] = True
        allowed = allowed & among
    if denied is not None:
        allowed[denied] = False
    return allowed


def hidden_items(state: State, users: AskedUsers, seen: bool, exclude: Any) -> FeatureTable | None:
    """Return the items to hide from each user: what they have had, or what was named in its place."""
    if exclude is None:
        return None if seen else state.log.by_user.take(users.indices)
    if seen:
        raise ValueError("exclude: what to hide was given, and seen=True to hide nothing; give one of them.")
    if isinstance(exclude, str):
        exclude = [exclude]
    if isinstance(exclude, list | tuple | set | frozenset):
        if all(isinstance(one, str) for one in exclude):
            return state.had_by(users.indices, list(exclude))
        if all(isinstance(one, list | tuple) and len(one) == 2 for one in exclude):
            pairs: dict[Any, list[Any]] = {}
            for user, item in exclude:
                pairs.setdefault(user, []).append(item)
            exclude = pairs
    if not is_per_user(state, exclude):
        expected = "kinds of events, a table of users and items, or a mapping of users to items"
        raise TypeError(f"exclude: expected {expected}; got {type(exclude).__name__}.")
    return lists_per_user(state, "exclude", exclude, users)


def is_per_user(state: State, given: Any) -> bool:
    """Tell items that are given for each user from items for all."""
    return isinstance(given, Mapping) or (hasattr(given, "columns") and state.users.id_column in given.columns)


def lists_per_user(state: State, what: str, given: Any, users: AskedUsers) -> FeatureTable:
    """Return the items of each user that is asked for: from a mapping of users to ids, or a table of pairs."""
    import polars as pl

    texts = [str(one_as_text(one)) for one in users.ids]
    asked = Vocabulary.of(pl.Series(texts, dtype=pl.String))
    if isinstance(given, Mapping):
        lists = [(asked.find(str(one_as_text(one))), ids) for one, ids in given.items()]
        lists = [(user, ids_in(what, ids, state.items.id_column)) for user, ids in lists if user >= 0]
        whom: npt.NDArray[Any] = np.repeat(*_sizes(lists))
        ids = [item for _, some in lists for item in some]
        items = state.items.indices_of(ids)
    else:
        frame, _ = as_frame(what, given)
        need_columns(what, frame, [state.users.id_column, state.items.id_column])
        whom = asked.indices(ids_of(what, frame, state.users.id_column).text)
        column = ids_of(what, frame, state.items.id_column).text.filter(whom >= 0)
        whom, ids, items = whom[whom >= 0], column.to_list(), state.items.ids.indices(column)
    warn_of_unknown(what, "item", ids, items, "passed over")
    pairs = whom[items >= 0].astype(np.int64) * len(state.items) + items[items >= 0]
    return table_of_keys(pairs, (len(asked), len(state.items))).take(asked.indices(pl.Series(texts, dtype=pl.String)))


def _sizes(lists: list[tuple[int, list[Any]]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    return np.array([user for user, _ in lists], np.int64), np.array([len(ids) for _, ids in lists], np.int64)
