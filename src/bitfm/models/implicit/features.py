"""What features say of the vectors of users or items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bitfm.core import multiply, vector_sums
from bitfm.data.feature_table import FeatureTable

__all__ = ["SideFeatures"]

Vectors = npt.NDArray[np.float32]

_STEPS = 4  # of conjugate gradients per sweep, each from where the last sweep has ended


@dataclass(frozen=True, eq=False)
class SideFeatures:
    """The features of users or of items, in tables beside each other.

    Their vectors v minimise Σ ω |c − Σ x v|² + strength · mean(ω) · |v|² over the rows c that have events.
    """

    tables: tuple[FeatureTable, ...]
    strength: float = 1.0

    @classmethod
    def with_intercept(cls, tables: tuple[FeatureTable, ...]) -> SideFeatures:
        """Put a feature that is 1 in every row beside others, as the last."""
        return cls((*tables, FeatureTable.one_hot(np.zeros(len(tables[0]), np.int32), 1)))

    @property
    def n_columns(self) -> int:
        """Number of features."""
        return sum(table.n_columns for table in self.tables)

    @cached_property
    def _parts(self) -> list[tuple[FeatureTable | Vectors, FeatureTable | Vectors]]:
        """The tables and their transposes, as matrices if they are dense."""
        dense = [table.toarray().astype(np.float32, copy=False) if table.is_dense else None for table in self.tables]
        both = zip(self.tables, dense, strict=True)
        return [(table, table.transpose()) if x is None else (x, x.T) for table, x in both]

    def sums(self, vectors: Vectors, n_threads: int) -> Vectors:
        """Return Σ x v of every row."""
        starts = np.cumsum([0, *(table.n_columns for table in self.tables)])
        found = [
            _product(part, vectors[start:end], n_threads)
            for (part, _), start, end in zip(self._parts, starts, starts[1:], strict=False)
        ]
        return found[0] if len(found) == 1 else np.asarray(sum(found), np.float32)

    def fit(self, rows: Vectors, weights: npt.NDArray[np.float32], start: Vectors | None, n_threads: int) -> Vectors:
        """Return a vector per feature, by a few steps of conjugate gradients, all dimensions beside each other."""
        strength = np.float32(self.strength * weights[weights > 0].mean(dtype=np.float64))
        found = np.zeros((self.n_columns, rows.shape[1]), np.float32) if start is None else start.copy()
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
        found = [_product(transposed, rows, n_threads) for _, transposed in self._parts]
        return found[0] if len(found) == 1 else np.vstack(found)


def _product(table: FeatureTable | Vectors, vectors: Vectors, n_threads: int) -> Vectors:
    if isinstance(table, np.ndarray):
        return multiply(table, vectors, n_threads)
    indptr, indices, values = table.arrays()
    return vector_sums(indptr, indices, values.astype(np.float32, copy=False), vectors, n_threads)


def _squares(vectors: Vectors) -> npt.NDArray[np.float64]:
    return np.asarray(np.einsum("ij,ij->j", vectors, vectors, dtype=np.float64))
