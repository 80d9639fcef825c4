"""Tables of what is on: one value per row, or several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.data.feature_table import FeatureTable

__all__ = ["many_hot", "one_hot"]


def one_hot(values: npt.ArrayLike) -> FeatureTable:
    """Return one 1 per row, in the column of its value; columns are the distinct values, sorted."""
    distinct, column = np.unique(np.asarray(values), return_inverse=True)
    return FeatureTable.one_hot(column, len(distinct))


def many_hot(lists: Iterable[Iterable[Any]], min_rows: int = 1) -> FeatureTable:
    """Return one row of unit length per list, with the list's distinct values on.

    Columns are the distinct values, sorted, that occur in at least ``min_rows`` of the lists.
    """
    rows = [set(values) for values in lists]
    counts = Counter(value for values in rows for value in values)
    column = {value: j for j, value in enumerate(sorted(v for v, n in counts.items() if n >= min_rows))}
    on = [(i, column[value]) for i, values in enumerate(rows) for value in values if value in column]
    pairs = np.array(on, np.int64).reshape(-1, 2)
    return FeatureTable.unit_rows(pairs[:, 0], pairs[:, 1], (len(rows), len(column)))
