"""The rows of a block, as the distance of codes to a teacher sees them: sums of their features' vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.core import add_product, eigh, multiply
from bitfm.data.feature_table import FeatureTable
from bitfm.models.solvers.row_vectors import RowVectors, parts

__all__ = ["BlockRows", "FewerRows", "Field", "columns_of", "total"]

_FEW_FIELDS = 3  # whose sum is not kept, but worked out whenever it is needed
_ROWS_AT_ONCE = 8192
_RANK_TOLERANCE = 1e-6

Matrix = npt.NDArray[np.float32]


@dataclass
class Field:
    """A field of a block, and the vectors of the block's rows in this field alone."""

    number: int
    table: FeatureTable
    columns: tuple[Any, Any, Any]  # starts, rows and values of the columns, or three times None for an identity
    features: slice
    teacher_vectors: RowVectors  # p = Σ x v
    code_vectors: RowVectors  # P = Σ x g b
    most_gain: float = np.inf
    fewer: FewerRows | None = None  # of a dense field


class FewerRows:
    """A dense field X as one with as many rows R as columns, for which descent on Ω takes the same steps.

    What a feature needs of the rows is its part of XᵀΠE, E being Ω's error, and steps change that by XᵀΠX alone. So
    with RᵀR = XᵀΠX, rows R of weight 1 and errors R⁻ᵀ XᵀΠE do: no step runs over the rows of X.
    """

    def __init__(self, table: FeatureTable, weights: Matrix, n_threads: int) -> None:
        self._weighted = (table.toarray() * weights[:, None]).astype(np.float32).T
        squares, axes = eigh(multiply(self._weighted, table.toarray(), n_threads))
        kept = squares > _RANK_TOLERANCE * squares.max(initial=0)
        self._inverse = (axes[:, kept] / np.sqrt(squares[kept])).T  # R⁻ᵀ
        rows = np.asarray(np.sqrt(squares[kept])[:, None] * axes[:, kept].T, np.float32)
        self.weights, self.columns = np.ones(len(rows), np.float32), columns_of(FeatureTable.dense(rows))

    def error(self, error: Matrix, n_threads: int) -> Matrix:
        """Return the errors of the rows R."""
        return np.asarray(multiply(self._inverse, multiply(self._weighted, error, n_threads)), np.float32)


class BlockRows:
    """The rows of a block, weighted by the share of the interactions that use them."""

    def __init__(self, weights: Matrix, fields: list[Field], n_threads: int) -> None:
        self.weights, self.fields, self.n_threads = weights, fields, n_threads
        # In double precision, so that it can be kept up to date field by field: a sum of all would take fields².
        self._sums: npt.NDArray[np.float64] | None = None
        if len(fields) > _FEW_FIELDS:
            self._sums = np.empty((len(weights), fields[0].code_vectors.width))
            for part in self.parts():
                self._sums[part] = self._sum_of(part)

    def code_vectors(self, part: slice) -> Matrix:
        """Return P of some rows, all fields together."""
        return (self._sum_of(part) if self._sums is None else self._sums[part]).astype(np.float32)

    def _sum_of(self, part: slice) -> npt.NDArray[np.float64]:
        found = self.fields[0].code_vectors[part].astype(np.float64)
        for field in self.fields[1:]:
            found += field.code_vectors[part]
        return found

    def teacher_vectors(self, part: slice) -> Matrix:
        """Return p of some rows, all fields together."""
        return total([field.teacher_vectors[part] for field in self.fields])

    def parts(self) -> Iterator[slice]:
        """Yield all rows, some at a time: what is worked out of them on the way would be large."""
        return parts(len(self.weights), _ROWS_AT_ONCE)

    def update(self, field: Field, code_vectors: RowVectors) -> None:
        """Take over new codes of a field; the moments change when all are in."""
        if self._sums is not None:
            for part in self.parts():
                self._sums[part] += code_vectors[part]
                self._sums[part] -= field.code_vectors[part]
        field.code_vectors = code_vectors

    @cached_property
    def moments(self) -> tuple[Matrix, ...]:
        """H = Σ π P Pᵀ and C = Σ π P pᵀ, first per row, then per field; forgotten when codes change."""
        bits, rank = self.fields[0].code_vectors.width, self.fields[0].teacher_vectors.width
        found = [(_zeros(bits, bits), _zeros(bits, rank)) for _ in range(len(self.fields) + 1)]
        for part in parts(len(self.weights)):
            for (H, C), (P, p) in zip(found, self._of_fields_and_all(part), strict=False):
                weighted = (self.weights[part, None] * P).T
                add_product(H, weighted, P, self.n_threads)
                add_product(C, weighted, p, self.n_threads)
        if len(self.fields) == 1:
            return *found[0], *found[0]
        return *found[-1], *(total(list(moments)) for moments in zip(*found[:-1], strict=True))

    def _of_fields_and_all(self, part: slice) -> Iterator[tuple[Matrix, Matrix]]:
        """Yield P and p of some rows, of each field and then, if there are several, of all together."""
        P_sum, p_sum = np.zeros(1), np.zeros(1, np.float32)
        for field in self.fields:
            P, p = field.code_vectors[part], field.teacher_vectors[part]
            yield P, p
            if len(self.fields) > 1:
                P_sum, p_sum = self._sums[part] if self._sums is not None else P_sum + P, p_sum + p
        if len(self.fields) > 1:
            yield P_sum.astype(np.float32), p_sum

    @cached_property
    def teacher_grams(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Σ π p pᵀ per row and per field."""
        rank = self.fields[0].teacher_vectors.width
        per_row, *per_field = grams = [_zeros(rank, rank) for _ in range(len(self.fields) + 1)]
        for part in parts(len(self.weights)):
            of_fields = (field.teacher_vectors[part] for field in self.fields)
            for gram, p in zip(grams, chain([self.teacher_vectors(part)], of_fields), strict=True):
                add_product(gram, (p * self.weights[part, None]).T, p, self.n_threads)
        return per_row.astype(np.float64), np.sum(per_field, axis=0, dtype=np.float64)


def columns_of(table: FeatureTable) -> tuple[Any, Any, Any]:
    """Return starts, rows and values of a table's columns, or three times None of an identity."""
    if table.identity:
        return None, None, None
    indptr, rows, values = table.transpose().arrays()
    return indptr, rows, values.astype(np.float32)


def total(matrices: list[Matrix]) -> Matrix:
    """Return the sum of matrices, in their order."""
    return matrices[0] if len(matrices) == 1 else np.asarray(sum(matrices), np.float32)


def _zeros(rows: int, columns: int) -> Matrix:
    return np.zeros((rows, columns), np.float32)
