"""A segment of items that are codes."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.parameters import TowerRows
from bitfm.persist import Tensors
from bitfm.retrieval._segment import Excluded, Items, Mask, Ranked, Segment, Shapes, shaped, size_of


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

    def search(self, mask: Mask, rows: TowerRows, excluded: Excluded, n: int, n_threads: int) -> Ranked:
        codes: Any = self._catalogue.search_codes, rows.codes, rows.gains
        vectors: Any = self._catalogue.search_vectors, rows.vectors
        if rows.coded is None or not len(rows.codes):
            search, *arrays = codes if rows.coded is None else vectors
            return shaped(len(rows), n, search(mask, *arrays, rows.constants, *excluded, n, n_threads))
        positions, scores = np.empty((len(rows), n), np.int64), np.empty((len(rows), n), np.float32)
        for which, (search, *arrays) in ((rows.coded, codes), (~rows.coded, vectors)):
            best = search(mask, *arrays, rows.constants[which], *_of_queries(excluded, which), n, n_threads)
            positions[which], scores[which] = shaped(int(which.sum()), n, best)
        return positions, scores

    def items(self) -> Items:
        slots, arrays = self._live_slots, self.arrays
        codes = arrays["codes"].transpose(0, 2, 1).reshape(-1, arrays["codes"].shape[1])[slots]
        return Items.of_codes(arrays["bias"][slots], arrays["position"][slots], codes, arrays["gain"][slots])


def _of_queries(excluded: Excluded, which: npt.NDArray[np.bool_]) -> Excluded:
    start, positions = excluded
    if start is None or positions is None:
        return excluded
    sizes = np.diff(start)
    return np.concatenate([[0], np.cumsum(sizes[which])]), positions[np.repeat(which, sizes)]
