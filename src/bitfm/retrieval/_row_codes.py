"""A segment of items that are vectors, with codes of their own to find candidates by: Q ≈ gain · M b, one M for all.

A query stays as it is, for ⟨P, Q⟩ ≈ gain · ⟨Mᵀ P, b⟩: a vector against codes. Only the items are rounded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.core import eigh, multiply, orthonormal, solve_positive, unpack_codes
from bitfm.parameters import TowerRows
from bitfm.persist import Tensors
from bitfm.retrieval._segments import (
    CodeSegment,
    Excluded,
    Items,
    Mask,
    Ranked,
    Segment,
    Shapes,
    shaped,
    size_of,
    with_boosts,
)
from bitfm.validation import thread_count

_Codes: TypeAlias = tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]  # and gains

_SAMPLE = 50_000  # vectors to learn the basis from
_ROUNDS = 10
_PASSES = 3  # of descent over a code's bits
_BATCH = 1 << 16
_OWN = ("row_position", "row_bias", "row_vectors", "basis")


@dataclass(frozen=True, eq=False)
class RowCodeSegment(Segment):
    """Items that are vectors, with codes to find candidates by; these are then scored exactly."""

    rescore: int = 50  # candidates for the best ten, and as many more for more

    @classmethod
    def of(cls, items: Items, user_length: float, bits: int = 64, rescore: int = 50) -> Self:
        order = np.argsort(items.positions)
        positions, biases, vectors = items.positions[order], items.biases[order], items.vectors[order]
        learned = learn_row_codes(vectors, bits, thread_count(-1))
        coded = Items.of_codes(biases, positions, learned.codes, learned.gains)
        arrays = dict(CodeSegment.of(coded, user_length).arrays)
        arrays |= {"row_position": positions, "row_bias": biases, "row_vectors": vectors, "basis": learned.basis}
        return cls(arrays, arrays["live"], rescore=rescore)

    @classmethod
    def shapes(cls, arrays: Tensors, width: int, row_bits: int) -> Shapes:
        rows = size_of(arrays, "row_position")
        return [
            *CodeSegment.shapes(arrays, row_bits, row_bits),
            ("row_position", "int32", (rows,)),
            ("row_bias", "float32", (rows,)),
            ("row_vectors", "float32", (rows, width)),
            ("basis", "float32", (width, row_bits)),
        ]

    @cached_property
    def _catalogue(self) -> _core.CodeCatalogue:
        arrays = with_boosts(self.arrays, self.boosts)
        return _core.CodeCatalogue({name: array for name, array in arrays.items() if name not in _OWN})

    def check(self, n_positions: int) -> None:
        self._catalogue.check(n_positions)
        position, *others = (self.arrays[name] for name in _OWN)
        if (position[1:] <= position[:-1]).any() or not np.isin(self.positions, position).all():
            raise ValueError("'row_position' must rise and name all items")
        if not all(np.isfinite(array).all() for array in others):
            raise ValueError("rows must be finite numbers")

    def search(self, mask: Mask, rows: TowerRows, excluded: Excluded, n: int, n_threads: int) -> Ranked:
        candidates = min(max(n, self.rescore, -(-n * self.rescore // 10)), self.n_of(mask)) if n else 0
        position, bias, of_items, basis = (self.arrays[name] for name in _OWN)
        bias = bias if self.boosts is None else bias + self.boosts[position]
        vectors, constants = rows.as_vectors(), rows.constants
        queries = multiply(vectors, basis, n_threads if len(vectors) > 1 else 1)
        found = self._catalogue.search_vectors(mask, queries, constants, *excluded, candidates, n_threads)
        best, _ = shaped(len(rows), candidates, found)
        return shaped(len(rows), n, _core.rescore(position, bias, of_items, vectors, constants, best, n, n_threads))

    def compact(self, mask: Mask, user_length: float) -> RowCodeSegment:
        return replace(self, live=mask)  # a code that is learnt anew would find other candidates

    def items(self) -> Items:
        arrays, positions = self.arrays, self.positions
        at = np.searchsorted(arrays["row_position"], positions)
        return Items.of_vectors(arrays["row_bias"][at], positions, arrays["row_vectors"][at])


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
    _, directions = eigh(multiply(sample.T, sample, n_threads))
    basis: npt.NDArray[Any] = np.zeros((dimensions, bits))
    kept = min(dimensions, bits)
    basis[:, :kept] = directions[:, ::-1][:, :kept]
    basis = multiply(basis, orthonormal(rng.normal(size=(bits, bits))))  # so that each bit has an equal share
    codes, gains = _encode(sample, basis, None, n_threads)
    for _ in range(_ROUNDS):
        signs = unpack_codes(codes) * gains[:, None].astype(np.float64)
        gram = multiply(signs.T, signs, n_threads)
        ridge = 1e-9 * float(np.trace(gram)) / bits + 1e-300
        basis = solve_positive(gram + ridge * np.eye(bits), multiply(signs.T, sample, n_threads)).T
        codes, gains = _encode(sample, basis, (codes, gains), n_threads)
    if n > len(sample):
        batches = (vectors[begin : begin + _BATCH].astype(np.float64) for begin in range(0, n, _BATCH))
        parts = [_encode(batch, basis, None, n_threads) for batch in batches]
        codes, gains = (np.concatenate(part) for part in zip(*parts, strict=True))
    return RowCodes(np.ascontiguousarray(basis, np.float32), codes, gains)


def _encode(vectors: npt.NDArray[np.float64], basis: npt.NDArray[Any], start: _Codes | None, n_threads: int) -> _Codes:
    """Descend on the codes of vectors, each on its own."""
    products, gram = multiply(vectors, basis, n_threads), multiply(basis.T, basis)
    if start is None:
        codes = np.packbits(products > 0, axis=1, bitorder="little")
        signs = unpack_codes(codes).astype(np.float64)
        squares = np.einsum("ij,ij->i", multiply(signs, gram, n_threads), signs)
        gains = (np.abs(products).sum(axis=1) / np.maximum(squares, 1e-300)).astype(np.float32)
    else:
        codes, gains = start
    error = products - multiply(unpack_codes(codes) * gains[:, None].astype(np.float64), gram, n_threads)
    distance = np.ascontiguousarray(error, np.float32), np.ascontiguousarray(gram, np.float32)
    weights, identity = np.ones(len(vectors), np.float32), (None, None, None)
    _core.distill_field(codes, gains, *distance, weights, *identity, _PASSES, False, n_threads)
    return codes, gains
