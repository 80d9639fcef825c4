"""Vectors of items as sums of the codes of their features, where the tables of features are at hand anyway."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.data.feature_table import FeatureTable

__all__ = ["ItemSums"]


@dataclass(frozen=True, eq=False)
class ItemSums:
    """The vectors of items, Σ x g b over their features; row i of each table is the item of position i.

    The tables are asked for when a vector is: to make them may take longer than to open a file.
    """

    codes: npt.NDArray[np.uint8]  # of the features, table by table
    gains: npt.NDArray[np.float32]
    n_rows: int
    tables: Callable[[], Sequence[FeatureTable]]

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # not what is made from them

    def vectors(self, positions: npt.NDArray[np.int32]) -> npt.NDArray[np.float32]:
        """Return the vectors of some items."""
        return self.core.vectors(positions)

    def n_terms(self, positions: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Return how many features some items have."""
        return self.core.n_terms(positions)

    @cached_property
    def core(self) -> _core.ItemSums:
        """The sums as a catalogue takes them; they borrow the arrays."""
        sums = _core.ItemSums(self.codes, self.gains, self.n_rows)
        for table in self.tables():
            try:
                _add(sums, table)
            except ValueError as error:
                raise (error if table.file is None else table.damage(error)) from None
        return sums


def _add(sums: _core.ItemSums, table: FeatureTable) -> None:
    if table.identity:
        sums.add_identity(table.n_columns)
    elif table.singles is not None:
        sums.add_singles(table.n_columns, table.singles)
    elif table.weights is not None:
        sums.add_words(table.n_columns, table.indptr, table.indices, table.weights)
    elif table.is_dense:
        sums.add_dense(table.values, table.scale)
    else:
        sums.add_sparse(table.n_columns, table.indptr, table.indices, table.values)
