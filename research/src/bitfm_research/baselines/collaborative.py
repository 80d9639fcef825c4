"""Collaborative hashing: codes that rebuild the rating matrix and are linear hashes of its rows and columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from bitfm.core import pack_signs
from bitfm.models.base import Floats, check_finite
from bitfm.models.progress import Progress
from bitfm.validation import check_integer, check_real
from sklearn.utils.extmath import randomized_svd

from bitfm_research.baselines._ids import IdRatings
from bitfm_research.baselines._rotation import nearest_orthogonal, random_rotation, signs_of
from bitfm_research.baselines.id_codes import IdCodes, PackedCodes
from bitfm_research.blas import single_blas_thread

__all__ = ["CollaborativeHashing"]

_MARGIN = 1.01  # the largest singular value is not known to the last digit


@dataclass(eq=False, repr=False, kw_only=True)
class CollaborativeHashing(IdCodes):
    """Collaborative hashing of Liu, He, Deng and Lang (CVPR 2014).

    The ratings are a matrix R of users × items, centred, with 0 for what is not rated. Codes B of users and D of items
    are to rebuild it, and to be linear hashes of its rows and columns:
    min ‖R − σ B Dᵀ‖² + λ (‖R W − B‖² + ‖Rᵀ Z − D‖²), with orthonormal columns in W and Z. The fit starts from the
    truncated singular value decomposition of R and alternates. W and Z are Procrustes problems, σ has a closed form.
    The paper takes codes for balanced and decorrelated, DᵀD = n I; then the best B is the sign of σ R D + λ R W. Codes
    of sparse ratings are not, and that step would raise the objective. So the step here is bit by bit, each the best
    given the others; where DᵀD is n I it is the paper's.

    Its `fit_log_` has the stage ``"codes"``. All bits of an id without ratings are +1.

    Parameters
    ----------
    bits, random_state, n_jobs, verbose
        As of `IdCodes`.
    hash_weight : float, default 0.03
        λ: how much codes count as hashes of rows and columns against codes that rebuild the matrix. R is scaled so that
        R W is of about the size of the codes.
    max_iter : int, default 20
        Iterations at most.
    tol : float, default 1e-4
        Stop when an iteration lowers the objective by less than this share.

    Examples
    --------
    >>> from bitfm_research.baselines import CollaborativeHashing
    >>> X = [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]]  # two users, two items
    >>> model = CollaborativeHashing(bits=16).fit(X, [5, 1, 1, 5], fields=[2, 2])
    >>> model.predict(X).round()
    array([5., 1., 1., 5.])
    """

    hash_weight: float = 0.03
    max_iter: int = 20
    tol: float = 1e-4

    def _learn(self, ratings: IdRatings, rng: np.random.Generator, progress: Progress) -> PackedCodes:
        weight = check_real("hash_weight", self.hash_weight, above=True, high=1e12)
        max_iter, tol = check_integer("max_iter", self.max_iter, 1), check_real("tol", self.tol)
        scaled = ratings.scaled(-1, 1)
        with single_blas_thread():
            state = start(ratings.matrix(scaled - scaled.mean()), self.bits, rng)
            for number in range(1, max_iter + 1):
                state, before = state.next(weight), state
                loss, objective = state.loss(), state.objective(weight)
                check_finite("codes", number, objective)
                flips = int(np.sum(state.B != before.B) + np.sum(state.D != before.D))
                if progress.report("codes", number, max_iter, loss, objective, flips) or progress.settled(tol):
                    break
        return pack_signs(np.concatenate([state.B, state.D]))


@dataclass(frozen=True)
class State:
    """Codes (±1) of users and items, their hash functions, and products with R, which cost most and are used often."""

    R: sp.csr_matrix
    B: Floats
    D: Floats
    W: Floats
    Z: Floats
    RD: Floats
    most: float  # no singular value of R is larger

    @cached_property
    def hashed_users(self) -> Floats:
        """R W: what the users' codes are to be near."""
        return np.asarray(self.R @ self.W)

    @cached_property
    def hashed_items(self) -> Floats:
        """Rᵀ Z: what the items' codes are to be near."""
        return np.asarray(self.R.T @ self.Z)

    @cached_property
    def scale(self) -> float:
        """σ: argmin ‖R − σ B Dᵀ‖²."""
        return self._agreement / self._size

    def next(self, weight: float) -> State:
        """Return what a turn of all leads to, each given the others."""
        scale = self.scale
        B = best_codes(self.B, scale * self.RD + weight * self.hashed_users, scale, self.D)
        RtB = np.asarray(self.R.T @ B)
        D = best_codes(self.D, scale * RtB + weight * self.hashed_items, scale, B)
        RD = np.asarray(self.R @ D)
        W = better_hash(self.W, RtB, self.R.T @ self.hashed_users, self.most)
        Z = better_hash(self.Z, RD, self.R @ self.hashed_items, self.most)
        return replace(self, B=B, D=D, W=W, Z=Z, RD=RD)

    def loss(self) -> float:
        """Return ‖R − σ B Dᵀ‖²."""
        return float(np.sum(self.R.data**2)) - self.scale * (2 * self._agreement - self.scale * self._size)

    def objective(self, weight: float) -> float:
        """Return the loss with the codes' distance to the hashes."""
        return self.loss() + weight * float(
            np.sum((self.hashed_users - self.B) ** 2) + np.sum((self.hashed_items - self.D) ** 2)
        )

    @cached_property
    def _agreement(self) -> float:
        return float(np.sum(self.B * self.RD))

    @cached_property
    def _size(self) -> float:
        return float(np.sum((self.B.T @ self.B) * (self.D.T @ self.D)))


def best_codes(codes: Floats, linear: Floats, scale: float, others: Floats) -> Floats:
    """Return codes B after a turn of all bits, each of which is the best given the others.

    Of σ² tr(BᵀB DᵀD) − 2 tr(Bᵀ L), bit t of every row has the best sign of L_t − σ² Σ_{s≠t} B_s (DᵀD)_st.
    """
    codes, cross = codes.copy(), scale**2 * (others.T @ others)
    np.fill_diagonal(cross, 0)
    rest = linear - codes @ cross
    for t in range(codes.shape[1]):
        signs = signs_of(rest[:, t])
        turned = np.flatnonzero(signs != codes[:, t])  # mostly few
        rest[turned] -= np.outer(2 * signs[turned], cross[t])
        codes[:, t] = signs
    return codes


def better_hash(W: Floats, RtB: Floats, RtRW: Floats, most: float) -> Floats:
    """Return a W with orthonormal columns for which ‖R W − B‖² is no larger, given RᵀB and RᵀR W.

    The square ‖R W‖² lies below a linear function of W that touches it at the present one, since no singular value of R
    is larger than `most`. With that in its place, the best W is a Procrustes problem.
    """
    return nearest_orthogonal(RtB + most**2 * W - RtRW)


def start(R: sp.csr_matrix, bits: int, rng: np.random.Generator) -> State:
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
    return State(R, B, D, Vt.T @ turn, U @ turn, np.asarray(R @ D), _MARGIN * float(s[0]))
