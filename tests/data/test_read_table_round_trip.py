"""What is written as CSV, JSON lines or Parquet is what is read."""

from __future__ import annotations

import csv
import io
import json
import math
import tempfile
from pathlib import Path

import polars as pl
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bitfm.data import read_table
from bitfm.errors import BitfmError

# No NUL and no half characters, which text files cannot hold, and no lone \r, which csv takes for the end of a line.
characters = st.characters(codec="utf-8", exclude_characters="\0\r")
texts = st.text(characters, min_size=1, max_size=8)
words = texts.map(lambda text: "w" + text)  # never a number
whole = st.integers(-(2**63), 2**63 - 1)
numbers = st.floats(allow_nan=False, allow_infinity=False)
quick = settings(suppress_health_check=[HealthCheck.too_slow])


def optional(values):
    return st.none() | values


@st.composite
def tables(draw, *columns):
    """Columns of the given kinds, of one length, with at least one value in each."""
    size = draw(st.integers(1, 6))
    made = {}
    for place, values in enumerate(columns):
        column = draw(st.lists(values, min_size=size, max_size=size).filter(lambda c: any(v is not None for v in c)))
        made[f"c{place}"] = column
    return made


def read(content, name, **more):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        return read_table(path, **more)


@quick
@given(tables(whole, optional(words), optional(numbers)), st.sampled_from([",", ";", "|", "\t"]), st.booleans())
@example({"c0": [1], "c1": ['w"'], "c2": [0.0]}, ",", False)
@example({"c0": [1], "c1": ['w\n"'], "c2": [0.0]}, "\t", False)
@example({"c0": [1, 2], "c1": [None, "w\n\n"], "c2": [5e-324, None]}, "\t", True)
def test_csv(table, separator, quote_all):
    out = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
    writer = csv.writer(out, delimiter=separator, quoting=quoting, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    frame = read(out.getvalue().encode(), "table.csv", separator=separator)
    assert frame["c0"].to_list() == table["c0"]
    assert frame["c1"].to_list() == table["c1"]
    assert frame["c2"].to_list() == table["c2"]


@quick
@given(tables(whole, words.filter(lambda word: not set(word) & set(':\n"')), whole))
def test_two_colons(table):
    lines = ["::".join(map(str, row)) for row in zip(*table.values(), strict=True)]
    frame = read("\n".join(lines).encode(), "table.dat", columns=list(table), separator="::")
    assert frame.to_dict(as_series=False) == table


@quick
@given(tables(whole, optional(texts), st.lists(texts, max_size=3), optional(numbers)))
def test_json_lines(table):
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    frame = read("\n".join(map(json.dumps, rows)).encode(), "table.jsonl")
    assert frame["c0"].to_list() == table["c0"]
    assert frame["c1"].to_list() == table["c1"]
    assert [list(values) for values in frame["c2"].to_list()] == table["c2"]
    for read_back, written in zip(frame["c3"].to_list(), table["c3"], strict=True):
        assert read_back is None if written is None else math.isclose(read_back, written, rel_tol=1e-15)


@quick
@given(tables(optional(whole), optional(texts), optional(st.lists(texts, max_size=3)), optional(st.booleans())))
def test_parquet(table):
    schema = {"c0": pl.Int64, "c1": pl.String, "c2": pl.List(pl.String), "c3": pl.Boolean}
    frame = pl.DataFrame(table, schema=schema)
    out = io.BytesIO()
    frame.write_parquet(out)
    assert read(out.getvalue(), "table.parquet").equals(frame)


bits = st.sampled_from(
    ['"', '""', ",", "\t", "::", "|", ";", "\n", "\r", "\r\n", "a", "é", "1", "0.5", " ", "{", "}", "[", "]"]
)


@quick
@given(st.lists(bits, max_size=30).map("".join), st.sampled_from(["a.csv", "a.tsv", "a.jsonl"]), st.booleans())
@example("a\r,b\n1,2", "a.csv", False)
@example('"', "a.csv", False)
@example('a,"\n', "a.csv", False)
@example('a,b\n"x"y,z\n', "a.csv", False)
@example("{}", "a.jsonl", False)
@example("[]", "a.jsonl", False)
def test_any_text_is_a_table_or_an_error_that_says_why(text, name, latin):
    problem = None
    try:
        frame = read(text.encode("latin-1" if latin else "utf-8"), name)
    except BitfmError as error:
        problem = str(error)
    if problem is not None:
        assert name in problem
    else:
        assert len(frame) <= 1 + text.count("\n") + text.count("\r") + text.count("{")
