"""The items' vectors by what a file holds anyway: the tables of their features, and the features' codes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bitfm.data.feature_table import FeatureTable
from bitfm.parameters import CodeParameters
from bitfm.recommender._matrix import InteractionMatrix
from bitfm.recommender._ratings.state import RatingState
from bitfm.recommender._side import Side, field_name, field_tables
from bitfm.retrieval import ItemSums

__all__ = ["item_sums", "sums_to_save"]

_ENTRY_BYTES = 8  # of a log by items
_MOST_MEMORY = 0.5  # that it may take, of what vectors would


def item_sums(parameters: Any, items: Side, log: InteractionMatrix) -> ItemSums | None:
    """Return the sums of the codes of the items' features; None of parameters that are no codes."""
    spans = [field for field in parameters.fields if field.block == "item"]
    if not isinstance(parameters, CodeParameters) or not spans:
        return None
    own = slice(spans[0].start, spans[-1].stop)
    sizes = {field.name: field.size for field in spans}
    return ItemSums(parameters.codes[own], parameters.gains[own], len(items), partial(_tables, sizes, items, log))


def sums_to_save(state: RatingState) -> ItemSums | None:
    """Return the sums by the tables that a file will have; None where the raters take more memory than it saves.

    Who opens the file has to turn the log around.
    """
    memory = len(state.items) * state.parameters.bits * np.dtype(np.float32).itemsize
    if ("item", "raters") in state.sizes and state.log.by_user.n_entries * _ENTRY_BYTES > _MOST_MEMORY * memory:
        return None
    return item_sums(state.parameters, state.items, InteractionMatrix(state.log.by_user))


def _tables(sizes: dict[str, int], items: Side, log: InteractionMatrix) -> list[FeatureTable]:
    columns = {field_name(column.name): table for column, table in zip(items.columns, items.tables, strict=True)}
    width, n_ids, rows = sizes.get("raters"), sizes["id"], np.arange(len(items))
    ids = (
        FeatureTable.eye(n_ids) if n_ids == len(rows) else FeatureTable.one_hot(np.where(rows < n_ids, rows, -1), n_ids)
    )
    return list(field_tables("item", columns, log.by_item if width is not None else None, width, ids).values())
