"""From tables to a fitted state, of ratings or of events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitfm.core import release_memory
from bitfm.data.blocks import Blocks
from bitfm.data.interactions import HeldOut, Interactions
from bitfm.models import Callback
from bitfm.models.notebook_bar import in_notebook, notebook_bar
from bitfm.recommender._events.fitting import event_data, fit_events
from bitfm.recommender._events.state import EventState
from bitfm.recommender._ratings.fitting import fit_ratings, rating_data
from bitfm.recommender._ratings.state import RatingState
from bitfm.recommender._reading import SideReader, read_tables
from bitfm.recommender._state import State
from bitfm.validation import check_integer

if TYPE_CHECKING:
    from bitfm.recommender.recommender import Recommender

__all__ = ["fit_state", "training_data"]


def fit_state(
    settings: Recommender,
    read: Callable[[], Interactions],
    users: Any,
    items: Any,
    title: str | None,
    filters: Sequence[str] | None,
    callback: Callback | None,
    decimal: str | None,
    dates: str | None,
) -> tuple[State, tuple[Blocks, npt.NDArray[np.float64]], HeldOut | None]:
    """Read the tables and fit the model; return what was learnt, what from, and what the interactions leave out."""
    check_integer("random_state", settings.random_state, 0)
    given = read()
    events, held_out = given.target is None, given.held_out
    if not events:
        for name, default in (("event_weights", None), ("half_life", None), ("keep_interactions", True)):
            if (value := getattr(settings, name)) != default:
                raise ValueError(f"{name}={value!r} is for events, but there is a target; give target=None.")
    fit = fit_events if events else fit_ratings
    with _progress(settings, callback) as shown:
        tables = read_tables(given, users, items, title, filters, SideReader(settings.kinds or {}, decimal, dates))
        del given  # what was read from a file need not stay in memory
        release_memory()
        return *fit(settings, tables, shown), held_out


def _progress(settings: Recommender, callback: Callback | None) -> AbstractContextManager[Callback | None]:
    """Give the callback of a fit: the caller's own, or a bar in a notebook where nobody has chosen anything else."""
    chosen = callback is not None or settings.verbose is not None or bool(getattr(settings.model, "verbose", False))
    if not chosen and in_notebook():
        return notebook_bar()
    return nullcontext(callback)


def training_data(state: State, interactions: Interactions) -> tuple[Blocks, npt.NDArray[np.float64]]:
    """Return interactions as a model with the state's fields would learn from them."""
    if isinstance(state, EventState):
        return event_data(state, interactions)
    assert isinstance(state, RatingState)
    return rating_data(state, interactions)
