"""Dates, times and durations as frames have them: as whole numbers and as text."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bitfm.data.forks import few, need_threads, present, with_nulls

__all__ = ["moments_as_text", "ticks"]

_CALENDAR = -62_135_510_400, 253_402_214_400  # seconds since 1970; a day of either end is left to zones


def moments_as_text(values: pl.Series) -> pl.Series:
    """Return times as text, those at midnight as dates; one before the year 1 or after 9999 is missing."""
    assert isinstance(values.dtype, pl.Datetime)
    zone = values.dtype.time_zone
    since_1970, per_second = ticks(values)
    seconds = since_1970 // per_second
    values = with_nulls(values, (seconds < _CALENDAR[0]) | (seconds >= _CALENDAR[1]))
    if zone not in (None, "UTC"):
        need_threads(f"a column of times in the zone {zone}", "give times in UTC")
    elif few(len(values)):
        moments = values.cast(pl.Datetime("us")).to_list()
        return pl.Series(values.name, [_moment_text(moment) for moment in moments], dtype=pl.String)
    local = values.dt.replace_time_zone(None).cast(pl.Datetime("us"))
    return local.dt.strftime("%Y-%m-%d %H:%M:%S%.6f").str.strip_suffix(".000000").str.strip_suffix(" 00:00:00")


def ticks(values: pl.Series) -> tuple[NDArray[np.int64], int]:
    """Return times since 1970, or durations, 0 where a value is null, and how many of these units a second has."""
    found = values.cast(pl.Int64).set(pl.Series(~present(values)), 0).to_numpy()
    unit = getattr(values.dtype, "time_unit", None)
    return (found * 86_400, 1) if unit is None else (found, {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit])


def _moment_text(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    return moment.isoformat(" ", "microseconds").removesuffix(".000000").removesuffix(" 00:00:00")
