"""What a solver needs to know of a loss, its value and a quadratic that bounds it from above; and squared error."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["LOSSES", "Floats", "Loss", "SquaredLoss", "Working", "register_loss"]

Floats = npt.NDArray[np.floating[Any]]


class Working(NamedTuple):
    """The quadratic Σ h (e − δ)² of a step δ from the present scores: it bounds the loss, up to a constant."""

    residual: Floats  # e
    curvature: Floats  # h > 0


class Loss(Protocol):
    """A loss of targets and scores, fitted by sweeps that see it as a quadratic.

    A sweep lowers Σ h (e − δ)². If that is, but for a constant, never below the loss and touches it at δ = 0, then what
    lowers the one lowers the other, so no sweep raises the loss.
    """

    def check(self, y: Floats) -> None:
        """Raise a ValueError if these cannot be targets."""

    def start(self, y: Floats, weight: Floats | None) -> float:
        """Return the bias that lowers the loss most if there is nothing else; `weight` is one per target, or None."""

    def value(self, y: Floats, score: Floats) -> Floats:
        """Return the loss of each score."""

    def working(self, y: Floats, score: Floats) -> Working:
        """Return e and h with value(score + δ) − value(score) ≤ h (e − δ)² − h e², for all δ."""

    def inverse_link(self, score: Floats) -> Floats:
        """Return what a score predicts, on the scale of the targets."""


class SquaredLoss:
    """(y − score)², for ratings: it is its own quadratic."""

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


LOSSES: dict[str, Loss] = {"squared": SquaredLoss()}


def register_loss(name: str, loss: Loss) -> None:
    """Let ``FM(loss=name)`` use this loss."""
    if LOSSES.get(name, loss) is not loss:
        raise ValueError(f"loss {name!r} is registered already; choose another name.")
    LOSSES[name] = loss
