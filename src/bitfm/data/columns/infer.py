"""Which kind a column is, by its values: the first kind that takes it, or else it is ignored."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bitfm.data.columns.category import exploded, has_lists, sample_of
from bitfm.data.columns.kinds import FittedColumn, Inferred, Kind, all_kinds, check_facts, register_kind
from bitfm.data.feature_table import FeatureTable
from bitfm.data.forks import need_threads
from bitfm.data.formats import Choice
from bitfm.data.numbers import decimal_mark, quantities, read_quantities
from bitfm.data.texts import as_words
from bitfm.data.times import date_order, is_date
from bitfm.persist import Tensors, check_tensors

_NEARLY_ALL = 0.95
FEW = 32  # different integers that are categories, rather than quantities
_REPEATING = 0.2  # of the rows must share their value with another row, or the column tells nothing
_ZEROS = 0.005  # of the values that begin with a zero: so few may be slips of the pen
_CODE = re.compile(
    r"(?i)(^|[\W_])(id|code|zip|zip_?code|post_?code|postal_?code|city|country|region|state|category|genre|brand|store)$"
)
_MISSING = ("unknown", "missing", "n/a", "na", "nan", "none", "null", "not available", "-", "--", "?")


class ObservedColumn:
    """A column's name and values as `Kind.infer` sees them: strings without blanks around them, null where empty.

    ``decimal`` and ``dates`` are the decimal mark and the order of day and month if they are given; see `parse_numbers`
    and `parse_times`.

    Examples
    --------
    >>> column = ObservedColumn("price", pl.Series(["$4.99", " ", "$5"]))
    >>> column.is_text, column.distinct, column.numbers
    (True, 2, array([4.99, 5.  ]))
    """

    def __init__(self, name: str, values: pl.Series, decimal: str | None = None, dates: str | None = None) -> None:
        self.name, self.decimal, self.dates = name, decimal, dates
        self.has_lists = has_lists(values)
        self.is_text = values.dtype in (pl.Object, pl.String, pl.Binary, pl.Time) and not self.has_lists
        self.values = as_words(values) if self.is_text else values

    @cached_property
    def present(self) -> pl.Series:
        """The values that are there."""
        present = self.values.drop_nulls()
        return present.drop_nans() if present.dtype.is_float() else present

    @cached_property
    def distinct(self) -> int:
        """How many different values there are; 0 for lists and nested values, which cannot be compared."""
        return 0 if self.values.dtype.is_nested() or self.values.dtype == pl.Object else self.present.n_unique()

    @cached_property
    def sample(self) -> pl.Series:
        """Some twenty thousand of the values, evenly spread."""
        return sample_of(self.present)

    @cached_property
    def informative(self) -> pl.Series:
        """The sample of strings without words such as "unknown", which are missing dates and numbers."""
        return self.sample.filter(~self.sample.str.to_lowercase().is_in(_MISSING))

    @cached_property
    def has_dates(self) -> bool:
        """Whether nearly all strings are dates."""
        n = len(self.informative) if self.is_text else 0
        return n > 0 and is_date(self.informative, self.dates).sum() >= _NEARLY_ALL * n

    @cached_property
    def order(self) -> Choice | None:
        """Whether day or month comes first in dates, if that is open and was not given."""
        found = date_order(self.informative) if self.has_dates and self.dates is None else None
        return found if found is None or found.decided else date_order(self.present)

    @cached_property
    def mark(self) -> Choice | None:
        """The decimal mark of strings, if some have one and it was not given; where a sample leaves it open, of all."""
        found = self._read[1] if self.is_text and self.decimal is None else None
        return found if found is None or found.decided else decimal_mark(self.present)

    @cached_property
    def _read(self) -> tuple[pl.Series, Choice | None]:
        return read_quantities(self.informative, self.decimal)

    @cached_property
    def numbers(self) -> NDArray[np.float64] | None:
        """The finite numbers of the sample, or None where values are none, or fewer than nearly all of the strings."""
        if self.is_text:
            numbers = self._read[0]
            if self.has_dates or not len(numbers) or numbers.count() < _NEARLY_ALL * len(numbers):
                return None
            if self.mark is not None and self.mark.value == ",":  # which the sample alone need not tell
                numbers = quantities(self.informative, ",")
        elif self.values.dtype == pl.Duration or self.values.dtype.is_numeric():
            numbers = quantities(self.sample)
        else:
            return None
        return numbers.drop_nulls().to_numpy()

    @cached_property
    def has_strings(self) -> bool:
        """Whether there are different strings that are neither dates nor numbers."""
        return self.is_text and self.distinct > 1 and not self.has_dates and self.numbers is None

    @cached_property
    def integers(self) -> bool:
        """Whether there are numbers and all are whole."""
        numbers = self.numbers
        return numbers is not None and bool((numbers == np.floor(numbers)).all())

    @cached_property
    def has_codes(self) -> bool:
        """Whether there are numbers that are no quantities: by the column's name, or by the zeros they begin with."""
        if self.is_text and self.informative.str.contains(r"^0[0-9]").sum() > _ZEROS * len(self.informative):
            return self.numbers is not None
        return self.integers and _CODE.search(self.name) is not None

    @cached_property
    def mean_words(self) -> float:
        """How many words a string has on average."""
        return float(self.sample.str.count_matches(r"\S+").to_numpy().mean())

    @cached_property
    def repeats(self) -> bool:
        """Whether enough rows share their value with another."""
        n = len(self.present)
        once = int(self.present.is_unique().sum()) if self.distinct > n / 10 else 0
        return n - once >= _REPEATING * n


@register_kind
@dataclass(frozen=True)
class Ignored(Kind):
    """A column that is left out: it has no features.

    Examples
    --------
    >>> Ignored().fit("picture", pl.Series(["http://shop/1.png", "http://shop/2.png"])).width
    0
    """

    called: ClassVar[str] = "ignore"
    priority: ClassVar[int] = 100

    @classmethod
    def infer(cls, column: ObservedColumn) -> Inferred | None:
        """Take columns that say nothing about rows."""
        reason = None
        if column.has_lists:
            reason = None if exploded(column.values, None)[1].count() else "no values"
        elif column.values.dtype.is_nested():
            reason = "nested values"
        elif column.distinct == 0:
            reason = "no values"
        elif column.distinct == 1:
            reason = "the same value in every row" if len(column.present) == len(column.values) else None
        elif column.numbers is not None and not len(column.numbers):
            reason = "no finite numbers"
        return Inferred(cls(), reason) if reason else None

    def fit(self, name: str, values: pl.Series) -> FittedColumn:
        """Learn nothing."""
        return _FittedIgnored(name, self)

    def restored(self, name: str, state: Mapping[str, Any], tensors: Tensors) -> FittedColumn:
        """Return the fitted column of what it saved."""
        check_facts(state)
        check_tensors(tensors, {})
        return _FittedIgnored(name, self)


class _FittedIgnored(FittedColumn):
    """No features."""

    width = 0

    def transform(self, values: pl.Series) -> FeatureTable:
        return FeatureTable.empty(len(values), 0)

    def label(self, feature: int) -> str:
        raise IndexError(f"The column {self.name!r} is ignored, so it has no feature {feature}.")

    def facts(self) -> str:
        return "ignored"


def infer_kind(name: str, values: pl.Series, *, decimal: str | None = None, dates: str | None = None) -> Inferred:
    """Infer which kind a column is from its name and its values, which are of any type.

    A number called an id or a code is not a quantity, and one called a time is seconds. ``decimal`` is the decimal mark
    of `parse_numbers`, and ``dates`` the order of `parse_times`, if the values are not to decide on them.

    Examples
    --------
    >>> infer_kind("genres", pl.Series(["Comedy|Drama", "Drama", "Comedy", "Drama|Comedy"]))
    Inferred(kind=MultiCategory(separator='|', max_categories=1000000), reason="lists separated by '|'")
    """
    need_threads(f"inferring the kind of column {name!r}", "infer it before the fork")
    column = ObservedColumn(name, values, decimal, dates)
    for kind in all_kinds():
        if (inferred := kind.infer(column)) is not None:
            return inferred
    return Inferred(Ignored(), f"{column.distinct:,} values in {len(column.present):,} rows hardly repeat")
