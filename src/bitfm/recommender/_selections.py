"""Items that conditions allow, with what boosts add to their scores: found once, for all queries that ask for them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from bitfm.recommender._locks import new_lock
from bitfm.retrieval import Index, Selection

__all__ = ["Selections"]

_MOST = 16  # selections that are kept
_MOST_COPIED = 1.0  # times the catalogue that copies of some of its items may take together


class Selections:
    """The selections of one state that were asked for last.

    One that is asked for again gets a copy of its items, if they are few, which is searched in less time than all
    items are. Any number of threads may ask.
    """

    def __init__(self) -> None:
        self._found: OrderedDict[Hashable, Selection] = OrderedDict()
        self._copied: dict[Hashable, int] = {}  # items that were copied
        self._lock: threading.Lock = new_lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Selections, ()  # a copy finds its own

    def get(self, key: Hashable | None, index: Index, make: Callable[[], Selection]) -> Selection:
        """Return the selection of a key, if there is one, or make it; without a key it is made every time."""
        if key is None:
            return make()
        with self._lock:
            found, copied = self._found.get(key), key in self._copied
            if found is not None:
                self._found.move_to_end(key)
        if found is not None and copied:
            return found
        selection = make() if found is None else index.compact(found)
        if not selection.n_items:
            return selection  # it is made again, with its warnings
        with self._lock:
            self._found[key] = selection
            if found is not None:
                self._copied[key] = selection.n_copied
            while len(self._found) > _MOST or sum(self._copied.values()) > _MOST_COPIED * max(len(index), 1):
                oldest, _ = self._found.popitem(last=False)
                self._copied.pop(oldest, None)
        return selection
