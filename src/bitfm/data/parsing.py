"""Columns of any type as text, as numbers and as times: one string has one meaning in all roles."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bitfm.data.forks import few, need_threads, present, with_nulls
from bitfm.data.vocabulary import Vocabulary

_BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_TOO_LARGE = 2.0**63  # floats from here up do not fit an integer
_CALENDAR = -62_135_510_400, 253_402_214_400  # seconds since 1970; a day of either end is left to zones
_LATEST = 2**53  # seconds; beyond it a double no longer holds each
BLANK = f"[{_BLANKS}]"  # as Polars strips them; Python's own has four control characters more
_WRITTEN = re.compile(  # 1,299.50 or $4.99 or 12 %
    rf"([-+]?)[$€£¥]?{BLANK}?([0-9]{{1,3}}(?:,[0-9]{{3}})+|[0-9]+)(\.[0-9]+)?{BLANK}?[$€£¥%]?"
)
_CLOCK = r"([0-9]{2})(?::?([0-9]{2})(?::?([0-9]{2})(?:[.,][0-9]+)?)?)?"
_ZONE = r"(?:Z|UTC|([+-])([0-9]{2})(?::?([0-9]{2}))?)"
_DATE = rf"^([0-9]{{4}}-?(?:[0-9]{{2}}-?[0-9]{{2}}|W[0-9]{{2}}(?:-?[1-7])?))(?:[T ]{_CLOCK}{BLANK}?{_ZONE}?)?$"
_PLAIN_VALUE = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_DATE_VALUE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?")


def as_text(values: pl.Series) -> pl.Series:
    """Return a column of any type as strings, so that the same value always reads the same.

    Whole floats read as integers, since pandas turns integers into floats where some are missing, and a time at
    midnight reads as its date. NaN is missing, and so is a time before the year 1 or after 9999. Strings stay as they
    are.
    """
    dtype = values.dtype
    if dtype == pl.String:
        return values
    if dtype.is_float() or dtype.is_decimal():
        number = values.cast(pl.Float64)
        array = number.to_numpy()
        whole = is_whole(array)
        other = _float_text(number if dtype.is_decimal() else values)
        integers = with_nulls(pl.Series(values.name, np.where(whole, array, 0).astype(np.int64)), ~whole)
        return integers.cast(pl.String).zip_with(pl.Series(whole), other)
    if isinstance(dtype, pl.Datetime):
        ticks, per_second = _ticks(values)
        seconds = ticks // per_second
        values = with_nulls(values, (seconds < _CALENDAR[0]) | (seconds >= _CALENDAR[1]))
        if dtype.time_zone not in (None, "UTC"):
            need_threads(f"a column of times in the zone {dtype.time_zone}", "give times in UTC")
        elif few(len(values)):
            moments = values.cast(pl.Datetime("us")).to_list()
            return pl.Series(values.name, [_moment_text(moment) for moment in moments], dtype=pl.String)
        local = values.dt.replace_time_zone(None).cast(pl.Datetime("us"))
        return local.dt.strftime("%Y-%m-%d %H:%M:%S%.6f").str.strip_suffix(".000000").str.strip_suffix(" 00:00:00")
    if dtype in (pl.Object, pl.Binary, pl.Duration) or dtype.is_nested():
        return pl.Series(values.name, [_python_as_text(value) for value in values.to_list()], dtype=pl.String)
    return values.cast(pl.String)


def flattened(lists: pl.Series) -> pl.Series:
    """Return the values of lists, one after another; a list that is empty or missing has none."""
    return lists.filter((lists.list.len() > 0).fill_null(False)).explode(empty_as_null=False)


def one_as_text(value: Any) -> str | None:
    """Return a single value as `as_text` reads it in a column; None if it is missing."""
    if isinstance(value, str):
        return value
    if type(value) is int:  # what most ids are that are not texts
        return str(value)
    if value is None or isinstance(value, bool | int | float | np.number | np.bool_ | bytes):
        return _python_as_text(value)
    return as_text(pl.Series([value], strict=False))[0] if not isinstance(value, Iterable) else str(value)


def as_words(values: pl.Series) -> pl.Series:
    """Return a column as text without blanks around it; empty is missing."""
    text = as_text(values)
    if few(len(text)):
        words = [None if one is None else one.strip(_BLANKS) or None for one in text.to_list()]
        return pl.Series(values.name, words, dtype=pl.String)
    text = text.str.strip_chars()
    return text.set(text == "", None)


def is_whole(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which numbers are integers of up to 64 bits."""
    return np.asarray((numbers == np.floor(numbers)) & (np.abs(numbers) < _TOO_LARGE))


def parse_numbers(values: pl.Series) -> pl.Series:
    """Return the finite numbers that values are, or that strings stand for.

    Strings are plain numbers such as ``4.99`` and ``5e-1``, or written for people: ``$4.99``, ``1,299`` and ``12 %``.
    Blanks around them do not matter. Booleans are 1 and 0. A value that is missing, infinite or not a number is null.

    Examples
    --------
    >>> parse_numbers(pl.Series(["4.99", "$4.99", "1,299", "1_000", "2018-07-13", None])).to_list()
    [4.99, 4.99, 1299.0, None, None, None]
    """
    if values.dtype.is_numeric() or values.dtype == pl.Boolean:
        return plain_numbers(values)
    text = as_words(values)
    return _filled(plain_numbers(text), text, _written_numbers)


def quantities(values: pl.Series) -> pl.Series:
    """Return what `parse_numbers` does, but also a duration in seconds and a date in seconds since 1970."""
    if values.dtype in (pl.Duration, pl.Date, pl.Datetime):
        ticks, per_second = _ticks(values)
        return with_nulls(pl.Series(values.name, ticks / per_second), ~present(values))
    return parse_numbers(values)


def plain_numbers(values: pl.Series) -> pl.Series:
    """Return finite numbers, also of strings that are nothing but a number; null where one is anything else."""
    numbers = values.cast(pl.Float64, strict=False)
    return with_nulls(numbers, ~np.isfinite(numbers.to_numpy()))


def parse_times(values: pl.Series) -> pl.Series:
    """Return times in whole seconds since 1970, UTC.

    Numbers, and strings of plain numbers, are such seconds. Other strings are dates as in ISO 8601, with or without a
    time and a zone, or week dates. Without a zone they are in UTC. A value that is missing or not a time is null.

    Examples
    --------
    >>> parse_times(pl.Series(["1970-01-02", "1970-01-01T02:00:05+02:00", "1970-W01-4", "7.5", "$4.99"])).to_list()
    [86400, 5, 0, 7, None]
    """
    if values.dtype in (pl.Date, pl.Datetime):
        ticks, per_second = _ticks(values)
        return with_nulls(pl.Series(values.name, ticks // per_second), ~present(values))
    if values.dtype.is_numeric():
        return _whole_seconds(plain_numbers(values))
    text = as_words(values)
    times = _whole_seconds(plain_numbers(text))
    return _dates(text) if times.null_count() == len(times) else _filled(times, text, _dates)


def is_date(text: pl.Series) -> pl.Series:
    """Tell which strings are dates rather than numbers."""
    return parse_times(text).is_not_null() & plain_numbers(as_words(text)).is_null()


def parse_number(value: Any) -> float | None:
    """Return what `parse_numbers` makes of a value, without the cost of a series for a plain number."""
    if isinstance(value, int | float) or (isinstance(value, str) and _PLAIN_VALUE.fullmatch(value)):
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if math.isfinite(number) else None
    parsed: float | None = parse_numbers(pl.Series([value], strict=False))[0]
    return parsed


def parse_time(value: Any) -> int | None:
    """Return what `parse_times` makes of a value, without the cost of a series for the usual forms."""
    if isinstance(value, str) and _DATE_VALUE.fullmatch(value):
        with suppress(ValueError):
            return int(datetime.fromisoformat(value).replace(tzinfo=UTC).timestamp())
    elif (isinstance(value, int | float) and not isinstance(value, bool)) or (
        isinstance(value, str) and _PLAIN_VALUE.fullmatch(value)
    ):
        number = parse_number(value)
        return math.floor(number) if number is not None and abs(number) <= _LATEST else None
    parsed: int | None = parse_times(pl.Series([value], strict=False))[0]
    return parsed


def number_text(number: float) -> str:
    """Return a number as people write it: no fraction where there is none, else up to six digits."""
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else f"{number:.6g}"


def _written_numbers(text: pl.Series) -> pl.Series:
    """Return the numbers of strings that were written for people."""
    return plain_numbers(pl.Series(text.name, [_written_number(one) for one in text.to_list()], dtype=pl.Float64))


def _written_number(text: str) -> float | None:
    found = _WRITTEN.fullmatch(text)
    return float("".join(part or "" for part in found.groups()).replace(",", "")) if found else None


def _dates(text: pl.Series) -> pl.Series:
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
    """Return what `_dates` does of one string."""
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


def _whole_seconds(numbers: pl.Series) -> pl.Series:
    array = numbers.to_numpy()
    fits = np.abs(array) <= _LATEST
    return with_nulls(pl.Series(numbers.name, np.floor(np.where(fits, array, 0)).astype(np.int64)), ~fits)


def _ticks(values: pl.Series) -> tuple[NDArray[np.int64], int]:
    """Return times since 1970, or durations, 0 where a value is null, and how many of these units a second has."""
    ticks = values.cast(pl.Int64).set(pl.Series(~present(values)), 0).to_numpy()
    unit = getattr(values.dtype, "time_unit", None)
    return (ticks * 86_400, 1) if unit is None else (ticks, {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit])


def _filled(parsed: pl.Series, text: pl.Series, parse: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """Return what was parsed, and in its gaps what `parse` makes of the distinct strings there."""
    if parsed.null_count() == text.null_count():
        return parsed
    gaps = present(text) & ~present(parsed)
    odd = text.filter(gaps)
    known = Vocabulary.of(odd)
    places = np.zeros(len(text), np.int32)
    places[gaps] = known.indices(odd)
    return parsed.zip_with(pl.Series(~gaps), parse(known.take(np.arange(len(known))))[places])


def _float_text(values: pl.Series) -> pl.Series:
    """Return floats as Python writes them; how Polars writes very large and very small ones depends on its version."""
    array = values.to_numpy()
    text = with_nulls(values.cast(pl.String), np.isnan(array))
    far = np.flatnonzero((np.abs(array) >= 1e16) | ((np.abs(array) < 1e-4) & (array != 0)))
    return text.scatter(far, [str(number) for number in array[far]]) if len(far) else text


def _moment_text(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    return moment.isoformat(" ", "microseconds").removesuffix(".000000").removesuffix(" 00:00:00")


def _python_as_text(value: Any) -> str | None:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # of pandas, which need not be installed
        return None
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, float | np.floating):
        if math.isnan(value):
            return None
        if float(value).is_integer() and abs(float(value)) < _TOO_LARGE:
            return str(int(value))
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    return str(value).encode(errors="replace").decode()  # a lone surrogate cannot go into a series
