"""Vectors, equally long lists of numbers, read alike however they are written: as lists, as arrays or as strings."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bitfm.data.files import quoted
from bitfm.data.forks import few
from bitfm.data.lists import numbers_in
from bitfm.data.texts import as_words, flattened
from bitfm.errors import ValueInTableError

__all__ = ["Vectors", "read_vectors", "vector_length"]

_SAMPLE = 1000  # values tell what all are
_NEARLY_ALL = 0.95
_TOO_LARGE = 1e30  # for sums of such numbers in single precision


class Vectors(NamedTuple):
    """The vectors of a column, and the rows that have one."""

    rows: NDArray[np.int64]
    numbers: NDArray[np.float32]  # one row per vector


class _Lists(NamedTuple):
    """Lists one after another; one that is empty or missing has length 0."""

    lengths: NDArray[np.int64]
    numbers: NDArray[np.float64] | NDArray[np.float32]  # NaN where one is missing


def vector_length(values: pl.Series) -> int | None:
    """Return how long the vectors of a column are; None if it holds none.

    Vectors are lists of numbers, at least one of which has a fraction or is written as if it had, and nearly all are
    equally long; other numbers in lists are the ids of something.

    Examples
    --------
    >>> vector_length(pl.Series(["[0.5, -1]", None, "[0, 0.25]"])), vector_length(pl.Series([[25, 18], [7]]))
    (2, None)
    """
    there = [value for value in values.to_list() if value is not None] if values.dtype == pl.Object else None
    if there is None:
        present = values.drop_nulls()
        there = present.gather_every(max(1, len(present) // _SAMPLE)).to_list()
    some = there[:: max(1, len(there) // _SAMPLE)]
    lengths = Counter(_length_of_floats(value) for value in some)
    length, count = lengths.most_common(1)[0] if some else (0, 0)
    return length if length > 1 and count >= _NEARLY_ALL * len(some) else None


def read_vectors(name: str, values: pl.Series, length: int | None = None) -> Vectors:
    """Return the vectors of a column, of so many finite numbers each; errors name the column and the row.

    An empty list is a missing vector.

    Examples
    --------
    >>> read_vectors("colour", pl.Series([[0.5, 1.0], None, [0.0, 2.0]]))
    Vectors(rows=array([0, 2]), numbers=array([[0.5, 1. ],
           [0. , 2. ]], dtype=float32))
    """
    lists = _lists_of(name, values)
    rows = np.flatnonzero(lists.lengths)
    lengths = lists.lengths[rows]
    if length is None:
        length = int(np.bincount(lengths).argmax()) if len(rows) else 0
    if (lengths != length).any():
        row = int(rows[(lengths != length).argmax()])
        what = f"a vector of {lists.lengths[row]:,} numbers"
        raise _refusal(name, row, what, f"{length:,}, as in other rows, or nothing where there is no vector")
    with np.errstate(over="ignore"):
        numbers = lists.numbers.astype(np.float32, copy=False).reshape(len(rows), length)
    fine = np.abs(numbers) < _TOO_LARGE
    if not fine.all():
        wrong = int((~fine).argmax())
        value = lists.numbers[wrong]
        what = "a vector with a number that is missing (NaN)" if np.isnan(value) else f"a vector with {value:g}"
        raise _refusal(name, int(rows[wrong // length]), what, f"finite numbers, up to {_TOO_LARGE:g}, or nothing")
    return Vectors(rows, numbers)


def _lists_of(name: str, values: pl.Series) -> _Lists:
    dtype = values.dtype
    if dtype != pl.Object and not few(len(values)):
        if isinstance(dtype, pl.Array):
            values = values.cast(pl.List(dtype.inner))
        elif dtype == pl.String:
            with suppress(pl.exceptions.PolarsError):  # which of them are no such lists is found out one by one
                values = as_words(values).str.json_decode(pl.List(pl.Float64))
        if isinstance(values.dtype, pl.List) and values.dtype.inner.is_numeric():
            return _Lists(values.list.len().fill_null(0).to_numpy().astype(np.int64), flattened(values).to_numpy())
    found = [_one(name, row, value) for row, value in enumerate(values.to_list())]
    return _Lists(np.array([len(one) for one in found], np.int64), np.concatenate([np.zeros(0), *found]))


def _one(name: str, row: int, value: Any) -> NDArray[np.float64]:
    """Return the numbers of one value, of whatever type."""
    listed = _written(value)
    if listed is None or (isinstance(listed, str) and not listed.strip()):
        return np.zeros(0)
    try:
        numbers = np.asarray(listed, object) if isinstance(listed, str | bytes) else np.asarray(listed, np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = np.zeros((), object)
    if numbers.dtype == object or numbers.ndim != 1:
        raise _refusal(name, row, quoted(value), "a list of numbers such as [0.5, -1.25], or nothing")
    return numbers


def _written(value: Any) -> Any:
    """Return the list that a string stands for, and anything else as it is."""
    listed = numbers_in(value) if isinstance(value, str) else None
    return value if listed is None else listed


def _length_of_floats(value: Any) -> int:
    """Return how long a list of numbers is, at least one of which is no integer; 0 for anything else."""
    listed = _written(value)
    if isinstance(listed, np.ndarray):
        return len(listed) if listed.ndim == 1 and listed.dtype.kind == "f" else 0
    if isinstance(listed, pl.Series):
        return len(listed) if listed.dtype.is_float() else 0
    if not isinstance(listed, list | tuple) or not any(isinstance(one, float | np.floating) for one in listed):
        return 0
    numbers = all(one is None or (isinstance(one, int | float | np.number) and one is not True) for one in listed)
    return len(listed) if numbers else 0


def _refusal(name: str, row: int, what: str, expected: str) -> ValueInTableError:
    return ValueInTableError(f"column {quoted(name)}, row {row + 1}: {what}; expected {expected}")
