"""What features say of the vectors of users or items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bitfm.core import vector_sums
from bitfm.data.feature_table import FeatureTable

__all__ = ["SideFeatures"]

Vectors = npt.NDArray[np.float32]

_STEPS = 4  # of conjugate gradients per sweep, each from where the last sweep has ended


@dataclass(frozen=True, eq=False)
class SideFeatures:
    """The features of users or of items.

    Their vectors v minimise Σ ω |c − Σ x v|² + strength · mean(ω) · |v|² over the rows c that have events.
    """

    table: FeatureTable
    strength: float = 1.0

    @classmethod
    def with_intercept(cls, table: FeatureTable) -> SideFeatures:
        """Put a feature that is 1 in every row beside others, as the last."""
        indptr, indices, values = table.arrays()
        ends = indptr[1:]
        return cls(
            FeatureTable.sparse(
                indptr + np.arange(len(indptr)),
                np.insert(indices, ends, np.int32(table.n_columns)).astype(np.int32),
                np.insert(values.astype(np.float32), ends, np.float32(1)),
                table.n_columns + 1,
            )
        )

    @cached_property
    def _transposed(self) -> FeatureTable:
        return self.table.transpose()

    def sums(self, vectors: Vectors, n_threads: int) -> Vectors:
        """Return Σ x v of every row."""
        return _product(self.table, vectors, n_threads)

    def fit(self, rows: Vectors, weights: npt.NDArray[np.float32], start: Vectors | None, n_threads: int) -> Vectors:
        """Return a vector per feature, by a few steps of conjugate gradients, all dimensions beside each other."""
        strength = np.float32(self.strength * weights[weights > 0].mean(dtype=np.float64))
        found = np.zeros((self.table.n_columns, rows.shape[1]), np.float32) if start is None else start.copy()
        lacking = rows if start is None else rows - self.sums(found, n_threads)
        residual = self._pull(lacking * weights[:, None], n_threads) - strength * found
        direction, sizes = residual, _squares(residual)
        for _ in range(_STEPS):
            image = self._pull(self.sums(direction, n_threads) * weights[:, None], n_threads) + strength * direction
            curvatures = np.einsum("ij,ij->j", direction, image, dtype=np.float64)
            lengths = np.divide(sizes, curvatures, out=np.zeros_like(sizes), where=curvatures > 0).astype(np.float32)
            found += lengths * direction
            residual = residual - lengths * image
            before, sizes = sizes, _squares(residual)
            ratio = np.divide(sizes, before, out=np.zeros_like(sizes), where=before > 0).astype(np.float32)
            direction = residual + ratio * direction
        return found

    def _pull(self, rows: Vectors, n_threads: int) -> Vectors:
        return _product(self._transposed, rows, n_threads)


def _product(table: FeatureTable, vectors: Vectors, n_threads: int) -> Vectors:
    indptr, indices, values = table.arrays()
    return vector_sums(indptr, indices, values.astype(np.float32, copy=False), vectors, n_threads)


def _squares(vectors: Vectors) -> npt.NDArray[np.float64]:
    return np.asarray(np.einsum("ij,ij->j", vectors, vectors, dtype=np.float64))
