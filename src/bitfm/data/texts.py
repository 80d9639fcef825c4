"""Columns of any type as text: the same value always reads the same."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bitfm.data.forks import few, with_nulls
from bitfm.data.formats import BLANKS
from bitfm.data.moments import moments_as_text

__all__ = ["as_text", "as_words", "flattened", "is_text", "is_whole", "one_as_text"]

_TOO_LARGE = 2.0**63  # floats from here up do not fit an integer
_LEAST_PLAIN, _LARGEST_PLAIN = 1e-4, 1e16  # floats that are written without an exponent


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
        return moments_as_text(values)
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
    bare = text.str.strip_chars()
    if bare.equals(text):  # then there need not be two of them in memory
        bare = text
    empty = bare == ""
    return bare.set(empty, None) if empty.any() else bare


def is_whole(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which numbers are integers of up to 64 bits."""
    return np.asarray((numbers == np.floor(numbers)) & (np.abs(numbers) < _TOO_LARGE))


def is_text(values: pl.Series) -> bool:
    """Tell whether a column has strings."""
    return values.dtype in (pl.String, pl.Object, pl.Categorical, pl.Enum)


def _float_text(values: pl.Series) -> pl.Series:
    """Return floats as Python writes them; how Polars writes very large and very small ones depends on its version."""
    array = values.to_numpy()
    text = with_nulls(values.cast(pl.String), np.isnan(array))
    size = np.abs(array.astype(np.float64))  # 1e-4 in single precision is below it, and has another text
    far = np.flatnonzero((size >= _LARGEST_PLAIN) | ((size < _LEAST_PLAIN) & (size != 0)))
    return text.scatter(far, [str(number) for number in array[far]]) if len(far) else text


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
