"""Which kind a column is, by its values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bitfm.data.casting import as_words
from bitfm.data.columns._column import Kind
from bitfm.data.columns._lists import exploded, find_separator, has_lists
from bitfm.data.columns.category import Category
from bitfm.data.columns.dates import DateParts
from bitfm.data.columns.ignored import Ignored
from bitfm.data.columns.multi_category import MultiCategory
from bitfm.data.columns.number import Number, quantities
from bitfm.data.columns.text import Text
from bitfm.data.parsing import is_date, number_text, parse_numbers

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Inferred", "infer_kind"]

_LOOKED_AT = 20_000  # values that tell what the others look like
_NEARLY_ALL = 0.95
_FEW = 32  # different whole numbers that are categories, rather than quantities
_PROSE = 8.0  # words a value
_SEVERAL = 1.5  # words a value
_REPEATING = 0.2  # of the rows must share their value with another row, or the column tells nothing
_ZEROS = 0.005  # of the values that begin with a zero: so few may be slips of the pen

_MISSING = ("unknown", "missing", "n/a", "na", "nan", "none", "null", "not available", "-", "--", "?")
_CODE = re.compile(
    r"(^|[\W_])(id|code|zip|zip_?code|post_?code|postal_?code|city|country|region|state|category|genre|brand|store)$",
    re.IGNORECASE,
)
_TIME = re.compile(r"(^|[\W_])(time|timestamp|date|datetime|created|updated|at)$", re.IGNORECASE)
_YEARS_1980_TO_2100 = (315_532_800, 4_102_444_800)  # seconds since 1970


@dataclass(frozen=True)
class Inferred:
    """A kind of column, and the reason in a few words for people to read.

    Examples
    --------
    >>> import polars as pl
    >>> infer_kind("stars", pl.Series([3, 5, None, 3]))
    Inferred(kind=Category(max_categories=1000000), reason='2 distinct whole numbers')
    """

    kind: Kind
    reason: str


def infer_kind(name: str, values: pl.Series) -> Inferred:
    """Guess which kind a column is.

    Parameters
    ----------
    name : str
        What the column is called. A number called an id or a code is no quantity, and one called a time is seconds.
    values : polars.Series
        Of any type.

    Returns
    -------
    Inferred
        The kind, and why.

    Examples
    --------
    >>> import polars as pl
    >>> infer_kind("genres", pl.Series(["Comedy|Drama", "Drama", "Comedy", "Drama|Comedy"]))
    Inferred(kind=MultiCategory(separator='|', max_categories=1000000), reason="lists separated by '|'")
    >>> infer_kind("title", pl.Series(["Toy Story", "Grumpier Old Men", "Heat", "Sudden Death"])).reason
    'mostly different texts of 2 words'
    """
    import polars as pl

    dtype = values.dtype
    if has_lists(values):
        _, listed = exploded(values, None)
        return Inferred(MultiCategory(), "lists") if listed.drop_nulls().len() else Inferred(Ignored(), "no values")
    if dtype == pl.Struct:
        return Inferred(Ignored(), "nested values")
    if dtype in (pl.Object, pl.String, pl.Binary, pl.Time):
        values = as_words(values)
    present = values.drop_nulls()
    if dtype.is_float():
        present = present.drop_nans()
    distinct = present.n_unique()
    if distinct == 0:
        return Inferred(Ignored(), "no values")
    if distinct == 1:
        if len(present) == len(values):
            return Inferred(Ignored(), "the same value in every row")
        return Inferred(Category(), "one value or none")
    if dtype == pl.Boolean:
        return Inferred(Category(), "true or false")
    if dtype in (pl.Categorical, pl.Enum):
        return Inferred(Category(), f"{distinct:,} categories")
    if dtype in (pl.Date, pl.Datetime):
        return Inferred(DateParts(), "dates" if dtype == pl.Date else "times")
    if values.dtype == pl.String:
        return _of_strings(name, present, distinct)
    return _of_numbers(name, present, present.gather_every(_stride(present)), distinct)


def _of_numbers(name: str, present: pl.Series, sample: pl.Series, distinct: int) -> Inferred:
    """Judge numbers, or strings of them."""
    numbers = quantities(sample)
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers):
        return Inferred(Ignored(), "no finite numbers")
    whole = bool((numbers == np.floor(numbers)).all())
    if whole and _CODE.search(name):
        return _if_it_repeats(present, distinct)
    if whole and _TIME.search(name) and _within(numbers, _YEARS_1980_TO_2100):
        return Inferred(DateParts(), "seconds since 1970, as its name says")
    if whole and distinct <= _FEW:
        return Inferred(Category(), f"{distinct} distinct whole numbers")
    low, high = number_text(float(numbers.min())), number_text(float(numbers.max()))
    return Inferred(Number(), f"{'whole numbers' if whole else 'numbers'} from {low} to {high}")


def _of_strings(name: str, present: pl.Series, distinct: int) -> Inferred:
    sample = present.gather_every(_stride(present))
    told = sample.filter(~sample.str.to_lowercase().is_in(_MISSING))  # to dates and numbers, these are missing
    if len(told) and is_date(told).sum() >= _NEARLY_ALL * len(told):
        return Inferred(DateParts(), f"dates such as {told[0]}")
    if len(told) and parse_numbers(told).count() >= _NEARLY_ALL * len(told):
        codes = told.str.contains(r"^0\d").sum() > _ZEROS * len(told)  # no quantity is written so
        return _if_it_repeats(present, distinct) if codes else _of_numbers(name, present, told, distinct)
    separator = find_separator(sample)
    if separator is not None:
        return Inferred(MultiCategory(separator), f"lists separated by {separator!r}")
    words = sample.str.count_matches(r"\S+").to_numpy().mean()
    different = distinct > len(present) / 2
    if words >= _PROSE and (different or distinct > _FEW):
        return Inferred(Text(), f"texts of {words:.0f} words")
    if words >= _SEVERAL and different:
        return Inferred(Text(), f"mostly different texts of {words:.0f} words")
    return _if_it_repeats(present, distinct)


def _if_it_repeats(present: pl.Series, distinct: int) -> Inferred:
    once = int(present.is_unique().sum()) if distinct > len(present) / 10 else 0
    if len(present) - once < _REPEATING * len(present):
        return Inferred(Ignored(), f"{distinct:,} values in {len(present):,} rows hardly repeat")
    return Inferred(Category(), f"{distinct:,} categories")


def _stride(values: pl.Series) -> int:
    return max(1, len(values) // _LOOKED_AT)


def _within(numbers: np.typing.NDArray[np.float64], span: tuple[int, int]) -> bool:
    return bool(numbers.min() >= span[0] and numbers.max() <= span[1])
