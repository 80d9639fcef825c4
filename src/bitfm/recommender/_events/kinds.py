"""What kinds of events each pair in the log has had: a bit per kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.data.feature_table import FeatureTable
from bitfm.recommender._matrix import InteractionMatrix, values_at, without_entries

__all__ = ["MOST_KINDS", "EventKinds"]

MOST_KINDS = 64


@dataclass(frozen=True, eq=False)
class EventKinds:
    """One number per entry of the log, in its order: bit k says that there was an event of kind k.

    Of events whose kind was not told, no bit does.
    """

    names: tuple[str, ...]
    marks: npt.NDArray[Any]  # of 8 or of 64 bits

    @classmethod
    def of(cls, names: Sequence[str], log: InteractionMatrix, events: FeatureTable) -> EventKinds:
        """Take the kinds of a log's events, users × items, which may have more entries."""
        return cls(tuple(names), values_at(events, log.by_user, 0).astype(events.dtype))

    @staticmethod
    def table(
        names: Sequence[str],
        kinds: Any,
        users: npt.NDArray[np.int32],
        items: npt.NDArray[np.int32],
        shape: tuple[int, int],
    ) -> FeatureTable:
        """Return the kinds of events, users × items; `kinds` has the name of each, or is None if nothing is told."""
        dtype = np.dtype(np.uint8 if len(names) <= 8 else np.uint64)
        bits = np.zeros(len(users), dtype)
        if kinds is not None:
            given, which = np.unique(kinds.to_numpy().astype(str), return_inverse=True)
            bits = np.array([1 << names.index(name) for name in given.tolist()], dtype)[which]
        keys = users.astype(np.int64) * shape[1] + items
        order = np.argsort(keys, kind="stable")
        first = np.flatnonzero(np.diff(keys[order], prepend=-1))
        rows, columns = np.divmod(keys[order][first], max(shape[1], 1))
        together = np.bitwise_or.reduceat(bits[order], first) if len(first) else bits
        indptr = np.searchsorted(rows, np.arange(shape[0] + 1))
        return FeatureTable.sparse(indptr, columns.astype(np.int32), together, shape[1])

    def increased(self, before: InteractionMatrix, after: InteractionMatrix, events: FeatureTable) -> EventKinds:
        """Return the kinds of a log to which events were added."""
        marks = self._beside(before).padded(events.n_rows)
        marks = replace(marks, n_columns=events.n_columns)
        touched = np.flatnonzero(np.diff(events.indptr))
        rows = after.by_user.take(touched)
        both = values_at(marks.take(touched), rows, 0) | values_at(events.take(touched), rows, 0)
        changed = FeatureTable.sparse(rows.indptr, rows.indices, both, rows.n_columns)
        return replace(self, marks=marks.replaced(touched, changed).values)

    def only(self, before: InteractionMatrix, name: str, kept: npt.NDArray[Any]) -> EventKinds:
        """Return the kinds of the log of some users, or of some items."""
        marks = self._beside(before)
        return replace(self, marks=(marks.take(kept) if name == "user" else marks.with_columns(kept)).values)

    def without(self, before: InteractionMatrix, users: npt.NDArray[Any], items: npt.NDArray[Any]) -> EventKinds:
        """Return the kinds of the log without some pairs."""
        return replace(self, marks=without_entries(self._beside(before), users, items).values)

    def had(self, log: InteractionMatrix, users: npt.NDArray[np.int32], names: Sequence[str]) -> FeatureTable:
        """Return the items that users have had by an event of one of these kinds."""
        asked = sum(1 << self.names.index(name) for name in set(names))
        rows = self._beside(log).take(users)
        had = (rows.values & rows.dtype.type(asked)) != 0
        before = np.append(0, np.cumsum(had))
        return FeatureTable.sparse(before[rows.indptr], rows.indices[had], rows.values[had], rows.n_columns)

    def _beside(self, log: InteractionMatrix) -> FeatureTable:
        return replace(log.by_user, values=self.marks)
