"""A segment of items that are vectors, with row codes to find candidates by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from bitfm import _core
from bitfm.parameters import TowerRows
from bitfm.persist import Tensors
from bitfm.retrieval._code_segment import CodeSegment
from bitfm.retrieval._row_codes import learn_row_codes
from bitfm.retrieval._segment import Excluded, Items, Mask, Ranked, Segment, Shapes, count, shaped, size_of
from bitfm.validation import thread_count

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
        return cls(arrays, arrays["live"], rescore)

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
    def _codes(self) -> CodeSegment:
        return CodeSegment({name: array for name, array in self.arrays.items() if name not in _OWN}, self.live)

    def search(self, mask: Mask, rows: TowerRows, excluded: Excluded, n: int, n_threads: int) -> Ranked:
        left = self.n_items if mask is self.live else count(mask)
        candidates = min(max(n, self.rescore, -(-n * self.rescore // 10)), left) if n else 0
        arrays, vectors = self.arrays, rows.as_vectors()
        codeless = rows.codes[:0], rows.gains[:0], vectors @ arrays["basis"], np.zeros(len(rows), bool)
        queries = TowerRows(rows.constants, *codeless)
        best, _ = self._codes.search(mask, queries, excluded, candidates, n_threads)
        of_rows = arrays["row_position"], arrays["row_bias"], arrays["row_vectors"]
        return shaped(len(rows), n, _core.rescore(*of_rows, vectors, rows.constants, best, n, n_threads))

    def items(self) -> Items:
        arrays, positions = self.arrays, self.arrays["position"][self._live_slots]
        at = np.searchsorted(arrays["row_position"], positions)
        return Items.of_vectors(arrays["row_bias"][at], positions, arrays["row_vectors"][at])
