"""One string has one meaning, whether it is a target, a time, or in a column of numbers or of dates."""

from __future__ import annotations

import datetime as dt
import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfm.data import DateParts, Number
from bitfm.data.numbers import decimal_mark, parse_number, parse_numbers
from bitfm.data.tables import numbers_of, times_of
from bitfm.data.texts import flattened
from bitfm.data.times import date_order, is_date, parse_time, parse_times
from bitfm.errors import ValueInTableError


def moment(*parts):
    return int(dt.datetime(*parts, tzinfo=dt.UTC).timestamp())


def as_target(text):
    try:
        return numbers_of("ratings", pl.DataFrame({"c": [text]}), "c").values[0]
    except ValueInTableError:
        return None


def as_time(text):
    try:
        return times_of("ratings", pl.DataFrame({"c": [text]}), "c").values[0]
    except ValueInTableError:
        return None


def in_number_column(text):
    """The number that a column of numbers has for a string, told from its bin."""
    column = Number(bins=1).fit("c", pl.Series([text]))
    return float(column.tensors()["lows"][0]) if column.width else None


def in_date_column(text):
    """The year, month, day of the week and hour that a column of dates has for a string."""
    column = DateParts(("year", "month", "weekday", "hour")).fit("c", pl.Series([text]))
    return [column.label(feature) for feature in column.transform(pl.Series([text])).indices] or None


def parts(seconds):
    when = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=int(seconds))
    return [f"year {when.year}", f"{when:month %B}", f"{when:weekday %A}", f"hour {when.hour}"]


# text, the number it is, the time it is
MEANINGS = [
    ("$4.99", 4.99, None),
    ("1,299", 1299, None),
    ("€ 12", 12, None),
    ("12 %", 12, None),
    ("1_000", None, None),
    ("1,29", 1.29, None),
    ("1.234,50 €", 1234.5, None),
    ("0,299", 0.299, None),
    ("1 234,5", 1234.5, None),
    ("1'234'567", 1234567, None),
    ("1,234.50", 1234.5, None),
    ("1.234.567", 1234567, None),
    ("1,2,3", None, None),
    ("1531512900", 1531512900, 1531512900),
    (" 5e3 ", 5000, 5000),
    ("-1.5", -1.5, -2),
    ("007", 7, 7),
    ("20180713", 20180713, 20180713),
    ("2018-07-13", None, moment(2018, 7, 13)),
    ("2018-07-13 20:15", None, moment(2018, 7, 13, 20, 15)),
    ("2018-07-13T20:15:00.25Z", None, moment(2018, 7, 13, 20, 15)),
    ("2018-07-13T20:15:00+02:00", None, moment(2018, 7, 13, 18, 15)),
    ("2018-07-13 20:15:00 UTC", None, moment(2018, 7, 13, 20, 15)),
    ("2018-07-13T20:15-0330", None, moment(2018, 7, 13, 23, 45)),
    ("20180713T201500Z", None, moment(2018, 7, 13, 20, 15)),
    ("2018-W28-5", None, moment(2018, 7, 13)),
    ("2018-W28", None, moment(2018, 7, 9)),
    ("2018-W28-5T20:15", None, moment(2018, 7, 13, 20, 15)),
    ("2018-7-3", None, None),
    ("2018-02-30", None, None),
    ("2018-07-13 25:00", None, None),
    ("2018-07-13 20:15+25:00", None, None),
    ("13.07.2018", None, moment(2018, 7, 13)),
    ("3.7.2018", None, moment(2018, 7, 3)),
    ("07/13/2018", None, moment(2018, 7, 13)),
    ("13/07/2018 8:15 PM", None, moment(2018, 7, 13, 20, 15)),
    ("13-07-2018", None, moment(2018, 7, 13)),
    ("2018/7/13", None, moment(2018, 7, 13)),
    ("April 20, 2016", None, moment(2016, 4, 20)),
    ("Apr 20 2016 12:30 am", None, moment(2016, 4, 20, 0, 30)),
    ("20 April 2016", None, moment(2016, 4, 20)),
    ("20-Apr-2016", None, moment(2016, 4, 20)),
    ("Wed, 20 Apr 2016 10:15:00 -0400", None, moment(2016, 4, 20, 14, 15)),
    ("2018-07-13 20:15:00 EST", None, moment(2018, 7, 14, 1, 15)),
    ("13.07.2018 20:15 CEST", None, moment(2018, 7, 13, 18, 15)),
    ("13.07.18", None, None),
    ("13.13.2018", None, None),
    ("February 30, 2016", None, None),
    ("13.07.2018 20:15 LMT", None, None),
    ("13/07/2018 13:15 PM", None, None),
    ("٢٠١٨-07-13", None, None),
    ("inf", None, None),
    ("nan", None, None),
    ("soon", None, None),
    ("", None, None),
]


@pytest.mark.parametrize(("text", "number", "time"), MEANINGS)
def test_one_meaning_in_every_role(text, number, time):
    assert as_target(text) == in_number_column(text) == parse_number(text) == number
    assert as_time(text) == parse_time(text) == time
    assert in_date_column(text) == (None if time is None else parts(time))


def test_a_column_has_the_meanings_of_its_strings():
    numbers = [
        (text, number) for text, number, _ in MEANINGS if number is None or ("," not in text and text.count(".") < 2)
    ]
    times = [(text, time) for text, _, time in MEANINGS if not text.startswith("07/")]
    for _ in range(2):  # also where there are many
        assert parse_numbers(pl.Series([text for text, _ in numbers])).to_list() == [number for _, number in numbers]
        assert parse_times(pl.Series([text for text, _ in times])).to_list() == [time for _, time in times]
        found = is_date(pl.Series([text for text, _ in times])).to_list()
        assert found == [time is not None and parse_number(text) is None for text, time in times]
        numbers, times = numbers * 20, times * 20


DIGITS = st.text("0123456789", min_size=1, max_size=9)
BEFORE, AFTER = ["", "-", "+", "$", "-$", "€ "], ["", ",000", ".5", "_1", ",5", "e3", "%", " %", "£", " 1"]
WRITTEN = st.tuples(st.sampled_from(BEFORE), DIGITS, st.sampled_from(AFTER)).map("".join)
DATED = st.builds(
    lambda when, form: when.strftime(form),
    st.datetimes(dt.datetime(1000, 1, 1), dt.datetime(9000, 1, 1), timezones=st.timezones()),
    st.sampled_from(
        ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S%z", "%Y-%m-%d %H:%M:%S.%f", "%G-W%V-%u", "%d/%m/%Y"]
    ),
)
TEXTS = WRITTEN | DATED | st.text("0123456789-:TW+Z ,.$", max_size=12) | st.text(max_size=6)


@given(TEXTS)
def test_roles_agree(text):
    number, time = as_target(text), as_time(text)
    assert number == in_number_column(text) == parse_number(text)
    assert time == parse_time(text)
    in_calendar = time is not None and moment(1, 1, 1) <= time < moment(9999, 12, 31)
    assert in_date_column(text) == (parts(time) if in_calendar else None)
    plain = text.strip().lstrip("+-").replace(".", "").replace("e", "").isdigit()
    assert number is None or time is None or plain  # a price is no time


@given(st.lists(st.none() | TEXTS, max_size=20))
def test_a_column_is_parsed_value_by_value_once_its_formats_are_known(texts):
    values = pl.Series("c", texts, dtype=pl.String)
    for decimal, order in ((".", "dmy"), (",", "mdy")):
        assert parse_numbers(values, decimal).to_list() == [parse_number(text, decimal) for text in texts]
        assert parse_times(values, order).to_list() == [parse_time(text, order) for text in texts]
    mark, order = decimal_mark(values), date_order(values)
    assert parse_numbers(values).to_list() == parse_numbers(values, mark and mark.value).to_list()
    assert parse_times(values).to_list() == parse_times(values, order and order.value).to_list()
    assert parse_numbers(values).dtype == pl.Float64
    assert parse_times(values).dtype == pl.Int64


@given(st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30), timezones=st.timezones()))
def test_times_with_zones_are_those_of_python(when):
    expected = (when - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(seconds=1)
    text = when.isoformat()
    if when.utcoffset().total_seconds() % 60 == 0:
        assert parse_time(text) == expected
    else:
        assert parse_time(text) is None  # a zone of odd seconds, as before 1900


@pytest.mark.parametrize("value", [True, None, 1e300, math.nan, 10**400, [1], b"5", dt.time(3), object()])
def test_single_values_are_those_of_a_series(value):
    assert parse_time(value) == parse_times(pl.Series([value], strict=False))[0]
    if value != 10**400:  # no series holds it as a number
        assert parse_number(value) == parse_numbers(pl.Series([value], strict=False))[0]


def test_lists_without_values_have_none():
    assert flattened(pl.Series([[1], [], None, [2, None]])).to_list() == [1, 2, None]
    assert flattened(pl.Series([[], None], dtype=pl.List(pl.String))).to_list() == []
