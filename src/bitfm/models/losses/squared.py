"""Squared error, for ratings."""

from __future__ import annotations

import numpy as np

from bitfm.models.losses.loss import Floats, Working, register_loss

__all__ = ["SquaredLoss"]


class SquaredLoss:
    """(y − score)², which is its own quadratic."""

    def check(self, y: Floats) -> None:
        """Any number is a target."""

    def start(self, y: Floats, weight: Floats | None) -> float:
        """Return the mean."""
        return float(np.average(y, weights=weight))

    def value(self, y: Floats, score: Floats) -> Floats:
        """Return (y − score)²."""
        return np.asarray((y - score) ** 2)

    def working(self, y: Floats, score: Floats) -> Working:
        """Return the errors, and 1."""
        return Working(y - score, np.ones_like(score))

    def inverse_link(self, score: Floats) -> Floats:
        """Return the score."""
        return score


register_loss("squared", SquaredLoss())
