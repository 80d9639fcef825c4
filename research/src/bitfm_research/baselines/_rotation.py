"""Rotations: the one nearest to given pairs, and the one under which signs lose least."""

from __future__ import annotations

import numpy as np
from bitfm.models.base import Floats
from bitfm.models.progress import Progress

from bitfm_research.blas import single_blas_thread

__all__ = ["nearest_orthogonal", "quantizing_rotation", "random_rotation", "signs_of"]

_RANK_TOLERANCE = 1e-10
_SETTLED = 1e-7  # share of the error below which to turn on changes next to nothing


def signs_of(values: Floats) -> Floats:
    """Return −1 and +1; 0 counts as +1, as in packed codes."""
    signs: Floats = np.where(values >= 0, values.dtype.type(1), values.dtype.type(-1))
    return signs


def random_rotation(size: int, rng: np.random.Generator) -> Floats:
    """Return an orthogonal matrix, drawn evenly."""
    with single_blas_thread():
        Q, R = np.linalg.qr(rng.standard_normal((size, size)))
    return Q * np.sign(np.diag(R))


def nearest_orthogonal(M: Floats) -> Floats:
    """Return argmax tr(WᵀM) over matrices with orthonormal columns: the orthogonal Procrustes problem.

    M is n × k with n ≥ k, mostly many times k: W = M (MᵀM)^{-1/2}, by the k × k eigenproblem. Where M has a lower rank,
    W has orthonormal columns within it and is 0 elsewhere.
    """
    with single_blas_thread():
        squares, P = np.linalg.eigh(M.T @ M)
        kept = squares > _RANK_TOLERANCE * max(float(squares[-1]), np.finfo(np.float64).tiny)
        root = np.where(kept, 1 / np.sqrt(np.where(kept, squares, 1)), 0)
        nearest: Floats = M @ ((P * root) @ P.T)
    return nearest


def quantizing_rotation(V: Floats, rng: np.random.Generator, n_iter: int, progress: Progress) -> Floats:
    """Return V Q for the rotation Q that iterative quantization (ITQ) finds.

    It alternates B = sgn(V Q) and Q = argmin ‖B − V Q‖², the SVD of VᵀB (Gong and Lazebnik, CVPR 2011, Eq. 2), from a
    random rotation. Each lowers ‖B − V Q‖², which is reported for V scaled to a mean square of 1.
    """
    mean_square = float(np.mean(V * V))
    V = np.ascontiguousarray(V / np.sqrt(mean_square) if mean_square > 0 else V, np.float32)
    Q = random_rotation(V.shape[1], rng).astype(np.float32)
    with single_blas_thread():
        turned = V @ Q
        for number in range(1, n_iter + 1):
            left, _, right = np.linalg.svd(V.T @ signs_of(turned))
            turned = V @ (left @ right)
            loss = float(np.sum((np.abs(turned) - 1) ** 2, dtype=np.float64))
            if progress.report("rotation", number, n_iter, loss, loss) or progress.settled(_SETTLED):
                break
    return turned
