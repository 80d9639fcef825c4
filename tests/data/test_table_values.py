"""What a table must have, and its columns as numbers, ids and times."""

from __future__ import annotations

import datetime
import decimal
import math
import uuid

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfm.data.tables import as_frame, ids_of, need_columns, need_distinct, need_rows, numbers_of, times_of
from bitfm.errors import DuplicateRowsError, EmptyTableError, MissingColumnError, MixedIdsError, ValueInTableError


def column(values, **more):
    return pl.DataFrame({"c": pl.Series("c", values, **more)})


# What a table must have


def test_a_missing_column_is_named_with_the_nearest():
    with pytest.raises(MissingColumnError, match="ratings has no column 'user_id'; did you mean 'UserID'") as caught:
        need_columns("ratings", pl.DataFrame({"UserID": [1], "item": [2]}), ["item", "user_id"])
    assert "'item'" in str(caught.value)
    need_columns("ratings", pl.DataFrame({"a": [1]}), ["a"])


def test_a_missing_column_unlike_any_other_gets_no_suggestion():
    with pytest.raises(MissingColumnError, match=r"no column 'zzz'; there are .*'c29' and 10 more$"):
        need_columns("ratings", pl.DataFrame({f"c{i}": [1] for i in range(40)}), ["zzz"])


def test_an_empty_table_is_refused():
    with pytest.raises(EmptyTableError, match="items has no rows"):
        need_rows("items", pl.DataFrame({"a": []}))
    need_rows("items", pl.DataFrame({"a": [1]}))


@given(st.lists(st.sampled_from("abcdefghij"), max_size=12))
def test_the_first_repetition_is_named(ids):
    seen: dict[str, int] = {}
    expected = None
    for row, value in enumerate(ids, 1):
        if value in seen:
            expected = f"items has {value!r} in row {seen[value]} and again in row {row};"
            break
        seen[value] = row
    series = pl.Series(ids, dtype=pl.String)
    if expected is None:
        need_distinct("items", series)
    else:
        with pytest.raises(DuplicateRowsError, match=expected):
            need_distinct("items", series)


# Numbers


@pytest.mark.parametrize(
    "values",
    [[1, 2], [1.0, 2.0], ["1", " 2 "], ["1.0", "2e0"], [decimal.Decimal("1.0"), decimal.Decimal(2)]],
)
def test_numbers_in_many_forms(values):
    numbers = numbers_of("ratings", column(values), "c").values
    assert numbers.tolist() == [1, 2]
    assert numbers.dtype == np.float64


def test_truth_values_are_numbers():
    assert numbers_of("clicks", column([True, False]), "c").values.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, None], "row 2: the value is missing; expected a finite number"),
        ([1.0, math.nan], "row 2: the value is missing"),
        ([1.0, math.inf], "row 2: the value is inf"),
        (["1", "good"], "row 2: the value is 'good'"),
        (["1", "  "], "row 2: the value is empty"),
        (["1", "nan"], "row 2: the value is 'nan'"),
        ([[1], [2]], "row 1: the value is"),
        ([datetime.date(2020, 1, 1)], "row 1: the value is datetime.date"),
    ],
)
def test_what_is_no_number_is_refused_with_its_row(values, message):
    with pytest.raises(ValueInTableError, match=f"ratings, column 'c', {message}"):
        numbers_of("ratings", column(values), "c")


# Ids


@pytest.mark.parametrize(
    ("values", "text", "whole"),
    [
        ([25, 7], ["25", "7"], True),
        ([25.0, -7.0], ["25", "-7"], True),
        (["25", "007"], ["25", "007"], False),
        (["é", " a"], ["é", " a"], False),
        ([2**63 - 1, 0], ["9223372036854775807", "0"], True),
        ([1e15], ["1000000000000000"], True),
        ([decimal.Decimal(5)], ["5"], True),
        ([True, False], ["true", "false"], False),
        ([], [], False),
    ],
)
def test_ids_are_strings_that_remember_whether_they_were_numbers(values, text, whole):
    ids = ids_of("users", column(values), "c")
    assert ids.text.to_list() == text
    assert ids.text.dtype == pl.String
    assert ids.whole is whole


def test_categories_and_objects_of_one_type_are_ids():
    assert ids_of("users", column(["a", "b"], dtype=pl.Categorical), "c").text.to_list() == ["a", "b"]
    one = uuid.UUID(int=1)
    assert ids_of("users", as_frame("users", {"c": [one]})[0], "c").text.to_list() == [str(one)]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, None], "row 2: the id is missing"),
        ([1.0, math.nan], "row 2: the id is missing"),
        (["a", ""], "row 2: the id is empty"),
        ([1.0, 2.5], "row 2: the id is 2.5; expected a string or a whole number"),
        ([1.0, math.inf], "row 2: the id is inf"),
        ([1.0, 1e300], r"row 2: the id is 1e\+300"),
        ([["a"]], "row 1: the id is"),
        ([b"a"], "row 1: the id is b'a'"),
        ([None, None], "row 1: the id is missing"),
    ],
)
def test_what_is_no_id_is_refused_with_its_row(values, message):
    with pytest.raises(ValueInTableError, match=f"users, column 'c', {message}"):
        ids_of("users", column(values), "c")


def test_ids_of_several_types_are_refused_with_two_rows():
    frame, _ = as_frame("users", {"c": [None, 7, 8, "a"]})
    with pytest.raises(MixedIdsError, match=r"users, column 'c' .*7 \(int\) in row 2, 'a' \(str\) in row 4"):
        ids_of("users", frame, "c")


@given(st.lists(st.integers(-(2**53), 2**53), min_size=1))
def test_whole_numbers_are_the_same_ids_as_floats_and_as_strings(numbers):
    expected = [str(number) for number in numbers]
    for values in (numbers, [float(number) for number in numbers], expected):
        assert ids_of("users", column(values), "c").text.to_list() == expected


# Times


@pytest.mark.parametrize(
    "value",
    [
        1531512900,
        1531512900.75,
        "1531512900",
        "2018-07-13 20:15:00",
        "2018-07-13T20:15:00Z",
        "2018-07-13T20:15:00.250",
        "2018-07-13T22:15:00+02:00",
        "2018-07-13 20:15",
        datetime.datetime(2018, 7, 13, 20, 15),
        datetime.datetime(2018, 7, 13, 20, 15, tzinfo=datetime.UTC),
    ],
)
def test_times_in_many_forms(value):
    times = times_of("ratings", column([value]), "c").values
    assert times.tolist() == [1531512900]
    assert times.dtype == np.int64


def test_times_of_several_forms_in_one_column():
    times = times_of("ratings", column(["1970-01-02", "7", "1970-01-01T00:01", "1970-01-01 00:00:03"]), "c").values
    assert times.tolist() == [86400, 7, 60, 3]


def test_days_are_times():
    assert times_of("ratings", column([datetime.date(1970, 1, 2)]), "c").values.tolist() == [86400]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["2020-01-01", "yesterday"], "row 2: the time is 'yesterday'; expected seconds since 1970 or a date"),
        (["2020-01-01", ""], "row 2: the time is empty"),
        ([5, None], "row 2: the time is missing"),
        ([5.0, math.inf], "row 2: the time is inf"),
        ([datetime.date(2020, 1, 1), None], "row 2: the time is missing"),
        ([True], "row 1: the time is True"),
        ([datetime.time(5)], "row 1: the time is datetime.time"),
    ],
)
def test_what_is_no_time_is_refused_with_its_row(values, message):
    with pytest.raises(ValueInTableError, match=f"ratings, column 'c', {message}"):
        times_of("ratings", column(values), "c")


@given(st.lists(st.datetimes(datetime.datetime(1970, 1, 1), datetime.datetime(2100, 1, 1)), min_size=1))
def test_iso_strings_are_the_same_times_as_datetimes(moments):
    as_moments = times_of("ratings", column(moments, dtype=pl.Datetime("us")), "c").values
    as_strings = times_of("ratings", column([moment.isoformat() for moment in moments]), "c").values
    assert as_moments.tolist() == as_strings.tolist()
