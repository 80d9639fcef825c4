"""Events into ratings: what was chosen is 1, and some of what was not is 0."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitfm.validation import check_count

__all__ = ["FOLDS", "Examples", "event_examples"]

FOLDS = 4
_TRIES = 3


class Examples(NamedTuple):
    """What to learn from: events, and items drawn against each of them.

    A history holds what a user has chosen, so it would give away the answer. So the events are dealt into folds, and
    the examples of a fold see the histories and raters of the others only.
    """

    event: npt.NDArray[np.intp]  # which event the example is made from: its user and its context
    item: npt.NDArray[np.int32]
    chosen: npt.NDArray[np.bool_]
    fold: npt.NDArray[np.int32]

    def take(self, which: npt.NDArray[np.bool_]) -> Examples:
        """Return some of them."""
        return Examples(self.event[which], self.item[which], self.chosen[which], self.fold[which])


def event_examples(
    users: npt.NDArray[np.int32],
    items: npt.NDArray[np.int32],
    n_items: int,
    negatives: int,
    rng: np.random.Generator,
    contexts: npt.NDArray[np.int32] | None = None,
) -> Examples:
    """Draw so many items against each event, from all items that have events, without those the user has chosen.

    If the events have contexts, without those that the user has chosen in the same context; and of four items one is
    drawn from what the user has chosen in others: what one wants in the evening tells the evening from the morning.
    """
    n = len(users)
    check_count("a table of events and of items drawn against them", n * (1 + negatives), "rows", "lower negatives")
    pairs = np.unique(_keys(users, items, n_items))  # of a user and an item, in any context
    askers = users if contexts is None else np.unique(np.stack([users, contexts]), axis=1, return_inverse=True)[1]
    chosen = np.unique(_keys(askers, items, n_items))
    event = np.repeat(np.arange(n), negatives)
    from_own = np.tile(np.arange(negatives) % 4 == 0, n) if contexts is not None else np.zeros(len(event), bool)
    own_starts, own_items = np.searchsorted(pairs, np.arange(int(users.max()) + 2) * n_items), pairs % n_items
    all_items = np.unique(items)
    drawn, taken = np.zeros(len(event), np.int64), np.arange(len(event))
    for _ in range(1 + _TRIES):
        anywhere = all_items[rng.integers(len(all_items), size=len(taken))]
        of_users = users[event[taken]]
        own = own_items[rng.integers(own_starts[of_users], own_starts[of_users + 1])]
        drawn[taken] = np.where(from_own[taken], own, anywhere)
        taken = np.flatnonzero(np.isin(_keys(askers[event], drawn, n_items), chosen))
        if not len(taken):
            break
    free = np.delete(np.arange(len(event)), taken)  # who has chosen nearly all gets fewer
    event, item = np.append(np.arange(n), event[free]), np.append(items, drawn[free]).astype(np.int32)
    fold = np.zeros(len(pairs), np.int32)
    fold[rng.permutation(len(pairs))] = np.arange(len(pairs)) % FOLDS
    # What was drawn goes with its event. Unless the user has chosen it in another context: then it goes where its own
    # pair is. Otherwise the histories that hold an example's item would all be those of items drawn.
    keys = _keys(users[event], item, n_items)
    at = np.searchsorted(pairs, np.where(np.isin(keys, pairs), keys, keys[event]))
    return Examples(event, item, np.arange(len(event)) < n, fold[at])


def _keys(rows: npt.NDArray[Any], columns: npt.NDArray[Any], n_columns: int) -> npt.NDArray[np.int64]:
    return np.asarray(rows.astype(np.int64) * n_columns + columns)
