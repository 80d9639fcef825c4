"""Which columns of the items' table are kept as they are, and as what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from bitfm.data import Category, DateParts, Ignored, Kind, MultiCategory, Number, Text, infer_kind
from bitfm.data.tables import need_columns
from bitfm.data.texts import as_text
from bitfm.data.vocabulary import Vocabulary
from bitfm.errors import ValueInTableError
from bitfm.recommender._kept.column import KeptColumn
from bitfm.recommender._kept.plain import Flags, Numbers, Times
from bitfm.recommender._kept.texts import Categories, Lists

__all__ = ["kept_columns"]

_EXACT = 2**53  # up to which doubles hold all whole numbers
_PER_VALUE = 2  # rows that a text needs on average to be kept without being asked for


def kept_columns(frame: pl.DataFrame, kinds: Mapping[str, Kind], named: Sequence[str] | None) -> list[KeptColumn]:
    """Return the columns that are named, or else all but texts that hardly repeat, and vectors."""
    if named is not None:
        need_columns("items", frame, named, "name the columns to filter by with filters=")
    names = frame.columns if named is None else list(dict.fromkeys(named))
    found = (_kept(frame[name], kinds.get(name), named is not None) for name in names)
    return [column for column in found if column is not None]


def _kept(values: pl.Series, kind: Kind | None, named: bool) -> KeptColumn | None:
    name, dtype = values.name, values.dtype
    if dtype == pl.Boolean:
        return Flags.read(name, values)
    if dtype.is_numeric() and _fits_doubles(values):
        return Numbers.read(name, values)
    if dtype in (pl.Date, pl.Datetime):
        return Times.read(name, values)
    if isinstance(dtype, pl.List | pl.Array) and dtype.inner.is_float():
        if named:
            raise ValueInTableError(f"items, column {name!r}: a filter cannot be by vectors; leave it out of filters=.")
        return None
    if isinstance(kind, Ignored):  # what is no feature may be anything
        kind = infer_kind(name, values).kind
    if isinstance(dtype, pl.List | pl.Array) or isinstance(kind, MultiCategory):
        return Lists.read(name, values, getattr(kind, "separator", None))
    if isinstance(kind, Number):
        return Numbers.read(name, values, kind.decimal)
    if isinstance(kind, DateParts):
        return Times.read(name, values, kind.order)
    if named or isinstance(kind, Category) or (not isinstance(kind, Text) and _repeats(values)):
        return Categories.read(name, values)
    return None


def _fits_doubles(values: pl.Series) -> bool:
    if not values.dtype.is_integer():
        return True
    least: Any = values.min()
    most: Any = values.max()
    return bool(least is None or (least >= -_EXACT and most <= _EXACT))


def _repeats(values: pl.Series) -> bool:
    return _PER_VALUE * len(Vocabulary.of(as_text(values))) <= len(values)
