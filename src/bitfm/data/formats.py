"""Numbers and dates as people write them: which mark is the decimal one, and whether day or month comes first.

A value such as ``1,299`` or ``03/04/2018`` has two readings. Which one counts is decided once for a column, by those of
its values that have one reading only; see `decide_decimal` and `decide_order`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date
from typing import NamedTuple

from bitfm.validation import check_choice

__all__ = [
    "BLANK",
    "BLANKS",
    "CLOCK",
    "TWO_READINGS",
    "Choice",
    "Day",
    "check_decimal",
    "check_order",
    "decide_decimal",
    "decide_order",
    "read_clock",
    "read_day",
    "read_number",
]

BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
BLANK = f"[{BLANKS}]"  # as Polars strips them; Python's own has four control characters more

_CURRENCY = "[$€£¥]"
_NUMBER = {
    decimal: re.compile(  # 1,299.50 or $4.99 or 12 %; thousands are also parted by blanks and apostrophes
        rf"([-+]?){_CURRENCY}?{BLANK}?([1-9][0-9]{{0,2}}(?:([{thousands}'’{BLANKS}])[0-9]{{3}})(?:\3[0-9]{{3}})*|[0-9]+)"
        rf"(?:{re.escape(decimal)}([0-9]+))?{BLANK}?(?:{_CURRENCY}|%)?"
    )
    for decimal, thousands in ((".", ","), (",", "."))
}
TWO_READINGS = r"[-+]?[1-9][0-9]{0,2}\.[0-9]{3}"  # of a plain number: a fraction, or thousands

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONG = ("uary", "ruary", "ch", "il", "", "e", "y", "ust", "t(?:ember)?", "ober", "ember", "ember")
_MONTH = "|".join(f"{short}(?:{rest})?" if rest else short for short, rest in zip(_MONTHS, _LONG, strict=True))
_WEEKDAY = "(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?,? +)?"
_ZONES = {  # minutes east of Greenwich: those of RFC 2822, and Europe's
    **dict.fromkeys(("Z", "UTC", "GMT", "WET"), 0),
    **{"EST": -300, "EDT": -240, "CST": -360, "CDT": -300, "MST": -420, "MDT": -360, "PST": -480, "PDT": -420},
    **{"WEST": 60, "CET": 60, "CEST": 120, "EET": 120, "EEST": 180},
}
_DATE = re.compile(
    rf"(?:(?P<a>[0-9]{{1,2}})(?P<mark>[./-])(?P<b>[0-9]{{1,2}})(?P=mark)(?P<y1>[0-9]{{4}})"  # 27.11.2021, 07/13/2018
    rf"|(?P<y2>[0-9]{{4}})(?:-(?P<m2>[0-9]{{2}})-(?P<d2>[0-9]{{2}})"  # 2018-07-13, with what ISO 8601 has not after it
    rf"|(?P<slash>[./])(?P<m3>[0-9]{{1,2}})(?P=slash)(?P<d3>[0-9]{{1,2}}))"  # 2018/7/13
    rf"|{_WEEKDAY}(?P<m4>{_MONTH})\.? +(?P<d4>[0-9]{{1,2}})(?:st|nd|rd|th)?,? +(?P<y4>[0-9]{{4}})"  # April 20, 2016
    rf"|{_WEEKDAY}(?P<d5>[0-9]{{1,2}})(?:st|nd|rd|th|\.)?[ -]+(?P<m5>{_MONTH})\.?,?[ -]+(?P<y5>[0-9]{{4}}))",
    re.IGNORECASE | re.ASCII,
)
CLOCK = r"(?:T|,? +(?:at +)?)[0-9]{1,2}:"  # what a time after a date begins with
_CLOCK = re.compile(
    rf"(?:T|,? +(?:at +)?)(?P<hour>[0-9]{{1,2}}):(?P<minute>[0-9]{{2}})(?::(?P<second>[0-9]{{2}})(?:[.,][0-9]+)?)?"
    rf"(?: ?(?P<half>[ap])\.?m\.?)?"
    rf"(?: ?(?:(?:UTC|GMT)?(?P<sign>[-+])(?P<hours>[0-9]{{2}}):?(?P<minutes>[0-9]{{2}})?"
    rf"|(?P<zone>{'|'.join(_ZONES)})))?",
    re.IGNORECASE | re.ASCII,
)


class Choice(NamedTuple):
    """One of two readings of a column, whether its values decided it, and a value to show.

    Examples
    --------
    >>> from bitfm.data import date_order
    >>> import polars as pl
    >>> date_order(pl.Series(["27/11/2018", "03/04/2018"])).value
    'dmy'
    """

    value: str
    decided: bool
    example: str

    @property
    def reading(self) -> str:
        """What it means, for people to read."""
        return _READINGS[self.value]


class Day(NamedTuple):
    """A date whose day and month may come in either order."""

    year: int
    first: int
    second: int
    mark: str  # between the parts of a date whose order is open; "" where it is not: the month is first

    def at(self, order: str) -> int | None:
        """Return days since 1970, or None if there is no such day, or its order is open and is not to be."""
        if self.mark and order == "ymd":
            return None
        month, day = (self.second, self.first) if self.mark and order == "dmy" else (self.first, self.second)
        try:
            return date(self.year, month, day).toordinal() - _EPOCH
        except ValueError:
            return None


_READINGS = {".": "a decimal point", ",": "a decimal comma", "dmy": "the day first", "mdy": "the month first"}
_EPOCH = date(1970, 1, 1).toordinal()
_CLOCK_PARTS = ("hour", "minute", "second", "hours", "minutes")


def check_decimal(name: str, mark: str | None) -> None:
    """Refuse what is no decimal mark; None leaves it to a column's values."""
    if mark is not None:
        check_choice(name, mark, (".", ","))


def check_order(name: str, order: str | None) -> None:
    """Refuse what is no order of day, month and year; None leaves it to a column's values."""
    if order is not None:
        check_choice(name, order, ("dmy", "mdy"))


def read_number(text: str, decimal: str) -> float | None:
    """Return the number that a string without blanks around it was written for, under a decimal mark."""
    found = _NUMBER[decimal].fullmatch(text)
    if found is None:
        return None
    sign, whole, parted, fraction = found.groups()
    return float(f"{sign}{whole.replace(parted, '') if parted else whole}.{fraction or 0}")


def read_day(text: str) -> Day | None:
    """Return the date that a string without blanks around it was written for."""
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    if found["mark"]:
        return Day(int(found["y1"]), int(found["a"]), int(found["b"]), found["mark"])
    part = found.groupdict()
    if part["y2"]:
        return Day(int(part["y2"]), int(part["m2"] or part["m3"]), int(part["d2"] or part["d3"]), "")
    month, day, year = (part[f"{name}4"] or part[f"{name}5"] for name in "mdy")
    return Day(int(year), _MONTHS.index(month[:3].lower()) + 1, int(day), "")


def read_clock(text: str) -> int | None:
    """Return the seconds since midnight, UTC, that are written after a date: none where nothing is."""
    if not text:
        return 0
    found = _CLOCK.fullmatch(text)
    if found is None:
        return None
    half, sign, zone, *clock = found.group("half", "sign", "zone", *_CLOCK_PARTS)
    hour, minute, second, hours, minutes = (int(part) if part else 0 for part in clock)
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (half in "pP")
    if hour > 23 or minute > 59 or second > 60 or hours > 23 or minutes > 59:
        return None
    east = _ZONES[zone.upper()] if zone else (hours * 60 + minutes) * (-1 if sign == "-" else 1)
    return ((hour * 60 + minute) - east) * 60 + second


def decide_decimal(odd: Iterable[tuple[str, float | None]], plain: Callable[[], Iterable[str]]) -> Choice | None:
    """Return the decimal mark of a column by its different strings, or None if none of them has a mark.

    The mark that more of them can be read with only counts. Where there are none of either kind it is the point.

    Parameters
    ----------
    odd
        Those that Python would not read as numbers, and what they are with a decimal point.
    plain
        Gives those that it would and that have a point; they are asked for where they matter.
    """
    votes, examples, unclear = {".": 0, ",": 0}, dict[str, str](), ""
    for text, point in odd:
        comma = read_number(text, ",")
        if point == comma:  # as neither reads it, or there is no mark in it
            continue
        if point is None or comma is None:
            mark = "," if point is None else "."
            votes[mark] += 1
            examples.setdefault(mark, text)
        else:
            unclear = unclear or text
    if votes[","] or not votes["."]:
        for text in plain():
            if re.fullmatch(TWO_READINGS, text):
                unclear = unclear or text
            else:
                votes["."] += 1
                examples.setdefault(".", text)
    if not examples:
        return Choice(".", False, unclear) if unclear else None
    mark = "," if votes[","] > votes["."] else "."
    return Choice(mark, True, examples[mark])


def decide_order(days: Iterable[tuple[str, Day]]) -> Choice | None:
    """Return whether day or month comes first in a column's different dates, or None if that is open in none of them.

    The order in which more dates can be read only counts. Where there are none, points and dashes are between a day and
    a month, and slashes between a month and a day.
    """
    votes, examples, unclear = {"dmy": 0, "mdy": 0}, dict[str, str](), dict[str, str]()
    for text, day in days:
        if not day.mark or day.first == day.second:
            continue
        if 1 <= day.first <= 12 and 1 <= day.second <= 12:
            unclear.setdefault(day.mark, text)
            continue
        order = "dmy" if day.first > 12 else "mdy"
        if day.at(order) is not None:
            votes[order] += 1
            examples.setdefault(order, text)
    if votes["dmy"] != votes["mdy"] or examples:
        order = "dmy" if votes["dmy"] > votes["mdy"] else "mdy"
        return Choice(order, True, examples[order])
    for mark, order in (("/", "mdy"), ("-", "dmy"), (".", "dmy")):
        if mark in unclear:
            return Choice(order, mark == ".", unclear[mark])  # nobody writes a month before a point and a day
    return None
