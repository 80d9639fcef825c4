"""Few values are read one by one and many by Polars' threads, which a forked process lacks: with the same result."""

from __future__ import annotations

import datetime as dt
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bitfm.data import Category, DateParts, Interactions, MultiCategory, Number, Text, Vocabulary, forks
from bitfm.data.numbers import parse_numbers, quantities
from bitfm.data.tables import as_frame, in_kind
from bitfm.data.tables.values import need_distinct
from bitfm.data.texts import as_text, as_words
from bitfm.data.times import parse_times
from bitfm.errors import BitfmError
from bitfm.recommender._side import context_block


def both_ways(read):
    """Return what was read one by one and by Polars; an error counts as what it says."""

    def result(few):
        with mock.patch.object(forks, "_FEW", few):
            try:
                return read()
            except BitfmError as error:
                return type(error), str(error)

    return result(1000), result(-1)


def same(one, other):
    if isinstance(one, pl.Series | pl.DataFrame):
        return one.equals(other) and getattr(one, "dtype", None) == getattr(other, "dtype", None)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f") and one.dtype == other.dtype
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


BLANKS = st.text(" \t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u180e\u2003\u200b\u2028\u3000", max_size=2)
FORMS = [
    "%Y-%m-%d",
    "%Y%m%d",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M:%S%z",
    "%Y%m%dT%H%M%SZ",
    "%G-W%V-%u",
    "%G-W%V",
    "%Y-W53",
]
TICKS = st.integers(-(10**17), 3 * 10**17) | st.integers(-9, 9).map((86_400 * 10**6).__mul__)
MOMENTS = st.datetimes(
    dt.datetime(1000, 1, 1), timezones=st.none() | st.sampled_from([dt.UTC, dt.timezone(-dt.timedelta(hours=3))])
)
DATED = st.builds(lambda when, form: when.strftime(form), MOMENTS, st.sampled_from(FORMS))
NUMERIC = st.from_regex(r"\A[-+]?[$€]?[ \x1c]?[0-9]{1,4}(,[0-9]{3})?(\.[0-9]{1,3})?(e[0-9])?[ %]?\Z")
LISTED = st.lists(st.sampled_from(["old", "red hat", "é", "'x'", " ", ""]), max_size=3).map("|".join)
TEXTS = st.tuples(
    BLANKS, DATED | NUMERIC | LISTED | LISTED.map("[{}]".format) | st.text("09-:TW+.Z", max_size=10), BLANKS
).map("".join)


def series(values, dtype, cast=None):
    """Draw a column of some values and nulls, which may be a cast of others."""
    drawn = st.lists(st.none() | values, max_size=8).map(lambda drawn: pl.Series("c", drawn, dtype=dtype))
    return drawn if cast is None else drawn.map(lambda one: one.cast(cast))


SERIES = st.one_of(
    series(TEXTS, pl.String),
    series(st.floats(), pl.Float64),
    series(st.floats(width=32), pl.Float32),
    series(st.integers(-(2**63), 2**63 - 1), pl.Int64),
    series(st.booleans(), pl.Boolean),
    series(st.dates(), pl.Date),
    *(series(TICKS, pl.Int64, pl.Datetime("us", zone)) for zone in (None, "UTC", "Europe/Berlin")),
    *(series(TICKS, pl.Int64, dtype) for dtype in (pl.Datetime("ms"), pl.Datetime("ns"), pl.Duration("ns"))),
    series(st.lists(st.none() | TEXTS, max_size=3), pl.List(pl.String)),
    series(st.lists(st.floats(width=32), max_size=3), pl.List(pl.Float32)),
)


@given(SERIES)
@example(
    pl.Series("c", ["0000-01-01", "0000-W01-1", "0000-W52", "9999-W53", "2020-W53-7", "2021-W53", "2021-W00", None])
)
@example(pl.Series("c", ["2016-12-31T23:59:60Z", "1969-12-31T23:59:59.9-00:30", "20180229", "2018-0713", "24:00"]))
@example(pl.Series("c", ["['a', \"b\"|c]", "[a]|b", "\x1c[a]", "\u2003[a|b] ", "[a\nb]", "", "|"]))
def test_a_column_is_read_alike(values):
    flat = not values.dtype.is_nested()
    for read in (as_text, as_words, *((parse_numbers, parse_times, quantities) if flat else ())):
        assert same(*both_ways(lambda read=read: read(values)))
    learnt = pl.Series("c", ["old", "1", "2018", "red hat", "true", "0.5", "2018-07-13"])
    kinds = [Category(), MultiCategory("|"), Text(), *([Number(bins=3), DateParts(("year", "hour"))] if flat else [])]
    for kind in kinds:
        column = kind.fit("c", learnt)
        one, other = both_ways(lambda column=column: column.transform(values))
        assert one.n_rows == other.n_rows == len(values)
        assert same([one.indptr, one.indices, one.values], [other.indptr, other.indices, other.values])


@given(
    st.lists(st.none() | st.text("aé\0\U0001f600", max_size=3), max_size=8),
    st.lists(st.text("ab\0", max_size=2), max_size=8),
)
def test_vocabularies_are_alike(known, others):
    def made():
        series = pl.Series(others, dtype=pl.String)
        vocabulary = Vocabulary.of(pl.Series(known, dtype=pl.String)).extended(series)
        need_distinct("ids", series)
        return [*vocabulary.tensors().values(), vocabulary.indices(series)]

    assert same(*both_ways(made))


IDS = st.sampled_from(["1", "2", "é", " 3", "1.0"]) | st.just(" ")
ROWS = st.lists(
    st.tuples(
        IDS,
        st.integers(1, 3),
        st.sampled_from([1, 2.5, -0.0]) | st.just(float("inf")),
        st.sampled_from(["2018-07-13", "2018-07-13 01:00", "5"]) | st.just("soon"),
        st.sampled_from([None, "wet", "dry"]),
        st.sampled_from([None, 0.0, -0.0, float("nan"), 1.5]),
    ),
    min_size=1,
    max_size=8,
)
KINDS = {
    "rows": lambda frame: frame.to_dicts(),
    "columns": lambda frame: frame.to_dict(as_series=False),
    "polars": lambda frame: frame,
    "pandas": lambda frame: pd.DataFrame(frame.to_dict(as_series=False)),
    "categorical": lambda frame: pd.DataFrame(frame.to_dict(as_series=False)).astype({"sky": "category"}),
    "arrow": lambda frame: frame.to_arrow(),
}


@pytest.mark.parametrize("kind", KINDS)
@given(ROWS, st.booleans(), st.booleans())
def test_tables_are_read_alike(kind, rows, timed, in_context):
    names = ["user_id", "item_id", "rating", "time", "sky", "wind"]
    frame = pl.DataFrame(
        rows, names, orient="row", strict=False, schema_overrides={"rating": pl.Float64, "wind": pl.Float64}
    )
    context = ["sky", "wind"] if in_context else []
    columns = [Category().fit("sky", pl.Series(["wet", "dry"])), Number(bins=2).fit("wind", pl.Series([0.0, 1.5]))]

    def read():
        found = Interactions.of(KINDS[kind](frame), time="time" if timed else None, context=context).latest()
        parts = [[one.users, one.items, one.target, one.times] for one in (found, *found.split(0.5))]
        if not in_context:
            return [*parts, found.digest(), found.frames]
        block = context_block(columns, found.context)
        tables = [array for table in block.tables.values() for array in (table.indptr, table.indices)]
        return [*parts, found.digest(), found.frames, block.rows, *tables]

    assert same(*both_ways(read))


def test_a_frame_of_arrow_is_the_one_that_polars_makes():
    frame = pl.DataFrame(
        {"text": ["a", None], "number": [1, 2], "list": [["a"], []], "time": [dt.datetime(2018, 7, 13), None]}
    ).with_columns(pl.col("text").cast(pl.Categorical).alias("category"))
    for table in (frame.to_arrow(), pa.concat_tables([frame.to_arrow()] * 2), frame.to_arrow()[:0]):
        read, kind = as_frame("items", table)
        assert read.equals(pl.DataFrame(table))
        assert read.schema == pl.DataFrame(table).schema
    assert in_kind(frame, kind).equals(frame.to_arrow())
    assert in_kind(frame, kind).schema.equals(frame.to_arrow().schema)
