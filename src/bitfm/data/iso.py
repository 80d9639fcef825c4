"""Dates as in ISO 8601, with or without a time and a zone, and week dates."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from bitfm.data.forks import few
from bitfm.data.formats import BLANK

__all__ = ["iso_dates"]

_CLOCK = r"([0-9]{2})(?::?([0-9]{2})(?::?([0-9]{2})(?:[.,][0-9]+)?)?)?"
_ZONE = r"(?:Z|UTC|([+-])([0-9]{2})(?::?([0-9]{2}))?)"
_DATE = rf"^([0-9]{{4}}-?(?:[0-9]{{2}}-?[0-9]{{2}}|W[0-9]{{2}}(?:-?[1-7])?))(?:[T ]{_CLOCK}{BLANK}?{_ZONE}?)?$"


def iso_dates(text: pl.Series) -> pl.Series:
    """Return the seconds since 1970 of strings as in ISO 8601."""
    if few(len(text)):
        return pl.Series(text.name, [None if one is None else _date(one) for one in text.to_list()], dtype=pl.Int64)
    groups = text.str.extract_groups(_DATE).struct
    day = groups.field("1").str.to_date("%Y-%m-%d", strict=False)
    if day.null_count() > text.null_count():
        digits = groups.field("1").str.replace_all("-", "", literal=True)
        week = digits.str.replace(r"^([0-9]{4}W[0-9]{2})$", "${1}1")
        day = day.fill_null(digits.str.to_date("%Y%m%d", strict=False))
        day = day.fill_null(week.str.to_date("%GW%V%u", strict=False))
    seconds = day.dt.epoch("s").cast(pl.Int64)
    hour, minute, second, hours, minutes = (groups.field(group).cast(pl.Int64).fill_null(0) for group in "23467")
    seconds = seconds.set((hour > 23) | (minute > 59) | (second > 60) | (hours > 23) | (minutes > 59), None)
    east = (hours * 60 + minutes) * 60
    east = east.zip_with((groups.field("5") == "+").fill_null(True), -east)
    return (seconds + (hour * 60 + minute) * 60 + second - east).alias(text.name)


def _date(text: str) -> int | None:
    """Return what `iso_dates` does of one string."""
    found = re.fullmatch(_DATE, text)
    if found is None:
        return None
    date = found[1].replace("-", "")
    hour, minute, second, hours, minutes = (int(found[group] or 0) for group in (2, 3, 4, 6, 7))
    if hour > 23 or minute > 59 or second > 60 or hours > 23 or minutes > 59:
        return None
    try:
        day = _week_day(date) if "W" in date else _day(f"{date[:4]}-{date[4:6]}-{date[6:]}")
    except ValueError:
        return None
    east = (hours * 60 + minutes) * 60
    return ((day * 24 + hour) * 60 + minute) * 60 + second - (-east if found[5] == "-" else east)


def _day(date: str) -> int:
    """Return a day since 1970, also of the year 0, which Python has not."""
    return int(np.datetime64(date, "D").astype(np.int64))


def _week_day(date: str) -> int:
    """Return the day since 1970 of a week date such as 2018W285, or of its Monday."""
    week, weekday = int(date[5:7]), int(date[7:] or 1)
    begin, end = (
        fourth - (fourth + 3) % 7 for fourth in (_day(f"{int(date[:4]) + later:04}-01-04") for later in (0, 1))
    )
    day = begin + 7 * (week - 1) + weekday - 1
    if not begin <= day < end:
        raise ValueError(f"{date} is no day of a week of its year")
    return day
