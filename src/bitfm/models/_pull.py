"""What codes are drawn to, beside the data: a matrix, and how strongly."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bitfm.core import nearest_delegate

__all__ = ["JointDelegate", "Pull"]


class Pull(Protocol):
    """A matrix that factors or codes are drawn to, which follows them in turn.

    Attributes
    ----------
    strength : float
        The objective has − 2 · strength · tr(BᵀM).
    matrix : array of float32, features × bits
    penalty : float
        What all of it, of which tr(BᵀM) is a part, adds to the objective.
    """

    strength: float
    matrix: npt.NDArray[np.float32]
    penalty: float

    def ridges(self, n_fields: int) -> npt.NDArray[np.float64]:
        """Return the penalty of the factors' squares in the relaxed problem, a field."""

    def follow(self, values: npt.NDArray[Any], rng: np.random.Generator, n_threads: int) -> None:
        """Take the best matrix for factors, or for packed codes; the penalty does not rise."""


class JointDelegate:
    """D of the paper's Eq. 4: one balanced and decorrelated matrix for all features."""

    matrix: npt.NDArray[np.float32]

    def __init__(self, beta: float) -> None:
        self.strength, self.penalty = beta, 0.0

    def ridges(self, n_fields: int) -> npt.NDArray[np.float64]:
        """Return β: in the relaxed problem, β |V − D|² takes the place of − 2β tr(BᵀD)."""
        return np.full(n_fields, self.strength)

    def follow(self, values: npt.NDArray[Any], rng: np.random.Generator, n_threads: int) -> None:
        """Solve the D-subproblem."""
        found = nearest_delegate(values, rng, getattr(self, "matrix", None), n_threads)
        self.matrix = found.matrix
        squares = 0.0 if values.dtype == np.uint8 else found.squares  # those of codes are constant
        self.penalty = self.strength * (squares - 2 * found.trace)
