"""How alike items are, or users: whether their scores rise and fall together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bitfm.core import multiply

__all__ = ["Likeness"]

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Likeness:
    """Rows whose products with vectors of the other side are scores; these vectors vary together by a covariance.

    Two rows are as alike as their scores correlate over the other side; a row whose scores do not vary is like none.
    """

    vectors: Vectors
    covariance: Vectors

    @cached_property
    def spreads(self) -> Vectors:
        """How far each row's scores spread."""
        squares = np.einsum("ij,ij->i", multiply(self.vectors, self.covariance), self.vectors)
        return np.asarray(np.sqrt(np.maximum(squares, 0)), np.float32)

    def to_one(self, row: int) -> Vectors:
        """Return how alike all rows are to one."""
        direction = np.einsum("ij,j->i", self.covariance, self.vectors[row])
        return self._scaled(np.einsum("ij,j->i", self.vectors, direction), self.spreads * self.spreads[row])

    def to_each_other(self) -> Vectors:
        """Return how alike all rows are to all, for few of them."""
        products = multiply(multiply(self.vectors, self.covariance), np.ascontiguousarray(self.vectors.T))
        return self._scaled(products, self.spreads[:, None] * self.spreads)

    @staticmethod
    def _scaled(products: Vectors, spreads: Vectors) -> Vectors:
        return np.divide(products, spreads, where=spreads > 0, out=np.zeros(spreads.shape, np.float32))
