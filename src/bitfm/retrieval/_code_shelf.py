"""A shelf of items that are codes."""

from __future__ import annotations

from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.models._half import Rows
from bitfm.retrieval._shelf import Excluded, Found, Items, Mask, Shelf, shaped

__all__ = ["CodeShelf"]


class CodeShelf(Shelf):
    """Items that are a code, a gain and a bias each."""

    names = tuple(name for name, _, _ in _core.CodeCatalogue.shapes(0, 1))

    @classmethod
    def of(cls, items: Items, user_length: float) -> Self:
        weight = user_length * float(np.sqrt(items.codes.shape[1] * 8)) / 2  # what a gain adds to a good score
        arrays = _core.arrange_codes(items.codes, items.gains, items.biases, items.positions, weight)
        return cls(arrays, arrays["alive"])

    @cached_property
    def _catalogue(self) -> _core.CodeCatalogue:
        return _core.CodeCatalogue(dict(self.arrays))

    def search(self, mask: Mask, rows: Rows, excluded: Excluded, n: int, n_threads: int) -> Found:
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
        self, mask: Mask, rows: Rows, constants: npt.NDArray[np.float64], excluded: Excluded, n: int, n_threads: int
    ) -> Found:
        search = self._catalogue.search_codes
        found = search(mask, rows.codes, rows.gains, constants, *excluded, n, n_threads)
        return shaped(len(constants), n, found)

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


def _of_queries(excluded: Excluded, which: npt.NDArray[np.bool_]) -> Excluded:
    start, positions = excluded
    if start is None or positions is None:
        return excluded
    sizes = np.diff(start)
    return np.concatenate([[0], np.cumsum(sizes[which])]), positions[np.repeat(which, sizes)]
