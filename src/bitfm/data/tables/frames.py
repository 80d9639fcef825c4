"""Frames of several libraries come in as Polars frames, and results go out as the library's own."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np
import polars as pl

from bitfm.data.files import quoted
from bitfm.data.forks import few, gathered, need_threads, with_nulls
from bitfm.data.tables._dialect import CELL_BYTES
from bitfm.data.texts import as_text, flattened
from bitfm.errors import TableError, ValueInTableError
from bitfm.validation import check_count


class FrameKind(Enum):
    """The library that a frame came from, and that results go back to."""

    POLARS = "polars"
    PANDAS = "pandas"
    ARROW = "arrow"


def as_frame(what: str, given: Any, decimal: str | None = None) -> tuple[pl.DataFrame, FrameKind]:
    """Take a user's table, called `what` in messages, as a Polars frame, without a copy where its library allows.

    It is a frame of Polars (lazy or not), pandas or Arrow, a mapping of names to columns, a sequence of rows, or the
    path of a file. The index of a pandas frame becomes a column if it has a name, and a column of Python objects of
    several types keeps them (Polars' ``Object``). ``decimal`` is that of `read_table`.
    """
    frame, kind = _converted(what, given, decimal)
    check_count(what, len(frame), "rows", error=TableError)
    for column in frame:
        if column.estimated_size() > CELL_BYTES:
            _need_short_texts(what, column)
    return frame, kind


def _converted(what: str, given: Any, decimal: str | None) -> tuple[pl.DataFrame, FrameKind]:
    if isinstance(given, pl.DataFrame):
        return given, FrameKind.POLARS
    if isinstance(given, pl.LazyFrame):
        need_threads(f"{what}, a lazy frame,", "collect it before the fork")
        return given.collect(), FrameKind.POLARS
    pandas = sys.modules.get("pandas")  # who has a frame of it has imported it
    if pandas is not None and isinstance(given, pandas.DataFrame):
        return _from_pandas(what, given), FrameKind.PANDAS
    if isinstance(given, (str, os.PathLike)):
        from bitfm.data.tables.read import read_table

        return read_table(os.fspath(given), decimal=decimal), FrameKind.POLARS
    if hasattr(given, "__arrow_c_stream__") and not isinstance(given, pl.Series):
        return _from_arrow(what, given), FrameKind.ARROW
    if isinstance(given, Mapping):
        return _from_columns(what, given), FrameKind.POLARS
    if isinstance(given, (list, tuple)) and all(isinstance(row, Mapping) for row in given):
        return from_rows(what, given), FrameKind.POLARS
    raise TypeError(
        f"{what} is of type {type(given).__name__}; expected a frame of Polars, pandas or Arrow, a mapping of names "
        "to columns, a list of rows, each a mapping, or a path"
    )


def _need_short_texts(what: str, column: pl.Series) -> None:
    """Refuse a text that is no id and no category: a fit has several copies of each."""
    listed = isinstance(column.dtype, pl.List)
    if (column.dtype.inner if isinstance(column.dtype, pl.List) else column.dtype) != pl.String:
        return
    if few(len(column)):
        texts = (text for one in column.to_list() for text in ((one or ()) if listed else (one,)))
        sizes = np.array([len((text or "").encode()) for text in texts], np.int64)
    else:
        sizes = (flattened(column) if listed else column).str.len_bytes().fill_null(0).to_numpy()
    longest = int(sizes.argmax()) if len(sizes) else 0
    if sizes.max(initial=0) > CELL_BYTES:
        where = f"{what}, column {quoted(column.name)}" + ("" if listed else f", row {longest + 1}")
        told = f"a text of {sizes[longest] >> 20:,} MiB, but one has {CELL_BYTES >> 20} at most"
        raise ValueInTableError(f"{where}: {told}; leave it out, or cut it")


def in_kind(frame: pl.DataFrame, kind: FrameKind) -> Any:
    """Return a frame of this library, or the Polars frame as it is if the library is not installed."""
    try:
        if kind is FrameKind.PANDAS:
            return _to_pandas(frame)
        if kind is FrameKind.ARROW:
            return _to_arrow(frame)
    except ImportError:
        pass
    return frame


def from_rows(what: str, rows: Sequence[Mapping[Any, Any]]) -> pl.DataFrame:
    """Return a frame of rows; what a row lacks is missing there."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return _from_columns(what, {name: [row.get(name) for row in rows] for name in names})


def with_missing(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return a frame with more columns, all of whose values are missing."""
    return frame.hstack([pl.Series(name, [None] * len(frame)) for name in names])


def _from_columns(what: str, columns: Mapping[Any, Any]) -> pl.DataFrame:
    """Return a frame of columns, each a sequence, an array or a series."""
    made = []
    for name, values in columns.items():
        if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__len__"):
            given = f"{what}, column {quoted(str(name))} is of type {type(values).__name__}"
            raise TypeError(f"{given}; expected a list or an array of values")
        made.append(_made(what, _series_of, str(name), values))
    _check_names(what, [series.name for series in made])
    for series in made:
        if len(series) != len(made[0]):
            raise TableError(
                f"{what} has {len(made[0])} values in column {quoted(made[0].name)} but {len(series)} in "
                f"{quoted(series.name)}; "
                "expected as many in every column"
            )
    return pl.DataFrame(made)


def _made(what: str, make: Callable[[str, Any], pl.Series], name: str, values: Any) -> pl.Series:
    """Return a column; a text that is no Unicode, such as one decoded wrongly, is refused."""
    try:
        return make(name, values)
    except UnicodeEncodeError as error:
        told = f"{what}, column {quoted(name)}: {quoted(error.object)} has half of a surrogate pair"
        raise ValueInTableError(f"{told}, which is no character; decode it in the encoding it was written in") from None


def _series_of(name: str, values: Any) -> pl.Series:
    """Return a column of values; those of types that do not go together stay the objects they are."""
    if isinstance(values, pl.Series):
        return values.alias(name)
    if isinstance(values, np.ndarray) and values.dtype != object:
        if values.ndim == 2 and values.dtype.kind == "f":
            return pl.Series(name, np.ascontiguousarray(values))
        if values.ndim != 1:
            return pl.Series(name, values.tolist())
        return _without_nan(pl.Series(name, np.ascontiguousarray(values)))
    if hasattr(values, "isna"):  # a series or an index of pandas
        return _from_pandas_series(name, values.to_series() if hasattr(values, "to_series") else values)
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
    if not series.dtype.is_float():
        return series
    return with_nulls(series, np.isnan(series.to_numpy()))


def _check_names(what: str, names: list[str]) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise TableError(f"{what} has two columns called {quoted(twice)}; rename or drop one of them")


def _from_arrow(what: str, given: Any) -> pl.DataFrame:
    names = getattr(given, "column_names", None) or getattr(getattr(given, "schema", None), "names", None)
    if isinstance(names, list):
        _check_names(what, names)  # Polars drops all but one of them
    try:
        return pl.Series(given).struct.unnest()  # without Polars' threads, as a frame would not be made
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise TypeError(f"{what} is not a table of Arrow ({error}); give one with columns") from None


# Polars' own conversion of pandas needs pyarrow, which pandas can do without.
def _from_pandas(what: str, frame: Any) -> pl.DataFrame:
    """Return a Polars frame that shares numbers with the pandas frame."""
    names = [str(name) for name in frame.columns]
    columns = [frame.iloc[:, place] for place in range(len(names))]
    for level, name in enumerate(frame.index.names):
        if name is not None and str(name) not in names:
            names.append(str(name))
            columns.append(frame.index.get_level_values(level).to_series())
    _check_names(what, names)
    named = zip(names, columns, strict=True)
    return pl.DataFrame([_made(what, _from_pandas_series, name, column) for name, column in named])


def _from_pandas_series(name: str, column: Any) -> pl.Series:
    """Return a column of pandas as one of Polars; NaN, NaT and NA are null there."""
    kind = type(column.dtype).__name__
    if kind == "CategoricalDtype":
        texts = as_text(_from_pandas_series(name, column.cat.categories.to_series()))
        return gathered(texts, column.cat.codes.to_numpy()).cast(pl.Categorical).alias(name)
    if kind == "ArrowDtype":
        return pl.Series(name, column.array.__arrow_array__())
    if kind == "DatetimeTZDtype":
        moments = pl.Series(name, column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
        assert isinstance(moments.dtype, pl.Datetime)
        unit = moments.dtype.time_unit
        try:
            return moments.cast(pl.Datetime(unit, str(column.dt.tz)))
        except pl.exceptions.PolarsError:  # such as UTC+02:00: a fixed offset, which Polars has no name for
            return moments.cast(pl.Datetime(unit, "UTC"))
    if isinstance(column.dtype, np.dtype) and column.dtype != object:
        return _series_of(name, column.to_numpy())
    missing = column.isna().to_numpy()
    if column.dtype.kind in "iufb" and hasattr(column.dtype, "numpy_dtype"):  # numbers beside a mask
        numbers = _series_of(name, column.to_numpy(dtype=column.dtype.numpy_dtype, na_value=0))
        return with_nulls(numbers, missing)
    values = column.to_numpy(dtype=object)
    if missing.any():
        values = values.copy()
        values[missing] = None
    return _series_of(name, values)


def _to_arrow(frame: pl.DataFrame) -> Any:
    """Return a table of Arrow, without Polars' threads."""
    import pyarrow as pa

    return pa.table([column.to_arrow() for column in frame], frame.columns)


def _to_pandas(frame: pl.DataFrame) -> Any:
    """Return a pandas frame; missing numbers are NaN there."""
    import pandas as pd

    columns = {}
    for column in frame:
        dtype = column.dtype
        moments = isinstance(dtype, pl.Datetime) and dtype.time_zone is None
        if dtype.is_numeric() or dtype in (pl.Date, pl.Boolean) or moments:
            columns[column.name] = pd.Series(column.to_numpy())
        else:
            columns[column.name] = pd.Series(column.to_list(), dtype=None if len(column) else object)
    return pd.DataFrame(columns)
