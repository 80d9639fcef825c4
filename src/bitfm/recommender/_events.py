"""Events into ratings: what was chosen is 1, and some of what was not is 0."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitfm.models import FM

__all__ = ["ANCHOR_STRENGTH", "FOLDS", "Examples", "event_examples", "teacher_of_events"]

FOLDS = 4
_RANK, _SWEEPS, _RIDGE, _WEIGHT_RIDGE = 64, 15, 15.0, 10.0  # of the teacher
ANCHOR_STRENGTH = 1.0  # λ: events themselves count for more than ratings do
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


def teacher_of_events() -> FM:
    """Return the teacher of codes that learn from events.

    Draws from a posterior, which are the best teachers of ratings, take 0 and 1 for exact and memorise which
    items happened to be drawn. A ridge does not.
    """
    return FM(_RANK, n_iter=_SWEEPS, tol=0, regularization=_RIDGE, linear_regularization=_WEIGHT_RIDGE)


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
    askers = users if contexts is None else np.unique(np.stack([users, contexts]), axis=1, return_inverse=True)[1]
    chosen = np.unique(_keys(askers, items, n_items))
    event = np.repeat(np.arange(n), negatives)
    from_own = np.zeros(len(event), bool)
    if contexts is not None:
        from_own = np.tile(np.arange(negatives) % 4 == 0, n)
    draw = _Draw(users, items, rng)
    drawn = draw(users[event], from_own)
    for _ in range(_TRIES):
        taken = np.flatnonzero(_among(chosen, _keys(askers[event], drawn, n_items)))
        if not len(taken):
            break
        drawn[taken] = draw(users[event[taken]], from_own[taken])
    free = ~_among(chosen, _keys(askers[event], drawn, n_items))  # who has chosen nearly all gets fewer
    event, drawn = np.concatenate([np.arange(n), event[free]]), np.concatenate([items, drawn[free]])
    return Examples(event, drawn.astype(np.int32), np.arange(len(event)) < n, _folds(users, event, drawn, n_items, rng))


class _Draw:
    """Draws items: from all that have events, or from those that a user has chosen in any context."""

    def __init__(self, users: npt.NDArray[np.int32], items: npt.NDArray[np.int32], rng: np.random.Generator) -> None:
        pairs = np.unique(np.stack([users, items]), axis=1)
        self._starts = np.searchsorted(pairs[0], np.arange(int(users.max()) + 2))
        self._own, self._all, self._rng = pairs[1], np.unique(items), rng

    def __call__(self, users: npt.NDArray[np.int32], from_own: npt.NDArray[np.bool_]) -> npt.NDArray[np.int32]:
        anywhere = self._all[self._rng.integers(len(self._all), size=len(users))]
        begin, end = self._starts[users], self._starts[users + 1]
        return np.where(from_own, self._own[self._rng.integers(begin, end)], anywhere)


def _folds(
    users: npt.NDArray[np.int32],
    event: npt.NDArray[np.intp],
    items: npt.NDArray[np.int32],
    n_items: int,
    rng: np.random.Generator,
) -> npt.NDArray[np.int32]:
    """Deal the pairs that were chosen into folds, however often; what was drawn goes with its event.

    Unless the user has chosen it in another context: then it goes where its own pair is. Otherwise the histories that
    hold an example's item would all be those of items drawn.
    """
    pairs = np.unique(_keys(users, items[: len(users)], n_items))
    fold = np.zeros(len(pairs), np.int32)
    fold[rng.permutation(len(pairs))] = np.arange(len(pairs)) % FOLDS
    keys = _keys(users[event], items, n_items)
    of_event = fold[np.searchsorted(pairs, keys[: len(users)])]
    own = fold[np.minimum(np.searchsorted(pairs, keys), len(pairs) - 1)]
    return np.where(_among(pairs, keys), own, of_event[event])


def _keys(rows: npt.NDArray[Any], columns: npt.NDArray[Any], n_columns: int) -> npt.NDArray[np.int64]:
    return np.asarray(rows.astype(np.int64) * n_columns + columns)


def _among(sorted_values: npt.NDArray[np.int64], values: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    at = np.minimum(np.searchsorted(sorted_values, values), len(sorted_values) - 1)
    return np.asarray(sorted_values[at] == values)
