"""Shelves: items laid out for the scan. A shelf never changes; what is removed is masked in a copy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.models._base import thread_count
from bitfm.models._half import Rows
from bitfm.retrieval._row_codes import learn_row_codes

__all__ = [
    "CHUNK",
    "CodeShelf",
    "Excluded",
    "Found",
    "Items",
    "Mask",
    "RowCodeShelf",
    "Shelf",
    "VectorShelf",
    "best_of",
    "count",
]

Found: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]
Excluded: TypeAlias = tuple[npt.NDArray[np.int64] | None, npt.NDArray[np.int32] | None]
Mask: TypeAlias = npt.NDArray[np.uint64]

CHUNK = 64  # items, as many as a word of a mask has bits
_BITS_OF_BYTE = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)
_LARGE = 100_000  # from so many items on, the scan does without some dimensions:
_MOST_LEFT_OUT = 0.1  # those that hold up to this share of the items' squared lengths


@dataclass(frozen=True, eq=False)
class Items:
    """Items as a shelf takes them and gives them back: codes with gains, or vectors."""

    biases: npt.NDArray[np.float32]
    positions: npt.NDArray[np.int32]
    codes: npt.NDArray[np.uint8]
    gains: npt.NDArray[np.float32]
    vectors: npt.NDArray[np.float32]

    @classmethod
    def of(cls, rows: Rows, positions: npt.NDArray[Any]) -> Items:
        """Take rows of a model's items: as codes if all are, else as vectors."""
        coded = rows.coded is None
        return cls(
            rows.constants.astype(np.float32),
            positions.astype(np.int32),
            rows.codes if coded else rows.codes[:0],
            rows.gains if coded else rows.gains[:0],
            rows.vectors if coded else rows.as_vectors(),
        )

    @classmethod
    def together(cls, parts: Sequence[Items]) -> Items:
        """Return all the parts' items."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    def __len__(self) -> int:
        return len(self.biases)


@dataclass(frozen=True, eq=False)
class Shelf(ABC):
    """Items in chunks of 64, as arrays that may lie in a file."""

    names: ClassVar[tuple[str, ...]]
    arrays: Mapping[str, npt.NDArray[Any]]
    alive: Mask

    @classmethod
    @abstractmethod
    def of(cls, items: Items, user_length: float) -> Self:
        """Lay items out for users whose vectors are about so long, which the best order depends on."""

    @abstractmethod
    def search(self, mask: Mask, rows: Rows, excluded: Excluded, n: int, n_threads: int) -> Found:
        """Return the best n among the places of a mask, queries × n each."""

    @abstractmethod
    def items(self) -> Items:
        """Return the items that are not removed."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # not what is made from them

    @cached_property
    def n_items(self) -> int:
        """Number of items that are not removed."""
        return count(self.alive)

    def mask(self, positions: npt.NDArray[Any]) -> Mask:
        """Return which places hold one of the positions."""
        sorted_positions, places = self._places
        mask = np.zeros(len(self.alive), np.uint64)
        if len(places):
            at = np.minimum(np.searchsorted(sorted_positions, positions), len(places) - 1)
            found = places[at[sorted_positions[at] == positions]]
            np.bitwise_or.at(mask, found // CHUNK, np.uint64(1) << (found % CHUNK).astype(np.uint64))
        return mask

    def without(self, positions: npt.NDArray[Any]) -> Self:
        """Return the shelf without some of its items."""
        return replace(self, alive=self.alive & ~self.mask(positions))

    @property
    def _alive_places(self) -> npt.NDArray[np.intp]:
        return np.flatnonzero(np.unpackbits(self.alive.view(np.uint8), bitorder="little"))

    @cached_property
    def _places(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.intp]]:
        position = self.arrays["position"]
        places = np.flatnonzero(position >= 0)
        order = np.argsort(position[places])
        return position[places][order], places[order]


class CodeShelf(Shelf):
    """Items that are a code, a gain and a bias each."""

    names = (
        "codes",
        "alive",
        "position",
        "bias",
        "gain",
        "chunk_bias",
        "chunk_most",
        "chunk_least",
        "inverse_most",
        "inverse_least",
        "chunk_first",
    )

    @classmethod
    def of(cls, items: Items, user_length: float) -> Self:
        weight = user_length * float(np.sqrt(items.codes.shape[1] * 8)) / 2  # what a gain adds to a good score
        arranged = _core.arrange_codes(items.codes, items.gains, items.biases, items.positions, weight)
        arrays = dict(zip(cls.names, arranged, strict=True))
        arrays["codes"] = arrays["codes"].reshape(-1, items.codes.shape[1], CHUNK)
        return cls(arrays, arrays["alive"])

    @cached_property
    def _catalogue(self) -> _core.CodeCatalogue:
        arrays = {name: array for name, array in self.arrays.items() if name != "alive"}
        return _core.CodeCatalogue(arrays["codes"].shape[1], **arrays | {"codes": arrays["codes"].reshape(-1)})

    def search(self, mask: Mask, rows: Rows, excluded: Excluded, n: int, n_threads: int) -> Found:
        if rows.coded is None:
            return self._search_codes(mask, rows, rows.constants, excluded, n, n_threads)
        positions, scores = np.empty((len(rows), n), np.int64), np.empty((len(rows), n), np.float32)
        which = rows.coded
        of_codes, of_others = _of_queries(excluded, which), _of_queries(excluded, ~which)
        positions[which], scores[which] = self._search_codes(mask, rows, rows.constants[which], of_codes, n, n_threads)
        constants = rows.constants[~which]
        found = self._catalogue.search_vectors(mask, rows.vectors, constants, *of_others, n, n_threads)
        positions[~which], scores[~which] = _shaped(len(constants), n, found)
        return positions, scores

    def _search_codes(
        self, mask: Mask, rows: Rows, constants: npt.NDArray[np.float64], excluded: Excluded, n: int, n_threads: int
    ) -> Found:
        search = self._catalogue.search_codes
        found = search(mask, rows.codes, rows.gains, constants, *excluded, n, n_threads)
        return _shaped(len(constants), n, found)

    def items(self) -> Items:
        places = self._alive_places
        arrays = self.arrays
        by_item = arrays["codes"].transpose(0, 2, 1).reshape(-1, arrays["codes"].shape[1])
        return Items(
            arrays["bias"][places],
            arrays["position"][places],
            by_item[places],
            arrays["gain"][places],
            np.zeros((0, by_item.shape[1] * 8), np.float32),
        )


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
        "turn",
    )

    @classmethod
    def of(cls, items: Items, user_length: float) -> Self:
        turn = _leading_directions(items.vectors)
        weight = user_length / 2  # what a unit of length adds to a good score
        arranged = _core.arrange_vectors(items.vectors, items.biases, items.positions, turn, weight)
        arrays = dict(zip(cls.names, (*arranged, turn), strict=True))
        arrays["vectors"] = arrays["vectors"].reshape(-1, items.vectors.shape[1])
        return cls(arrays, arrays["alive"])

    @cached_property
    def _catalogue(self) -> _core.VectorCatalogue:
        return _core.VectorCatalogue(**{name: array for name, array in self.arrays.items() if name != "alive"})

    def search(self, mask: Mask, rows: Rows, excluded: Excluded, n: int, n_threads: int) -> Found:
        found = self._catalogue.search(mask, rows.as_vectors(), rows.constants, *excluded, n, n_threads)
        return _shaped(len(rows), n, found)

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


@dataclass(frozen=True, eq=False)
class RowCodeShelf(Shelf):
    """Items that are vectors, with codes to find candidates by; these are then scored exactly."""

    names = (*CodeShelf.names, "row_position", "row_bias", "row_vectors", "basis")
    rescore: int = 50  # candidates for the best ten, and as many more for more

    @classmethod
    def of(cls, items: Items, user_length: float, bits: int = 64, rescore: int = 50) -> Self:
        order = np.argsort(items.positions)
        positions, biases, vectors = items.positions[order], items.biases[order], items.vectors[order]
        learned = learn_row_codes(vectors, bits, thread_count(-1))
        coded = Items(biases, positions, learned.codes, learned.gains, np.zeros((0, bits), np.float32))
        arrays = dict(CodeShelf.of(coded, user_length).arrays)
        arrays |= {"row_position": positions, "row_bias": biases, "row_vectors": vectors, "basis": learned.basis}
        return cls(arrays, arrays["alive"], rescore)

    @cached_property
    def _codes(self) -> CodeShelf:
        return CodeShelf({name: self.arrays[name] for name in CodeShelf.names}, self.alive)

    def search(self, mask: Mask, rows: Rows, excluded: Excluded, n: int, n_threads: int) -> Found:
        left = self.n_items if mask is self.alive else count(mask)
        candidates = min(max(n, self.rescore, -(-n * self.rescore // 10)), left) if n else 0
        arrays = self.arrays
        vectors = rows.as_vectors()
        turned = Rows(
            rows.constants,
            np.zeros((0, arrays["codes"].shape[1]), np.uint8),
            np.zeros(0, np.float32),
            vectors @ arrays["basis"],
            np.zeros(len(rows), bool),
        )
        positions, _ = self._codes.search(mask, turned, excluded, candidates, n_threads)
        at = np.where(positions >= 0, np.searchsorted(arrays["row_position"], positions), -1)
        scores = _core.rescore(arrays["row_vectors"], arrays["row_bias"], vectors, rows.constants, at, n_threads)
        return best_of(positions, scores.reshape(positions.shape), n)

    def items(self) -> Items:
        arrays = self.arrays
        positions = arrays["position"][self._alive_places]
        at = np.searchsorted(arrays["row_position"], positions)
        n_bytes = arrays["row_vectors"].shape[1] // 8
        return Items(
            arrays["row_bias"][at],
            positions,
            np.zeros((0, n_bytes), np.uint8),
            np.zeros(0, np.float32),
            arrays["row_vectors"][at],
        )


def best_of(positions: npt.NDArray[np.int64], scores: npt.NDArray[np.float32], n: int) -> Found:
    """Return the best n of what has been found for each query, ties by lowest position."""
    order = np.lexsort((positions, -scores), axis=1)[:, :n]
    return np.take_along_axis(positions, order, 1), np.take_along_axis(scores, order, 1)


def count(mask: Mask) -> int:
    """Return the number of bits that are set."""
    return int(_BITS_OF_BYTE[mask.view(np.uint8)].sum(dtype=np.int64))


def _shaped(n_queries: int, n: int, found: Found) -> Found:
    return found[0].reshape(n_queries, n), found[1].reshape(n_queries, n)


def _of_queries(excluded: Excluded, which: npt.NDArray[np.bool_]) -> Excluded:
    start, positions = excluded
    if start is None or positions is None:
        return excluded
    sizes = np.diff(start)
    return np.concatenate([[0], np.cumsum(sizes[which])]), positions[np.repeat(which, sizes)]


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
