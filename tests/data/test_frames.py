"""Frames of several libraries as Polars frames, and results as the library's own."""

from __future__ import annotations

import datetime
import math
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from bitfm.data.tables import FrameKind, as_frame, frames, in_kind, times_of
from bitfm.errors import TableError

TABLE = {"user": ["ann", "bob", None], "age": [25, None, 31], "score": [0.5, None, 2.0], "new": [True, False, True]}


def test_polars_frames_are_taken_as_they_are():
    frame = pl.DataFrame(TABLE)
    taken, kind = as_frame("users", frame)
    assert taken is frame
    assert kind is FrameKind.POLARS
    lazy, kind = as_frame("users", frame.lazy())
    assert lazy.equals(frame)
    assert kind is FrameKind.POLARS


def test_columns_and_rows_of_python_values_are_the_same_table():
    rows = [dict(zip(TABLE, values, strict=True)) for values in zip(*TABLE.values(), strict=True)]
    assert as_frame("users", TABLE)[0].equals(pl.DataFrame(TABLE))
    assert as_frame("users", rows)[0].equals(pl.DataFrame(TABLE))


def test_a_row_may_lack_a_column():
    frame, _ = as_frame("items", [{"item": 1}, {"item": 2, "genres": ["a", "b"]}])
    assert frame.rows() == [(1, None), (2, ["a", "b"])]


def test_no_rows_are_an_empty_table():
    assert as_frame("items", [])[0].shape == (0, 0)
    assert as_frame("items", {"item": []})[0].shape == (0, 1)


def test_columns_may_be_arrays_of_any_library():
    pd = pytest.importorskip("pandas")
    pa = pytest.importorskip("pyarrow")
    given = {
        "polars": pl.Series([1, 2]),
        "numpy": np.array(["a", "b"]),
        "nan": np.array([0.5, math.nan]),
        "pandas": pd.Series([1, None], dtype="Int64"),
        "index": pd.CategoricalIndex(["x", "y"]),
        "arrow": pa.array(["a", None]),
        "chunks": pa.chunked_array([[1], [2]]),
        "vectors": np.array([[1, 2], [3, 4]]),
        "tuples": ((1, 2), (3,)),
    }
    assert as_frame("items", given)[0].to_dict(as_series=False) == {
        "polars": [1, 2],
        "numpy": ["a", "b"],
        "nan": [0.5, None],
        "pandas": [1, None],
        "index": ["x", "y"],
        "arrow": ["a", None],
        "chunks": [1, 2],
        "vectors": [[1, 2], [3, 4]],
        "tuples": [[1, 2], [3]],
    }


def test_pandas_frames_give_what_they_hold():
    pd = pytest.importorskip("pandas")
    frame, kind = as_frame("users", pd.DataFrame(TABLE))
    assert kind is FrameKind.PANDAS
    assert frame["user"].to_list() == TABLE["user"]
    assert frame["age"].to_list() == TABLE["age"]  # pandas made them floats
    assert frame["score"].to_list() == TABLE["score"]
    assert frame["new"].to_list() == TABLE["new"]


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([1, None, 3], "Int64", [1, None, 3]),
        ([0.5, None], "Float32", [0.5, None]),
        ([True, None], "boolean", [True, None]),
        (["a", None], "string", ["a", None]),
        (["b", "a", None, "b"], "category", ["b", "a", None, "b"]),
        ([3, 1, 3], "category", ["3", "1", "3"]),
        ([["a"], [], ["b", "c"]], object, [["a"], [], ["b", "c"]]),
        ([1, "a", None, math.nan], object, [1, "a", None, None]),
        ([1, 2.5, None], object, [1.0, 2.5, None]),
        (["2020-01-02", None], "datetime64[ns]", [datetime.datetime(2020, 1, 2), None]),
        ([], "str", []),
    ],
)
def test_types_of_pandas(values, dtype, expected):
    pd = pytest.importorskip("pandas")
    frame, _ = as_frame("users", pd.DataFrame({"c": pd.Series(values, dtype=dtype)}))
    assert frame["c"].to_list() == expected


def test_a_pandas_category_stays_one():
    pd = pytest.importorskip("pandas")
    frame, _ = as_frame("users", pd.DataFrame({"c": pd.Categorical([7, 8])}))
    assert frame["c"].dtype == pl.Categorical


@pytest.mark.parametrize("zone", ["Europe/Paris", "UTC", "+02:00"])
def test_pandas_moments_with_a_zone_stay_the_same_moments(zone):
    pd = pytest.importorskip("pandas")
    given = pd.DataFrame({"t": pd.to_datetime(["2020-06-01T12:00:00"]).tz_localize(zone)})
    assert times_of("r", as_frame("r", given)[0], "t").values[0] == given["t"][0].timestamp()


def test_a_named_index_of_pandas_is_a_column():
    pd = pytest.importorskip("pandas")
    given = pd.DataFrame({"user": ["ann", "bob"], "age": [1, 2]}).set_index("user")
    assert as_frame("users", given)[0].select("user", "age").rows() == [("ann", 1), ("bob", 2)]
    unnamed = pd.DataFrame({"age": [1, 2]}, index=["x", "y"])
    assert as_frame("users", unnamed)[0].columns == ["age"]


def test_pandas_numbers_are_not_copied():
    pd = pytest.importorskip("pandas")
    numbers = np.arange(1000, dtype=np.int64)
    given = pd.DataFrame({"a": pd.Series(numbers, copy=False)})
    frame, _ = as_frame("users", given)
    assert np.shares_memory(frame["a"].to_numpy(), given["a"].to_numpy())


def test_arrow_tables_come_in_and_go_out():
    pa = pytest.importorskip("pyarrow")
    table = pa.table(TABLE)
    frame, kind = as_frame("users", table)
    assert kind is FrameKind.ARROW
    assert frame.equals(pl.DataFrame(TABLE))
    assert in_kind(frame, kind).to_pydict() == TABLE
    assert as_frame("users", table.to_batches()[0])[0].equals(frame)


def test_pandas_frames_go_out():
    pd = pytest.importorskip("pandas")
    frame = pl.DataFrame({"item": ["a", None], "rank": [1, 2], "score": [0.5, None], "genres": [["x"], []]})
    out = in_kind(frame, FrameKind.PANDAS)
    assert isinstance(out, pd.DataFrame)
    assert as_frame("out", out)[0].equals(frame)
    assert in_kind(frame.head(0), FrameKind.PANDAS).shape == (0, 4)


def test_pandas_works_where_pyarrow_is_not_installed():
    pytest.importorskip("pandas")
    script = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import pandas as pd\n"
        "from bitfm.data.tables import FrameKind, as_frame, in_kind\n"
        "given = pd.DataFrame({'u': ['a', None], 'n': [1, 2], 'c': pd.Categorical(['x', 'y'])})\n"
        "frame, kind = as_frame('users', given)\n"
        "print(frame.rows(), type(in_kind(frame, kind)).__name__)\n"
        "print(in_kind(frame, FrameKind.ARROW) is frame)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["[('a', 1, 'x'), (None, 2, 'y')] DataFrame", "True"], done.stderr


def test_without_pandas_results_are_polars_frames():
    script = (
        "import sys; sys.modules['pandas'] = None\n"
        "import polars as pl\n"
        "from bitfm.data.tables import FrameKind, in_kind\n"
        "print(type(in_kind(pl.DataFrame({'a': [1]}), FrameKind.PANDAS)).__module__.split('.')[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "polars", done.stderr


@pytest.mark.parametrize(
    "given", [7, None, [1, 2], object(), pl.Series([1]), {"a": "text"}, {"a": 5}, np.zeros((2, 2))]
)
def test_what_is_no_table_is_refused(given):
    with pytest.raises(TypeError, match="users"):
        as_frame("users", given)


def test_two_columns_of_one_name_are_refused():
    pd = pytest.importorskip("pandas")
    pa = pytest.importorskip("pyarrow")
    for table in (
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]),
        {1: [1], "1": [2]},
    ):
        with pytest.raises(TableError, match="items has two columns called"):
            as_frame("items", table)


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(TableError, match="2 values in column 'a' but 1 in 'b'"):
        as_frame("items", {"a": [1, 2], "b": [3]})


@pytest.mark.parametrize(("value", "place"), [("x" * 30_000, ", row 2"), (["y", "x" * 30_000], "")])
def test_a_text_that_is_no_category_is_refused(monkeypatch, value, place):
    table = {"a": [1, 2], "b": ["y", value] if place else [[], value]}
    assert as_frame("items", table)[0].height == 2
    monkeypatch.setattr(frames, "CELL_BYTES", 20_000)
    with pytest.raises(TableError, match=rf"items, column 'b'{place}: a text of 0 MiB, but one has 0 at most;"):
        as_frame("items", table)
    assert as_frame("items", {"a": range(10_000), "b": ["y"] * 10_000})[0].height == 10_000


def test_objects_of_several_types_are_kept():
    frame, _ = as_frame("items", {"a": [1, "x", True]})
    assert frame["a"].to_list() == [1, "x", True]


@pytest.mark.parametrize("table", [{"user": ["ann", "b\ud800"]}, {"b\ud800": [1]}])
def test_half_a_character_is_refused(table):
    with pytest.raises(TableError, match=r"users, column '.*': 'b\\ud800' has half of a surrogate pair"):
        as_frame("users", table)
