"""A shelf of items that are vectors."""

from __future__ import annotations

from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.models._half import Rows
from bitfm.retrieval._shelf import Excluded, Found, Items, Mask, Shelf, shaped

__all__ = ["VectorShelf"]

# From so many items on, a single query scans half bytes first, and every scan does without some dimensions:
_LARGE = 100_000
_MOST_LEFT_OUT = 0.1  # those that hold up to this share of the items' squared lengths


class VectorShelf(Shelf):
    """Items that are a vector and a bias each."""

    names = (
        "values",
        "start",
        "alive",
        "position",
        "bias",
        "vectors",
        "chunk_bias",
        "inverse_step",
        "length",
        "error",
        "rest",
        "chunk_first",
        "nibbles",
        "nibble_inverse_step",
        "nibble_error",
        "turn",
    )

    @classmethod
    def of(cls, items: Items, user_length: float) -> Self:
        turn = _leading_directions(items.vectors)
        weight = user_length / 2  # what a unit of length adds to a good score
        halve = len(items) >= _LARGE
        arranged = _core.arrange_vectors(items.vectors, items.biases, items.positions, turn, weight, halve)
        arrays = dict(zip(cls.names, (*arranged, turn), strict=True))
        arrays["vectors"] = arrays["vectors"].reshape(-1, items.vectors.shape[1])
        return cls(arrays, arrays["alive"])

    @cached_property
    def _catalogue(self) -> _core.VectorCatalogue:
        return _core.VectorCatalogue(**{name: array for name, array in self.arrays.items() if name != "alive"})

    def search(self, mask: Mask, rows: Rows, excluded: Excluded, n: int, n_threads: int) -> Found:
        found = self._catalogue.search(mask, rows.as_vectors(), rows.constants, *excluded, n, n_threads)
        return shaped(len(rows), n, found)

    def items(self) -> Items:
        places = self._alive_places
        arrays = self.arrays
        n_bytes = arrays["vectors"].shape[1] // 8
        return Items(
            arrays["bias"][places],
            arrays["position"][places],
            np.zeros((0, n_bytes), np.uint8),
            np.zeros(0, np.float32),
            arrays["vectors"][places],
        )


def _leading_directions(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Return an orthonormal basis of the directions that hold most of the vectors' squared lengths.

    A scan of fewer dimensions reads less, but lets more items through to be scored; few items are in the cache anyway.
    """
    most_left_out = _MOST_LEFT_OUT if len(vectors) >= _LARGE else 0.0
    gram = np.zeros((vectors.shape[1], vectors.shape[1]))
    for begin in range(0, len(vectors), 1 << 16):
        part = vectors[begin : begin + (1 << 16)].astype(np.float64)
        gram += part.T @ part
    energies, directions = np.linalg.eigh(gram)
    left_out = np.cumsum(energies.clip(0))  # the smallest come first
    n_out = int(np.searchsorted(left_out, most_left_out * left_out[-1], side="right")) if left_out[-1] > 0 else 0
    leading = min(vectors.shape[1], -(-max(vectors.shape[1] - n_out, 1) // 8) * 8)
    return np.ascontiguousarray(directions[:, ::-1][:, :leading])
