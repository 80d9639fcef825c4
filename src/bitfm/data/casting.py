"""Any column as text, and the odd values on the way."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

_TOO_LARGE = 2.0**63  # floats from here up do not fit an integer


def as_text(values: pl.Series) -> pl.Series:
    """Return a column of any type as strings, so that the same value always reads the same.

    Whole floats read as integers, since pandas turns integers into floats where some are missing, and a time at
    midnight reads as its date. NaN is missing. Strings stay as they are.

    Examples
    --------
    >>> as_text(pl.Series([25.0, None, 0.5])).to_list()
    ['25', None, '0.5']
    """
    dtype = values.dtype
    if dtype == pl.String:
        return values
    if dtype.is_float() or dtype.is_decimal():
        number = (values.cast(pl.Float64) if dtype.is_decimal() else values).fill_nan(None)
        fits = (number == number.floor()) & (number.abs() < _TOO_LARGE)
        return number.set(~fits, None).cast(pl.Int64).cast(pl.String).fill_null(number.cast(pl.String))
    if dtype == pl.Datetime:
        return _times_as_text(values)
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


def _times_as_text(values: pl.Series) -> pl.Series:
    time = pl.col("time")
    text = (
        pl.when(time == time.dt.truncate("1d"))
        .then(time.dt.strftime("%Y-%m-%d"))
        .when(time == time.dt.truncate("1s"))
        .then(time.dt.strftime("%Y-%m-%d %H:%M:%S"))
        .otherwise(time.dt.strftime("%Y-%m-%d %H:%M:%S%.6f"))
    )
    local = values.dt.replace_time_zone(None).cast(pl.Datetime("us"))
    return pl.DataFrame({"time": local}).select(text.alias(values.name)).to_series()


def _python_as_text(value: Any) -> str | None:
    if value is None or (isinstance(value, float | np.floating) and math.isnan(value)):
        return None
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, float | np.floating) and float(value).is_integer() and abs(float(value)) < _TOO_LARGE:
        return str(int(value))
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if type(value).__name__ in ("NAType", "NaTType"):  # of pandas, which need not be installed
        return None
    return str(value).encode(errors="replace").decode()  # a lone surrogate cannot go into a series
