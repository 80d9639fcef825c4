"""Vectors of the rows of a field, Σ x v: worked out some rows at a time, as those of all rows would be large."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.core import PRODUCT_SPAN, unpack_codes
from bitfm.data.feature_table import FeatureTable

__all__ = ["CodeVectors", "RowVectors", "parts"]

_FEW_ENTRIES = 4  # per row, whose vectors take hardly longer to sum up than to read

Matrix = npt.NDArray[np.float32]


def parts(n_rows: int, at_once: int = 2 * PRODUCT_SPAN) -> Iterator[slice]:
    """Yield all rows, some at a time; by default so many that products over them add up to that of all."""
    for begin in range(0, n_rows, at_once):
        yield slice(begin, min(begin + at_once, n_rows))


class CodeVectors:
    """The vectors g b of features, worked out of codes and gains, as these are now, when they are asked for."""

    def __init__(self, codes: npt.NDArray[np.uint8], gains: Matrix) -> None:
        self._codes, self._gains = codes.copy(), gains.copy()

    @property
    def shape(self) -> tuple[int, int]:
        """Features × bits."""
        return len(self._gains), 8 * self._codes.shape[1]

    def __getitem__(self, features: Any) -> Matrix:
        found = unpack_codes(self._codes[features])
        found *= self._gains[features, None]
        return found


class RowVectors:
    """Σ x v of the rows of a field, from the vectors v of its features.

    What is kept is the smaller: a vector for each row, or for each feature if rows have so few of them that their sums
    are made whenever they are asked for. An identity has the features' own.
    """

    def __init__(self, table: FeatureTable, vectors: Matrix | CodeVectors, n_threads: int) -> None:
        self._entries: Any = None
        if table.identity:
            self._vectors: Matrix | CodeVectors = vectors
        elif table.is_dense or table.n_columns >= len(table) or table.n_entries > _FEW_ENTRIES * len(table):
            self._vectors = table.sums(vectors[:], n_threads)
        else:
            self._vectors = vectors[:]
            self._entries = table.to_csr().astype(self._vectors.dtype, copy=False)

    @property
    def width(self) -> int:
        """Numbers of a vector."""
        return int(self._vectors.shape[1])

    def __getitem__(self, rows: slice) -> Matrix:
        if self._entries is None:
            return self._vectors[rows]
        return np.asarray(self._entries[rows] @ self._vectors)
