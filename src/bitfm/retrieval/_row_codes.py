"""Vectors as codes of their own: Q ≈ gain · M b, with one basis M for all.

A query stays as it is, for ⟨P, Q⟩ ≈ gain · ⟨Mᵀ P, b⟩: a vector against codes. Only the items are rounded.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.core import single_blas_thread, unpack_codes

_Codes: TypeAlias = tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]  # and gains

_SAMPLE = 50_000  # vectors to learn the basis from
_ROUNDS = 10
_PASSES = 3  # of descent over a code's bits
_BATCH = 1 << 16


class RowCodes(NamedTuple):
    """Codes and gains of vectors, and the basis they are in."""

    basis: npt.NDArray[np.float32]  # M: dimensions × bits
    codes: npt.NDArray[np.uint8]
    gains: npt.NDArray[np.float32]


def learn_row_codes(vectors: npt.NDArray[np.float32], bits: int, n_threads: int) -> RowCodes:
    """Find a basis, and codes and gains that come close to the vectors in it."""
    rng = np.random.default_rng(0)
    n, dimensions = vectors.shape
    chosen = slice(None) if n <= _SAMPLE else np.sort(rng.choice(n, _SAMPLE, replace=False))
    sample = vectors[chosen].astype(np.float64)
    with single_blas_thread():
        _, directions = np.linalg.eigh(sample.T @ sample)
        basis: npt.NDArray[Any] = np.zeros((dimensions, bits))
        kept = min(dimensions, bits)
        basis[:, :kept] = directions[:, ::-1][:, :kept]
        basis = basis @ np.linalg.qr(rng.normal(size=(bits, bits)))[0]  # so that each bit has an equal share
        codes, gains = _encode(sample, basis, None, n_threads)
        for _ in range(_ROUNDS):
            signs = unpack_codes(codes) * gains[:, None].astype(np.float64)
            ridge = 1e-9 * float(np.trace(signs.T @ signs)) / bits + 1e-300
            basis = np.linalg.solve(signs.T @ signs + ridge * np.eye(bits), signs.T @ sample).T
            codes, gains = _encode(sample, basis, (codes, gains), n_threads)
        if n > len(sample):
            batches = (vectors[begin : begin + _BATCH].astype(np.float64) for begin in range(0, n, _BATCH))
            parts = [_encode(batch, basis, None, n_threads) for batch in batches]
            codes, gains = (np.concatenate(part) for part in zip(*parts, strict=True))
    return RowCodes(np.ascontiguousarray(basis, np.float32), codes, gains)


def _encode(vectors: npt.NDArray[np.float64], basis: npt.NDArray[Any], start: _Codes | None, n_threads: int) -> _Codes:
    """Descend on the codes of vectors, each on its own."""
    products, gram = vectors @ basis, basis.T @ basis
    if start is None:
        codes = np.packbits(products > 0, axis=1, bitorder="little")
        signs = unpack_codes(codes).astype(np.float64)
        squares = np.einsum("ij,ij->i", signs @ gram, signs)
        gains = (np.abs(products).sum(axis=1) / np.maximum(squares, 1e-300)).astype(np.float32)
    else:
        codes, gains = start
    error = products - (unpack_codes(codes) * gains[:, None].astype(np.float64)) @ gram
    distance = np.ascontiguousarray(error, np.float32), np.ascontiguousarray(gram, np.float32)
    weights, identity = np.ones(len(vectors), np.float32), (None, None, None)
    _core.anchor_field(codes, gains, *distance, weights, *identity, _PASSES, False, n_threads)
    return codes, gains
