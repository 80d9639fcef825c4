"""Times of columns: one string has one meaning wherever it occurs."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl

from bitfm.data.forks import few, gathered, present, with_nulls
from bitfm.data.formats import CLOCK, Choice, check_order, decide_order, read_clock, read_day
from bitfm.data.gaps import Gaps
from bitfm.data.iso import iso_dates
from bitfm.data.moments import ticks
from bitfm.data.numbers import PLAIN_VALUE, parse_number, plain_numbers
from bitfm.data.texts import as_words, is_text
from bitfm.data.vocabulary import Vocabulary

__all__ = ["date_order", "is_date", "parse_time", "parse_times", "read_times"]

_FARTHEST = 2**31  # characters, more than a text may have
_LATEST = 2**53  # seconds; beyond it a double no longer holds each
_DATE_VALUE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?")


def parse_times(values: pl.Series, order: str | None = None) -> pl.Series:
    """Return times in whole seconds since 1970, UTC.

    Numbers, and strings of plain numbers, are such seconds. Other strings are dates as in ISO 8601, or written for
    people (``27.11.2021``, ``07/13/2018``, ``April 20, 2016``), with or without a time and a zone; or week dates.
    Without a zone they are in UTC. A value that is missing or not a time is null.

    Parameters
    ----------
    order : "dmy", "mdy" or "ymd", optional
        Whether day or month comes first in dates such as 03/04/2018; ``"ymd"`` refuses such dates. By default the order
        in which more of the strings can be read only: see `date_order`.

    Examples
    --------
    >>> parse_times(pl.Series(["1970-01-02", "1970-01-01T02:00:05+02:00", "1970-W01-4", "7.5", "$4.99"])).to_list()
    [86400, 5, 0, 7, None]
    >>> parse_times(pl.Series(["02/01/1970", "13/01/1970", "January 2, 1970 1:00 PM"])).to_list()
    [86400, 1036800, 133200]
    """
    return read_times(values, order)[0]


def read_times(values: pl.Series, order: str | None = None) -> tuple[pl.Series, Choice | None]:
    """Return what `parse_times` does, and the order that was found, if none was given and it is open in any date."""
    if order != "ymd":
        check_order("order", order)
    if values.dtype in (pl.Date, pl.Datetime):
        since_1970, per_second = ticks(values)
        return with_nulls(pl.Series(values.name, since_1970 // per_second), ~present(values)), None
    if values.dtype.is_numeric():
        return _whole_seconds(plain_numbers(values)), None
    text, choice = as_words(values), None
    times = _plain_times(text)
    if times.null_count() == text.null_count():
        return times, None
    odd = Gaps.of(text, times)
    seconds, choice = _seconds(odd.known, order)
    return odd.filled(times, seconds), choice


def date_order(values: pl.Series) -> Choice | None:
    """Return whether day or month comes first in a column's strings, and whether they decide it; None if not open.

    Examples
    --------
    >>> date_order(pl.Series(["03/04/2018", "07/13/2018"]))
    Choice(value='mdy', decided=True, example='07/13/2018')
    >>> date_order(pl.Series(["03/04/2018"]))
    Choice(value='mdy', decided=False, example='03/04/2018')
    """
    return read_times(values)[1] if is_text(values) else None


def is_date(text: pl.Series, order: str | None = None) -> pl.Series:
    """Tell which strings are dates rather than numbers."""
    return parse_times(text, order).is_not_null() & plain_numbers(as_words(text)).is_null()


def parse_time(value: Any, order: str | None = None) -> int | None:
    """Return what `parse_times` makes of a value, without the cost of a series for the usual forms."""
    if isinstance(value, str) and _DATE_VALUE.fullmatch(value):
        with suppress(ValueError):
            return int(datetime.fromisoformat(value).replace(tzinfo=UTC).timestamp())
    elif (isinstance(value, int | float) and not isinstance(value, bool)) or (
        isinstance(value, str) and PLAIN_VALUE.fullmatch(value)
    ):
        number = parse_number(value)
        return math.floor(number) if number is not None and abs(number) <= _LATEST else None
    parsed: int | None = parse_times(pl.Series([value], strict=False), order)[0]
    return parsed


def _plain_times(text: pl.Series) -> pl.Series:
    """Return the seconds since 1970 of strings that are plain numbers, or dates as in ISO 8601."""
    times = _whole_seconds(plain_numbers(text))
    if times.null_count() == len(times):
        return iso_dates(text)
    if times.null_count() == text.null_count():
        return times
    odd = Gaps.of(text, times)
    return odd.filled(times, iso_dates(odd.known))


def _seconds(text: pl.Series, order: str | None) -> tuple[pl.Series, Choice | None]:
    """Return what `read_times` does of strings as people write them, reading each date and each time of day once."""
    parts = _parted(text)
    known = [Vocabulary.of(part) for part in parts]
    dates, clocks = (each.take(np.arange(len(each))).to_list() for each in known)
    date, clock = (each.indices(part) for each, part in zip(known, parts, strict=True))
    days = [read_day(one) for one in dates]
    within = _integers([read_clock(one) for one in clocks])
    choice = None
    if order is None:
        timed = np.zeros(len(days), bool)
        timed[date[present(within)[clock]]] = True
        choice = decide_order((dates[n], day) for n, day in enumerate(days) if day is not None and timed[n])
        order = "mdy" if choice is None else choice.value
    midnights = _integers([None if day is None else day.at(order) for day in days]) * 86_400
    return gathered(midnights, date) + gathered(within, clock), choice


def _integers(numbers: list[int | None]) -> pl.Series:
    return pl.Series(numbers, dtype=pl.Int64)


def _parted(text: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return the dates of strings, and what comes after them: a time of day, or else nothing."""
    if few(len(text)):
        found = [(one, re.search(CLOCK, one, re.IGNORECASE)) for one in text.to_list()]
        parted = [(one[: at.start()], one[at.start() :]) if at else (one, "") for one, at in found]
        dates, clocks = ([part[which] for part in parted] for which in (0, 1))
        return pl.Series(dates, dtype=pl.String), pl.Series(clocks, dtype=pl.String)
    # In bytes, of which what is a date has one per character.
    begin = text.str.find(f"(?i){CLOCK}").fill_null(_FARTHEST)
    return text.str.slice(0, begin), text.str.slice(begin)


def _whole_seconds(numbers: pl.Series) -> pl.Series:
    array = numbers.to_numpy()
    fits = np.abs(array) <= _LATEST
    return with_nulls(pl.Series(numbers.name, np.floor(np.where(fits, array, 0)).astype(np.int64)), ~fits)
