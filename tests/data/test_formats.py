"""Numbers and dates in European and American formats: a column is read back, whichever it is in."""

from __future__ import annotations

import datetime as dt
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfm.data import DateParts, Interactions, Number, infer_kind, parse_numbers, parse_times, read_table
from bitfm.data.columns.kinds import restore_column
from bitfm.data.numbers import decimal_mark
from bitfm.data.times import date_order
from bitfm.errors import BitfmWarning, EmptyTableError, ValueInTableError

MARKS = st.sampled_from([(".", ","), (",", "."), (".", "'"), (",", " "), (",", "\u202f")])
AMOUNTS = st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=300)  # cents
MOMENTS = st.lists(st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30)), min_size=1, max_size=300)
DATES = {"dmy": ["%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y"], "mdy": ["%m/%d/%Y", "%m-%d-%Y"]}
NAMED = ["%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d-%b-%Y", "%A, %B %d, %Y", "%a, %d %b %Y", "%Y/%m/%d"]
TIMES = {"": 86_400, " %H:%M": 60, " %H:%M:%S": 1, " %I:%M:%S %p": 1, ", %H:%M": 60}


def written(cents, decimal, thousands, around):
    whole, fraction = divmod(abs(cents), 100)
    text = f"{whole:,}".replace(",", thousands) + f"{decimal}{fraction:02}"
    return around.format(text) if cents >= 0 else "-" + around.format(text)


@given(AMOUNTS, MARKS, st.sampled_from(["{}", "{} €", "${}", "€ {}", "{}%"]))
def test_numbers_of_every_format_are_read_back(cents, marks, around):
    """Two decimals decide what the marks are."""
    column = pl.Series([written(one, *marks, around) for one in cents])
    assert parse_numbers(column).to_list() == [one / 100 for one in cents]
    assert parse_numbers(column, marks[0]).to_list() == [one / 100 for one in cents]
    assert decimal_mark(column)[:2] == (marks[0], True)


@given(AMOUNTS, st.sampled_from([(".", ","), (",", ".")]), st.integers(0, 300))
def test_one_number_decides_for_a_column(thousands, marks, place):
    """Whole thousands and thousandths look alike but for one number."""
    texts = [f"{one % 999 + 1}{marks[1]}{one % 1000:03}" for one in thousands]
    texts.insert(place, f"17{marks[0]}94")
    expected = [(one % 999 + 1) * 1000 + one % 1000 for one in thousands]
    expected.insert(place, 17.94)
    assert parse_numbers(pl.Series(texts)).to_list() == expected


@pytest.mark.parametrize(
    ("texts", "choice"),
    [
        (["1,299", "2,500"], (".", False, "1,299")),
        (["1.299", "2.500"], (".", False, "1.299")),
        (["1,299", "4.5"], (".", True, "4.5")),
        (["1.299", "0,5"], (",", True, "0,5")),
        (["4,5", "3,5", "2.5"], (",", True, "3,5")),
        (["4.5", "3,5"], (".", True, "4.5")),
        (["12", "$5", "x"], None),
        ([None], None),
    ],
)
def test_the_decimal_mark_is_decided_by_all_values(texts, choice):
    for many in (texts, texts * 60):
        assert decimal_mark(pl.Series(many, dtype=pl.String)) == choice


def test_what_the_other_mark_alone_can_read_is_no_number():
    assert parse_numbers(pl.Series(["4,5", "3,5", "2.5", "1.250"])).to_list() == [4.5, 3.5, None, 1250]
    assert parse_numbers(pl.Series(["4,5", "1.250"]), ".").to_list() == [None, 1.25]


@given(MOMENTS, st.sampled_from(["dmy", "mdy"]), st.data())
def test_dates_of_every_order_are_read_back(moments, order, data):
    form, clock = data.draw(st.sampled_from(DATES[order])), data.draw(st.sampled_from(list(TIMES)))
    moments = [*moments, dt.datetime(2021, 11, 27)]  # which has one reading
    _are_read_back(moments, form + clock, TIMES[clock])
    assert date_order(pl.Series([_written(moment, form) for moment in moments]))[:2] == (order, True)


@given(MOMENTS, st.sampled_from(NAMED), st.sampled_from(list(TIMES)))
def test_dates_with_names_of_months_are_read_back(moments, form, clock):
    _are_read_back(moments, form + clock, TIMES[clock])
    assert date_order(pl.Series([_written(moment, form) for moment in moments])) is None


@given(st.lists(st.datetimes(dt.datetime(2, 1, 1), dt.datetime(9999, 1, 1), timezones=st.timezones()), max_size=30))
def test_zones_are_those_of_python(moments):
    moments = [one for one in moments if one.utcoffset().total_seconds() % 60 == 0]
    texts = [f"{_written(one, '%d.%m.%Y %H:%M:%S')} {one:%z}" for one in moments]
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    expected = [(one - epoch) // dt.timedelta(seconds=1) for one in moments]
    assert parse_times(pl.Series(texts, dtype=pl.String), "dmy").to_list() == expected


def _written(moment, form):
    return moment.strftime(form.replace("%Y", f"{moment.year:04}"))  # which the C library need not fill up


def _are_read_back(moments, form, unit):
    seconds = [(moment - dt.datetime(1970, 1, 1)) // dt.timedelta(seconds=unit) * unit for moment in moments]
    assert parse_times(pl.Series([_written(moment, form) for moment in moments])).to_list() == seconds


@pytest.mark.parametrize(
    ("texts", "choice"),
    [
        (["03/04/2018", "01/02/2018"], ("mdy", False, "01/02/2018")),
        (["03-04-2018"], ("dmy", False, "03-04-2018")),
        (["03.04.2018"], ("dmy", True, "03.04.2018")),
        (["03/04/2018", "13/04/2018"], ("dmy", True, "13/04/2018")),
        (["03/04/2018", "04/13/2018", "05/05/2018"], ("mdy", True, "04/13/2018")),
        (["13/04/2018", "14/04/2018", "04/13/2018"], ("dmy", True, "13/04/2018")),
        (["05/05/2018", "2018-03-04", "April 3, 2018", "7"], None),
    ],
)
def test_the_order_of_day_and_month_is_decided_by_all_values(texts, choice):
    for many in (texts, texts * 60):
        assert date_order(pl.Series(many)) == choice


def test_each_date_counts_once_whatever_its_times_of_day():
    """What cannot be read as a whole does not count."""
    texts = [f"13/04/2018 {hour:02}:{minute:02}" for hour in range(3) for minute in range(60)]
    texts += ["04/13/2018", "04/14/2018 10:00 pm", "15/04/2018 24:61"]
    assert date_order(pl.Series(texts)) == ("mdy", True, "04/13/2018")


@given(
    st.lists(st.text("0123456789:./, -TatAMpmZ+éſK日", max_size=24), max_size=150),
    MOMENTS,
    st.sampled_from(list(TIMES)),
)
def test_many_strings_are_read_as_each_alone(odd, moments, clock):
    texts = [one.strip() or "x" for one in odd] + [_written(one, "%d.%m.%Y" + clock) for one in moments]
    texts += ["é27.11.2021 10:00", "27.11.2021 10:00é", "27.11.2021 at 10:00", "27.11.2021t10:00", "ſep 1, 2020"]
    many = parse_times(pl.Series(texts * 2), "dmy").to_list()
    assert many == [parse_times(pl.Series([one]), "dmy")[0] for one in texts] * 2


def test_dates_whose_order_is_open_can_be_refused():
    texts = ["03/04/2018", "27.11.2021", "2018-07-13", "2018/07/13", "July 13, 2018"]
    assert parse_times(pl.Series(texts), "ymd").to_list() == [None, None, *[1531440000] * 3]


def test_formats_that_are_none_are_refused():
    for call in (
        lambda: parse_numbers(pl.Series(["1"]), "'"),
        lambda: parse_times(pl.Series(["1"]), "ydm"),
        lambda: Number(decimal=";"),
        lambda: DateParts(order="day first"),
    ):
        with pytest.raises(ValueError, match="must be one of"):
            call()


def test_fitted_columns_read_later_values_as_those_of_the_fit():
    price = Number(bins=50).fit("price", pl.Series(["17,94", "1.299", "2.500"]))
    seen = DateParts(("month",)).fit("seen", pl.Series(["03/04/2018", "13/04/2018"]))
    for column, later, label in ((price, "1.299", "1299"), (seen, "01/02/2018", "month February")):
        for one in (column, restore_column(column.state(), column.tensors())):
            table = one.transform(pl.Series([later]))
            assert [one.label(feature) for feature in table.indices] == [label]
    assert (price.kind.decimal, seen.kind.order) == (",", "dmy")
    assert Number().fit("price", pl.Series([1.5, 2.5])).kind.decimal is None  # nothing was written


def test_declared_formats_overrule_what_values_say():
    declared = Number(bins=50, decimal=",").fit("price", pl.Series(["1.299", "2.500"]))
    assert [declared.label(feature) for feature in range(2)] == ["1299", "2500"]
    day_first = DateParts(("month",), "dmy").fit("seen", pl.Series(["03/04/2018"]))
    assert day_first.label(int(day_first.transform(pl.Series(["01/02/2018"])).indices[0])) == "month February"


def test_inference_says_what_was_decided():
    cents = [f"{euro},{euro % 100:02} €" for euro in range(50)]
    slashes = [f"{month:02}/{day:02}/20{day:02}" for month in range(1, 10) for day in range(1, 10)]
    for name, values, kind, reason in (
        ("price", cents, Number(), "numbers from 0 to 49.49, with decimal commas as in '0,00 €'"),
        (
            "price",
            [f"{n},125" for n in range(1, 50)],
            Number(),
            "'1,125' read with a decimal point, as nothing decides",
        ),
        ("seen", slashes, DateParts(), "the month first, as nothing decides"),
        ("seen", [*slashes, "13/01/2001"], DateParts(), "the day first as in 13/01/2001"),
        ("seen", ["April 20, 2016", "May 3, 2017"], DateParts(), "dates such as April 20, 2016"),
    ):
        found = infer_kind(name, pl.Series(values))
        assert found.kind == kind
        assert reason in found.reason
    assert infer_kind("seen", pl.Series(slashes), dates="dmy").kind == DateParts(order="dmy")
    assert infer_kind("price", pl.Series(cents), decimal=",").kind == Number(decimal=",")


ROWS = {
    "user_id": [1, 1, 2, 2],
    "item_id": ["a", "b", "a", "b"],
    "rating": ["4,5", "1.000", "3,25", "2"],
    "time": ["03/04/2018", "13/04/2018", "14.04.2018", "April 20, 2016"],
}


def test_targets_and_times_are_read_by_the_same_parser():
    read = Interactions.of(ROWS, time="time")
    assert read.target.tolist() == [4.5, 1000, 3.25, 2]
    assert read.times.tolist() == parse_times(pl.Series(ROWS["time"]), "dmy").to_list()
    assert (read.roles.decimal, read.roles.dates) == (",", "dmy")
    later = {**ROWS, "rating": ["1.000"] * 4, "time": ["03/04/2018"] * 4}
    again = Interactions.of(later, **read.roles._asdict())
    assert again.target.tolist() == [1000] * 4
    assert again.times.tolist() == parse_times(pl.Series(["2018-04-03"] * 4)).to_list()
    with pytest.raises(ValueInTableError, match=r"row 1: the value is '4,5'; expected a finite number"):
        Interactions.of(ROWS, decimal=".")
    with pytest.raises(ValueInTableError, match=r"row 2: the time is '13/04/2018'.*the month first"):
        Interactions.of(ROWS, time="time", dates="mdy")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"time": ["03/04/2018"] * 4},
            r"'time': the month first, as nothing decides.*'03/04/2018'; dates= \(--dates\)",
        ),
        ({"rating": ["1.250"] * 4}, r"'rating': a decimal point, as nothing decides.*'1.250'; decimal= \(--decimal\)"),
    ],
)
def test_what_nothing_decides_is_a_warning(change, told):
    with pytest.warns(BitfmWarning, match=told):
        read = Interactions.of({**ROWS, **change}, time="time")
    assert [(column, choice.decided) for column, choice in read.formats if column in change] == [(*change, False)]
    with warnings.catch_warnings(action="error"):
        Interactions.of({**ROWS, **change}, time="time", decimal=",", dates="dmy")


@pytest.mark.parametrize("gone", [None, "", "  ", "NA", "NaN"])
def test_rows_without_a_rating_are_dropped_and_counted(gone):
    rows = {**ROWS, "rating": ["4,5", gone, "3,25", gone]}
    with pytest.warns(BitfmWarning, match=r"'rating': dropped 2 of 4 rows, whose rating is missing"):
        read = Interactions.of(rows, time="time")
    assert read.target.tolist() == [4.5, 3.25]
    assert read.users.to_list() == ["1", "2"]
    assert len(read.times) == 2
    with pytest.raises(ValueInTableError, match=r"row 2: the value is"):
        Interactions.of(rows, missing="error")
    with pytest.raises(ValueError, match="missing must be one of"):
        Interactions.of(rows, missing="zero")


def test_ratings_that_are_nan_are_missing_and_words_are_wrong():
    rows = {**ROWS, "rating": np.array([5.0, np.nan, 1.0, 2.0])}
    with pytest.warns(BitfmWarning, match="dropped 1 of 4"):
        assert Interactions.of(rows).target.tolist() == [5, 1, 2]
    with pytest.raises(ValueInTableError, match=r"row 3: the value is 'good'"):
        Interactions.of({**ROWS, "rating": ["5", None, "good", "1"]})
    with pytest.raises(EmptyTableError, match="all 4 ratings are missing"):
        Interactions.of({**ROWS, "rating": [None] * 4})


def test_a_file_keeps_points_that_may_stand_between_thousands(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_text("id;a;b;c\n1;1.299;0.5;17,94\n2;2.500;1.250;1.299,00\n")
    assert read_table(path).rows() == [(1, 1.299, 0.5, "17,94"), (2, 2.5, 1.25, "1.299,00")]
    frame = read_table(path, decimal=",")
    assert frame.rows() == [(1, "1.299", 0.5, "17,94"), (2, "2.500", 1.25, "1.299,00")]
    assert parse_numbers(frame["a"], ",").to_list() == [1299, 2500]
