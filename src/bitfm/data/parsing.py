"""Columns of any type as text, as numbers and as times: one string has one meaning in all roles."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bitfm.data.forks import few, gathered, need_threads, present, with_nulls
from bitfm.data.formats import (
    BLANKS,
    CLOCK,
    Choice,
    check_decimal,
    check_order,
    decide_decimal,
    decide_order,
    read_clock,
    read_day,
    read_number,
)
from bitfm.data.iso import iso_dates
from bitfm.data.vocabulary import Vocabulary

MISSING = ("NA", "N/A", "NaN", "nan", "null", "NULL", "None", r"\N")  # in a column of numbers
_TOO_LARGE = 2.0**63  # floats from here up do not fit an integer
_LEAST_PLAIN, _LARGEST_PLAIN = 1e-4, 1e16  # floats that are written without an exponent
_CALENDAR = -62_135_510_400, 253_402_214_400  # seconds since 1970; a day of either end is left to zones
_FARTHEST = 2**31  # characters, more than a text may have
_LATEST = 2**53  # seconds; beyond it a double no longer holds each
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
    if _is_nothing(value) or isinstance(value, bool | int | float | np.number | np.bool_ | bytes):
        return _python_as_text(value)
    return as_text(pl.Series([value], strict=False))[0] if not isinstance(value, Iterable) else str(value)


def as_words(values: pl.Series) -> pl.Series:
    """Return a column as text without blanks around it; empty is missing."""
    text = as_text(values)
    if few(len(text)):
        words = [None if one is None else one.strip(BLANKS) or None for one in text.to_list()]
        return pl.Series(values.name, words, dtype=pl.String)
    text = text.str.strip_chars()
    return text.set(text == "", None)


def is_whole(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which numbers are integers of up to 64 bits."""
    return np.asarray((numbers == np.floor(numbers)) & (np.abs(numbers) < _TOO_LARGE))


def parse_numbers(values: pl.Series, decimal: str | None = None) -> pl.Series:
    """Return the finite numbers that values are, or that strings stand for.

    Strings are plain numbers such as ``4.99`` and ``5e-1``, or written for people: ``$4.99``, ``1,299``, ``1.234,50 €``
    and ``12 %``. Blanks around them do not matter. Booleans are 1 and 0. A value that is missing, infinite or not a
    number is null.

    Parameters
    ----------
    decimal : "." or ",", optional
        The decimal mark. By default the one that more of the strings can be read with only: see `decimal_mark`.

    Examples
    --------
    >>> parse_numbers(pl.Series(["4.99", "$4.99", "1,299", "1_000", "2018-07-13", None])).to_list()
    [4.99, 4.99, 1299.0, None, None, None]
    >>> parse_numbers(pl.Series(["17,94", "1.299", "1.234,50 €"])).to_list()
    [17.94, 1299.0, 1234.5]
    """
    return read_numbers(values, decimal)[0]


def read_numbers(values: pl.Series, decimal: str | None = None) -> tuple[pl.Series, Choice | None]:
    """Return what `parse_numbers` does, and the decimal mark that was found, if none was given and there is any."""
    check_decimal("decimal", decimal)
    if values.dtype.is_numeric() or values.dtype == pl.Boolean:
        return plain_numbers(values), None
    text, choice = as_words(values), None
    numbers = plain_numbers(text)
    if decimal != "," and numbers.null_count() == text.null_count():  # there is no comma in any of them
        return numbers, _decimal(text, numbers, []) if decimal is None else None
    odd = _Gaps.of(text, numbers)
    found = None if decimal == "," else [(one, read_number(one, ".")) for one in odd.texts]
    if decimal is None and found is not None:
        choice = _decimal(text, numbers, found)
        decimal = "." if choice is None else choice.value
    if decimal == "," or found is None:
        pointed = _pointed(text) & present(numbers)
        if pointed.any():
            numbers = with_nulls(numbers, pointed)
            odd = _Gaps.of(text, numbers)
        found = [(one, read_number(one, ",")) for one in odd.texts]
    read = pl.Series(text.name, [number for _, number in found], dtype=pl.Float64)
    return odd.filled(numbers, plain_numbers(read)), choice


def decimal_mark(values: pl.Series) -> Choice | None:
    """Return the decimal mark of a column's strings, and whether they decide it; None if none has a mark.

    Examples
    --------
    >>> decimal_mark(pl.Series(["1.299", "17,94", "5"]))
    Choice(value=',', decided=True, example='17,94')
    >>> decimal_mark(pl.Series(["1,299"]))
    Choice(value='.', decided=False, example='1,299')
    """
    return read_numbers(values)[1] if _is_text(values) else None


def quantities(values: pl.Series, decimal: str | None = None) -> pl.Series:
    """Return what `parse_numbers` does, but also a duration in seconds and a date in seconds since 1970."""
    return read_quantities(values, decimal)[0]


def read_quantities(values: pl.Series, decimal: str | None = None) -> tuple[pl.Series, Choice | None]:
    """Return what `quantities` does, and the decimal mark that was found, if none was given and there is any."""
    if values.dtype in (pl.Duration, pl.Date, pl.Datetime):
        ticks, per_second = _ticks(values)
        return with_nulls(pl.Series(values.name, ticks / per_second), ~present(values)), None
    return read_numbers(values, decimal)


def plain_numbers(values: pl.Series) -> pl.Series:
    """Return finite numbers, also of strings that are nothing but a number; null where one is anything else."""
    numbers = values.cast(pl.Float64, strict=False)
    return with_nulls(numbers, ~np.isfinite(numbers.to_numpy()))


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
        ticks, per_second = _ticks(values)
        return with_nulls(pl.Series(values.name, ticks // per_second), ~present(values)), None
    if values.dtype.is_numeric():
        return _whole_seconds(plain_numbers(values)), None
    text, choice = as_words(values), None
    times = _plain_times(text)
    if times.null_count() == text.null_count():
        return times, None
    odd = _Gaps.of(text, times)
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
    return read_times(values)[1] if _is_text(values) else None


def is_date(text: pl.Series, order: str | None = None) -> pl.Series:
    """Tell which strings are dates rather than numbers."""
    return parse_times(text, order).is_not_null() & plain_numbers(as_words(text)).is_null()


def is_missing(values: pl.Series) -> NDArray[np.bool_]:
    """Tell which values are none: null, NaN, empty strings, and words such as NA in a column of numbers."""
    if values.dtype.is_float():
        return np.asarray(np.isnan(values.to_numpy()))  # which has NaN for null
    if not _is_text(values):
        return ~present(values)
    words = as_words(values)
    named = np.zeros(len(words), bool)
    for word in MISSING:
        named |= pl.Series(named).set(words == word, True).to_numpy()
    return np.asarray(~present(words) | named)


def parse_number(value: Any, decimal: str | None = None) -> float | None:
    """Return what `parse_numbers` makes of a value, without the cost of a series for a plain number."""
    if isinstance(value, int | float) or (decimal != "," and isinstance(value, str) and _PLAIN_VALUE.fullmatch(value)):
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if math.isfinite(number) else None
    parsed: float | None = parse_numbers(pl.Series([value], strict=False), decimal)[0]
    return parsed


def parse_time(value: Any, order: str | None = None) -> int | None:
    """Return what `parse_times` makes of a value, without the cost of a series for the usual forms."""
    if isinstance(value, str) and _DATE_VALUE.fullmatch(value):
        with suppress(ValueError):
            return int(datetime.fromisoformat(value).replace(tzinfo=UTC).timestamp())
    elif (isinstance(value, int | float) and not isinstance(value, bool)) or (
        isinstance(value, str) and _PLAIN_VALUE.fullmatch(value)
    ):
        number = parse_number(value)
        return math.floor(number) if number is not None and abs(number) <= _LATEST else None
    parsed: int | None = parse_times(pl.Series([value], strict=False), order)[0]
    return parsed


def number_text(number: float) -> str:
    """Return a number as people write it: no fraction where there is none, else up to six digits."""
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else f"{number:.6g}"


def _is_text(values: pl.Series) -> bool:
    return values.dtype in (pl.String, pl.Object, pl.Categorical, pl.Enum)


def _decimal(text: pl.Series, numbers: pl.Series, odd: list[tuple[str, float | None]]) -> Choice | None:
    """Return the decimal mark of strings, of which some are plain numbers and the others odd."""

    def plain() -> list[str]:
        pointed = text.filter(_pointed(text) & present(numbers))
        known = Vocabulary.of(pointed)
        return known.take(np.arange(len(known))).to_list()

    return decide_decimal(odd, plain)


def _pointed(text: pl.Series) -> NDArray[np.bool_]:
    """Tell which strings have a point."""
    if few(len(text)):
        return np.array([one is not None and "." in one for one in text.to_list()], bool)
    return text.str.contains(".", literal=True).fill_null(False).to_numpy()


def _plain_times(text: pl.Series) -> pl.Series:
    """Return the seconds since 1970 of strings that are plain numbers, or dates as in ISO 8601."""
    times = _whole_seconds(plain_numbers(text))
    if times.null_count() == len(times):
        return iso_dates(text)
    if times.null_count() == text.null_count():
        return times
    odd = _Gaps.of(text, times)
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


def _ticks(values: pl.Series) -> tuple[NDArray[np.int64], int]:
    """Return times since 1970, or durations, 0 where a value is null, and how many of these units a second has."""
    ticks = values.cast(pl.Int64).set(pl.Series(~present(values)), 0).to_numpy()
    unit = getattr(values.dtype, "time_unit", None)
    return (ticks * 86_400, 1) if unit is None else (ticks, {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit])


class _Gaps(NamedTuple):
    """The strings of a column that were not read, each of them once, and where they are."""

    where: NDArray[np.bool_]
    known: pl.Series
    places: NDArray[np.int32]

    @classmethod
    def of(cls, text: pl.Series, parsed: pl.Series) -> _Gaps:
        where = present(text) & ~present(parsed)
        odd = text.filter(where)
        known = Vocabulary.of(odd)
        places = np.zeros(len(text), np.int32)
        places[where] = known.indices(odd)
        return cls(where, known.take(np.arange(len(known))), places)

    @property
    def texts(self) -> list[str]:
        return self.known.to_list()

    def filled(self, parsed: pl.Series, found: pl.Series) -> pl.Series:
        """Return what was parsed, and in its gaps what was found of the strings there."""
        return parsed if not len(self.known) else parsed.zip_with(pl.Series(~self.where), found[self.places])


def _float_text(values: pl.Series) -> pl.Series:
    """Return floats as Python writes them; how Polars writes very large and very small ones depends on its version."""
    array = values.to_numpy()
    text = with_nulls(values.cast(pl.String), np.isnan(array))
    size = np.abs(array.astype(np.float64))  # 1e-4 in single precision is below it, and has another text
    far = np.flatnonzero((size >= _LARGEST_PLAIN) | ((size < _LEAST_PLAIN) & (size != 0)))
    return text.scatter(far, [str(number) for number in array[far]]) if len(far) else text


def _moment_text(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    return moment.isoformat(" ", "microseconds").removesuffix(".000000").removesuffix(" 00:00:00")


def _is_nothing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType")  # of pandas, which need not be installed


def _python_as_text(value: Any) -> str | None:
    if _is_nothing(value):
        return None
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, float | np.floating):
        if math.isnan(value):
            return None
        if float(value).is_integer() and abs(float(value)) < _TOO_LARGE:
            return str(int(value))
        if _LEAST_PLAIN <= abs(float(value)) < _LARGEST_PLAIN:  # NumPy's own text depends on its version
            return np.format_float_positional(value, trim="-")
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    return str(value).encode(errors="replace").decode()  # a lone surrogate cannot go into a series
