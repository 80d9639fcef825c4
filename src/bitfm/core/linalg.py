"""Dense linear algebra with a fixed order: the same numbers at any number of threads and on any processor."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm import _core

__all__ = ["column_sums", "eigh", "multiply", "orthonormal", "solve_positive"]

Matrix = npt.NDArray[Any]


def multiply(a: Matrix, b: Matrix, n_threads: int = 1) -> Matrix:
    """Return the product of two matrices, in single precision where both are."""
    if a.dtype == b.dtype == np.float32:
        return _core.multiply32(a, b, n_threads)
    return _core.multiply64(a.astype(np.float64, copy=False), b.astype(np.float64, copy=False), n_threads)


def column_sums(
    values: Matrix, rows: npt.NDArray[np.int64], centre: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return Σ v and Σ (v − centre)² of each column, over some rows in their order."""
    if values.dtype == np.float32:
        return _core.column_sums32(values, rows, centre)
    return _core.column_sums64(values, rows, centre)


def eigh(a: Matrix) -> tuple[Matrix, Matrix]:
    """Return the eigenvalues of a symmetric matrix, rising, and its eigenvectors as columns."""
    vectors, values = np.array(a, np.float64, order="C"), np.empty(len(a))
    _core.eigenvectors(vectors, values)
    return values, vectors.T


def solve_positive(a: Matrix, b: Matrix) -> Matrix:
    """Return x with a x = b, for a symmetric, positive definite matrix."""
    x = np.array(b.reshape(len(b), -1), np.float64, order="C")
    if not _core.solve_positive(np.array(a, np.float64, order="C"), x):
        raise ValueError("The matrix is not positive definite.")
    return x.reshape(b.shape)


def orthonormal(a: Matrix) -> Matrix:
    """Return an orthonormal basis of the columns, by Gram and Schmidt; those that depend on earlier ones become 0."""
    rows = np.array(a.T, np.float64, order="C")
    _core.make_orthonormal(rows)
    return rows.T
