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

_TOO_LARGE = 2.0**63  # floats from here up do not fit an integer
_LATEST = 2**53  # seconds; beyond it a double no longer holds each
_WRITTEN = r"^([-+]?)[$€£¥]?\s?([0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(\.[0-9]+)?\s?[$€£¥%]?$"  # 1,299.50 or $4.99 or 12 %
_CLOCK = r"([0-9]{2})(?::?([0-9]{2})(?::?([0-9]{2})(?:[.,][0-9]+)?)?)?"
_ZONE = r"(?:Z|UTC|([+-])([0-9]{2})(?::?([0-9]{2}))?)"
_DATE = rf"^([0-9]{{4}}-?(?:[0-9]{{2}}-?[0-9]{{2}}|W[0-9]{{2}}(?:-?[1-7])?))(?:[T ]{_CLOCK}\s?{_ZONE}?)?$"
_PLAIN_VALUE = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_DATE_VALUE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?")


def as_text(values: pl.Series) -> pl.Series:
    """Return a column of any type as strings, so that the same value always reads the same.

    Whole floats read as integers, since pandas turns integers into floats where some are missing, and a time at
    midnight reads as its date. NaN is missing. Strings stay as they are.
    """
    dtype = values.dtype
    if dtype == pl.String:
        return values
    if dtype.is_float() or dtype.is_decimal():
        number = (values.cast(pl.Float64) if dtype.is_decimal() else values).fill_nan(None)
        fits = (number == number.floor()) & (number.abs() < _TOO_LARGE)
        return number.set(~fits, None).cast(pl.Int64).cast(pl.String).fill_null(number.cast(pl.String))
    if dtype == pl.Datetime:
        local = values.dt.replace_time_zone(None).cast(pl.Datetime("us"))
        return local.dt.strftime("%Y-%m-%d %H:%M:%S%.6f").str.strip_suffix(".000000").str.strip_suffix(" 00:00:00")
    if dtype in (pl.Object, pl.Binary, pl.Duration) or dtype.is_nested():
        return pl.Series(values.name, [_python_as_text(value) for value in values.to_list()], dtype=pl.String)
    return values.cast(pl.String)


def one_as_text(value: Any) -> str | None:
    """Return a single value as `as_text` reads it in a column; None if it is missing."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool | int | float | np.number | np.bool_ | bytes):
        return _python_as_text(value)
    return as_text(pl.Series([value], strict=False))[0] if not isinstance(value, Iterable) else str(value)


def as_words(values: pl.Series) -> pl.Series:
    """Return a column as text without blanks around it; empty is missing."""
    text = as_text(values).str.strip_chars()
    return text.set(text == "", None)


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
    return _filled(plain_numbers(text), text, _WRITTEN, _written_numbers)


def quantities(values: pl.Series) -> pl.Series:
    """Return what `parse_numbers` does, but also a duration in seconds and a date in seconds since 1970."""
    if values.dtype == pl.Duration:
        values = values.dt.total_microseconds() / 1e6
    elif values.dtype in (pl.Date, pl.Datetime):
        values = values.dt.epoch("us") / 1e6
    return parse_numbers(values)


def plain_numbers(values: pl.Series) -> pl.Series:
    """Return finite numbers, also of strings that are nothing but a number; null where one is anything else."""
    numbers = values.cast(pl.Float64, strict=False)
    return numbers.set(~numbers.is_finite(), None)


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
        return values.dt.epoch("s").cast(pl.Int64)
    if values.dtype.is_numeric():
        return _whole_seconds(plain_numbers(values))
    text = as_words(values)
    times = _whole_seconds(plain_numbers(text))
    return _dates(text) if times.null_count() == len(times) else _filled(times, text, _DATE, _dates)


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
    return plain_numbers(text.str.replace(_WRITTEN, "${1}${2}${3}").str.replace_all(",", "", literal=True))


def _dates(text: pl.Series) -> pl.Series:
    """Return the seconds since 1970 of strings as in ISO 8601."""
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


def _whole_seconds(numbers: pl.Series) -> pl.Series:
    return numbers.set(numbers.abs() > _LATEST, None).floor().cast(pl.Int64)


def _filled(parsed: pl.Series, text: pl.Series, pattern: str, parse: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """Return what was parsed, and in its gaps what `parse` makes of the distinct strings that fit a pattern."""
    if parsed.null_count() == text.null_count():
        return parsed
    odd = text.filter(parsed.is_null() & text.is_not_null()).unique()
    odd = odd.filter(odd.str.contains(pattern))
    if odd.is_empty():
        return parsed
    table = pl.DataFrame({"text": odd, "parsed": parse(odd)})
    texts = pl.DataFrame({"text": text})
    return parsed.fill_null(texts.join(table, on="text", how="left", maintain_order="left")["parsed"])


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
