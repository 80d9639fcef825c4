"""Matrix factorisation one factor at a time: the residuals, and what an exact update needs of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from bitfm.models.base import Floats

from bitfm_research.baselines._ids import IdRatings

__all__ = ["Factorization", "Rule"]

Rule: TypeAlias = Callable[[Floats, Floats, Floats], Floats]


class Factorization:
    """Σ (r − ⟨p_user, q_item⟩)² over the ratings, with p and q held one row per factor.

    For one factor of one side, all else fixed, the loss is Σ_i (den_i v_i² − 2 num_i v_i) and a constant, with
    num_i = Σ r̃ q and den_i = Σ q² over the ratings of row i, r̃ being what the other factors leave of r. A rule says
    which v is best given these two and its penalties.
    """

    def __init__(self, ratings: IdRatings, targets: Floats, P: Floats, Q: Floats) -> None:
        order = np.argsort(ratings.users, kind="stable")
        indptr = np.concatenate([[0], np.cumsum(np.bincount(ratings.users, minlength=ratings.n_users))])
        self._items = ratings.items[order].astype(np.intp)  # NumPy gathers by this type in two thirds of the time
        shape = ratings.n_users, ratings.n_items
        columns = ratings.items[order]
        self._left = sp.csr_matrix((targets[order], columns, indptr), shape=shape)
        self._ones = sp.csr_matrix((np.ones(len(order)), columns, indptr), shape=shape)
        self._times = np.diff(indptr)
        self.P, self.Q = P, Q
        for p, q in zip(P, Q, strict=True):
            self._left.data -= self._product(p, q)

    def sweep(self, of_users: Rule, of_items: Rule) -> None:
        """Update every factor: of all users, then of all items."""
        for p, q in zip(self.P, self.Q, strict=True):
            self._left.data += self._product(p, q)
            p[:] = of_users(self._left @ q, self._ones @ (q * q), p)
            q[:] = of_items(self._left.T @ p, self._ones.T @ (p * p), q)
            self._left.data -= self._product(p, q)

    def loss(self) -> float:
        """Return the sum of squares."""
        return float(np.sum(self._left.data**2))

    def _product(self, p: Floats, q: Floats) -> Floats:
        return np.repeat(p, self._times) * q[self._items]
