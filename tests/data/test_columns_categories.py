"""Category and MultiCategory: which values are kept, and their tables."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bitfm.data import Category, MultiCategory, infer_kind
from bitfm.data.columns import category
from bitfm.data.lists import texts_in
from bitfm.data.texts import as_text, one_as_text

values = st.lists(st.none() | st.sampled_from(["a", "b", "c", "dd", "é"]), max_size=30)


def labels(column):
    return [column.label(feature) for feature in range(column.width)]


def dense(column, values):
    table = column.transform(values if isinstance(values, pl.Series) else pl.Series(values))
    assert table.dtype == np.float32
    assert table.shape == (len(values), column.width)
    assert table.to_csr().has_canonical_format
    return table.toarray()


@given(values, values)
def test_a_category_is_one_feature(fitted, asked):
    column = Category().fit("x", pl.Series(fitted, dtype=pl.String))
    names = sorted({value for value in fitted if value is not None}, key=str.encode)
    assert labels(column) == names
    expected = [[float(name == value) for name in names] for value in asked]
    np.testing.assert_array_equal(
        dense(column, pl.Series(asked, dtype=pl.String)), np.reshape(expected, (len(asked), len(names)))
    )


@given(st.lists(values, max_size=8), st.lists(values, max_size=8))
def test_several_categories_share_unit_length(fitted, asked):
    column = MultiCategory().fit("x", pl.Series(fitted, dtype=pl.List(pl.String)))
    names = sorted({value for row in fitted for value in row if value is not None}, key=str.encode)
    assert labels(column) == names
    expected = np.zeros((len(asked), len(names)))
    for i, row in enumerate(asked):
        known = set(row) & set(names)
        for value in known:
            expected[i, names.index(value)] = len(known) ** -0.5
    np.testing.assert_allclose(dense(column, pl.Series(asked, dtype=pl.List(pl.String))), expected, rtol=1e-6)


@given(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=40), st.integers(1, 7))
def test_the_most_frequent_are_kept(fitted, most):
    column = Category(max_categories=most).fit("x", pl.Series(fitted))
    ranked = sorted(Counter(fitted).items(), key=lambda pair: (-pair[1], pair[0]))
    assert labels(column) == sorted(value for value, _ in ranked[:most])
    left_out = len(ranked) - column.width
    assert (f"the {left_out} rarest left out" in column.facts()) == (left_out > 0)


def test_of_very_many_categories_those_that_occur_once_are_left_out(monkeypatch):
    monkeypatch.setattr(category, "_KEEP_ALL", 3)
    few = Category().fit("x", pl.Series(["a", "b", "c", "c"]))
    assert few.facts() == "3 categories"
    many = Category().fit("x", pl.Series(["a", "b", "c", "d", "c"]))
    assert labels(many) == ["c"]
    assert many.facts() == "1 category, the 3 that occur once left out"


SAME = [
    pl.Series([25, None, 7]),
    pl.Series([25.0, None, 7.0]),
    pl.Series([25.0, float("nan"), 7.0]),
    pl.Series(["25", None, "7"]),
    pl.Series([" 25 ", "", "7"]),
    pl.Series(["25", None, "7"], dtype=pl.Categorical),
    pl.Series([25, None, 7], dtype=pl.UInt8),
    pl.Series([25, None, 7.0], dtype=pl.Object),
    pl.Series(["25", None, "7"]).cast(pl.Decimal(10, 2)),
]


@pytest.mark.parametrize("fitted", SAME)
@pytest.mark.parametrize("kind", [Category(), MultiCategory("|")])
def test_a_number_and_its_string_are_the_same_category(kind, fitted):
    column = kind.fit("age", fitted)
    assert labels(column) == ["25", "7"]
    for asked in SAME:
        np.testing.assert_array_equal(dense(column, asked), [[1, 0], [0, 0], [0, 1]])


ODD = [
    pl.Series([], dtype=pl.Null),
    pl.Series([None, None]),
    pl.Series([dt.date(2020, 1, 1), None]),
    pl.Series([dt.time(1), None]),
    pl.Series([dt.timedelta(1), None]),
    pl.Series([{"a": 1}, None]),
    pl.Series([b"\xff", None]),
    pl.Series([[1, None], None, []]),
    pl.Series([[[1]], None]),
    pl.Series([[1, 2]], dtype=pl.Array(pl.Int64, 2)),
    pl.Series([("a", "b"), {"c"}, None, "d", 3, float("nan"), np.array([1.0, 2.0])], dtype=pl.Object),
]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("kind", [Category(), MultiCategory(), MultiCategory(",")])
def test_odd_types_are_no_error(kind, odd):
    assert not dense(kind.fit("x", pl.Series(["y", "z"])), odd).any()
    column = kind.fit("x", odd)
    present = [value is not None and len(str(value)) > 0 for value in odd.to_list()]
    assert not dense(column, odd)[~np.array(present, bool)].any()
    assert not dense(column, pl.Series(["never seen"])).any()


def test_lists_in_an_object_column():
    column = MultiCategory().fit("tags", pl.Series([["a", "b"], None, ("b",), "c"], dtype=pl.Object))
    assert labels(column) == ["a", "b", "c"]
    np.testing.assert_allclose(
        dense(column, pl.Series([{"a", "b"}, None], dtype=pl.Object)), [[0.5**0.5, 0.5**0.5, 0], [0, 0, 0]], rtol=1e-6
    )


def test_strings_are_split_and_lists_are_not():
    column = MultiCategory("|").fit("genres", pl.Series(["Animation|Children's|Comedy", "Comedy| Drama |", None, "|"]))
    assert labels(column) == ["Animation", "Children's", "Comedy", "Drama"]
    assert column.facts() == "4 categories, split at '|'"
    np.testing.assert_array_equal(dense(column, [["Drama", "Drama"]]), [[0, 0, 0, 1]])


def test_the_separator_is_found_and_kept():
    column = MultiCategory().fit("tags", pl.Series(["a;b", "b;c", "c;a", "a", "b;a;c"]))
    assert dense(column, pl.Series(["a;b;c", 7], dtype=pl.Object)).any(axis=1).tolist() == [True, False]
    assert column.kind == MultiCategory(";")
    assert labels(column) == ["a", "b", "c"]
    assert MultiCategory().fit("tags", pl.Series(["a", "b"])).kind.separator is None


@pytest.mark.parametrize("most", [0, -1, True, 2.5, "3", None])
def test_settings_are_checked(most):
    for kind in (Category, MultiCategory):
        with pytest.raises(ValueError, match="max_categories must be a whole number from 1 up"):
            kind(max_categories=most)
    with pytest.raises(ValueError, match="separator must be a string"):
        MultiCategory(separator="")


def test_times_read_the_same_whatever_their_unit():
    times = pl.Series(
        [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 3, 4, 5), dt.datetime(2020, 1, 1, 0, 0, 0, 500)]
    )
    expected = ["2020-01-01", "2020-01-01 03:04:05", "2020-01-01 00:00:00.000500"]
    assert as_text(times).to_list() == expected
    assert as_text(times.cast(pl.Datetime("ns"))).to_list() == expected
    assert as_text(times.dt.replace_time_zone("Europe/Berlin")).to_list() == expected
    assert as_text(pl.Series([dt.date(2020, 1, 1)])).to_list() == expected[:1]


def test_large_and_infinite_floats_have_a_text():
    text = as_text(pl.Series([1e300, float("inf"), 2.0**62, -0.0, 1e-5, None]))
    assert text.to_list() == ["1e+300", "inf", str(2**62), "0", "1e-05", None]


@given(st.floats() | st.floats(-1e-3, 1e-3), st.floats(width=32))
@example(0.5, 1000000.5)
def test_a_float_has_one_text_in_a_column_and_alone(double, single):
    for number in (np.float64(double), np.float32(single)):
        assert as_text(pl.Series(np.array([number, 0.5], number.dtype))).to_list() == [one_as_text(number), "0.5"]


def test_missing_values_of_pandas():
    pandas = pytest.importorskip("pandas")
    assert as_text(pl.Series(["a", pandas.NA, pandas.NaT, 1], dtype=pl.Object)).to_list() == ["a", None, None, "1"]


def test_lists_as_python_prints_them_are_lists_whatever_is_in_them():
    lists = [["x, y", "z"], ["it's", 'a "b"', "c\\d"], []]
    texts = pl.Series([str(each) for each in lists] * 40)
    assert infer_kind("tags", texts).reason == "lists in brackets"
    for many in (texts[:3], texts):
        column = MultiCategory().fit("tags", many)
        rows = column.transform(many[:3]).to_csr()
        assert [sorted(column.label(f) for f in row.indices) for row in rows] == [sorted(each) for each in lists]
    for each in (["tab\t", "\xa0", "\u200b", "😀\ud800"], [1, 2.0, None, True]):
        assert texts_in(str(each)) == texts_in(json.dumps(each)), each
    for broken in ("['a'", "['a' 'b']", "['a',, 'b']", "[a, b]", "['a'] b", "['a', [1]]", "[", "[']", "'a'"):
        assert texts_in(broken) is None, broken
    assert texts_in("['a',]") == ["a"]


def test_lists_in_json_are_lists_whatever_is_in_them():
    texts = ['["x, y","z"]', '["z"]', "[]", None, '["x, y", 3, null, 2.0]', ' [ "\\u00e9" ] ']
    expected = [["x, y", "z"], ["z"], [], [], ["2", "3", "x, y"], ["é"]]
    found = infer_kind("tags", pl.Series(texts))
    assert (found.kind, found.reason) == (MultiCategory(), "lists in brackets")
    for many in (1, 50):  # also where there are many
        column = found.kind.fit("tags", pl.Series(texts * many))
        rows = column.transform(pl.Series(texts * many)).to_csr()
        assert [[column.label(f) for f in row.indices] for row in rows] == expected * many
    assert MultiCategory("|").fit("tags", pl.Series(['["a|b"]', "c|d"])).width == 3
    assert infer_kind("tags", pl.Series(["[a, b] c", "[d, e] f", "[", "g"])).reason != "lists in brackets"
