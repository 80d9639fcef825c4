"""The parameters of a real-valued factorization machine while it is being fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

__all__ = ["FMParameters"]

Floats = npt.NDArray[Any]


@dataclass
class FMParameters:
    """Bias, weights and factors (features × rank)."""

    bias: float
    weights: Floats
    factors: Floats

    @classmethod
    def start(cls, n_features: int, rank: int, dtype: np.dtype[Any], scale: float, rng: np.random.Generator) -> Self:
        """Return small random factors, and nothing else."""
        factors = rng.standard_normal((n_features, rank), dtype.type) * dtype.type(scale)
        return cls(0.0, np.zeros(n_features, dtype), factors)

    def copy(self) -> FMParameters:
        """Return parameters of their own."""
        return FMParameters(self.bias, self.weights.copy(), self.factors.copy())

    def scaled(self, unit: float, shift: float) -> FMParameters:
        """Return the parameters for scores (score − shift) · unit."""
        root = self.factors.dtype.type(np.sqrt(unit))
        weights = self.weights * self.weights.dtype.type(unit)
        return FMParameters((self.bias - shift) * unit, weights, self.factors * root)

    def penalty(self, ridge_w: npt.NDArray[np.float64], ridge_v: npt.NDArray[np.float64]) -> float:
        """Return Σ λ w² + Σ λ |v|²."""
        # Sums, not dot products: BLAS threads would go on spinning beside the core's own.
        squares = np.einsum("ij,ij->i", self.factors, self.factors)
        return float(np.sum(ridge_w * self.weights.astype(np.float64) ** 2) + np.sum(ridge_v * squares))
