"""Numbers of columns: one string has one meaning wherever it occurs."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bitfm.data.forks import few, present, with_nulls
from bitfm.data.formats import Choice, check_decimal, decide_decimal, read_number
from bitfm.data.gaps import Gaps
from bitfm.data.moments import ticks
from bitfm.data.texts import as_words, is_text
from bitfm.data.vocabulary import Vocabulary

__all__ = [
    "MISSING",
    "PLAIN_VALUE",
    "decimal_mark",
    "is_missing",
    "number_text",
    "parse_number",
    "parse_numbers",
    "plain_numbers",
    "quantities",
    "read_numbers",
    "read_quantities",
]

MISSING = ("NA", "N/A", "NaN", "nan", "null", "NULL", "None", r"\N")  # in a column of numbers
PLAIN_VALUE = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


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
    odd = Gaps.of(text, numbers)
    found = None if decimal == "," else [(one, read_number(one, ".")) for one in odd.texts]
    if decimal is None and found is not None:
        choice = _decimal(text, numbers, found)
        decimal = "." if choice is None else choice.value
    if decimal == "," or found is None:
        pointed = _pointed(text) & present(numbers)
        if pointed.any():
            numbers = with_nulls(numbers, pointed)
            odd = Gaps.of(text, numbers)
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
    return read_numbers(values)[1] if is_text(values) else None


def quantities(values: pl.Series, decimal: str | None = None) -> pl.Series:
    """Return what `parse_numbers` does, but also a duration in seconds and a date in seconds since 1970."""
    return read_quantities(values, decimal)[0]


def read_quantities(values: pl.Series, decimal: str | None = None) -> tuple[pl.Series, Choice | None]:
    """Return what `quantities` does, and the decimal mark that was found, if none was given and there is any."""
    if values.dtype in (pl.Duration, pl.Date, pl.Datetime):
        since_1970, per_second = ticks(values)
        return with_nulls(pl.Series(values.name, since_1970 / per_second), ~present(values)), None
    return read_numbers(values, decimal)


def plain_numbers(values: pl.Series) -> pl.Series:
    """Return finite numbers, also of strings that are nothing but a number; null where one is anything else."""
    numbers = values.cast(pl.Float64, strict=False)
    return with_nulls(numbers, ~np.isfinite(numbers.to_numpy()))


def is_missing(values: pl.Series) -> NDArray[np.bool_]:
    """Tell which values are none: null, NaN, empty strings, and words such as NA in a column of numbers."""
    if values.dtype.is_float():
        return np.asarray(np.isnan(values.to_numpy()))  # which has NaN for null
    if not is_text(values):
        return ~present(values)
    words = as_words(values)
    named = np.zeros(len(words), bool)
    for word in MISSING:
        named |= pl.Series(named).set(words == word, True).to_numpy()
    return np.asarray(~present(words) | named)


def parse_number(value: Any, decimal: str | None = None) -> float | None:
    """Return what `parse_numbers` makes of a value, without the cost of a series for a plain number."""
    if isinstance(value, int | float) or (decimal != "," and isinstance(value, str) and PLAIN_VALUE.fullmatch(value)):
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if math.isfinite(number) else None
    parsed: float | None = parse_numbers(pl.Series([value], strict=False), decimal)[0]
    return parsed


def number_text(number: float) -> str:
    """Return a number as people write it: no fraction where there is none, else up to six digits."""
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else f"{number:.6g}"


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
