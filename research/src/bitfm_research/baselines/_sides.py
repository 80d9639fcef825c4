"""What draws the codes of users, and those of items, each side by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from bitfm.core import nearest_delegate, unpack_codes

__all__ = ["Content", "Side", "SidePulls"]

_STEPS = 3  # of conjugate gradients, each of which lowers the objective; the next time they go on from there


class Content:
    """Features of one side and the linear map U from them to codes: λ |B − XU|² + γ |U|²."""

    def __init__(self, features: sp.csr_matrix, weight: float, ridge: float, bits: int) -> None:
        self.features, self.transposed = features, features.T.tocsr()
        self.weight, self.ridge = weight, ridge
        self.map = np.zeros((features.shape[1], bits), np.float32)

    def follow(self, codes: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.float32], float]:
        """Take a better U by some conjugate gradients, column by column; return XU and what all of it costs."""
        fitted = self.features @ self.map
        residual = self.weight * (self.transposed @ (codes - fitted)) - self.ridge * self.map
        direction, squares = residual.copy(), _squares(residual)
        for _ in range(_STEPS):
            image = self.features @ direction
            curvature = self.weight * _squares(image) + self.ridge * _squares(direction)
            step = np.divide(squares, curvature, out=np.zeros_like(squares), where=curvature > 0)
            self.map += step * direction
            fitted += step * image
            residual -= step * (self.weight * (self.transposed @ image) + self.ridge * direction)
            before, squares = squares, _squares(residual)
            direction *= np.divide(squares, before, out=np.zeros_like(squares), where=before > 0)
            direction += residual
        off = codes - fitted
        return fitted, self.weight * float(np.sum(off * off)) + self.ridge * float(np.sum(self.map * self.map))


@dataclass(frozen=True)
class Side:
    """Some rows, how strongly they are pulled to balance and decorrelation, and their features, if they have any."""

    rows: slice
    balance: float
    content: Content | None = None


class SidePulls:
    """A delegate for each side, − 2α tr(BᵀX) − 2β tr(DᵀY), and codes tied to what their features say."""

    strength = 1.0
    matrix: npt.NDArray[np.float32]

    def __init__(self, sides: Sequence[Side]) -> None:
        self.sides, self.penalty = sides, 0.0

    def ridges(self, n_fields: int) -> npt.NDArray[np.float64]:
        """Return what multiplies |V|² where codes are relaxed to V, one per side."""
        return np.array([side.balance + (side.content.weight if side.content else 0.0) for side in self.sides])

    def follow(self, values: npt.NDArray[Any], rng: np.random.Generator, n_threads: int) -> None:
        """Solve for the delegates, and go some steps to the best linear maps."""
        coded = values.dtype == np.uint8
        if not hasattr(self, "matrix"):
            self.matrix = np.empty((len(values), values.shape[1] * (8 if coded else 1)), np.float32)
        self.penalty = 0.0
        for side in self.sides:
            pull = self.matrix[side.rows]
            found = nearest_delegate(values[side.rows], rng, pull, n_threads)
            pull *= np.float32(side.balance)
            self.penalty += side.balance * ((0.0 if coded else found.squares) - 2 * found.trace)
            if side.content:
                codes = unpack_codes(values[side.rows]) if coded else values[side.rows].astype(np.float32)
                fitted, cost = side.content.follow(codes)
                pull += np.float32(side.content.weight) * fitted
                self.penalty += cost


def _squares(columns: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    squares: npt.NDArray[np.float32] = np.einsum("ij,ij->j", columns, columns)
    return squares
