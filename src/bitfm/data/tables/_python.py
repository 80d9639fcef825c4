"""Tables of plain Python values: a mapping of columns, or a list of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bitfm.data.tables.frames import check_names
from bitfm.errors import TableError

if TYPE_CHECKING:
    import polars as pl


def from_columns(what: str, columns: Mapping[Any, Any]) -> pl.DataFrame:
    """Return a frame of columns, each a sequence, an array or a series."""
    import polars as pl

    made = []
    for name, values in columns.items():
        if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__len__"):
            given = type(values).__name__
            raise TypeError(f"{what}, column {str(name)!r} is of type {given}; expected a list or an array of values")
        made.append(series_of(str(name), values))
    check_names(what, [series.name for series in made])
    for series in made:
        if len(series) != len(made[0]):
            raise TableError(
                f"{what} has {len(made[0])} values in column {made[0].name!r} but {len(series)} in {series.name!r}; "
                "expected as many in every column"
            )
    return pl.DataFrame(made)


def from_rows(what: str, rows: Sequence[Mapping[Any, Any]]) -> pl.DataFrame:
    """Return a frame of rows; what a row lacks is missing there."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return from_columns(what, {name: [row.get(name) for row in rows] for name in names})


def series_of(name: str, values: Any) -> pl.Series:
    """Return a column of values; those of types that do not go together stay the objects they are."""
    import polars as pl

    if isinstance(values, pl.Series):
        return values.alias(name)
    if isinstance(values, np.ndarray) and values.dtype != object:
        if values.ndim != 1:
            return pl.Series(name, values.tolist())
        return _without_nan(pl.Series(name, np.ascontiguousarray(values)))
    if hasattr(values, "isna"):  # a series or an index of pandas
        from bitfm.data.tables._pandas import from_pandas_series

        return from_pandas_series(name, values.to_series() if hasattr(values, "to_series") else values)
    if hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__"):
        return pl.Series(name, values)
    values = list(values)
    kinds = {type(value) for value in values if value is not None}
    try:
        if bool in kinds and len(kinds) > 1:
            raise TypeError  # Polars would read True as 1
        return _without_nan(pl.Series(name, values, strict=True))
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        if all(issubclass(kind, (int, float, np.number)) and kind is not bool for kind in kinds):
            return _without_nan(pl.Series(name, values, dtype=pl.Float64, strict=False))
        return pl.Series(name, values, dtype=pl.Object)


def _without_nan(series: pl.Series) -> pl.Series:
    """Python and pandas say NaN where a value is missing."""
    return series.fill_nan(None) if series.dtype.is_float() and series.is_nan().any() else series
