"""What an event model is fitted to: events, and what is known of users, items and contexts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.data.blocks import Block, Blocks, FieldSpan
from bitfm.data.feature_table import FeatureTable
from bitfm.models.implicit.events import Events
from bitfm.parameters import HISTORY

__all__ = ["EventData", "EventList"]

_MOST = 100.0  # that a pair of a user and an item counts for, times the median


@dataclass(frozen=True, eq=False)
class EventList:
    """Events one by one: of a user, with an item, in a context; each counts for so much."""

    users: npt.NDArray[np.int32]
    items: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]
    contexts: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.users)

    def take(self, which: npt.NDArray[Any]) -> EventList:
        """Return some of them."""
        return EventList(self.users[which], self.items[which], self.values[which], self.contexts[which])

    def summed(self, shape: tuple[int, int]) -> Events:
        """Return how much each pair of a user and an item counts; none for far more than others do."""
        import scipy.sparse as sp

        sums = sp.csr_matrix((self.values.astype(np.float64), (self.users, self.items)), shape=shape)
        sums.sum_duplicates()
        most = _MOST * float(np.median(np.abs(sums.data))) if sums.nnz else 0.0
        np.clip(sums.data, -most, most, out=sums.data)
        return Events.of(sums.astype(np.float32))


@dataclass(frozen=True, eq=False)
class EventData:
    """Events, and the features of users, items and contexts, where there are any."""

    events: Events
    blocks: tuple[str, str]  # of users and of items
    tables: dict[tuple[str, str], FeatureTable]  # by block and field, in the order of the parameters' fields
    each: EventList | None = None  # where some pairs have several events, or there are contexts

    @classmethod
    def of(cls, X: Any, y: Any = None) -> EventData:
        """Check what `ImplicitFM.fit` takes: a sparse matrix of users × items, or Blocks."""
        if not isinstance(X, Blocks):
            if y is not None:
                raise ValueError("y: how much events count is what a matrix holds; give y with Blocks only.")
            return cls(Events.of(X), ("user", "item"), {})
        names = list(X.blocks)
        item = "item" if "item" in names else names[-1]
        user = "user" if "user" in names else names[0]
        if user == item:
            raise ValueError("X: expected Blocks with a block of users and one of items; there is only one.")
        contexts = [name for name in names if name not in (user, item)]
        tables = {}
        for name in (user, *contexts, item):
            for field, table in X.blocks[name].tables.items():
                if table.identity and name not in contexts:
                    continue  # ids: users are known by their histories, and items have codes
                if (name, field) in ((user, HISTORY), (item, "id")):
                    raise ValueError(f"X: the field {name}.{field} has a name that is taken; call it something else.")
                tables[name, field] = table
        context, rows = _together([X.blocks[name] for name in contexts], len(X))
        for place, name in enumerate(contexts):
            for field in X.blocks[name].tables:
                tables[name, field] = tables[name, field].take(context[:, place])
        values = _strengths(y, len(X))
        users, items = X.blocks[user], X.blocks[item]
        each = EventList(users.rows, items.rows, values, rows)
        each = each.take(values != 0)
        events = each.summed((users.n_rows, items.n_rows))
        several = bool(contexts) or len(each) > events.by_user.n_entries
        return cls(events, (user, item), tables, each if several else None)

    @property
    def fields(self) -> tuple[FieldSpan, ...]:
        """The fields of the parameters: features of users and their history, of contexts, of items and their ids."""
        user, item = self.blocks
        n_items, sizes = self.events.shape[1], [(key, table.n_columns) for key, table in self.tables.items()]
        of_users = [(key, size) for key, size in sizes if key[0] == user]
        others = [(key, size) for key, size in sizes if key[0] != user]
        spans, start = [], 0
        for (block, name), size in [*of_users, ((user, HISTORY), n_items), *others, ((item, "id"), n_items)]:
            spans.append(FieldSpan(block, name, start, start + size))
            start += size
        return tuple(spans)

    @cached_property
    def contexts(self) -> FeatureTable | None:
        """The features of contexts; None where there are none."""
        found = self._tables_of(None)
        return _beside(found) if found else None

    def features(self, of: str) -> tuple[FeatureTable, ...]:
        """Return the features of users or of items in tables that follow each other: sparse ones as one, and dense."""
        groups = groupby(self._tables_of(of), key=lambda table: table.is_dense)
        return tuple(part for dense, group in groups for part in (group if dense else [_beside(list(group))]))

    def _tables_of(self, of: str | None) -> list[FeatureTable]:
        """Return the tables of users, of items or, of None, of contexts."""
        return [t for (block, _), t in self.tables.items() if (block if block in self.blocks else None) == of]

    def with_events(self, events: Events, each: EventList | None) -> EventData:
        """Return other events with the same features."""
        return replace(self, events=events, each=each)


def _beside(tables: list[FeatureTable]) -> FeatureTable:
    """Return the columns of all tables beside each other."""
    import scipy.sparse as sp

    joined = sp.csr_matrix(sp.hstack([table.to_csr() for table in tables], format="csr"), dtype=np.float32)
    return FeatureTable.sparse(
        joined.indptr.astype(np.int64), joined.indices.astype(np.int32), joined.data, joined.shape[1]
    )


def _together(blocks: list[Block], n: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the distinct combinations of the blocks' rows, and which one each event has."""
    if not blocks:
        return np.zeros((0, 0), np.int32), np.zeros(n, np.int32)
    rows = np.stack([block.rows for block in blocks], axis=1)
    distinct, which = np.unique(rows, axis=0, return_inverse=True)
    return distinct, which.ravel().astype(np.int32)


def _strengths(y: Any, n: int) -> npt.NDArray[np.float32]:
    if y is None:
        return np.ones(n, np.float32)
    values = np.asarray(y)
    if values.shape != (n,) or values.dtype.kind not in "biuf":
        raise ValueError(f"y: expected how much each of the {n} events counts, got {values.dtype} {values.shape}.")
    with np.errstate(over="ignore"):
        values = values.astype(np.float32)
    if not np.isfinite(values).all():
        raise ValueError("y: some events count for NaN or infinitely much; give numbers.")
    return values
