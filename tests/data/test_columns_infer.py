"""infer_kind: columns as they occur, and why they are taken for what they are."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfm.data import Category, DateParts, Ignored, MultiCategory, Number, Text, infer_kind, kind_of

rng = np.random.default_rng(0)
GENRES = ["Action", "Animation", "Children's", "Comedy", "Drama", "Sci-Fi", "Film-Noir"]
NOUNS = ["River", "Storm", "Garden", "Letter", "Tower", "Mirror", "Winter", "Castle", "Orchard", "Harbour"]


def lists(separator, n=300):
    return [separator.join(rng.choice(GENRES, rng.integers(1, 4), replace=False)) for _ in range(n)]


def titles(n=300):
    return [f"{rng.choice(NOUNS)} of {rng.choice(NOUNS)} {i}, The ({rng.integers(1930, 2000)})" for i in range(n)]


def prose(n=300):
    return [", ".join(" ".join(rng.choice(NOUNS, 5)) for _ in range(4)) + "." for _ in range(n)]


def draw(values, n=300):
    return [values[i] for i in rng.integers(0, len(values), n)]


def kind(name, values):
    return infer_kind(name, values if isinstance(values, pl.Series) else pl.Series(values)).kind


RANGES = ["1,000,000 - 5,000,000", "100,000 - 500,000", "10,000 - 50,000", "1,000+"]


@pytest.mark.parametrize(
    ("name", "values", "expected", "reason"),
    [
        ("genres", lists("|"), MultiCategory("|"), "lists separated by '|'"),
        ("tags", lists("; "), MultiCategory(";"), "lists separated by ';'"),
        ("cast", lists(", "), MultiCategory(","), "lists separated by ','"),
        ("tags", [["a", "b"], None], MultiCategory(), "lists"),
        ("tags", pl.Series([("a", "b"), None], dtype=pl.Object), MultiCategory(), "lists"),
        ("tags", [[], None, [None]], Ignored(), "no values"),
        ("title", titles(), Text(), "mostly different texts of 6 words"),
        ("plot", prose(), Text(), "texts of 20 words"),
        ("plot", draw(prose(40), 1000), Text(), "texts of 20 words"),
        ("downloads", draw(RANGES), Category(), "4 categories"),
        ("age", draw([1, 18, 25, 35, 45, 50, 56]), Category(), "7 distinct whole numbers"),
        ("age", draw(["1", "18", "25", "35", None]), Category(), "4 distinct whole numbers"),
        ("age", [float(x) for x in draw([18, 25])] + [None], Category(), "2 distinct whole numbers"),
        ("age", draw(["18-24", "25-34", "35-44"]), Category(), "3 categories"),
        ("year", list(range(1920, 2000)), Number(), "whole numbers from 1920 to 1999"),
        ("year", [str(year) for year in range(1920, 2000)], Number(), "whole numbers from 1920 to 1999"),
        ("price", ["$0.99", "$1,299.00", "$4.50"], Number(), "numbers from 0.99 to 1299"),
        ("price", [0.5, 1.25, None], Number(), "numbers from 0.5 to 1.25"),
        ("rating", draw(["4.5", "3.7", "1.0", "unknown", "N/A"]), Number(), "numbers from 1 to 4.5"),
        ("price", ["Free"] * 80 + draw(["$0.99", "$1.99"], 20), Category(), "3 categories"),
        ("zip", draw([f"{i:05}" for i in range(0, 99999, 700)]), Category(), None),
        ("zip_code", draw(list(range(10000, 10100))), Category(), None),
        ("zip", [f"{i:05}" for i in range(0, 99999, 700)], Ignored(), "143 values in 143 rows hardly repeat"),
        ("city", draw(list(range(100)), 1000), Category(), None),
        ("imdb_id", list(range(500)), Ignored(), "500 values in 500 rows hardly repeat"),
        ("icon", [f"http://shop/{i}.png" for i in range(300)], Ignored(), "300 values in 300 rows hardly repeat"),
        ("package", [f"com.maker{i}.app" for i in range(300)], Ignored(), None),
        ("gender", draw(["F", "M"]), Category(), "2 categories"),
        ("country", draw(["United States", "Spain", "United Kingdom"]), Category(), "3 categories"),
        ("shelf", draw(["Health, Beauty", "Home, Garden", "Toys"]), Category(), "3 categories"),
        ("active", [True, False, None], Category(), "true or false"),
        ("size", pl.Series(["S", "M"], dtype=pl.Categorical), Category(), "2 categories"),
        ("size", pl.Series(["S", "M"], dtype=pl.Enum(["S", "M"])), Category(), "2 categories"),
        ("award", ["Oscar", None, None], Category(), "one value or none"),
        ("language", ["en", "en"], Ignored(), "the same value in every row"),
        ("notes", [None, None], Ignored(), "no values"),
        ("notes", ["", " "], Ignored(), "no values"),
        ("notes", [], Ignored(), "no values"),
        ("notes", [float("nan"), None], Ignored(), "no values"),
        ("limit", [float("inf"), float("-inf")], Ignored(), "no finite numbers"),
        ("nested", [{"a": 1}, {"a": 2}], Ignored(), "nested values"),
        ("released", [dt.date(1995, 1, 1), dt.date(1996, 1, 1)], DateParts(), "dates"),
        ("released", [dt.datetime(1995, 1, 1), dt.datetime(1996, 1, 1)], DateParts(), "times"),
        ("released", ["1995-01-01", "1996-02-03", None], DateParts(), "dates such as 1995-01-01"),
        ("released", ["1995-01-01T12:00:00Z", "1996-02-03 10:00"], DateParts(), None),
        ("timestamp", [978300760, 978302109], DateParts(), "seconds since 1970, as its name says"),
        ("lifetime", list(range(978300760, 978300860)), Number(), None),
        ("timestamp", list(range(100)), Number(), None),
        ("length", [dt.timedelta(seconds=i) for i in range(100)], Number(), "whole numbers from 0 to 99"),
        ("mixed", pl.Series(draw(["a", 1, 2.0, None]), dtype=pl.Object), Category(), "3 categories"),
    ],
)
def test_columns_as_they_occur(name, values, expected, reason):
    inferred = infer_kind(name, values if isinstance(values, pl.Series) else pl.Series(values))
    assert inferred.kind == expected
    if reason is not None:
        assert inferred.reason == reason


def test_the_rest_of_a_long_column_counts_where_the_sample_is_constant():
    values = pl.Series(["a"] * 100_001).scatter(50_001, "b")
    assert infer_kind("x", values).reason == "2 categories"


@pytest.mark.parametrize(("name", "make"), [("genres", lambda n: lists("|", n)), ("title", titles)])
def test_a_long_column_is_judged_as_a_short_one(name, make):
    assert kind(name, make(50_000)) == kind(name, make(100))


anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=8),
    st.binary(max_size=4),
    st.dates(),
    st.datetimes(),
    st.timedeltas(),
    st.lists(st.integers(0, 3), max_size=3),
)


@given(st.text(max_size=8), st.lists(anything, max_size=12), st.lists(anything, max_size=12))
def test_no_column_is_an_error(name, fitted, asked):
    """Whatever is in a column, it is of some kind, and every kind can take it."""
    column, other = pl.Series(fitted, dtype=pl.Object), pl.Series(asked, dtype=pl.Object)
    inferred = infer_kind(name, column)
    assert inferred.reason
    for kind in (inferred.kind, *map(kind_of, ("category", "multi-category", "number", "standard", "text", "date"))):
        learnt = kind.fit(name, column)
        for values in (column, other):
            table = learnt.transform(values)
            assert table.shape == (len(values), learnt.width)
            assert table.dtype == np.float32
            assert np.isfinite(table.values).all()
            assert table.values.all()
            assert table.to_csr().has_canonical_format
        assert all(isinstance(learnt.label(feature), str) for feature in range(learnt.width))
        assert learnt.facts()


homogeneous = st.sampled_from(
    [st.text(max_size=6), st.integers(-(2**63), 2**63 - 1), st.floats(), st.booleans(), st.dates(), st.datetimes()]
).flatmap(lambda values: st.lists(st.none() | values, max_size=12))


@given(homogeneous, homogeneous)
def test_no_type_is_an_error(fitted, asked):
    column, other = pl.Series(fitted), pl.Series(asked)
    for kind in (infer_kind("x", column).kind, *map(kind_of, ("category", "number", "standard", "text", "date"))):
        learnt = kind.fit("x", column)
        for values in (column, other):
            table = learnt.transform(values)
            assert table.shape == (len(values), learnt.width)
            assert np.isfinite(table.values).all()
            missing = values.is_null().to_numpy()
            assert not table.take(np.flatnonzero(missing)).n_entries


def test_lists_that_were_written_with_brackets_are_lists():
    words = ["old", "red", "new", "blue"]
    rows = [[words[i % 4], words[(i // 4) % 4]] for i in range(40)]
    plain = [f"[{', '.join(row)}]" for row in rows]
    of_python, in_json = [str(row) for row in rows], [json.dumps(row) for row in rows]
    for written, kind in ((plain, MultiCategory(",")), (of_python, MultiCategory()), (in_json, MultiCategory())):
        found = infer_kind("tags", pl.Series(written))
        assert found.kind == kind
        column = found.kind.fit("tags", pl.Series(written))
        assert sorted(column.label(i) for i in range(column.width)) == sorted(words)
