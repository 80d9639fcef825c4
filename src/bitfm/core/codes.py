"""Codes as the core keeps them, and the delegate that the paper puts in their place.

A code is one bit per dimension, packed into bytes, the first dimension in the lowest bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.core.linalg import eigh, multiply, orthonormal

__all__ = ["Delegate", "nearest_delegate", "pack_signs", "unpack_codes"]

_ROWS = 1 << 16
_RANK_TOLERANCE = 1e-10
_SIGNS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.float32) * 2 - 1


def unpack_codes(codes: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Return packed codes as a matrix of -1 and +1."""
    return _SIGNS[codes].reshape(len(codes), 8 * codes.shape[1])


def pack_signs(values: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return the signs of a matrix as packed codes; 0 counts as +1, as the paper's sgn does."""
    codes = np.empty((len(values), values.shape[1] // 8), np.uint8)
    for start in range(0, len(values), _ROWS):  # the comparison takes a byte per value: not for all at once
        part = slice(start, start + _ROWS)
        codes[part] = np.packbits(values[part] >= 0, axis=1, bitorder="little")
    return codes


class Delegate(NamedTuple):
    """The solution of the D-subproblem, and what its passes over B found on the way."""

    matrix: npt.NDArray[np.float32]  # D, (n, k)
    trace: float  # tr(BᵀD)
    squares: float  # |B|²


def nearest_delegate(
    values: npt.NDArray[Any], rng: np.random.Generator, out: npt.NDArray[np.float32] | None = None, n_threads: int = 1
) -> Delegate:
    """Solve max tr(BᵀD) subject to D1 = 0 and DDᵀ = nI, for B given as one row per feature, in closed form.

    D is the balanced, decorrelated matrix nearest to B. With n ≤ k the constraints cannot all hold; then as many
    directions as there are are orthogonal and the rest are zero.

    Parameters
    ----------
    values : (n, k) real matrix or (n, k / 8) packed codes of dtype uint8
    rng : generator, which completes the basis where B̄ is rank-deficient
    out : (n, k) float32, optional, where to put D
    n_threads : int, default 1
    """
    n = len(values)
    k = values.shape[1] * (8 if values.dtype == np.uint8 else 1)
    mean, gram = np.empty(k), np.empty((k, k))
    _core.moments(values, mean, gram, n_threads)
    squares_of_values = float(np.trace(gram))
    gram -= n * np.outer(mean, mean)
    if not np.isfinite(gram).all():
        raise ValueError("The factors overflow; scale the features or the targets.")
    D = np.empty((n, k), np.float32) if out is None else out
    squares, P = eigh(gram)
    kept = squares > _RANK_TOLERANCE * max(float(squares[-1]), 1.0)
    singular = np.sqrt(np.where(kept, squares, 1))
    # D = √n Q Pᵀ with Q = B̄ᵀ P Σ⁻¹, so each row of D is a k × k map of the row of B.
    transform = multiply(np.sqrt(n) * (P * np.where(kept, 1 / singular, 0)), P.T)
    _core.map_features(values, mean, transform, D, n_threads)
    if not kept.all():
        Q = multiply(D, P[:, kept]) / np.sqrt(max(n, 1))
        missing = _complete_basis(Q, int((~kept).sum()), rng)
        D += multiply(np.sqrt(n) * missing, P[:, ~kept].T).astype(np.float32)
    return Delegate(D, float(np.sqrt(n) * singular[kept].sum()), squares_of_values)


def _complete_basis(Q: npt.NDArray[np.float64], n_missing: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Return orthonormal columns that are orthogonal to [Q 1], from random vectors, and 0 where there is no room."""
    n, known = len(Q), Q.shape[1] + 1
    drawn = rng.standard_normal((min(n_missing, max(n - known, 0)), n)).T
    basis = orthonormal(np.column_stack([Q, np.full(n, 1 / np.sqrt(max(n, 1))), drawn]))
    return np.pad(basis[:, known:], ((0, 0), (0, n_missing - drawn.shape[1])))
