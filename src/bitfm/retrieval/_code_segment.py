"""A segment of items that are codes."""

from __future__ import annotations

from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.parameters import TowerRows
from bitfm.persist import Tensors
from bitfm.retrieval._segment import Excluded, Found, Items, Mask, Segment, Shapes, shaped, size_of

__all__ = ["CodeSegment"]


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
        return _core.CodeCatalogue(dict(self.arrays))

    def search(self, mask: Mask, rows: TowerRows, excluded: Excluded, n: int, n_threads: int) -> Found:
        if rows.coded is None:
            return self._search_codes(mask, rows, rows.constants, excluded, n, n_threads)
        if not len(rows.codes):
            return self.search_vectors(mask, rows.vectors, rows.constants, excluded, n, n_threads)
        positions, scores = np.empty((len(rows), n), np.int64), np.empty((len(rows), n), np.float32)
        which = rows.coded
        of_codes, of_others = _of_queries(excluded, which), _of_queries(excluded, ~which)
        positions[which], scores[which] = self._search_codes(mask, rows, rows.constants[which], of_codes, n, n_threads)
        found = self.search_vectors(mask, rows.vectors, rows.constants[~which], of_others, n, n_threads)
        positions[~which], scores[~which] = found
        return positions, scores

    def search_vectors(
        self,
        mask: Mask,
        vectors: npt.NDArray[np.float32],
        constants: npt.NDArray[np.float64],
        excluded: Excluded,
        n: int,
        n_threads: int,
    ) -> Found:
        """Return the best n for queries that are vectors."""
        found = self._catalogue.search_vectors(mask, vectors, constants, *excluded, n, n_threads)
        return shaped(len(constants), n, found)

    def _search_codes(
        self,
        mask: Mask,
        rows: TowerRows,
        constants: npt.NDArray[np.float64],
        excluded: Excluded,
        n: int,
        n_threads: int,
    ) -> Found:
        search = self._catalogue.search_codes
        found = search(mask, rows.codes, rows.gains, constants, *excluded, n, n_threads)
        return shaped(len(constants), n, found)

    def items(self) -> Items:
        slots = self._live_slots
        arrays = self.arrays
        by_item = arrays["codes"].transpose(0, 2, 1).reshape(-1, arrays["codes"].shape[1])
        return Items(
            arrays["bias"][slots],
            arrays["position"][slots],
            by_item[slots],
            arrays["gain"][slots],
            np.zeros((0, by_item.shape[1] * 8), np.float32),
        )


def _of_queries(excluded: Excluded, which: npt.NDArray[np.bool_]) -> Excluded:
    start, positions = excluded
    if start is None or positions is None:
        return excluded
    sizes = np.diff(start)
    return np.concatenate([[0], np.cumsum(sizes[which])]), positions[np.repeat(which, sizes)]
