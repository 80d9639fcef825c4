"""Plain matrices that are nothing but one-hot fields."""

from __future__ import annotations

import numpy as np

from bitfm.data.blocks import Block, Blocks
from bitfm.data.feature_table import FeatureTable

__all__ = ["split_one_hot"]


def split_one_hot(X: Blocks) -> Blocks:
    """Recognise a plain matrix that is nothing but one-hot fields, such as a libFM file of ids.

    Kept as bare ids it trains many times faster, and the model is the same.
    """
    if len(X.blocks) != 1:
        return X
    block = next(iter(X.blocks.values()))
    if len(block.tables) != 1:
        return X
    table = next(iter(block.tables.values()))
    if table.identity or table.n_rows != len(block):
        return X
    indptr, indices, values = table.arrays()
    per_row = len(indices) // max(table.n_rows, 1)
    if per_row < 2 or not (np.diff(indptr) == per_row).all() or not (values == 1).all():
        return X
    ids = indices.reshape(table.n_rows, per_row)
    starts, ends = ids.min(axis=0), ids.max(axis=0)
    if not (ends[:-1] < starts[1:]).all():
        return X
    edges = [0, *(int(s) for s in starts[1:]), table.n_columns]
    return Blocks(
        **{
            f"field{j}": Block(ids[block.rows, j] - edges[j], {"id": FeatureTable.eye(edges[j + 1] - edges[j])})
            for j in range(per_row)
        }
    )
