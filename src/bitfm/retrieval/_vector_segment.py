"""A segment of items that are a vector and a bias each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.core import eigh, multiply
from bitfm.errors import ModelFileError
from bitfm.parameters import TowerRows
from bitfm.persist import Tensors
from bitfm.retrieval._segments import (
    CHUNK,
    Excluded,
    Items,
    Mask,
    Ranked,
    Segment,
    Shapes,
    shaped,
    size_of,
    with_boosts,
)
from bitfm.retrieval._sums import ItemSums

# From so many items on, a single query scans nibbles first, and every scan does without some dimensions:
_LARGE = 100_000
_MOST_LEFT_OUT = 0.1  # those that hold up to this share of the items' squared lengths
_FEW_TERMS = 32  # features, whose sum takes little longer than to fetch a vector
_MOST_SUMS = 0.5  # of the items, whose vectors are then left out of a file


@dataclass(frozen=True, eq=False)
class VectorSegment(Segment):
    """Items that are a vector and a bias each.

    In a file beside the tables that the items' features are in, vectors may be left out that are sums of few features.
    """

    sums: ItemSums | None = None  # the vectors that are not kept

    @classmethod
    def of(cls, items: Items, user_length: float) -> Self:
        return cls._arranged(items, user_length, _leading_directions(items.vectors), len(items) >= _LARGE)

    @classmethod
    def _arranged(cls, items: Items, user_length: float, basis: npt.NDArray[np.float64], nibbles: bool) -> Self:
        weight = user_length / 2  # what a unit of length adds to a good score
        arrays = _core.arrange_vectors(items.vectors, items.biases, items.positions, basis, weight, nibbles)
        del arrays["start"]  # it follows from the values, in less time than it takes to read
        return cls(arrays, arrays["live"])

    def compact(self, mask: Mask, user_length: float) -> VectorSegment:
        items = replace(self, live=mask).items()  # in the same basis: to find another takes longer than it saves
        return self._arranged(items, user_length, self.arrays["basis"], False)

    @classmethod
    def shapes(cls, arrays: Tensors, width: int, row_bits: int) -> Shapes:
        chunks, leading = size_of(arrays, "live"), size_of(arrays, "basis") // width
        if leading < 2 or leading % 2 or leading > width:
            raise ModelFileError(f"has an index of {leading} leading dimensions, expected an even number up to {width}")
        kept = size_of(arrays, "vectors") // width if size_of(arrays, "kept") else None
        shapes = _core.VectorCatalogue.shapes(chunks, width, leading, chunks if size_of(arrays, "nibbles") else 0, kept)
        return [shape for shape in shapes if shape[0] != "start"]

    @cached_property
    def _catalogue(self) -> _core.VectorCatalogue:
        arrays = with_boosts(self.arrays, self.boosts)
        arrays["start"] = _core.vector_starts(arrays["values"], len(self.live))
        return _core.VectorCatalogue(arrays, None if self.sums is None else self.sums.core)

    def check(self, n_positions: int) -> None:
        self._catalogue.check(n_positions)

    def search(self, mask: Mask, rows: TowerRows, excluded: Excluded, n: int, n_threads: int) -> Ranked:
        best = self._catalogue.search(mask, rows.as_vectors(), rows.constants, *excluded, n, n_threads)
        return shaped(len(rows), n, best)

    def items(self) -> Items:
        slots, arrays = self._live_slots, self.arrays
        positions = arrays["position"][slots]
        if self.sums is None:
            return Items.of_vectors(arrays["bias"][slots], positions, arrays["vectors"][slots])
        at, vectors = self._places[slots], np.empty((len(slots), arrays["vectors"].shape[1]), np.float32)
        vectors[at >= 0] = arrays["vectors"][at[at >= 0]]
        vectors[at < 0] = self.sums.vectors(positions[at < 0])
        return Items.of_vectors(arrays["bias"][slots], positions, vectors)

    def only(self, places: npt.NDArray[np.int32], user_length: float, *how: Any) -> Self:
        if self.sums is not None and (places[self.positions] != self.positions).any():  # sums go by position
            return self.of(self.items().moved(places), user_length)
        return super().only(places, user_length, *how)

    def packed(self, sums: ItemSums | None) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays for a file, without vectors that are sums of few features, if these are most of them."""
        slots, items, arrays = self._live_slots, self.items(), super().packed(sums)
        if self.sums is not None:
            arrays["vectors"] = np.zeros((len(self.live) * CHUNK, items.vectors.shape[1]), np.float32)
            arrays["vectors"][slots] = items.vectors
            arrays["kept"], arrays["kept_before"] = np.zeros(0, np.uint64), np.zeros(0, np.int32)
        if sums is None:
            return arrays
        few = np.flatnonzero(sums.n_terms(items.positions) <= _FEW_TERMS)
        few = few[(sums.vectors(items.positions[few]) == items.vectors[few]).all(axis=1)]
        if len(few) < _MOST_SUMS * len(items):
            return arrays
        kept = np.delete(slots, few)
        bits = np.zeros(len(self.live) * CHUNK, bool)
        bits[kept] = True
        before = np.append(0, np.cumsum(bits.reshape(-1, CHUNK).sum(axis=1)))[:-1]
        return {
            **arrays,
            "vectors": arrays["vectors"][kept],
            "kept": np.packbits(bits, bitorder="little").view(np.uint64),
            "kept_before": before.astype(np.int32),
        }

    @cached_property
    def _places(self) -> npt.NDArray[np.int64]:
        """Which of the vectors is a slot's, -1 if it is not kept."""
        kept = np.unpackbits(self.arrays["kept"].view(np.uint8), bitorder="little").astype(bool)
        return np.where(kept, np.cumsum(kept) - 1, -1)


def _leading_directions(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Return an orthonormal basis of the directions that hold most of the vectors' squared lengths.

    A scan of fewer dimensions reads less, but lets more items through to be scored; few items are in the cache anyway.
    Where nothing is to be left out, the dimensions stay as they are: turned, the largest numbers would be larger, and
    all would be rounded more.
    """
    n, width = vectors.shape
    if width <= n < _LARGE and width % 2 == 0:
        return np.eye(width)
    most_left_out = _MOST_LEFT_OUT if n >= _LARGE else 0.0
    gram = np.zeros((width, width))
    for begin in range(0, len(vectors), 1 << 16):
        part = vectors[begin : begin + (1 << 16)].astype(np.float64)
        gram += multiply(part.T, part)
    energies, directions = eigh(gram)
    left_out = np.cumsum(energies.clip(0))  # the smallest come first
    n_out = int(np.searchsorted(left_out, most_left_out * left_out[-1], side="right")) if left_out[-1] > 0 else 0
    leading = min(vectors.shape[1], -(-max(vectors.shape[1] - n_out, 1) // 8) * 8)
    return np.ascontiguousarray(directions[:, ::-1][:, :leading])
