"""Lists in a column: what separates their values, and one value per row."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bitfm.data.parsing import as_text, as_words

_SEPARATORS = "|;,"
_LISTS = (list, tuple, set, frozenset, np.ndarray)
_GOOD_SHARE = 0.05  # of the values must have the separator
_REPEATED = 0.75  # of the values in lists must occur in several rows
_MOST_WORDS = 3.0  # of a listed value, on average: more is prose


def exploded(values: pl.Series, separator: str | None) -> tuple[NDArray[np.int64], pl.Series]:
    """Return the listed values one after the other, and the row of each.

    A string without separator, like any other value that is no list, is a list of one.
    """
    if values.dtype == pl.Object:
        values = _python_lists(values, separator)
    if values.dtype == pl.Array:
        values = values.arr.to_list()
    if values.dtype != pl.List:
        text = as_text(values)
        if separator is None:
            return np.arange(len(text)), text
        values = _unwrapped(text).str.split(separator)
    lengths = values.list.len().fill_null(0).to_numpy()
    tokens = values.filter(lengths > 0).explode()
    return np.repeat(np.arange(len(values)), lengths), tokens


def sample_of(values: pl.Series) -> pl.Series:
    """Return some twenty thousand of the values, evenly spread, which tell what the others look like."""
    return values.gather_every(max(1, len(values) // 20_000))


def has_lists(values: pl.Series) -> bool:
    """Tell whether a column holds lists."""
    if values.dtype == pl.Object:
        return any(isinstance(value, _LISTS) for value in values.to_list())
    return values.dtype in (pl.List, pl.Array)


def find_separator(values: pl.Series) -> str | None:
    """Return what separates the values of a string column that holds lists, or None if it holds none."""
    if values.dtype != pl.String:
        return None
    text = _unwrapped(as_words(sample_of(values)).drop_nulls())
    return next((separator for separator in _SEPARATORS if _separates(separator, text)), None)


def _unwrapped(text: pl.Series) -> pl.Series:
    """Return lists that were written with brackets and quotes, such as ``['old', 'red']``, without them."""
    inner = text.str.extract(r"^\s*\[(.*)\]\s*$", 1)
    return inner.str.replace_all(r"[\"']", "").zip_with(inner.is_not_null(), text)


def _separates(separator: str, text: pl.Series) -> bool:
    """Tell lists from prose and from numbers such as 1,000,000: their values are short and repeat across rows."""
    digits_aside = text.str.replace_all(r"\d,\d{3}\b", "0") if separator == "," else text
    lists = text.filter(digits_aside.str.contains(separator, literal=True))
    if len(lists) < _GOOD_SHARE * len(text) or len(lists) < 2:
        return False
    listed = pl.DataFrame({"token": lists.str.split(separator)}).with_row_index("row").explode("token")
    listed = listed.with_columns(pl.col("token").str.strip_chars()).filter(pl.col("token") != "")
    if listed.is_empty() or listed["token"].str.count_matches(r"\S+").mean() > _MOST_WORDS:  # type: ignore[operator]
        return False
    rows = listed.unique().group_by("token").len()
    times = rows["len"].to_numpy()
    # Fixed phrases with a comma, "Health, Beauty", have more parts than there are phrases.
    return bool(times[times > 1].sum() >= _REPEATED * times.sum()) and len(rows) <= lists.n_unique()


def _python_lists(values: pl.Series, separator: str | None) -> pl.Series:
    def listed(value: Any) -> list[Any]:
        if isinstance(value, _LISTS):
            return list(value.ravel().tolist() if isinstance(value, np.ndarray) else value)
        return value.split(separator) if separator and isinstance(value, str) else [value]

    lists = [as_text(pl.Series(listed(value), dtype=pl.Object)).to_list() for value in values.to_list()]
    return pl.Series(values.name, lists, dtype=pl.List(pl.String))
