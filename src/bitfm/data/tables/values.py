"""Columns as what they are used for: numbers, ids and times; a value that is none is an error with its row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitfm.data.parsing import as_text, parse_numbers, parse_times
from bitfm.data.tables.checks import need_columns
from bitfm.errors import MixedIdsError, ValueInTableError

if TYPE_CHECKING:
    import polars as pl


class Ids(NamedTuple):
    """Ids as strings, and whether they came as whole numbers and are to go out as such.

    Examples
    --------
    >>> import polars as pl
    >>> ids = ids_of("users", pl.DataFrame({"user": [7.0, 8.0]}), "user")
    >>> ids.text.to_list(), ids.whole
    (['7', '8'], True)
    """

    text: pl.Series
    whole: bool


def numbers_of(what: str, frame: pl.DataFrame, column: str) -> NDArray[np.float64]:
    """Return a column's finite numbers, or those that its strings stand for; see `parse_numbers`.

    Examples
    --------
    >>> import polars as pl
    >>> numbers_of("ratings", pl.DataFrame({"rating": ["5", " 2.5"]}), "rating")
    array([5. , 2.5])
    >>> numbers_of("ratings", pl.DataFrame({"rating": [5, None]}), "rating")
    Traceback (most recent call last):
    bitfm.errors.ValueInTableError: ratings, column 'rating', row 2: the value is missing; expected a finite number
    """
    need_columns(what, frame, [column])
    numbers = parse_numbers(frame[column])
    _refuse(what, frame[column], numbers.is_null().to_numpy(), "expected a finite number")
    return numbers.to_numpy()


def ids_of(what: str, frame: pl.DataFrame, column: str) -> Ids:
    """Return a column's ids as strings; 25 and 25.0 are "25".

    Examples
    --------
    >>> import polars as pl
    >>> ids_of("users", pl.DataFrame({"user": ["ann", ""]}), "user")
    Traceback (most recent call last):
    bitfm.errors.ValueInTableError: users, column 'user', row 2: the id is empty; expected a string or a whole number
    """
    import polars as pl

    need_columns(what, frame, [column])
    values = frame[column]
    expected = "expected a string or a whole number"
    if values.dtype == pl.Object:
        values = _objects_as_text(what, values)
    text = text_of(values)
    missing = text.is_null() | (text.str.strip_chars() == "")
    whole = bool(values.dtype.is_numeric()) and len(values) > 0
    wrong = missing.fill_null(True).to_numpy()
    if values.dtype.is_float() or values.dtype.is_decimal():
        wrong = wrong | text.str.contains(r"[^\d-]").fill_null(True).to_numpy()  # a point, an exponent, NaN or inf
    elif values.dtype.is_nested() or values.dtype == pl.Binary:
        wrong = np.ones(len(values), bool)
    _refuse(what, values, wrong, expected, "id")
    return Ids(text, whole)


def times_of(what: str, frame: pl.DataFrame, column: str) -> NDArray[np.int64]:
    """Return a column's times in seconds since 1970, of whatever stands for one; see `parse_times`.

    Examples
    --------
    >>> import polars as pl
    >>> times_of("ratings", pl.DataFrame({"time": ["1970-01-02", "1970-01-01T00:00:05Z"]}), "time")
    array([86400,     5])
    """
    need_columns(what, frame, [column])
    times = parse_times(frame[column])
    expected = "expected seconds since 1970 or a date such as 2018-07-13 20:15:00"
    _refuse(what, frame[column], times.is_null().to_numpy(), expected, "time")
    return times.to_numpy()


def text_of(values: pl.Series) -> pl.Series:
    """Return values as strings, as columns read them; lists and bytes, which cannot be ids, are null."""
    import polars as pl

    if values.dtype.is_nested() or values.dtype == pl.Binary:
        return pl.Series(values.name, [None] * len(values), dtype=pl.String)
    return as_text(values)


def _objects_as_text(what: str, values: pl.Series) -> pl.Series:
    """Return ids that are Python objects as strings, if they are all of one type."""
    present = [(row, value) for row, value in enumerate(values.to_list(), 1) if value is not None]
    for row, value in present:
        first_row, first = present[0]
        if type(value) is not type(first):
            raise MixedIdsError(
                f"{what}, column {values.name!r} holds ids of several types: {first!r} ({type(first).__name__}) in row "
                f"{first_row}, {value!r} ({type(value).__name__}) in row {row}; make all of them strings or all numbers"
            )
    return text_of(values)


def _refuse(what: str, values: pl.Series, wrong: NDArray[np.bool_], expected: str, thing: str = "value") -> None:
    """Raise an error about the first wrong value."""
    if not wrong.any():
        return
    place = int(np.argmax(wrong))
    value: Any = values[place]
    if value is None or (isinstance(value, float) and np.isnan(value)):
        found = "is missing"
    elif isinstance(value, str) and not value.strip():
        found = "is empty"
    else:
        found = "is " + (text if len(text := repr(value)) <= 60 else text[:57] + "...")
    raise ValueInTableError(f"{what}, column {values.name!r}, row {place + 1}: the {thing} {found}; {expected}")
