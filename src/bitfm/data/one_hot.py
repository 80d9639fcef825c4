"""One-hot and many-hot tables, and plain matrices that are nothing but one-hot fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.data.blocks import Block, Blocks
from bitfm.data.feature_table import FeatureTable


def one_hot(values: npt.ArrayLike) -> FeatureTable:
    """Return one 1 per row, in the column of its value; columns are the distinct values, sorted."""
    distinct, column = np.unique(np.asarray(values), return_inverse=True)
    return FeatureTable.one_hot(column, len(distinct))


def many_hot(lists: Iterable[Iterable[Any]], min_rows: int = 1) -> FeatureTable:
    """Return one row of unit length per list; columns are the sorted values of at least ``min_rows`` lists."""
    rows = [set(values) for values in lists]
    counts = Counter(value for values in rows for value in values)
    column = {value: j for j, value in enumerate(sorted(v for v, n in counts.items() if n >= min_rows))}
    on = [(i, column[value]) for i, values in enumerate(rows) for value in values if value in column]
    pairs = np.array(on, np.int64).reshape(-1, 2)
    return FeatureTable.unit_rows(pairs[:, 0], pairs[:, 1], (len(rows), len(column)))


def split_one_hot(X: Blocks) -> Blocks:
    """Recognise a plain matrix that is nothing but one-hot fields, such as a libFM file of ids.

    Kept as bare ids it trains many times faster, and the model is the same.
    """
    block = next(iter(X.blocks.values()))
    table = next(iter(block.tables.values()))
    if len(X.blocks) != 1 or len(block.tables) != 1 or table.identity or table.n_rows != len(block):
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
            f"field{j}": Block(ids[block.rows, j] - begin, {"id": FeatureTable.eye(end - begin)})
            for j, (begin, end) in enumerate(pairwise(edges))
        }
    )
