"""Who has had what: the interactions, by user and by item."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from bitfm.data._tables import csr_of
from bitfm.data.row_table import RowTable

__all__ = ["Log", "unit_table"]


@dataclass(frozen=True, eq=False)
class Log:
    """Users × items: the rating of each pair, without what its context added to it; 1 for events."""

    by_user: RowTable

    @classmethod
    def of(
        cls,
        users: npt.NDArray[np.int32],
        items: npt.NDArray[np.int32],
        ratings: npt.NDArray[Any],
        shape: tuple[int, int],
    ) -> Log:
        """Take interactions; a pair that occurs several times has the mean of its ratings."""
        total = sp.csr_matrix((ratings.astype(np.float64), (users, items)), shape=shape)
        times = sp.csr_matrix((np.ones(len(users)), (users, items)), shape=shape)  # the same entries in the same order
        total.data /= times.data
        return cls(RowTable.of(total))

    @cached_property
    def by_item(self) -> RowTable:
        """The same, items × users; made when it is first asked for."""
        return RowTable.of(self.by_user.whole().T.tocsr())

    def side(self, name: str) -> RowTable:
        """Return the interactions with the rows of one side."""
        return self.by_user if name == "user" else self.by_item

    def extended(
        self,
        users: npt.NDArray[np.int32],
        items: npt.NDArray[np.int32],
        ratings: npt.NDArray[Any],
        shape: tuple[int, int],
    ) -> Log:
        """Return a log with more users and items, and with more interactions; of a pair, the last rating counts."""
        log = Log(_with_entries(self.by_user, users, items, ratings, shape))
        if "by_item" in self.__dict__:  # it takes less time to put it right than to make it again
            log.__dict__["by_item"] = _with_entries(self.by_item, items, users, ratings, shape[::-1])
        return log


def _with_entries(
    table: RowTable, rows: npt.NDArray[Any], columns: npt.NDArray[Any], values: npt.NDArray[Any], shape: tuple[int, int]
) -> RowTable:
    """Return a larger table with more entries; of one row and column, the last counts."""
    table = replace(table.padded(shape[0]), n_columns=shape[1])
    if not len(rows):
        return table
    touched, places = np.unique(rows, return_inverse=True)
    old = table.take(touched).tocoo()
    row, column = np.concatenate([old.row, places]), np.concatenate([old.col, columns])
    value = np.concatenate([old.data, values])
    order = np.lexsort((np.arange(len(row)), column, row))
    row, column, value = row[order], column[order], value[order]
    last = np.append((np.diff(row) != 0) | (np.diff(column) != 0), True)
    part = sp.csr_matrix((value[last], (row[last], column[last])), shape=(len(touched), shape[1]))
    return table.replaced(touched, part)


def unit_table(rows: sp.csr_matrix, n_columns: int) -> sp.csr_matrix:
    """Return which of the first columns each row has, 1/√n each for n of them: histories and raters as fields."""
    if rows.shape[1] > n_columns:  # of those who came later the model knows nothing
        rows = rows[:, :n_columns]
    n = np.diff(rows.indptr)
    values = np.repeat(1 / np.sqrt(np.maximum(n, 1)), n).astype(np.float32)
    return csr_of(rows.indptr, rows.indices, values, n_columns)
