"""A segment of items that are vectors."""

from __future__ import annotations

from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.errors import ModelFileError
from bitfm.parameters import TowerRows
from bitfm.persist import Tensors
from bitfm.retrieval._segment import Excluded, Items, Mask, Ranked, Segment, Shapes, shaped, size_of

# From so many items on, a single query scans nibbles first, and every scan does without some dimensions:
_LARGE = 100_000
_MOST_LEFT_OUT = 0.1  # those that hold up to this share of the items' squared lengths


class VectorSegment(Segment):
    """Items that are a vector and a bias each."""

    @classmethod
    def of(cls, items: Items, user_length: float) -> Self:
        weight = user_length / 2  # what a unit of length adds to a good score
        how = _leading_directions(items.vectors), weight, len(items) >= _LARGE
        arrays = _core.arrange_vectors(items.vectors, items.biases, items.positions, *how)
        return cls(arrays, arrays["live"])

    @classmethod
    def shapes(cls, arrays: Tensors, width: int, row_bits: int) -> Shapes:
        chunks, leading = size_of(arrays, "live"), size_of(arrays, "basis") // width
        if leading < 2 or leading % 2 or leading > width:
            raise ModelFileError(f"has an index of {leading} leading dimensions, expected an even number up to {width}")
        return _core.VectorCatalogue.shapes(chunks, width, leading, chunks if size_of(arrays, "nibbles") else 0)

    @cached_property
    def _catalogue(self) -> _core.VectorCatalogue:
        return _core.VectorCatalogue(dict(self.arrays))

    def search(self, mask: Mask, rows: TowerRows, excluded: Excluded, n: int, n_threads: int) -> Ranked:
        best = self._catalogue.search(mask, rows.as_vectors(), rows.constants, *excluded, n, n_threads)
        return shaped(len(rows), n, best)

    def items(self) -> Items:
        slots, arrays = self._live_slots, self.arrays
        return Items.of_vectors(arrays["bias"][slots], arrays["position"][slots], arrays["vectors"][slots])


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
