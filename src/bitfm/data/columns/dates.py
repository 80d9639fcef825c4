"""Dates and times by their parts."""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from reprlib import repr as short  # what a file says is of any length
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bitfm.data.columns.infer import ObservedColumn
from bitfm.data.columns.kinds import FittedColumn, Inferred, Kind, check_facts, register_kind
from bitfm.data.columns.number import Bins
from bitfm.data.feature_table import FeatureTable
from bitfm.data.forks import present
from bitfm.data.formats import Choice, check_order
from bitfm.data.times import read_times
from bitfm.errors import ModelFileError
from bitfm.persist import Tensors

_SIZES = {"year": None, "month": 12, "weekday": 7, "hour": 24}  # as many years as there are
_SINGLE_YEARS = 32  # of more different years, ranges of years
_YEAR_BINS = 10
_TIME = re.compile(r"(^|[\W_])(time|timestamp|date|datetime|created|updated|at)$", re.IGNORECASE)
_YEARS_1980_TO_2100 = (315_532_800, 4_102_444_800)  # seconds since 1970
_FIRST, _LAST = -62_135_596_800, 253_402_300_799  # seconds since 1970 of the years 1 and 9999


@register_kind
@dataclass(frozen=True)
class DateParts(Kind):
    """Dates and times by year, month, weekday and hour: one feature per year, per month and so on.

    Values are dates, times, strings such as 2018-07-13 20:15, 13.07.2018 and April 20, 2016, or seconds since 1970, all
    in UTC; see `parse_times`. A year after the last one counts as the last. More than 32 years become ranges that hold
    about equally many rows.

    Parameters
    ----------
    parts : tuple of "year", "month", "weekday", "hour", optional
        By default those that differ between rows; so dates have no hour.
    order : "dmy" or "mdy", optional
        Whether day or month comes first in strings such as 03/04/2018. By default the fit finds it, and later values
        are read alike.

    Examples
    --------
    >>> column = DateParts().fit("released", pl.Series(["1995-03-01", "1995-04-01", None]))
    >>> column.width, column.facts()
    (19, 'month, weekday')
    >>> table = column.transform(pl.Series(["2001-03-05 20:15:00"]))
    >>> [column.label(feature) for feature in table.indices]
    ['month March', 'weekday Monday']
    """

    called: ClassVar[str] = "date"
    priority: ClassVar[int] = 80
    parts: tuple[str, ...] | None = None
    order: str | None = None

    def __post_init__(self) -> None:
        check_order("DateParts: order", self.order)
        if self.parts is None:
            return
        known = isinstance(self.parts, tuple | list) and all(part in list(_SIZES) for part in self.parts)
        if not known or not self.parts or len(set(self.parts)) < len(self.parts):
            raise ValueError(f"DateParts: parts must be some of {', '.join(_SIZES)}, got {self.parts!r}.")
        object.__setattr__(self, "parts", tuple(self.parts))  # JSON has lists only

    @classmethod
    def infer(cls, column: ObservedColumn) -> Inferred | None:
        """Take dates, times, and seconds since 1970 in a column with such a name."""
        if column.distinct < 2:
            return None
        if column.values.dtype in (pl.Date, pl.Datetime):
            return Inferred(cls(), "dates" if column.values.dtype == pl.Date else "times")
        if column.has_dates:
            return Inferred(cls(order=column.dates), f"dates such as {column.informative[0]}{_said(column.order)}")
        numbers = column.numbers
        if numbers is None or not column.integers or column.has_codes or not _TIME.search(column.name):
            return None
        first, last = _YEARS_1980_TO_2100
        plausible = first <= numbers.min() and numbers.max() <= last
        return Inferred(cls(), "seconds since 1970, as its name says") if plausible else None

    def fit(self, name: str, values: pl.Series) -> FittedColumn:
        """Choose the parts, and take the years."""
        times, _, found = _moments(values, self.order)
        kind = self if found is None else replace(self, order=found.value)
        wanted = self.parts or [part for part in _SIZES if len(np.unique(_codes(times, part))) > 1]
        parts = tuple(part for part in _SIZES if part in wanted)
        years = _codes(times, "year") if "year" in parts else np.zeros(0)
        return _FittedDates(name, kind, parts, Bins.of(years, _YEAR_BINS, _SINGLE_YEARS))

    def readable(self, values: pl.Series) -> bool:
        """Tell whether any value is a time."""
        return len(_moments(values, self.order)[0]) > 0

    def restored(self, name: str, state: Mapping[str, Any], tensors: Tensors) -> FittedColumn:
        """Return the fitted column of what it saved."""
        check_facts(state, parts=list)
        parts, years = state["parts"], Bins.restored(tensors)
        if parts != [part for part in _SIZES if part in (self.parts or parts)]:
            raise ModelFileError(f"has the parts {short(parts)}, expected {', '.join(self.parts or _SIZES)}")
        if len(years) and "year" not in parts:
            raise ModelFileError("has years, but they are none of its parts")
        return _FittedDates(name, self, tuple(parts), years)


@dataclass(eq=False)
class _FittedDates(FittedColumn):
    """A value of 1 in the feature of each part."""

    parts: tuple[str, ...]
    years: Bins

    def __post_init__(self) -> None:
        self._starts = np.cumsum([0, *(_SIZES[part] or len(self.years) for part in self.parts)]).tolist()

    @property
    def width(self) -> int:
        return int(self._starts[-1])

    def transform(self, values: pl.Series) -> FeatureTable:
        assert isinstance(self.kind, DateParts)
        times, there, _ = _moments(values, self.kind.order)
        columns = np.full((len(values), len(self.parts)), -1, np.int32)
        for i, part in enumerate(self.parts):
            codes = _codes(times, part)
            columns[there, i] = self.years.find(codes) if part == "year" else codes
        known = columns >= 0
        indptr = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
        indices = (columns + np.array(self._starts[:-1], np.int32))[known]
        return FeatureTable.sparse(indptr, indices, np.ones(len(indices), np.float32), self.width)

    def label(self, feature: int) -> str:
        place = int(np.searchsorted(self._starts, feature, side="right")) - 1
        part, code = self.parts[place], feature - self._starts[place]
        if part == "year":
            return f"year {self.years.label(code)}"
        names = {"month": calendar.month_name[1:], "weekday": list(calendar.day_name)}.get(part)
        return f"{part} {names[code] if names else code}"

    def facts(self) -> str:
        return ", ".join(self.parts) if self.width else "no two different dates"

    def state(self) -> dict[str, Any]:
        return super().state() | {"parts": list(self.parts)}

    def tensors(self) -> Tensors:
        return vars(self.years)


def _said(order: Choice | None) -> str:
    """Return in which order days and months were found to be, for people to read."""
    if order is None:
        return ""
    return f", {order.reading}{f' as in {order.example}' if order.decided else ', as nothing decides'}"


def _moments(values: pl.Series, order: str | None) -> tuple[NDArray[np.int64], NDArray[np.bool_], Choice | None]:
    """Return the times of a column of any type, in seconds since 1970, UTC, and which of its values these are.

    The others are none, or not of the calendar. The last is the order of day and month, if it was found.
    """
    seconds, found = read_times(values, order)
    seconds = seconds.set((seconds < _FIRST) | (seconds > _LAST), None)
    there = present(seconds)
    return seconds.filter(there).to_numpy(), there, found


def _codes(times: NDArray[np.int64], part: str) -> NDArray[np.float64]:
    """Return the year, or the month, the weekday or the hour counted from 0."""
    days = times // 86_400
    if part == "weekday":
        return np.asarray((days + 3) % 7, np.float64)  # 1970 began on a Thursday
    if part == "hour":
        return np.asarray(times // 3600 % 24, np.float64)
    first, last = days.min(initial=0), days.max(initial=0)  # of few days it takes less time than of all times
    months = np.arange(first, last + 1).astype("M8[D]").astype("M8[M]").astype(np.int64)[days - first]
    return np.asarray(months // 12 + 1970 if part == "year" else months % 12, np.float64)
