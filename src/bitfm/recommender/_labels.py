"""What features are called, for people to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bitfm.data.blocks import FieldSpan
from bitfm.recommender._side import CONTEXT, field_name

if TYPE_CHECKING:
    from bitfm.data import FittedColumn
    from bitfm.recommender._state import State

__all__ = ["feature_label"]


def feature_label(state: State, field: FieldSpan, feature: int) -> str:
    """Return what a feature stands for, as people know it."""
    columns: tuple[FittedColumn, ...] = state.context if field.block == CONTEXT else state.side(field.block).columns
    for column in columns:
        if field_name(column.name) == field.name:
            return column.label(feature)
    if (field.name == "id") != (field.block == "item"):
        return state.users.ids[feature]
    titles = state.items.titles
    title = None if titles is None else titles.take(np.array([feature]))[0]
    return title if title is not None else state.items.ids[feature]
