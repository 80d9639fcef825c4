"""Contexts as a block: the columns of interactions that are known at the time of a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bitfm.data.blocks import Block
from bitfm.data.feature_table import FeatureTable
from bitfm.recommender._state import field_name

if TYPE_CHECKING:
    import polars as pl

    from bitfm.data import FittedColumn

__all__ = ["context_block"]


def context_block(columns: tuple[FittedColumn, ...], frame: pl.DataFrame) -> Block:
    """Return one context per row of the frame; equal ones share a row of the tables."""
    import polars as pl

    names = [column.name for column in columns]
    distinct = frame = frame.select(names)
    rows = np.arange(len(frame), dtype=np.int32)
    if not any(dtype == pl.Object or dtype.is_nested() for dtype in frame.dtypes):  # which Polars cannot tell apart
        distinct = frame.unique(maintain_order=True).with_row_index("bitfm row")
        joined = frame.join(distinct, on=names, how="left", nulls_equal=True, maintain_order="left")
        rows = joined["bitfm row"].cast(pl.Int32).to_numpy()
    tables = {}
    for column in columns:
        tables[field_name(column.name)] = FeatureTable.of(column.name, column.transform(distinct[column.name]))
    return Block(rows, tables)
