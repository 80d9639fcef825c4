"""Collaborative hashing: codes that rebuild the rating matrix and are linear hashes of its rows and columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from bitfm.models._base import Floats, check_finite, check_real, check_whole
from bitfm.models._blas import one_blas_thread
from bitfm.models._delegate import pack_signs
from bitfm.models._ids import IdRatings
from bitfm.models._progress import Progress
from bitfm.models.hashing._base import IdCodes, PackedCodes
from bitfm.models.hashing._rotation import nearest_orthogonal, random_rotation, signs_of

__all__ = ["CollaborativeHashing"]


class CollaborativeHashing(IdCodes):
    """Collaborative hashing of Liu, He, Deng and Lang (CVPR 2014).

    The ratings are a matrix R of users × items, centred, with 0 for what is not rated. Codes B of users and D of items
    are to rebuild it, and to be linear hashes of its rows and columns:
    min ‖R − σ B Dᵀ‖² + λ (‖R W − B‖² + ‖Rᵀ Z − D‖²), with orthonormal columns in W and Z. With codes that are balanced
    and decorrelated, as the paper has them, DᵀD ≈ n I; then the best B for given D and W is the sign of
    σ R D + λ R W, and likewise D. W and Z are Procrustes problems, σ has a closed form. The fit starts from the
    truncated singular value decomposition of R and alternates.

    Since DᵀD is not quite n I, an iteration may raise the objective. The fit stops there and keeps the best.

    Parameters
    ----------
    bits : int, default 64
        Length of the codes: a multiple of 8 from 8 to 512.
    hash_weight : float, default 0.03
        λ: how much codes count as hashes of rows and columns against codes that rebuild the matrix. R is scaled so that
        R W is of about the size of the codes.
    max_iter : int, default 20
        Iterations at most.
    random_state : int, RandomState or None, default 0
    n_jobs : int, default -1
        Threads of `predict`; -1 is all. The result does not depend on it.
    verbose : int, default 0
        Print a line an iteration.

    Attributes
    ----------
    user_codes_, item_codes_ : arrays of uint8, ids × bits / 8
        Bit t is bit t % 8 of byte t // 8; 1 is +1. Without ratings all bits are +1.
    codes_, gains_, weights_, bias_
        The same as a `DiscreteFM` of all features, whose predictions are a rising line of ⟨b_user, b_item⟩.
    history_ : list of Iteration
        Stage ``"codes"``.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from bitfm import Block, Blocks
    >>> from bitfm.models.hashing import CollaborativeHashing
    >>> X = Blocks(user=Block([0, 0, 1, 1], {"id": sp.identity(2)}), item=Block([0, 1, 0, 1], {"id": sp.identity(2)}))
    >>> model = CollaborativeHashing(bits=16).fit(X, [5, 1, 1, 5])
    >>> model.predict(X).round()
    array([5., 1., 1., 5.])
    """

    def __init__(
        self,
        bits: int = 64,
        *,
        hash_weight: float = 0.03,
        max_iter: int = 20,
        random_state: Any = 0,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ) -> None:
        self.bits = bits
        self.hash_weight = hash_weight
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learn(
        self, ratings: IdRatings, rng: np.random.Generator, progress: Progress
    ) -> tuple[PackedCodes, PackedCodes]:
        weight = check_real("hash_weight", self.hash_weight, above=True, high=1e12)
        max_iter = check_whole("max_iter", self.max_iter, 1)
        scaled = ratings.scaled(-1, 1)
        with one_blas_thread():
            state = _start(ratings.matrix(scaled - scaled.mean()), self.bits, rng)
            best, least = state, state.objective(weight)
            for number in range(1, max_iter + 1):
                state, before = state.next(weight), state
                loss, objective = state.loss(), state.objective(weight)
                check_finite("codes", number, objective)
                flips = int(np.sum(state.B != before.B) + np.sum(state.D != before.D))
                stopped = progress.report("codes", number, max_iter, loss, objective, flips)
                if objective < least:
                    best, least = state, objective
                if stopped or objective > least or not flips:
                    break
        return pack_signs(best.B), pack_signs(best.D)


@dataclass(frozen=True)
class State:
    """Codes (±1) of users and items, their hash functions, and the scale of their products."""

    R: sp.csr_matrix
    B: Floats
    D: Floats
    W: Floats
    Z: Floats
    scale: float

    def next(self, weight: float) -> State:
        """Return what a turn of all five leads to, each given the others."""
        B = signs_of(self.scale * (self.R @ self.D) + weight * (self.R @ self.W))
        D = signs_of(self.scale * (self.R.T @ B) + weight * (self.R.T @ self.Z))
        W, Z = nearest_orthogonal(self.R.T @ B), nearest_orthogonal(self.R @ D)
        return replace(self, B=B, D=D, W=W, Z=Z, scale=best_scale(self.R, B, D))

    def loss(self) -> float:
        """Return ‖R − σ B Dᵀ‖²."""
        fit = float(np.sum(self.B * (self.R @ self.D)))
        size = float(np.sum((self.B.T @ self.B) * (self.D.T @ self.D)))
        return float(np.sum(self.R.data**2)) - 2 * self.scale * fit + self.scale**2 * size

    def objective(self, weight: float) -> float:
        """Return the loss with the codes' distance to the hashes."""
        far = np.sum((self.R @ self.W - self.B) ** 2) + np.sum((self.R.T @ self.Z - self.D) ** 2)
        return self.loss() + weight * float(far)


def best_scale(R: sp.csr_matrix, B: Floats, D: Floats) -> float:
    """Return argmin ‖R − σ B Dᵀ‖² over σ."""
    return float(np.sum(B * (R @ D))) / float(np.sum((B.T @ B) * (D.T @ D)))


def _start(R: sp.csr_matrix, bits: int, rng: np.random.Generator) -> State:
    """Return the signs of R's leading singular vectors, turned at random so that every bit has its share of each."""
    n_users, n_items = R.shape
    rank = min(bits, n_users, n_items)
    U, s, Vt = randomized_svd(R, rank, n_iter=4, random_state=int(rng.integers(2**31)))
    squares = float(np.sum(s**2))
    if squares > 0:
        size = np.sqrt(bits * np.sqrt(n_users * n_items) / squares)
        R, s = R * size, s * size
    turn = random_rotation(bits, rng)[:rank]
    B, D = signs_of((U * s) @ turn), signs_of((Vt.T * s) @ turn)
    return State(R, B, D, Vt.T @ turn, U @ turn, best_scale(R, B, D))
