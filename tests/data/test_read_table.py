"""Files as tables: what is guessed from a text file, and what other formats give."""

from __future__ import annotations

import gzip
import io
import sys

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from bitfm.data import read_table, write_libfm
from bitfm.data.tables import FrameKind, as_frame


@pytest.fixture
def file(tmp_path):
    """A function that writes a file and returns its path."""

    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


# Separators


@pytest.mark.parametrize("separator", [",", ";", "|", "\t", "::"])
def test_the_separator_is_guessed(file, separator):
    rows = [("user", "title", "rating"), ("ann", "Tea, a life", "5"), ("bob", "One; two", "3"), ("cy", "A|B", "1")]
    rows = [[cell.replace(separator, " ") for cell in row] for row in rows]
    frame = read_table(file("\n".join(map(separator.join, rows)), "table.csv"))
    assert frame.columns == ["user", "title", "rating"]
    assert frame["title"].to_list() == [row[1] for row in rows[1:]]
    assert frame["rating"].to_list() == [5, 3, 1]


def test_a_separator_may_be_given(file):
    assert read_table(file("a b\n1 2\n"), separator=" ").rows() == [(1, 2)]
    assert read_table(file("a--b\n1--2\n"), separator="--").rows() == [(1, 2)]
    assert read_table(file("a,b;c\n1,5;2\n"), separator=";").columns == ["a,b", "c"]


def test_a_file_of_one_column(file):
    assert read_table(file("item\ni1\ni2\n")).rows() == [("i1",), ("i2",)]
    assert read_table(file("name\nDoe, Ann\n", "names.tsv")).rows() == [("Doe, Ann",)]


def test_a_given_separator_must_be_one(file):
    with pytest.raises(ValueError, match="separator is '\"'"):
        read_table(file("a\n"), separator='"')


# Quotes


def test_quotes_as_csv_has_them(file):
    frame = read_table(file('a,b\n"x, y","say ""hi"""\n"two\nlines",z\n'))
    assert frame.rows() == [("x, y", 'say "hi"'), ("two\nlines", "z")]


def test_quotes_around_cells_are_dropped_in_files_of_tabs(file):
    frame = read_table(file('a\tb\n"x"\t"say ""hi"""\n""\tz\n'))
    assert frame.rows() == [("x", 'say "hi"'), (None, "z")]
    assert read_table(file('a\tb\n"x\ty"\tz\n1\t2\n')).rows() == [("x\ty", "z"), ("1", "2")]


@pytest.mark.parametrize("separator", [",", "\t", "::", "|"])
def test_bare_quotes_are_characters_like_any_other(file, separator):
    lines = ["a*b", 'a 5" disk*x', '"so*y', 'the "end" of*z']
    frame = read_table(file("\n".join(lines).replace("*", separator)))
    assert frame.rows() == [('a 5" disk', "x"), ('"so', "y"), ('the "end" of', "z")]


# Headers


def test_without_names_the_first_line_has_them(file):
    assert read_table(file("1,2\n3,4\n")).columns == ["1", "2"]
    assert read_table(file(",b\n3,4\n")).columns == ["column 1", "b"]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("1,5\n2,3\n", [(1, 5), (2, 3)]),
        ("userId,rating\n2,3\n", [(2, 3)]),
        ("user,rating\nann,good\n", [("ann", "good")]),  # the names given
        ("Rating,User\nann,good\n", [("Rating", "User"), ("ann", "good")]),
        ("ann,\nbob,3\n", [("ann", None), ("bob", 3)]),
    ],
)
def test_with_names_a_header_is_recognised(file, text, rows):
    frame = read_table(file(text), columns=["user", "rating"])
    assert frame.columns == ["user", "rating"]
    assert frame.rows() == rows


# Text and cells


def test_latin_1_and_byte_order_marks(file):
    assert read_table(file("title\nCafé".encode("latin-1"))).rows() == [("Café",)]
    assert read_table(file("title\nCafé".encode("utf-8-sig"))).rows() == [("Café",)]
    assert read_table(file("title\nCafé".encode("utf-16"))).rows() == [("Café",)]


def test_line_ends_and_empty_lines(file):
    expected = [(1, None), (2, "x")]
    for text in ("a,b\r\n1,\r\n2,x\r\n", "\na,b\n\n1,\n2,x\n\n", "a,b\r1,\r2,x"):
        assert read_table(file(text)).rows() == expected


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "-2"], [1, -2]),
        (["1", "2.5"], [1.0, 2.5]),
        (["1e3", ".5"], [1000.0, 0.5]),
        (["1", ""], [1, None]),
        (["1", "NA"], [1, None]),
        (["NaN", "0.5"], [None, 0.5]),
        (["x", "NA"], ["x", "NA"]),
        (["01234", "98107"], ["01234", "98107"]),
        (["0", "10"], [0, 10]),
        (["1", "99999999999999999999"], ["1", "99999999999999999999"]),
        (["inf", "1"], ["inf", "1"]),
        (["true", "false"], ["true", "false"]),
        (["1,5", "2,5"], ["1,5", "2,5"]),
    ],
)
def test_a_column_holds_numbers_if_all_its_cells_are(file, cells, expected):
    text = "a;b\n" + "".join(f"{cell};x\n" for cell in cells)
    assert read_table(file(text))["a"].to_list() == expected


def test_what_is_no_number_may_come_late(file):
    text = "a,b\n" + "1,2\n" * 5000 + "x,2\n"
    frame = read_table(file(text))
    assert frame["a"][-1] == "x"
    assert frame["b"].dtype == pl.Int64


def test_a_header_alone_is_a_table_without_rows(file):
    frame = read_table(file("a,b\n"))
    assert frame.columns == ["a", "b"]
    assert len(frame) == 0


# Other formats


def test_gzip_is_recognised_whatever_the_name(file):
    assert read_table(file(gzip.compress(b"a,b\n1,2\n"), "table.csv.gz")).rows() == [(1, 2)]
    assert read_table(file(gzip.compress(b"a,b\n1,2\n"), "table")).rows() == [(1, 2)]
    assert read_table(file(gzip.compress(b'{"a": 1}'), "table.jsonl.gz")).rows() == [(1,)]


def test_json_lines_keep_lists(file):
    text = '{"item": "i1", "genres": ["a", "b"]}\n\n{"item": "i2", "genres": [], "year": 1999}\n'
    for name in ("items.jsonl", "items.ndjson", "items.json"):
        frame = read_table(file(text, name))
        assert frame.rows() == [("i1", ["a", "b"], None), ("i2", [], 1999)]


def test_a_json_list_of_objects(file):
    assert read_table(file('[{"a": 1},\n {"b": "x"}]', "items.json")).rows() == [(1, None), (None, "x")]


def test_json_values_of_several_types_stay_what_they_are(file):
    assert read_table(file('{"a": true}\n{"a": 1}\n', "items.jsonl"))["a"].to_list() == [True, 1]


def test_parquet_is_recognised_whatever_the_name(tmp_path):
    frame = pl.DataFrame({"a": [1, None], "b": [["x"], []]})
    for name in ("table.parquet", "table[1].csv"):
        frame.write_parquet(tmp_path / name)
        assert read_table(tmp_path / name).equals(frame)
    assert read_table(tmp_path / name, columns=["c", "d"]).columns == ["c", "d"]


def test_libfm_files_give_a_column_a_field(tmp_path):
    path = tmp_path / "ratings.libfm"
    path.write_text("5 0:1 3:1 5:1 6:1\n3 1:1 2:1\n")
    frame = read_table(path, columns=["user:2", "item:2", "job:1", "genres:4"])
    assert frame.to_dict(as_series=False) == {
        "target": [5, 3],
        "user": [0, 1],
        "item": [1, 0],
        "job": [None, None],
        "genres": [[0, 1], []],
    }


def test_libfm_fields_give_the_matrix_back(tmp_path):
    random = np.random.default_rng(0)
    users, items = random.integers(0, 5, 50), random.integers(0, 7, 50)
    tags = sp.random(50, 6, 0.3, "csr", random_state=1)
    tags.data[:] = 1
    X = sp.hstack([sp.csr_matrix(np.eye(5)[users]), sp.csr_matrix(np.eye(7)[items]), tags])
    write_libfm(tmp_path / "x.libfm", X, np.arange(50.0))
    frame = read_table(tmp_path / "x.libfm", columns=["user:5", "item:7", "tags:6"])
    assert frame["user"].to_list() == users.tolist()
    assert frame["item"].to_list() == items.tolist()
    assert frame["tags"].to_list() == [np.flatnonzero(row).tolist() for row in tags.toarray()]
    assert frame["target"].to_list() == list(range(50))


def test_a_path_is_a_table(file):
    path = file("a,b\n1,2\n")
    for given in (path, str(path)):
        frame, kind = as_frame("items", given)
        assert frame.rows() == [(1, 2)]
        assert kind is FrameKind.POLARS


def parquet_bytes():
    buffer = io.BytesIO()
    pl.DataFrame({"a": [1], "b": ["x"]}).write_parquet(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "content",
    [b"a,b\n1,x\n", b'{"a": 1, "b": "x"}\n', b'[{"a": 1, "b": "x"}]', gzip.compress(b"a\tb\n1\tx\n"), parquet_bytes()],
    ids=["csv", "json lines", "json", "gzip", "parquet"],
)
def test_standard_input_may_be_any_of_them(content, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert read_table("-").rows() == [(1, "x")]
