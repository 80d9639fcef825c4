"""Any column as times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bitfm.data.casting import as_words
from bitfm.data.columns._numbers import as_numbers

if TYPE_CHECKING:
    import polars as pl

_ISO = r"^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?\s?(?:Z|UTC|[+-]\d{2}(?::?\d{2})?)?)?$"
_FIRST, _LAST = -62_135_596_800, 253_402_300_799  # seconds since 1970 of the years 1 and 9999


def as_times(values: pl.Series) -> pl.Series:
    """Return a column of any type as times on the clock of their place, null where a value is none.

    Numbers, and strings of numbers, are seconds since 1970.
    """
    import polars as pl

    dtype = values.dtype
    if dtype == pl.Datetime:
        return values.dt.replace_time_zone(None).cast(pl.Datetime("us"))
    if dtype == pl.Date:
        return values.cast(pl.Datetime("us"))
    if dtype.is_numeric():
        return _of_seconds(values)
    if dtype.is_temporal() or dtype == pl.Boolean:
        return pl.Series(values.name, [None] * len(values), dtype=pl.Datetime("us"))
    text = as_words(values)
    return _of_iso(text).fill_null(_of_seconds(text))


def is_iso(text: pl.Series) -> pl.Series:
    """Tell which strings are dates, or dates and times, as ISO 8601 writes them."""
    return _of_iso(text).is_not_null()


def _of_seconds(values: pl.Series) -> pl.Series:
    import polars as pl

    seconds = pl.Series(values.name, as_numbers(values)).fill_nan(None)
    seconds = seconds.set((seconds < _FIRST) | (seconds > _LAST), None)
    return (seconds * 1e6).cast(pl.Int64).cast(pl.Datetime("us"))


def _of_iso(text: pl.Series) -> pl.Series:
    import polars as pl

    groups = text.str.extract_groups(_ISO).struct
    day = groups.field("1").str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us"))
    hour, minute, second = (groups.field(group).cast(pl.Int64).fill_null(0) for group in "234")
    day = day.set((hour > 23) | (minute > 59) | (second > 60), None)
    past_midnight = (((hour * 60 + minute) * 60 + second) * 1_000_000).cast(pl.Duration("us"))
    return (day + past_midnight).alias(text.name)
