"""Number and DateParts: bins, standardised numbers, and the parts of dates."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfm.data import DateParts, Number

numbers = st.lists(st.integers(-50, 50) | st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=60)


def labels(column):
    return [column.label(feature) for feature in range(column.width)]


def dense(column, values):
    table = column.transform(values if isinstance(values, pl.Series) else pl.Series(values))
    assert table.dtype == np.float32
    assert table.shape == (len(values), column.width)
    assert table.to_csr().has_canonical_format
    return table.toarray()


@given(numbers, st.integers(1, 12))
def test_bins_hold_about_equally_many(values, most):
    values = np.array(values, np.float64)
    column = Number(bins=most).fit("x", pl.Series(values))
    table = dense(column, pl.Series(values))
    assert column.width <= most
    assert (table.sum(axis=1) == 1).all()
    counts = table.sum(axis=0)
    assert (counts > 0).all()
    bins = table.argmax(axis=1)
    assert (np.diff(bins[np.argsort(values, kind="stable")]) >= 0).all()  # bins rise with the numbers
    for chosen in range(column.width):  # a bin is larger than its share only by numbers that are all equal
        inside = values[bins == chosen]
        assert (inside < inside.max()).sum() < len(values) / most or len(np.unique(inside)) == 1
    if len(np.unique(values)) <= most:
        assert column.width == len(np.unique(values))


def test_bins_of_a_number_that_is_frequent():
    column = Number(bins=4).fit("plays", pl.Series([0] * 60 + list(range(1, 41))))
    assert labels(column) == ["0", "1 to 15", "16 to 40"]
    assert column.facts() == "3 bins of equal counts"
    np.testing.assert_array_equal(dense(column, [-5.0, 0.5, 15, 15.5, 1000]).argmax(axis=1), [0, 1, 1, 2, 2])


def test_labels_are_true_values():
    column = Number(bins=2).fit("price", pl.Series([0.25, 1 / 3, 2.0, 1e20]))
    assert labels(column) == ["0.25 to 0.333333", "2 to 1e+20"]
    few = Number().fit("stars", pl.Series([0.5, 1.0, 1.0]))
    assert labels(few) == ["0.5", "1"]
    assert few.facts() == "2 numbers"


@given(numbers)
def test_standardised_numbers(values):
    values = np.array(values, np.float64)
    column = Number(scale="standard").fit("x", pl.Series(values))
    table = dense(column, pl.Series(values))
    assert column.width == int(column.spread > 0)
    if np.abs(values).max() < 1e100 and values.std() > 1e-6 * np.abs(values).max():
        expected = np.clip((values - values.mean()) / values.std(), -4, 4)
        np.testing.assert_allclose(table[:, 0], expected, rtol=1e-4, atol=1e-4)
        assert column.label(0) == "value"
    assert (np.abs(table) <= 4).all()


def test_standardised_numbers_beyond_all_bounds():
    column = Number(scale="standard").fit("x", pl.Series([1.0, 3.0, None]))
    assert column.facts() == "standardised: mean 2, spread 1"
    np.testing.assert_array_equal(dense(column, [1e308, -1e308, 2.0, None, 4.5]), [[4], [-4], [0], [0], [2.5]])
    assert column.transform(pl.Series([2.0, None])).n_entries == 0
    for nothing in ([5, 5], [None], []):
        constant = Number(scale="standard").fit("x", pl.Series(nothing, dtype=pl.Float64))
        assert constant.width == 0
        assert constant.facts() == "no two different numbers"
        assert dense(constant, [7.0, None]).shape == (2, 0)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3, 12, None], [3, 12, None]),
        ([3.0, float("inf"), float("nan")], [3, None, None]),
        (["3", " 12 ", "twelve"], [3, 12, None]),
        (["$3.00", "€ 12", "£1,299.50"], [3, 12, 1299.5]),
        (["12 %", "3€", "-$4"], [12, 3, -4]),
        (["1,000,000 - 5,000,000", "1,00,0", "--3"], [None, None, None]),
        ([True, False, None], [1, 0, None]),
        ([dt.timedelta(seconds=90), None, dt.timedelta(0)], [90, None, 0]),
        ([dt.datetime(1970, 1, 1, 0, 1), None, dt.datetime(1970, 1, 2)], [60, None, 86400]),
        (pl.Series(["3.50", None, "7.00"]).cast(pl.Decimal(6, 2)), [3.5, None, 7]),
        (pl.Series(["3", None, "7"], dtype=pl.Categorical), [3, None, 7]),
        (pl.Series([3, "7", None], dtype=pl.Object), [3, 7, None]),
        ([[1], None, [2, 3]], [None, None, None]),
        ([dt.time(3), None, dt.time(4)], [None, None, None]),
    ],
)
def test_what_counts_as_a_number(values, expected):
    column = Number(scale="standard").fit("x", pl.Series([-1e6, 1e6]))  # z is a millionth of the number
    found = dense(column, values)[:, 0] * 1e6
    np.testing.assert_allclose(found, [number or 0 for number in expected], rtol=1e-6)
    bins = Number(bins=50).fit("x", pl.Series(values) if not isinstance(values, pl.Series) else values)
    assert bins.width == len({number for number in expected if number is not None})


def test_no_numbers():
    column = Number().fit("x", pl.Series(["a", None]))
    assert column.width == 0
    assert column.facts() == "no numbers"
    assert dense(column, [1, 2]).shape == (2, 0)


@pytest.mark.parametrize("wrong", [{"scale": "log"}, {"bins": 0}, {"bins": 2.0}, {"bins": True}])
def test_settings_are_checked(wrong):
    with pytest.raises(ValueError, match="Number: "):
        Number(**wrong)


TIMES = [dt.datetime(2001, 3, 5, 20, 15), None, dt.datetime(2004, 12, 31, 0, 0)]
SAME = [
    pl.Series(TIMES),
    pl.Series(TIMES, dtype=pl.Datetime("ms")),
    pl.Series(TIMES).dt.replace_time_zone("UTC").dt.convert_time_zone("America/New_York"),
    pl.Series(["2001-03-05 20:15", None, "2004-12-31"]),
    pl.Series(["2001-03-05T20:15:00.25Z", "31.12.04", "2004-12-31T02:00:00+02:00"]),
    pl.Series([983823300, None, 1104451200]),
    pl.Series([983823300.5, float("nan"), 1104451200.0]),
    pl.Series(["983823300", "soon", "1104451200"]),
    pl.Series(TIMES, dtype=pl.Object),
    pl.Series([TIMES[0], 1e300, TIMES[2].date()], dtype=pl.Object),
]


@pytest.mark.parametrize("fitted", SAME)
def test_dates_are_the_same_however_they_are_written(fitted):
    column = DateParts().fit("seen", fitted)
    assert column.facts() == "year, month, weekday, hour"
    assert column.width == 2 + 12 + 7 + 24
    for asked in SAME:
        table = column.transform(asked)
        assert table.to_csr().has_canonical_format
        assert (table.values == 1).all()
        rows = [[column.label(feature) for feature in row.indices] for row in table.to_csr()]
        assert rows == [
            ["year 2001", "month March", "weekday Monday", "hour 20"],
            [],
            ["year 2004", "month December", "weekday Friday", "hour 0"],
        ]


@given(st.lists(st.none() | st.datetimes(), min_size=1, max_size=50))
def test_every_date_has_all_parts(times):
    parts = ("hour", "year", "month", "weekday")
    column = DateParts(parts).fit("x", pl.Series(times, dtype=pl.Datetime("us")))
    table = dense(column, pl.Series(times, dtype=pl.Datetime("us")))
    assert column.facts() == "year, month, weekday, hour"
    for row, time in zip(table, times, strict=True):
        on = [column.label(feature) for feature in np.flatnonzero(row)]
        expected = [] if time is None else [f"{time:month %B}", f"{time:weekday %A}", f"hour {time.hour}"]
        assert on[1:] == expected
        assert len(on) == (0 if time is None else 4)


def test_many_years_are_ranges_and_new_years_are_near():
    column = DateParts(("year",)).fit("x", pl.Series([f"{year}-01-01" for year in range(1901, 2001)]))
    assert labels(column)[:2] == ["year 1901 to 1910", "year 1911 to 1920"]
    np.testing.assert_array_equal(dense(column, ["1850-01-01", "2030-01-01"]).argmax(axis=1), [0, 9])


def test_parts_that_never_differ_are_left_out():
    assert DateParts().fit("x", pl.Series([dt.date(2001, 3, 5), dt.date(2001, 3, 6)])).facts() == "weekday"
    for alike in ([dt.date(2001, 3, 5)] * 2, [None], []):
        column = DateParts().fit("x", pl.Series(alike, dtype=pl.Date))
        assert column.width == 0
        assert column.facts() == "no two different dates"
        assert dense(column, ["2001-03-05", None]).shape == (2, 0)


@pytest.mark.parametrize("odd", [[True], [dt.time(1)], [dt.timedelta(1)], ["2001-13-01"], ["2001-01-01 25:00"], [[1]]])
def test_what_is_no_date_is_missing(odd):
    column = DateParts(("month",)).fit("x", pl.Series(["2001-03-05"]))
    assert not dense(column, odd).any()


@pytest.mark.parametrize("parts", [(), ("day",), "year", ("year", "year"), 3, (["year"],)])
def test_parts_are_checked(parts):
    with pytest.raises(ValueError, match="parts must be some of year, month, weekday, hour"):
        DateParts(parts)
