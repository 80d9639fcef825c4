"""Vectors of features, 8 bits per number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.core import vector_sums
from bitfm.data.feature_table import FeatureTable

__all__ = ["FeatureVectors"]

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class FeatureVectors:
    """A vector per feature: whole numbers from -127 to 127, times a scale per feature.

    Examples
    --------
    >>> vectors = FeatureVectors.of(np.array([[1.0, -2.0], [0.0, 0.5]]))
    >>> vectors.sums(FeatureTable.of("x", np.array([[1.0, 2.0]])), 0).round(1)
    array([[ 1., -1.]], dtype=float32)
    """

    values: npt.NDArray[np.int8]
    scales: Vectors

    @classmethod
    def of(cls, vectors: npt.NDArray[Any]) -> FeatureVectors:
        """Round vectors."""
        scales = (np.abs(vectors).max(axis=1, initial=0) / 127).astype(np.float32)
        shares = np.divide(vectors, scales[:, None], out=np.zeros(vectors.shape), where=scales[:, None] > 0)
        return cls(np.clip(np.rint(shares), -127, 127).astype(np.int8), scales)

    def __len__(self) -> int:
        return len(self.values)

    def take(self, features: Any) -> Vectors:
        """Return the vectors of some features."""
        return np.asarray(self.values[features] * self.scales[features][:, None], np.float32)

    def sums(self, table: FeatureTable, start: int, n_threads: int = 1) -> Vectors:
        """Return Σ x v of rows, whose first column is the feature `start`; only what occurs is looked at."""
        if table.is_dense:
            return table.sums(self.take(slice(start, start + table.n_columns)), n_threads)
        indptr, indices, values = table.arrays()
        used, places = np.unique(indices, return_inverse=True)
        amounts = values.astype(np.float32, copy=False)
        return vector_sums(indptr, places.astype(np.int32), amounts, self.take(start + used), n_threads)
