"""Events as pairs of items, the one chosen and one that was not, for losses of the difference of their scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.data.blocks import Block, Blocks
from bitfm.data.feature_table import FeatureTable
from bitfm.validation import check_count

__all__ = ["EventPairs", "check_events"]

_TRIES = 4


@dataclass(frozen=True, eq=False)
class EventPairs:
    """A design whose scores, with pairs of features across blocks only, are differences of scores.

    The score of a query u and an item i is a_u + s_i + ⟨P_u, Q_i⟩, so that of i less that of j is s_i − s_j +
    ⟨P_u, Q_i − Q_j⟩: one block are the queries, and the rows of the other are differences of rows of items. The bias
    and the weights of a query's features, and their pairs with each other, cancel.
    """

    event: npt.NDArray[np.intp]  # of each pair: the event, with its query and the item chosen ...
    drawn: npt.NDArray[np.int64]  # ... and the row of the item drawn
    blocks: Blocks  # query, then item
    features: npt.NDArray[np.int64]  # the feature of the model that each column is
    same_side: bool  # whether an item has several features, pairs of which are not here

    @classmethod
    def draw(cls, events: Blocks, negatives: int, rng: np.random.Generator) -> EventPairs:
        """Draw so many items against each event, of all rows of the items' block but those chosen in the same query.

        A query is a row of each other block. One that has chosen nearly everything gets fewer pairs.
        """
        item = "item" if "item" in events.blocks else list(events.blocks)[-1]
        chosen = events.blocks[item]
        queries = {name: block for name, block in events.blocks.items() if name != item}
        if not queries:
            raise ValueError("loss='bpr' ranks items for users, but X has only one block; give Blocks, or fields=.")
        n, n_items = len(chosen), chosen.n_rows
        check_count("a table of events and of items drawn against them", n * negatives, "rows", "lower negatives")
        query = _joined(queries)
        known = np.unique(_keys(query.rows, chosen.rows, n_items))
        event = np.repeat(np.arange(n), negatives)
        drawn, taken = np.zeros(len(event), np.int64), np.arange(len(event))
        for _ in range(_TRIES):
            drawn[taken] = rng.integers(n_items, size=len(taken))
            keys = _keys(query.rows[event[taken]], drawn[taken], n_items)
            at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
            taken = taken[known[at] == keys]
        free = np.delete(np.arange(len(event)), taken)
        if not len(free):
            raise ValueError("loss='bpr' found no item that was not chosen; there must be items without events.")
        event, drawn = event[free], drawn[free]
        tables = {name: _differences(table, chosen.rows[event], drawn) for name, table in chosen.tables.items()}
        blocks = Blocks(query=query.take(event), item=Block(np.arange(len(event)), tables))
        spans = sorted(events.fields, key=lambda field: field.block == item)  # stable: the order of `blocks`
        features = np.concatenate([np.arange(span.start, span.stop) for span in spans])
        sizes = [np.diff(table.arrays()[0]) for table in chosen.tables.values()]
        return cls(event, drawn, blocks, features, bool((np.sum(sizes, axis=0) > 1).any()))


def check_events(y: npt.NDArray[Any]) -> None:
    """Raise a ValueError unless all are 1."""
    if (y != 1).any():
        value = float(y[y != 1][0])
        what = f"y has {value:g}, but with loss='bpr' each interaction is an event, which is 1"
        raise ValueError(f"{what}; leave y out, or fit ratings with loss='squared'.")


def _joined(blocks: dict[str, Block]) -> Block:
    """Return several blocks as one, a row of which is a row of each."""
    if len(blocks) == 1:
        return next(iter(blocks.values()))
    distinct, rows = np.unique(np.stack([block.rows for block in blocks.values()]), axis=1, return_inverse=True)
    tables = {
        f"{name}.{field}": table.take(of_block)
        for (name, block), of_block in zip(blocks.items(), distinct, strict=True)
        for field, table in block.tables.items()
    }
    return Block(rows.ravel(), tables)


def _differences(table: FeatureTable, rows: npt.NDArray[Any], less: npt.NDArray[Any]) -> Any:
    matrix = table.to_csr()
    return matrix[rows] - matrix[less]


def _keys(rows: npt.NDArray[Any], columns: npt.NDArray[Any], n_columns: int) -> npt.NDArray[np.int64]:
    return np.asarray(rows.astype(np.int64) * n_columns + columns)
