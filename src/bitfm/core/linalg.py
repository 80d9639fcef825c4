"""Dense linear algebra with a fixed order: the same numbers at any number of threads and on any processor."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm import _core

__all__ = ["PRODUCT_SPAN", "add_product", "column_sums", "eigh", "multiply", "orthonormal", "solve_positive"]

PRODUCT_SPAN: int = _core.PRODUCT_SPAN  # terms, of which parts of a product are to have a multiple

Matrix = npt.NDArray[Any]


def multiply(a: Matrix, b: Matrix, n_threads: int = 1) -> Matrix:
    """Return the product of two matrices, in single precision where both are."""
    if a.dtype == b.dtype == np.float32:
        return _core.multiply32(a, b, n_threads)
    return _core.multiply64(a.astype(np.float64, copy=False), b.astype(np.float64, copy=False), n_threads)


def add_product(total: Matrix, a: Matrix, b: Matrix, n_threads: int = 1) -> None:
    """Add the product of two matrices to a total, all in single precision.

    Parts of a product's terms, each but the last a multiple of `PRODUCT_SPAN`, add up to what `multiply` returns of
    all of them, to the last bit.
    """
    _core.add_product32(total, a, b, n_threads)


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
