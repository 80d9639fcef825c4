"""Any column as numbers, and numbers for people to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bitfm.data.casting import as_words

if TYPE_CHECKING:
    import polars as pl

_WRITTEN = r"^([-+]?)[$€£¥]?\s?(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?\s?[$€£¥%]?$"  # 1,299.50 or $4.99 or 12 %


def as_numbers(values: pl.Series) -> NDArray[np.float64]:
    """Return a column of any type as numbers, NaN where a value is missing, infinite or no number."""
    import polars as pl

    dtype = values.dtype
    if dtype.is_numeric() or dtype == pl.Boolean:
        numbers = values.cast(pl.Float64)
    elif dtype == pl.Duration:
        numbers = values.dt.total_microseconds() / 1e6
    elif dtype.is_temporal() and dtype != pl.Time:
        numbers = values.cast(pl.Datetime("us")).dt.epoch("us") / 1e6
    else:
        numbers = _parsed(as_words(values))
    plain = np.array(numbers.fill_null(np.nan).to_numpy(), np.float64)
    plain[~np.isfinite(plain)] = np.nan
    return plain


def number_text(number: float) -> str:
    """Return a number as people write it: no fraction where there is none, else up to six digits."""
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else f"{number:.6g}"


def _parsed(text: pl.Series) -> pl.Series:
    import polars as pl

    numbers = text.cast(pl.Float64, strict=False)
    odd = text.filter(numbers.is_null() & text.is_not_null()).unique()
    if odd.is_empty():
        return numbers
    plain = odd.str.replace(_WRITTEN, "${1}${2}${3}").str.replace_all(",", "").cast(pl.Float64, strict=False)
    plain = plain.set(~odd.str.contains(_WRITTEN), None)
    known = pl.DataFrame({"text": odd, "number": plain}).drop_nulls()
    if known.is_empty():
        return numbers
    found = pl.DataFrame({"text": text}).join(known, on="text", how="left", maintain_order="left")["number"]
    return numbers.fill_null(found)
