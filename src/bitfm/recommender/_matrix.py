"""Who has had what: the interactions, by user and by item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.data.feature_table import FeatureTable

__all__ = ["InteractionMatrix", "entry_keys", "table_of_keys", "union", "values_at", "without_entries"]


@dataclass(frozen=True, eq=False)
class InteractionMatrix:
    """Users × items: the rating of each pair, without what its context added to it; of events, how much they count."""

    by_user: FeatureTable

    @classmethod
    def of(
        cls,
        users: npt.NDArray[np.int32],
        items: npt.NDArray[np.int32],
        shape: tuple[int, int],
        ratings: npt.NDArray[np.float64] | None = None,
    ) -> InteractionMatrix:
        """Take interactions; a pair that occurs several times has the mean of its ratings."""
        import scipy.sparse as sp

        times = sp.csr_matrix((np.ones(len(users)), (users, items)), shape=shape)
        total = times if ratings is None else sp.csr_matrix((ratings, (users, items)), shape=shape)  # in the same order
        values = (total.data / times.data).astype(np.float32)
        return cls(FeatureTable.sparse(total.indptr.astype(np.int64), total.indices.astype(np.int32), values, shape[1]))

    @classmethod
    def summed(
        cls,
        users: npt.NDArray[np.int32],
        items: npt.NDArray[np.int32],
        shape: tuple[int, int],
        values: npt.NDArray[np.float64],
    ) -> InteractionMatrix:
        """Take events; a pair that occurs several times counts for their sum, and is dropped where that is 0."""
        import scipy.sparse as sp

        total = sp.csr_matrix((values, (users, items)), shape=shape)
        total.eliminate_zeros()
        sums = total.data.astype(np.float32)
        return cls(FeatureTable.sparse(total.indptr.astype(np.int64), total.indices.astype(np.int32), sums, shape[1]))

    def increased(self, more: InteractionMatrix) -> InteractionMatrix:
        """Return a log with all users, items and events of another, no smaller one; both count."""
        before = replace(self.by_user.padded(more.by_user.n_rows), n_columns=more.by_user.n_columns)
        touched = np.flatnonzero(np.diff(more.by_user.indptr))
        if not len(touched):
            return InteractionMatrix(before)
        total = before.take(touched).to_csr() + more.by_user.take(touched).to_csr()
        total.eliminate_zeros()
        total.sort_indices()
        sums = total.data.astype(np.float32)
        rows = FeatureTable.sparse(
            total.indptr.astype(np.int64), total.indices.astype(np.int32), sums, more.by_user.n_columns
        )
        return InteractionMatrix(before.replaced(touched, rows))

    @cached_property
    def by_item(self) -> FeatureTable:
        """The same, items × users; made when it is first asked for."""
        return self.by_user.transpose()

    def side(self, name: str) -> FeatureTable:
        """Return the interactions with the rows of one side."""
        return self.by_user if name == "user" else self.by_item

    def holds(self, users: npt.NDArray[Any], items: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Return which pairs of a user and an item are there."""
        asked, places = np.unique(users, return_inverse=True)
        part = self.by_user.take(asked)
        return np.isin(places.astype(np.int64) * part.n_columns + items, entry_keys(part))

    def only(self, name: str, kept: npt.NDArray[Any]) -> InteractionMatrix:
        """Return the log of some of the users, or of some of the items; they are numbered anew in the same order."""
        users = name == "user"
        log = InteractionMatrix(self.by_user.take(kept) if users else self.by_user.with_columns(kept))
        if "by_item" in self.__dict__:
            log.__dict__["by_item"] = self.by_item.with_columns(kept) if users else self.by_item.take(kept)
        return log

    def without(self, users: npt.NDArray[Any], items: npt.NDArray[Any]) -> InteractionMatrix:
        """Return the log without some pairs of a user and an item."""
        log = InteractionMatrix(without_entries(self.by_user, users, items))
        if "by_item" in self.__dict__:
            log.__dict__["by_item"] = without_entries(self.by_item, items, users)
        return log

    def extended(self, more: InteractionMatrix) -> InteractionMatrix:
        """Return a log with all users, items and interactions of another, no smaller one; its ratings replace these."""
        log = InteractionMatrix(_extended(self.by_user, more.by_user))
        if "by_item" in self.__dict__:  # it takes less time to put it right than to make it again
            log.__dict__["by_item"] = _extended(self.by_item, more.by_item)
        return log


def table_of_keys(keys: npt.NDArray[np.int64], shape: tuple[int, int]) -> FeatureTable:
    """Return a table with an entry of 1 for each distinct row × columns + column."""
    entries = np.unique(keys)
    rows, columns = np.divmod(entries, max(shape[1], 1))
    indptr = np.searchsorted(rows, np.arange(shape[0] + 1))
    return FeatureTable.sparse(indptr, columns.astype(np.int32), np.ones(len(entries), np.float32), shape[1])


def union(tables: Sequence[FeatureTable]) -> FeatureTable:
    """Return a table with an entry of 1 wherever one of several tables has one."""
    keys = [entry_keys(table) for table in tables]
    return tables[0] if len(tables) == 1 else table_of_keys(np.concatenate(keys), tables[0].shape)


def entry_keys(table: FeatureTable) -> npt.NDArray[np.int64]:
    """Return row × columns + column of every entry."""
    rows = np.repeat(np.arange(table.n_rows, dtype=np.int64), np.diff(table.indptr))
    return rows * table.n_columns + table.indices


def _extended(table: FeatureTable, more: FeatureTable) -> FeatureTable:
    """Return a table with the size and the entries of another as well, whose values count where both have one."""
    table = replace(table.padded(more.n_rows), n_columns=more.n_columns)
    touched = np.flatnonzero(np.diff(more.indptr))
    if not len(touched):
        return table
    parts = more.take(touched), table.take(touched)
    keys, first = np.unique(np.concatenate([entry_keys(part) for part in parts]), return_index=True)
    rows, columns = np.divmod(keys, more.n_columns)
    indptr = np.searchsorted(rows, np.arange(len(touched) + 1))
    values = np.concatenate([part.values for part in parts])[first]
    return table.replaced(touched, FeatureTable.sparse(indptr, columns.astype(np.int32), values, more.n_columns))


def values_at(table: FeatureTable, entries: FeatureTable, none: Any) -> npt.NDArray[Any]:
    """Return the values that a table has where another has entries, and something else where it has none."""
    keys, needed = entry_keys(table), entry_keys(entries)
    order = np.argsort(keys)
    at = np.searchsorted(keys, needed, sorter=order)
    there = np.isin(needed, keys)
    values = np.full(len(needed), none, table.dtype)
    values[there] = table.values[order[at[there]]]
    return values


def without_entries(table: FeatureTable, rows: npt.NDArray[Any], columns: npt.NDArray[Any]) -> FeatureTable:
    """Return a table without some of its entries."""
    touched, places = np.unique(rows, return_inverse=True)
    part = table.take(touched)
    left = ~np.isin(entry_keys(part), places.astype(np.int64) * table.n_columns + columns)
    before = np.append(0, np.cumsum(left))
    rest = FeatureTable.sparse(before[part.indptr], part.indices[left], part.values[left], table.n_columns)
    return table.replaced(touched, rest)
