"""Segments: items laid out for the scan. A segment never changes; what is removed is masked in a copy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.data.feature_table import FeatureTable, check_rows
from bitfm.parameters import TowerRows
from bitfm.persist import Tensors
from bitfm.retrieval._sums import ItemSums

Ranked: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]
Excluded: TypeAlias = tuple[npt.NDArray[np.int64] | None, npt.NDArray[np.int32] | None]
Mask: TypeAlias = npt.NDArray[np.uint64]
Boosts: TypeAlias = npt.NDArray[np.float32]
Shapes: TypeAlias = Sequence[tuple[str, str, Sequence[int]]]

_POSITIONS = ("position", "row_position")  # arrays of positions
CHUNK = 64  # items, as many as a word of a mask has bits
_MANY_SLOTS = 32
_BITS_OF_BYTE = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class Items:
    """Items as a segment takes them and gives them back: codes with gains, or vectors."""

    biases: npt.NDArray[np.float32]
    positions: npt.NDArray[np.int32]
    codes: npt.NDArray[np.uint8]
    gains: npt.NDArray[np.float32]
    vectors: npt.NDArray[np.float32]

    @classmethod
    def of(cls, rows: TowerRows, positions: npt.NDArray[Any]) -> Items:
        """Take rows of a model's items: as codes if all are, else as vectors."""
        parts = rows.codes, rows.gains, rows.vectors
        if rows.coded is not None:
            parts = rows.codes[:0], rows.gains[:0], rows.as_vectors()
        return cls(rows.constants.astype(np.float32), positions.astype(np.int32), *parts)

    @classmethod
    def of_codes(cls, biases: Any, positions: Any, codes: Any, gains: Any) -> Items:
        """Return items that are codes."""
        return cls(biases, positions, codes, gains, np.zeros((0, codes.shape[1] * 8), np.float32))

    @classmethod
    def of_vectors(cls, biases: Any, positions: Any, vectors: Any) -> Items:
        """Return items that are vectors."""
        n_bytes = vectors.shape[1] // 8
        return cls(biases, positions, np.zeros((0, n_bytes), np.uint8), np.zeros(0, np.float32), vectors)

    @classmethod
    def together(cls, parts: Sequence[Items]) -> Items:
        """Return all the parts' items."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    def __len__(self) -> int:
        return len(self.biases)

    def moved(self, places: npt.NDArray[np.int32]) -> Items:
        """Return the items that have a new position, -1 being none, in it."""
        positions = places[self.positions]
        kept = positions >= 0
        biases, positions = self.biases[kept], positions[kept]
        if len(self.codes) == len(self):
            return Items.of_codes(biases, positions, self.codes[kept], self.gains[kept])
        return Items.of_vectors(biases, positions, self.vectors[kept])


@dataclass(frozen=True, eq=False)
class Segment(ABC):
    """Items in chunks of 64, as arrays that may lie in a file."""

    arrays: Mapping[str, npt.NDArray[Any]]
    live: Mask
    boosts: Boosts | None = None  # what is added to the scores of positions

    @classmethod
    @abstractmethod
    def of(cls, items: Items, user_length: float) -> Self:
        """Lay items out for users whose vectors are about so long, which the best order depends on."""

    @abstractmethod
    def search(self, mask: Mask, rows: TowerRows, excluded: Excluded, n: int, n_threads: int) -> Ranked:
        """Return the best n among the slots of a mask, queries × n each."""

    @abstractmethod
    def items(self) -> Items:
        """Return the items that are not removed."""

    @abstractmethod
    def check(self, n_positions: int) -> None:
        """Refuse what the search would believe though it cannot be; for arrays of a file."""

    @classmethod
    @abstractmethod
    def shapes(cls, arrays: Tensors, width: int, row_bits: int) -> Shapes:
        """Return the names, types and shapes of the arrays of such a segment, as far as some of them tell."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # not what is made from them

    def packed(self, sums: ItemSums | None) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays for a file, which may leave out vectors that `sums` gives as well."""
        return {**self.arrays, "live": self.live}

    @cached_property
    def n_items(self) -> int:
        """Number of items that are not removed."""
        return _count(self.live)

    def n_of(self, mask: Mask) -> int:
        """Return the number of slots of a mask."""
        return self.n_items if mask is self.live else _count(mask)

    def mask(self, positions: npt.NDArray[Any]) -> Mask:
        """Return which slots hold one of the positions."""
        position = self.arrays["position"]
        if len(positions) > len(position) // _MANY_SLOTS:  # a look at every slot takes less time than to find each
            among = np.zeros(
                int(max(positions.max(), position.max(initial=-1))) + 2, bool
            )  # the last is that of -1: none
            among[positions] = True
            return np.packbits(among[position], bitorder="little").view(np.uint64)
        sorted_positions, slots = self._slots
        mask = np.zeros(len(self.live), np.uint64)
        if len(slots):
            at = np.minimum(np.searchsorted(sorted_positions, positions), len(slots) - 1)
            held = slots[at[sorted_positions[at] == positions]]
            np.bitwise_or.at(mask, held // CHUNK, np.uint64(1) << (held % CHUNK).astype(np.uint64))
        return mask

    def compact(self, mask: Mask, user_length: float) -> Segment:
        """Return the items of a mask alone, which are scanned in less time than among all others."""
        return type(self).of(replace(self, live=mask).items(), user_length)

    def boosted(self, boosts: Boosts) -> Self:
        """Return the segment with something added to the scores of all positions."""
        return replace(self, boosts=boosts)

    def deleted(self, positions: npt.NDArray[Any]) -> Self:
        """Return the segment without some of its items."""
        return replace(self, live=self.live & ~self.mask(positions))

    def only(self, places: npt.NDArray[np.int32], user_length: float, *how: Any) -> Self:
        """Return the segment with other positions: `places` has the new one of each, in the same order, -1 for none.

        If an item has none, or was removed before, the others are laid out anew, as by `of`.
        """
        if len(self._slots[0]) == self.n_items and (places[self._slots[0]] >= 0).all():
            moved = {name: _moved(self.arrays[name], places) for name in self.arrays if name in _POSITIONS}
            return replace(self, arrays={**self.arrays, **moved})
        items = self.items()
        return type(self).of(items.moved(places), user_length, *how)

    @property
    def positions(self) -> npt.NDArray[np.int32]:
        """The positions of the items that are not removed."""
        return self.arrays["position"][self._live_slots]

    @property
    def _live_slots(self) -> npt.NDArray[np.intp]:
        return np.flatnonzero(np.unpackbits(self.live.view(np.uint8), bitorder="little"))

    @cached_property
    def _slots(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.intp]]:
        position = self.arrays["position"]
        slots = np.flatnonzero(position >= 0)
        order = np.argsort(position[slots])
        return position[slots][order], slots[order]


class CodeSegment(Segment):
    """Items that are a code, a gain and a bias each."""

    @classmethod
    def of(cls, items: Items, user_length: float) -> Self:
        weight = user_length * float(np.sqrt(items.codes.shape[1] * 8)) / 2  # what a gain adds to a good score
        arrays = _core.arrange_codes(items.codes, items.gains, items.biases, items.positions, weight)
        return cls(arrays, arrays["live"])

    @classmethod
    def shapes(cls, arrays: Tensors, width: int, row_bits: int) -> Shapes:
        return _core.CodeCatalogue.shapes(size_of(arrays, "live"), width // 8)

    @cached_property
    def _catalogue(self) -> _core.CodeCatalogue:
        return _core.CodeCatalogue(with_boosts(self.arrays, self.boosts))

    def check(self, n_positions: int) -> None:
        self._catalogue.check(n_positions)

    def search(self, mask: Mask, rows: TowerRows, excluded: Excluded, n: int, n_threads: int) -> Ranked:
        if rows.scales is not None:
            return self._search_scaled(mask, rows, rows.scales, excluded, n, n_threads)
        catalogue, constants = self._catalogue, rows.constants
        if rows.coded is None:
            found = catalogue.search_codes(mask, rows.codes, rows.gains, constants, *excluded, n, n_threads)
            return shaped(len(rows), n, found)
        if not len(rows.codes):
            found = catalogue.search_vectors(mask, rows.vectors, constants, *excluded, n, n_threads)
            return shaped(len(rows), n, found)
        positions, scores = np.empty((len(rows), n), np.int64), np.empty((len(rows), n), np.float32)
        of_codes = TowerRows(constants[rows.coded], rows.codes, rows.gains, rows.vectors[:0])
        of_vectors = TowerRows.of_vectors(constants[~rows.coded], rows.vectors)
        for which, part in ((rows.coded, of_codes), (~rows.coded, of_vectors)):
            positions[which], scores[which] = self.search(mask, part, of_queries(excluded, which), n, n_threads)
        return positions, scores

    def _search_scaled(
        self, mask: Mask, rows: TowerRows, scales: npt.NDArray[np.float64], excluded: Excluded, n: int, n_threads: int
    ) -> Ranked:
        """Search for queries with scales: a score by its scale is a bias and a product of vectors.

        Where the scale is below 0 the biases are, too: that is another arrangement of the same items.
        """
        below = scales < 0
        if below.all():
            return self._mirrored.search_above_0(self._mirrored_mask(mask), rows, -scales, excluded, n, n_threads)
        if not below.any():
            return self.search_above_0(mask, rows, scales, excluded, n, n_threads)
        positions, scores = np.empty((len(rows), n), np.int64), np.empty((len(rows), n), np.float32)
        for which in (below, ~below):
            at = np.flatnonzero(which)
            part = self._search_scaled(mask, rows.take(at), scales[at], of_queries(excluded, which), n, n_threads)
            positions[at], scores[at] = part
        return positions, scores

    def search_above_0(
        self, mask: Mask, rows: TowerRows, scales: npt.NDArray[np.float64], excluded: Excluded, n: int, n_threads: int
    ) -> Ranked:
        """Search for queries with scales above 0; constants do not change an order, and come last."""
        if self.boosts is not None and len(rows) > 1:  # what a boost is worth beside a bias depends on the scale
            ones = [np.arange(len(rows)) == query for query in range(len(rows))]
            return together(
                self.search_above_0(mask, rows.take(np.flatnonzero(one)), scales[one], of_queries(excluded, one), n, 1)
                for one in ones
            )
        catalogue = self._catalogue
        if self.boosts is not None:
            catalogue = _core.CodeCatalogue(with_boosts(self.arrays, self.boosts, float(scales[0])))
        vectors = np.asarray(rows.vectors / scales[:, None], np.float32)
        nothing = np.zeros(len(rows))
        if rows.scored is None:
            found = catalogue.search_vectors(mask, vectors, nothing, *excluded, n, n_threads)
        else:
            start, positions, values = rows.scored.arrays()
            if self.boosts is not None:
                values = values + self.boosts[positions]
            by_scale = np.asarray(values / np.repeat(scales, np.diff(start)), np.float32)
            found = catalogue.search_with_scored(
                mask,
                vectors,
                nothing,
                *excluded,
                start,
                positions,
                by_scale,
                self._slot_of(rows.scored.n_columns),
                n,
                n_threads,
            )
        best, scores = shaped(len(rows), n, found)
        return best, np.asarray(rows.constants[:, None] + scales[:, None] * scores, np.float32)

    def _slot_of(self, n_positions: int) -> npt.NDArray[np.int32]:
        """Return where each position is, -1 for nowhere."""
        if len(slots := self._slots_by_position) < n_positions:
            slots = np.append(slots, np.full(n_positions - len(slots), -1, np.int32))
        return slots

    @cached_property
    def _slots_by_position(self) -> npt.NDArray[np.int32]:
        positions, slots = self._slots
        found = np.full(int(positions[-1]) + 1 if len(positions) else 0, -1, np.int32)
        found[positions] = slots
        return found

    @cached_property
    def _mirrored(self) -> CodeSegment:
        """The same items with biases below 0 for those above, and with all of them live."""
        items = replace(self, live=self.arrays["live"]).items()
        weight = float(np.abs(items.biases).mean()) if len(items) else 1.0
        arrays = _core.arrange_codes(items.codes, items.gains, -items.biases, items.positions, weight)
        return CodeSegment(arrays, arrays["live"], self.boosts)

    def _mirrored_mask(self, mask: Mask) -> Mask:
        slots = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
        return self._mirrored.mask(self.arrays["position"][slots])

    def items(self) -> Items:
        slots, arrays = self._live_slots, self.arrays
        codes = arrays["codes"].transpose(0, 2, 1).reshape(-1, arrays["codes"].shape[1])[slots]
        return Items.of_codes(arrays["bias"][slots], arrays["position"][slots], codes, arrays["gain"][slots])


def with_boosts(
    arrays: Mapping[str, npt.NDArray[Any]], boosts: Boosts | None, scale: float = 1.0
) -> dict[str, npt.NDArray[Any]]:
    """Return arrays whose biases have boosts added; they are to be multiplied by a scale."""
    if boosts is None:
        return dict(arrays)
    position = arrays["position"]
    added = arrays["bias"] + np.append(boosts, np.float32(0))[position] / np.float32(scale)
    of_items = np.where(position >= 0, added, -np.inf).reshape(-1, CHUNK)
    return {**arrays, "bias": added.astype(np.float32), "chunk_bias": of_items.max(axis=1).astype(np.float32)}


def together(parts: Iterable[Ranked]) -> Ranked:
    """Return what was found for one query after another, with as many places each."""
    positions, scores = zip(*parts, strict=True)
    return np.concatenate(positions), np.concatenate(scores)


def _moved(positions: npt.NDArray[np.int32], places: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return the new places of positions, of which -1 is that of an empty slot."""
    return np.where(positions >= 0, places[positions], np.int32(-1))


def _count(mask: Mask) -> int:
    return int(_BITS_OF_BYTE[mask.view(np.uint8)].sum(dtype=np.int64))


def shaped(n_queries: int, n: int, ranked: Ranked) -> Ranked:
    """Return the core's results as one row per query."""
    return ranked[0].reshape(n_queries, n), ranked[1].reshape(n_queries, n)


def size_of(arrays: Tensors, name: str) -> int:
    """Return the number of values of an array, 0 if it is not there."""
    return arrays[name].size if name in arrays else 0


def positions_of(what: str, positions: npt.ArrayLike, n_positions: int) -> npt.NDArray[np.int64]:
    """Return positions from numbers, or from one boolean per position."""
    array = np.atleast_1d(np.asarray(positions))
    if array.dtype == bool:
        if array.shape != (n_positions,):
            raise ValueError(f"{what}: expected {n_positions} booleans, one per position, got shape {array.shape}.")
        return np.flatnonzero(array)
    return check_rows(what, array, n_positions).astype(np.int64)


def excluded_of(exclude: Any, n_queries: int, n_positions: int) -> Excluded:
    """Return the starts and positions of what each query leaves out."""
    if exclude is None:
        return None, None
    if not isinstance(exclude, FeatureTable) and not hasattr(exclude, "tocsr"):
        raise TypeError(f"exclude: expected a sparse matrix of queries × positions, got {type(exclude).__name__}.")
    table = FeatureTable.of("exclude", exclude)
    if table.n_rows != n_queries or table.n_columns > n_positions:
        raise ValueError(
            f"exclude: expected {n_queries} queries × {n_positions} positions, got a matrix of shape "
            f"{(table.n_rows, table.n_columns)}."
        )
    indptr, indices, _ = table.arrays()
    return indptr, indices


def of_queries(excluded: Excluded, which: npt.NDArray[np.bool_]) -> Excluded:
    start, positions = excluded
    if start is None or positions is None:
        return excluded
    sizes = np.diff(start)
    return np.concatenate([[0], np.cumsum(sizes[which])]), positions[np.repeat(which, sizes)]
