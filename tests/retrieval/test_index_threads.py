"""What other threads see of an index while items are added to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from attacks.races import N_FEATURES, N_USERS, parameters_of
from bitfm.retrieval import Index


class Watched(Index):
    """An index that is looked at after each of its attributes is set, as another thread may."""

    seen: list[tuple[int, int]]

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if "seen" in vars(self):
            highest = max(int(segment.positions.max()) for segment in self.segments)
            self.seen.append((highest, self.n_positions))


def test_no_position_is_ever_beyond_their_number():
    index = Watched(parameters_of(("user", "id", N_USERS), ("item", "id", N_FEATURES)), np.arange(100))
    index.seen = []
    index.add(np.arange(50))
    assert index.n_positions == 150
    assert len(index.seen) >= 2
    assert all(highest < n_positions for highest, n_positions in index.seen)
