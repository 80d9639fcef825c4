"""Frames of pandas in and out, without pyarrow, which pandas can do without and Polars' own conversion cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bitfm.data.tables._python import series_of
from bitfm.data.tables.frames import check_names

if TYPE_CHECKING:
    import polars as pl


def from_pandas(what: str, frame: Any) -> pl.DataFrame:
    """Return a Polars frame that shares numbers with the pandas frame."""
    import polars as pl

    names = [str(name) for name in frame.columns]
    columns = [frame.iloc[:, place] for place in range(len(names))]
    for level, name in enumerate(frame.index.names):
        if name is not None and str(name) not in names:
            names.append(str(name))
            columns.append(frame.index.get_level_values(level).to_series())
    check_names(what, names)
    return pl.DataFrame([from_pandas_series(name, column) for name, column in zip(names, columns, strict=True)])


def from_pandas_series(name: str, column: Any) -> pl.Series:
    """Return a column of pandas as one of Polars; NaN, NaT and NA are null there."""
    import polars as pl

    kind = type(column.dtype).__name__
    if kind == "CategoricalDtype":
        return _from_categories(name, column)
    if kind == "ArrowDtype":
        return pl.Series(name, column.array.__arrow_array__())
    if kind == "DatetimeTZDtype":
        moments = pl.Series(name, column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
        return _in_zone(moments.dt.replace_time_zone("UTC"), str(column.dt.tz))
    if isinstance(column.dtype, np.dtype) and column.dtype != object:
        return series_of(name, column.to_numpy())
    missing = column.isna().to_numpy()
    if column.dtype.kind in "iufb" and hasattr(column.dtype, "numpy_dtype"):  # numbers beside a mask
        numbers = series_of(name, column.to_numpy(dtype=column.dtype.numpy_dtype, na_value=0))
        return numbers.zip_with(~pl.Series(missing), pl.Series([None], dtype=numbers.dtype))
    values = column.to_numpy(dtype=object)
    if missing.any():
        values = values.copy()
        values[missing] = None
    return series_of(name, values)


def to_pandas(frame: pl.DataFrame) -> Any:
    """Return a pandas frame; missing numbers are NaN there."""
    import pandas as pd

    columns = {}
    for column in frame:
        if column.dtype.is_numeric() or str(column.dtype) in ("Date", "Boolean") or _is_moment(column):
            columns[column.name] = pd.Series(column.to_numpy())
        else:
            columns[column.name] = pd.Series(column.to_list(), dtype=None if len(column) else object)
    return pd.DataFrame(columns)


def _from_categories(name: str, column: Any) -> pl.Series:
    import polars as pl

    from bitfm.data.tables.values import text_of

    texts = text_of(from_pandas_series(name, column.cat.categories.to_series()))
    codes = pl.Series(column.cat.codes.to_numpy().astype(np.int64))
    return texts.gather(codes.replace(-1, None)).cast(pl.Categorical).alias(name)


def _in_zone(moments: pl.Series, zone: str) -> pl.Series:
    import polars as pl

    try:
        return moments.dt.convert_time_zone(zone)
    except pl.exceptions.PolarsError:  # such as UTC+02:00: a fixed offset, which Polars has no name for
        return moments


def _is_moment(column: pl.Series) -> bool:
    return str(column.dtype).startswith("Datetime") and getattr(column.dtype, "time_zone", None) is None
