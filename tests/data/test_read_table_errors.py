"""Files that are no tables: each is refused with one sentence that names the file and the line."""

from __future__ import annotations

import gzip
import io
import json
import sys

import polars as pl
import pytest

from bitfm.data import files, read_table
from bitfm.data.tables import read
from bitfm.errors import BitfmError, DataFileError, EmptyTableError


@pytest.fixture
def file(tmp_path):
    """A function that writes a file and returns its path."""

    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize("name", ["no.csv", "no.parquet", "no.jsonl", "no.libfm", "no.csv.gz"])
def test_a_missing_file_is_named(tmp_path, name):
    with pytest.raises(FileNotFoundError, match="no"):
        read_table(tmp_path / name, columns=["user:3"] if name == "no.libfm" else None)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.parquet", "a.jsonl", "a.libfm"])
def test_an_empty_file_is_refused(file, name):
    with pytest.raises(EmptyTableError, match=r"a\.\w+ is empty"):
        read_table(file(b"", name), columns=["user:3"] if name == "a.libfm" else None)


def test_a_file_of_blanks_is_empty(file):
    with pytest.raises(EmptyTableError, match="is empty"):
        read_table(file(b"\n \n"))


@pytest.mark.parametrize(
    ("text", "line", "cells"),
    [
        ("a,b\n1,2\n3\n", 3, 1),
        ("a,b\n1,2,3\n", 2, 3),
        ("\n\na,b\n1,2,3\n", 4, 3),
        ('a,b\n"x\ny",2\n\n1,2,3,4\n', 5, 4),
        ("a\tb\n1\t2\n3\n", 3, 1),
        ("a::b\n1::2\n3::4::5\n", 3, 3),
    ],
)
def test_a_row_of_another_length_is_named(file, text, line, cells):
    with pytest.raises(DataFileError, match=rf"table.csv, line {line}: {cells} cells, but the first line has 2;"):
        read_table(file(text))


def test_the_wrong_number_of_names_shows_the_first_line(file):
    with pytest.raises(DataFileError, match="has 3 columns, but 2 names were given; its first line is '1::2::3'"):
        read_table(file("1::2::3\n"), columns=["a", "b"])
    with pytest.raises(DataFileError, match=r"has 1 columns \(a\), but 2 names"):
        read_table(file('{"a": 1}', "a.jsonl"), columns=["a", "b"])


def test_names_must_differ(file):
    with pytest.raises(ValueError, match="expected names that differ"):
        read_table(file("1,2\n"), columns=["a", "a"])
    with pytest.raises(DataFileError, match="the first line has '1' twice; if it is not a line of column names"):
        read_table(file("1,1\n2,3\n"))


def test_what_is_no_text_is_refused(file):
    with pytest.raises(DataFileError, match="zero bytes"):
        read_table(file(b"\x00\x01\x02,\n"))


def test_damaged_gzip_is_refused(file):
    whole = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
    with pytest.raises(DataFileError, match="compressed data ends too early"):
        read_table(file(whole[:-20], "a.csv.gz"))


@pytest.mark.parametrize("cut", [4, 100, -4])
def test_damaged_parquet_is_refused(tmp_path, cut):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"a": range(100)}).write_parquet(path)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(DataFileError, match=r"a\.parquet cannot be read as a Parquet file"):
        read_table(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1}\n{"a": \n', "line 2: not in JSON format"),
        ('{"a": 1}\n\n[1]\n', "line 3: list in JSON; expected an object"),
        ("[1, 2]", "element 1: int in JSON"),
        ('[{"a": 1}', "not in JSON format"),
    ],
)
def test_damaged_json_is_refused_with_its_line(file, text, message):
    with pytest.raises(DataFileError, match=message):
        read_table(file(text, "a.jsonl"))


@pytest.mark.parametrize(
    ("text", "columns", "error", "message"),
    [
        ("5 0:1\n", None, ValueError, "give columns such as user:943"),
        ("5 0:1\n", ["user"], ValueError, "the column 'user' of a libFM file; expected a name and a number"),
        ("5 0:1\n", ["user:x"], ValueError, "expected a name and a number"),
        ("5 0:1 7:1\n", ["user:3"], DataFileError, "holds 8 features, but the columns have 3"),
        ("5 0:1\n3 1:0.5\n", ["user:3"], DataFileError, "row 2: a feature has the value 0.5, .*read_libfm.*DiscreteFM"),
        ("5 0:x\n", ["user:3"], DataFileError, "line 1"),
    ],
)
def test_libfm_files_that_are_no_table_are_refused(file, text, columns, error, message):
    with pytest.raises(error, match=message):
        read_table(file(text, "a.libfm"), columns=columns)


@pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl.gz", "a.libfm.gz", "-"])
def test_what_unpacks_to_more_than_fits_is_refused_before_it_is_unpacked(file, name, monkeypatch):
    monkeypatch.setattr(files, "_memory", lambda: 16 << 20)
    bomb = gzip.compress(b"5 0:1\n" * (8 << 20))
    unpacked = []
    whole = gzip.GzipFile.read
    monkeypatch.setattr(gzip.GzipFile, "read", lambda self, size=-1: unpacked.append(size) or whole(self, size))
    path = "-" if name == "-" else file(bomb, name)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(bomb)))
    with pytest.raises(DataFileError, match="holds more than 4 MiB when unpacked, a quarter of the memory"):
        read_table(path, columns=["user:3"])
    assert sum(unpacked) <= 6 << 20
    assert min(unpacked) > 0
    assert not sys.stdin.closed


def test_the_memory_of_this_machine_is_known():
    assert files._memory() > 1 << 20


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1}\n{"a": 1e400}\n', "line 2: 1e400 is larger than any number; remove it"),
        ('{"a": [1, -1e999]}\n', "line 1: -1e999 is larger"),
        ('{"a": ' + "1" * 400 + "}\n", r"line 1: 1{20}\.\.\. is larger"),
        ('[{"a": 1e400}]', r"a.json: 1e400 is larger"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "holds values within more than 100 others in JSON; expected"),
        ('{"a": ' + "[[]," * 900 + "1" + "]" * 900 + "}", "more than 100 others"),
        ('[{"a": ' + '{"b": [], "c": ' * 120 + "1" + "}" * 120 + "}]", "more than 100 others"),
        ('{"a": ' + "[" * 900 + "]" * 900 + "}", "more than 100 others"),
        ("[" * 100_000, "more than 100 others"),
        ('[{"a": ' + "[" * 500 + "]" * 500 + "}]", "more than 100 others"),
        ('{"a": "x"}\n{"a": "y\\ud800"}\n', r"column '.*': 'y\\ud800' has half of a surrogate pair"),
        ('{"a": "\\udc00y"}\n', r"column '.*': '\\udc00y' has half of a surrogate pair"),
        ('{"\\uD800": 1}\n', r"column '.*': '\\ud800' has half of a surrogate pair"),
    ],
)
def test_json_that_no_column_can_hold_is_refused(file, text, message):
    with pytest.raises(BitfmError, match=message):
        read_table(file(text, "a.json"))


def test_brackets_within_texts_nest_nothing(file):
    rows = [{"a": "[" * 200}, {"a": '\\"' + "{" * 200}, {"a": "x\\"}] * 2
    for name, text in (("a.jsonl", "\n".join(map(json.dumps, rows))), ("a.json", json.dumps(rows))):
        assert read_table(file(text, name))["a"].to_list() == [row["a"] for row in rows]


def test_a_row_of_json_has_a_limit(file, monkeypatch):
    monkeypatch.setattr(read, "ROW_BYTES", 3 << 20)
    row = b'{"a": "' + b"x" * (2 << 20) + b'"}\n'
    assert len(read_table(file(row * 2, "a.jsonl"))) == 2
    with pytest.raises(DataFileError, match=r"a\.jsonl, line 3: a row of 4 MiB, but one has 3 at most; write one obj"):
        read_table(file(row * 2 + row[:-3] + row, "a.jsonl"))


@pytest.mark.parametrize(
    ("name", "text", "columns"),
    [
        ("a.csv", "{0},{0}\n1,2\n", None),
        ("a.json", '[{{"{0}\\ud800": 1}}]', None),
        ("a.jsonl", '{{"{0}": 1}}', ["a", "b"]),
        ("a.csv", "{0},b\n1,2\n", ["a"]),
    ],
)
def test_a_name_of_any_length_makes_a_short_sentence(file, name, text, columns):
    with pytest.raises(BitfmError) as caught:
        read_table(file(text.format("x" * 10_000), name), columns=columns)
    assert "xxx..." in str(caught.value)
    assert len(str(caught.value)) < 500


def test_pairs_of_surrogates_are_characters(file):
    assert read_table(file('{"a": "\\ud83d\\ude00"}\n', "a.json")).rows() == [("😀",)]


@pytest.mark.parametrize(
    "content",
    [
        "a,b\n1,\ud800\n".encode(errors="surrogatepass"),
        "a,b\n1,\ud800\n".encode("utf-16", errors="surrogatepass"),
        "a,b\n1,x".encode("utf-16")[:-1],
    ],
)
def test_half_a_character_is_refused_with_its_line(file, content):
    with pytest.raises(DataFileError, match=r"table\.csv, line 2: half of a character"):
        read_table(file(content))
