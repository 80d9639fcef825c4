"""What is added to the scores of items: a number times a column, or a number per item."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.data.tables import as_frame, ids_of, need_columns, numbers_of
from bitfm.recommender._ids import warn_of_unknown
from bitfm.recommender._state import State
from bitfm.recommender._where import kept_column

__all__ = ["boosts_of"]


def boosts_of(state: State, boost: Any) -> npt.NDArray[np.float32]:
    """Return what is added to the score of each item."""
    if isinstance(boost, str):
        boost = {boost: 1.0}
    if hasattr(boost, "columns"):
        return _checked(_of_table(state, boost))
    if not isinstance(boost, Mapping):
        expected = 'a column, a mapping such as {"margin": 0.1}, or a number for each of some ids'
        raise TypeError(f"boost: expected {expected}; got {type(boost).__name__}.")
    for name, value in boost.items():
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not math.isfinite(value):
            raise ValueError(f"boost: expected a number for {name!r}, got {value!r}.")
    columns = {column.name for column in state.items.kept}
    if not columns & set(boost) and len(boost):
        ids = state.items.indices_of(list(boost))
        if (ids >= 0).any():
            warn_of_unknown("boost", "item", list(boost), ids, "passed over")
            return _checked(_of_ids(state, ids, np.array(list(boost.values()), np.float64)))
    total = np.zeros(len(state.items))
    for name, weight in boost.items():
        column = kept_column(state.items, "boost", name)
        try:
            total += float(weight) * column.numbers()
        except ValueError as error:
            raise ValueError(f"boost: {error}") from None
    return _checked(total)


def _of_table(state: State, table: Any) -> npt.NDArray[np.float64]:
    """Return the numbers of a table of ids and, in its other column, numbers."""
    frame, _ = as_frame("boost", table)
    item = state.items.id_column
    need_columns("boost", frame, [item])
    others = [name for name in frame.columns if name != item]
    if len(others) != 1:
        raise ValueError(f"boost: expected a table of {item!r} and one column of numbers; got {frame.columns}.")
    ids = ids_of("boost", frame, item).text
    indices = state.items.ids.indices(ids)
    warn_of_unknown("boost", "item", ids.to_list(), indices, "passed over")
    return _of_ids(state, indices, numbers_of("boost", frame, others[0])[0])


def _of_ids(state: State, indices: npt.NDArray[np.int32], values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    boosts = np.zeros(len(state.items))
    boosts[indices[indices >= 0]] = values[indices >= 0]
    return boosts


def _checked(boosts: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    with np.errstate(over="ignore"):
        found = boosts.astype(np.float32)
    if not np.isfinite(found).all():
        raise ValueError("boost: it adds up to more than single precision holds; scale it down.")
    return found
