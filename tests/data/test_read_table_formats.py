"""What a text is written in is found and told; what is not found can be said, and no line is lost without a count."""

from __future__ import annotations

import csv
import io
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bitfm.data import read_table
from bitfm.data.tables.facts import FileFacts, Reading
from bitfm.data.tables.read import read_file
from bitfm.errors import BitfmWarning, DataFileError


@pytest.fixture
def file(tmp_path):
    """A function that writes a file and returns its path."""

    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        (b"a,b\n1,x\n", ("utf-8", ",", "", "")),
        (b'a;b\n1;"x;y"\n', ("utf-8", ";", '"', "")),
        (b'a;b\n1;"x\\"y"\n', ("utf-8", ";", '"', "\\")),
        (b"a,b\n1,x\\,y\n", ("utf-8", ",", "", "\\")),
        (b"a;b\n1;'x;y'\n2;'z'\n", ("utf-8", ";", "'", "")),
        (b"1::it's\n2::x\n", ("utf-8", "::", "", "")),
        ("a,b\n1,é\n".encode("utf-16"), ("utf-16", ",", "", "")),
        ("a,b\n1,é\n".encode("utf-8-sig"), ("utf-8", ",", "", "")),
        ("a,b\n1,é\n".encode("latin-1"), ("latin-1", ",", "", "")),
        ("a,b\n1,5 €\n".encode("windows-1252"), ("windows-1252", ",", "", "")),
    ],
)
def test_encoding_separator_quotes_and_escapes_are_told(file, content, facts):
    assert read_file(file(content), None, Reading())[1] == FileFacts("text", *facts)


def test_the_characters_of_windows_are_read(file):
    assert read_table(file("a,b\n1,“5 €” – ok\n".encode("windows-1252"))).rows() == [(1, "“5 €” – ok")]
    assert read_table(file(b"a,b\n1,\x81\x80\xe9\n")).rows() == [(1, "\x81\x80é")]  # of which Windows has no first


def test_single_quotes_around_cells_are_taken_off_and_those_of_words_are_not(file):
    assert read_table(file("a;b\n1;'x;y'\n2;'it''s'\n")).rows() == [(1, "x;y"), (2, "it's")]
    assert read_table(file("a;b\n1;'x'\n2;it's\n")).rows() == [(1, "'x'"), (2, "it's")]


def test_a_quote_and_an_escape_that_are_given_count(file):
    bars = file("a,b\n1,^x,y^\n2,^z~^^\n")
    assert read_table(bars, quote="^", escape="~").rows() == [(1, "x,y"), (2, "z^")]
    words = file('a,b\n1,"x"\n2,"y"\n')
    assert read_table(words).rows() == [(1, "x"), (2, "y")]
    assert read_table(words, quote="").rows() == [(1, '"x"'), (2, '"y"')]
    paths = file('a,b\n1,"C:\\"\n2,"x\\,y"\n')
    assert read_table(paths, escape="").rows() == [(1, "C:\\"), (2, "x\\,y")]


def test_an_encoding_that_is_given_counts(file):
    greek = "a,b\n1,Αθήνα\n".encode("iso8859-7")
    assert read_table(file(greek), encoding="iso8859-7").rows() == [(1, "Αθήνα")]
    assert read_table(file('{"a": "Αθήνα"}\n'.encode("iso8859-7"), "a.jsonl"), encoding="iso8859-7").rows() == [
        ("Αθήνα",)
    ]
    with pytest.raises(DataFileError, match=r"table.csv, line 2: not in the encoding utf-8.*skip_bad"):
        read_table(file(greek), encoding="utf-8")
    for unknown in ("klingon", "rot13"):
        with pytest.raises(ValueError, match=f"encoding is '{unknown}', which Python has not"):
            read_table(file(greek), encoding=unknown)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"quote": "ab"}, "quote is 'ab'; expected one ASCII character"),
        ({"quote": "«"}, "expected one ASCII character"),
        ({"escape": "n"}, "expected one ASCII character"),
        ({"quote": "'", "escape": "'"}, "quote and escape are both"),
        ({"quote": ";", "separator": ";"}, "quote and separator are both"),
        ({"escape": ";", "separator": ";"}, "escape and separator are both"),
        ({"skip_bad": -1}, "skip_bad must be a whole number"),
        ({"decimal": "'"}, "decimal must be one of"),
    ],
)
def test_what_cannot_be_is_refused(file, given, message):
    with pytest.raises(ValueError, match=message):
        read_table(file("a,b\n1,2\n"), **given)


BAD = 'user,title\n1,"a, b"\n2,x,y\n3,"c"\n4,"d\n5,"e"\n6\n7,"f" g\n8,h\n'


def test_lines_that_are_no_rows_are_skipped_and_counted(file):
    path = file(BAD)
    with pytest.raises(DataFileError, match=r"line \d.*skip_bad= \(--skip-bad\)"):
        read_table(path)
    with pytest.warns(BitfmWarning, match=r"table.csv: 4 lines skipped.*the first is line 3 \(3 cells, but .* has 2\)"):
        frame = read_table(path, skip_bad=4)
    assert frame.rows() == [(1, "a, b"), (3, "c"), (5, "e"), (8, "h")]
    with pytest.raises(DataFileError, match="there are more than 3 such lines"):
        read_table(path, skip_bad=3, quote='"')


def test_a_table_without_bad_lines_is_read_without_a_word(file):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_table(file("a,b\n1,2\n"), skip_bad=5).rows() == [(1, 2)]


def test_the_first_line_is_never_skipped(file):
    with pytest.raises(DataFileError, match="line 1"):
        read_table(file('a,"b" c\n1,"x"\n'), skip_bad=9, quote='"')


def test_lines_in_another_encoding_are_skipped(file):
    path = file(b"a,b\n1,x\n2,\xe9\n3,y\n4\n")
    with pytest.warns(BitfmWarning, match=r"2 lines skipped.*the first is line 3 \(not in the encoding utf-8\)"):
        assert read_table(path, encoding="utf-8", skip_bad=2).rows() == [(1, "x"), (3, "y")]
    with pytest.raises(DataFileError):
        read_table(path, encoding="utf-8", skip_bad=1)


def test_lines_that_are_no_json_are_skipped(file):
    path = file('{"a": 1}\n{"a": \n{"a": 2}\n', "a.jsonl")
    with pytest.warns(BitfmWarning, match=r"1 line skipped that is no row: line 2 \(not in JSON format\)"):
        assert read_table(path, skip_bad=1).rows() == [(1,), (2,)]
    with pytest.raises(DataFileError, match="line 2"):
        read_table(path)


CELLS = st.text("abc,\"'\\ ", max_size=6).map(lambda text: f"w{text}w")
DAMAGE = st.sampled_from(["w", "w,w,w", 'w,"w', '"w"w,w', 'w,w"w"', '"', ",,,"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(0, 9), CELLS), min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(0, 8), DAMAGE), max_size=3),
)
def test_every_line_is_a_row_or_counted(file, rows, damage):
    """Rows and skipped lines are all lines, whatever is between them, or it is an error."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(["n", "text"])
    writer.writerows(rows)
    lines = out.getvalue().splitlines()
    for place, line in damage:
        lines.insert(min(place + 1, len(lines)), line)
    path = file("\n".join(lines) + "\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BitfmWarning)
        try:
            frame, facts = read_file(path, None, Reading(separator=",", quote='"', escape="", skip_bad=20))
        except DataFileError:
            return
    spans = sum(text.count("\n") for row in frame.rows() for text in row if isinstance(text, str))
    assert len(frame) + spans + facts.skipped == len(rows) + len(damage)
