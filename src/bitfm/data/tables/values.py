"""What a table must have, and columns as what they are used for: numbers, ids and times. Errors name the row."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bitfm.data.files import quoted
from bitfm.data.forks import few, present
from bitfm.data.formats import Choice
from bitfm.data.numbers import is_missing, read_numbers
from bitfm.data.texts import as_text, as_words, is_whole
from bitfm.data.times import read_times
from bitfm.errors import DuplicateRowsError, EmptyTableError, MissingColumnError, MixedIdsError, ValueInTableError

_MANY = 30  # names in one message


class Ids(NamedTuple):
    """Ids as strings, and whether they came as whole numbers and are to go out as such."""

    text: pl.Series
    whole: bool


def need_columns(what: str, frame: pl.DataFrame, names: Iterable[str], hint: str = "") -> None:
    """Raise an error that lists the columns there are, and says what to do, if one is missing."""
    for name in names:
        if name not in frame.columns:
            message = f"{what} has no column {quoted(name)}; {_suggestion(name, frame.columns)}"
            raise MissingColumnError(f"{message}; {hint}" if hint else message)


def need_rows(what: str, frame: pl.DataFrame) -> None:
    """Raise an error if there are no rows."""
    if not len(frame):
        raise EmptyTableError(f"{what} has no rows; expected at least one")


def need_distinct(what: str, ids: pl.Series) -> None:
    """Raise an error that names the first id that occurs twice, and its rows."""
    if (len(set(ids.to_list())) if few(len(ids)) else ids.n_unique()) == len(ids):
        return
    rows: dict[str, int] = {}
    for row, one in enumerate(ids.to_list(), 1):
        first = rows.setdefault(one, row)
        if first < row:
            raise DuplicateRowsError(
                f"{what} has {quoted(one)} in row {first} and again in row {row}; keep one row for each id"
            )


class Numbers(NamedTuple):
    """Numbers, the decimal mark that they were read with, if it was given or found, and how it was found."""

    values: NDArray[np.float64]
    decimal: str | None
    found: Choice | None


class Times(NamedTuple):
    """Times in seconds since 1970, the order of day and month, if it was given or found, and how it was found."""

    values: NDArray[np.int64]
    order: str | None
    found: Choice | None


def numbers_of(
    what: str, frame: pl.DataFrame, column: str, decimal: str | None = None, *, allow_missing: bool = False
) -> Numbers:
    """Return a column's finite numbers, or those that its strings stand for, see `parse_numbers`; NaN if missing."""
    numbers, found = read_numbers(frame[column], decimal)
    decimal = decimal if found is None else found.value
    wrong = ~present(numbers)
    if allow_missing and wrong.any():
        wrong &= ~is_missing(frame[column])
    marks = "" if decimal is None else f" with {decimal!r} as its decimal mark"
    _refuse(what, frame[column], wrong, "value", f"a finite number{marks}")
    return Numbers(numbers.to_numpy(), decimal, found)


def times_of(what: str, frame: pl.DataFrame, column: str, order: str | None = None) -> Times:
    """Return a column's times in seconds since 1970, of whatever stands for one; see `parse_times`."""
    times, found = read_times(frame[column], order)
    order = order if found is None else found.value
    orders = {None: "", "dmy": ", or one with the day first", "mdy": ", or one with the month first"}
    expected = f"seconds since 1970 or a date such as 2018-07-13 20:15:00{orders[order]}"
    _refuse(what, frame[column], ~present(times), "time", expected)
    return Times(times.to_numpy(), order, found)


def ids_of(what: str, frame: pl.DataFrame, column: str) -> Ids:
    """Return a column's ids as strings; 25 and 25.0 are "25"."""
    values, dtype = frame[column], frame[column].dtype
    if dtype == pl.Object:
        _need_one_type(what, values)
    text = as_text(values)
    if dtype.is_float() or dtype.is_decimal():
        wrong = ~is_whole(values.cast(pl.Float64).to_numpy())
    elif dtype.is_nested() or dtype == pl.Binary:
        wrong = np.ones(len(values), bool)
    else:
        wrong = ~present(as_words(text))
    _refuse(what, text if dtype == pl.Object else values, wrong, "id", "a string or a whole number")
    return Ids(text, dtype.is_numeric() and len(values) > 0)


def _need_one_type(what: str, values: pl.Series) -> None:
    """Refuse ids that are Python objects of several types."""
    present = [(row, value) for row, value in enumerate(values.to_list(), 1) if value is not None]
    for row, value in present:
        first_row, first = present[0]
        if type(value) is not type(first):
            raise MixedIdsError(
                f"{what}, column {quoted(values.name)} holds ids of several types: {quoted(first)} "
                f"({type(first).__name__}) in row {first_row}, {quoted(value)} "
                f"({type(value).__name__}) in row {row}; make all of them strings or all numbers"
            )


def _refuse(what: str, values: pl.Series, wrong: NDArray[np.bool_], thing: str, expected: str) -> None:
    """Raise an error about the first wrong value."""
    if not wrong.any():
        return
    place = int(wrong.argmax())
    value: Any = values[place]
    if value is None or (isinstance(value, float) and np.isnan(value)):
        found = "is missing"
    elif isinstance(value, str) and not value.strip():
        found = "is empty"
    else:
        found = f"is {quoted(value)}"
    where = f"{what}, column {quoted(values.name)}, row {place + 1}"
    raise ValueInTableError(f"{where}: the {thing} {found}; expected {expected}")


def _suggestion(name: str, columns: list[str]) -> str:
    if not columns:
        return "there are no columns at all"
    plain = {_plain(column): column for column in reversed(columns)}
    near = difflib.get_close_matches(_plain(name), list(plain), n=1)
    listed = ", ".join(map(quoted, columns[:_MANY]))
    listed += f" and {len(columns) - _MANY} more" if len(columns) > _MANY else ""
    if near:
        return f"did you mean {quoted(plain[near[0]])}? There are {listed}"
    no_header = all(column[:1].isdigit() for column in columns)
    hint = ", which look like values: has the file no header? Name its columns with columns= (--columns)"
    return f"there are {listed}{hint if no_header else ''}"


def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())
