"""What every part of a recommender's interface starts from: the state that a fit has left."""

from __future__ import annotations

import threading
from typing import Any

from bitfm.errors import NotFittedError
from bitfm.recommender._state import State

__all__ = ["Fitted"]


class Fitted:
    """Holds a state, if it was fitted; queries read it, and changes put another in its place."""

    _state: State | None
    _examples: Any  # what the model was fitted to, if that was kept
    _changing: threading.Lock  # one change at a time, each on top of the last; queries do not wait

    @property
    def state(self) -> State:
        """What was learnt: sides, parameters and index, as one immutable value."""
        if self._state is None:
            raise NotFittedError("This Recommender is not fitted yet: call fit with a table of interactions first.")
        return self._state
