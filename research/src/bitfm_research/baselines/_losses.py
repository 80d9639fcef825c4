"""Losses of the product of two codes, each with a square above it that touches it at given products."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
from bitfm.core import logistic, softplus
from bitfm.models.base import Floats

__all__ = ["Logit", "Loss", "Squared"]

Single = npt.NDArray[np.float32]
_NEAR = 1e-3  # of 0, where the first terms of the series are exact to the last digit


class Loss(Protocol):
    """Σ ℓ(p) over the ratings, with products p = ⟨b_user, d_item⟩, which are given in the order of the ratings."""

    def bound(self, products: Floats) -> tuple[Single, Single]:
        """Return the weights w and w (t − p) of Σ w (t − p)², which is above Σ ℓ but for a constant."""

    def value(self, products: Floats) -> float:
        """Return Σ ℓ(p)."""


class Squared:
    """Σ (t − p)²: its own bound."""

    def __init__(self, targets: Floats) -> None:
        self.targets = np.asarray(targets, np.float64)

    def bound(self, products: Floats) -> tuple[Single, Single]:
        """Return ones, and the residuals."""
        residuals = self.targets - products
        return np.ones(len(residuals), np.float32), residuals.astype(np.float32)

    def value(self, products: Floats) -> float:
        """Return the sum of squares."""
        return float(np.sum((self.targets - products) ** 2))


class Logit:
    """2 c² Σ log(1 + exp(−r x)) with labels r = ±1 and x = 2 p / c.

    log(1 + e⁻ˣ) + x / 2 is a concave function of x², so it lies below its tangent there (Jaakkola and Jordan, 2000):
    log(1 + exp(−r x)) ≤ log(1 + exp(−r z)) − r (x − z) / 2 + λ(z) (x² − z²) with λ(z) = tanh(z / 2) / 4z, for any z.
    As a square of p it has the weight w = 8 λ(z) and w t = c r. The factor 2 c² makes w be 1 at z = 0, so that the
    first square is that of `Squared` with the targets ±c, and penalties mean the same beside both losses.
    """

    def __init__(self, labels: Floats, unit: float) -> None:
        self.labels, self.unit = np.asarray(labels, np.float64), unit

    def bound(self, products: Floats) -> tuple[Single, Single]:
        """Return 8 λ(x), and c r − 8 λ(x) p = c (r − tanh(x / 2))."""
        x = np.asarray(products, np.float64) * (2 / self.unit)
        tanh = 2 * logistic(x) - 1
        near = np.abs(x) < _NEAR
        weights = np.where(near, 1 - x * x / 12, 2 * tanh / np.where(near, 1, x))
        return weights.astype(np.float32), (self.unit * (self.labels - tanh)).astype(np.float32)

    def value(self, products: Floats) -> float:
        """Return 2 c² Σ log(1 + exp(−r x))."""
        x = np.asarray(products, np.float64) * (2 / self.unit)
        return float(2 * self.unit**2 * np.sum(softplus(-self.labels * x)))
