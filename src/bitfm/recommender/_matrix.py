"""Who has had what: the interactions, by user and by item."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.data.feature_table import FeatureTable

__all__ = ["InteractionMatrix", "seen_table"]


@dataclass(frozen=True, eq=False)
class InteractionMatrix:
    """Users × items: the rating of each pair, without what its context added to it; 1 for events."""

    by_user: FeatureTable

    @classmethod
    def of(
        cls,
        users: npt.NDArray[np.int32],
        items: npt.NDArray[np.int32],
        ratings: npt.NDArray[Any],
        shape: tuple[int, int],
    ) -> InteractionMatrix:
        """Take interactions; a pair that occurs several times has the mean of its ratings."""
        import scipy.sparse as sp

        total = sp.csr_matrix((ratings.astype(np.float64), (users, items)), shape=shape)
        times = sp.csr_matrix((np.ones(len(users)), (users, items)), shape=shape)  # the same entries in the same order
        total.data /= times.data
        values = total.data.astype(np.float32)
        return cls(FeatureTable.sparse(total.indptr.astype(np.int64), total.indices.astype(np.int32), values, shape[1]))

    @cached_property
    def by_item(self) -> FeatureTable:
        """The same, items × users; made when it is first asked for."""
        return self.by_user.transpose()

    def holds(self, users: npt.NDArray[Any], items: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Return which pairs of a user and an item are there."""
        rows = np.repeat(np.arange(len(self.by_user), dtype=np.int64), np.diff(self.by_user.indptr))
        keys = rows * self.by_user.n_columns + self.by_user.indices
        return np.isin(users.astype(np.int64) * self.by_user.n_columns + items, keys)

    def side(self, name: str) -> FeatureTable:
        """Return the interactions with the rows of one side."""
        return self.by_user if name == "user" else self.by_item

    def extended(
        self,
        users: npt.NDArray[np.int32],
        items: npt.NDArray[np.int32],
        ratings: npt.NDArray[Any],
        shape: tuple[int, int],
    ) -> InteractionMatrix:
        """Return a log with more users and items, and with more interactions; of a pair, the last rating counts."""
        log = InteractionMatrix(_with_entries(self.by_user, users, items, ratings, shape))
        if "by_item" in self.__dict__:  # it takes less time to put it right than to make it again
            log.__dict__["by_item"] = _with_entries(self.by_item, items, users, ratings, shape[::-1])
        return log


def _with_entries(
    table: FeatureTable,
    rows: npt.NDArray[Any],
    columns: npt.NDArray[Any],
    values: npt.NDArray[Any],
    shape: tuple[int, int],
) -> FeatureTable:
    """Return a larger table with more entries; of one row and column, the last counts."""
    table = replace(table.padded(shape[0]), n_columns=shape[1])
    if not len(rows):
        return table
    touched, places = np.unique(rows, return_inverse=True)
    old = table.take(touched)
    row = np.concatenate([np.repeat(np.arange(len(touched)), np.diff(old.indptr)), places])
    column, value = np.concatenate([old.indices, columns]), np.concatenate([old.values, values])
    order = np.lexsort((np.arange(len(row)), column, row))
    row, column, value = row[order], column[order], value[order]
    last = np.append((np.diff(row) != 0) | (np.diff(column) != 0), True)
    indptr = np.searchsorted(row[last], np.arange(len(touched) + 1))
    part = FeatureTable.sparse(indptr, column[last].astype(np.int32), value[last].astype(np.float32), shape[1])
    return table.replaced(touched, part)


def seen_table(rows: FeatureTable, n_columns: int) -> FeatureTable:
    """Return which of the first columns each row has, 1/√n each for n of them: histories and raters as fields."""
    if rows.n_columns > n_columns:  # the model knows nothing of those who came later
        rows = rows.columns(0, n_columns)
    return rows.with_unit_rows(n_columns)
