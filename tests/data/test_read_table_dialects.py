"""Every way to write a table gives back every cell, and none of them loses a row without a word."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bitfm.data import read_table
from bitfm.data.tables import _dialect, _separated
from bitfm.errors import DataFileError

try:
    import pandas as pd
except ImportError:
    pd = None

ESCAPES = {"escapechar": "\\"}
PYTHON = {  # the settings of csv.writer
    "excel": {},
    "all": {"quoting": csv.QUOTE_ALL},
    "not numbers": {"quoting": csv.QUOTE_NONNUMERIC},
    "escaped quotes": {"doublequote": False, **ESCAPES},
    "all, escaped quotes": {"quoting": csv.QUOTE_ALL, "doublequote": False, **ESCAPES},
    "not numbers, escaped quotes": {"quoting": csv.QUOTE_NONNUMERIC, "doublequote": False, **ESCAPES},
    "doubled quotes, escapes": ESCAPES,
    "all, doubled quotes, escapes": {"quoting": csv.QUOTE_ALL, **ESCAPES},
    "escapes alone": {"quoting": csv.QUOTE_NONE, **ESCAPES},
    "escapes alone, bare quotes": {"quoting": csv.QUOTE_NONE, "quotechar": None, **ESCAPES},
    "nothing": {"quoting": csv.QUOTE_NONE, "quotechar": None},
}
OTHERS = ["RFC 4180", "polars necessary", "polars always", "polars non_numeric", "pandas", "pandas, escaped quotes"]
NO_BACKSLASH = ("nothing", "doubled quotes, escapes", "all, doubled quotes, escapes")  # two may be two or one
EVIDENCE = 'w" ,;|\t'  # in files with escapes: a quote and a separator within a cell

bits = st.sampled_from(['"', '""', ",", ";", "|", "\t", "\n", "\r\n", "\\", '\\"', "\\\\", "'", " ", "a", "é", "1"])
latin = st.characters(min_codepoint=32, max_codepoint=255, exclude_categories=["Cc"])
wide = st.characters(codec="utf-8", exclude_characters="\0\r\n")


def words(characters):
    """Cells that are no numbers, none of whose lines begins with a number."""
    return st.lists(bits | characters, max_size=8).map("".join).map(lambda text: "w" + text.replace("\n", "\nw"))


@st.composite
def tables(draw):
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1"]))
    cells = words(latin if encoding == "latin-1" else wide)
    rows = draw(st.lists(st.tuples(st.integers(-(2**40), 2**40), st.none() | cells, cells), min_size=1, max_size=5))
    return encoding, rows


def written(dialect, separator, end, rows):
    names = ["c0", "c1", "éx"]  # which is not UTF-8 in Latin-1
    if dialect.startswith("polars"):
        frame = pl.DataFrame(rows, names, orient="row")
        return frame.write_csv(separator=separator, line_terminator=end, quote_style=dialect.split()[1])
    if dialect.startswith("pandas"):
        setting = PYTHON["escaped quotes"] if "escaped" in dialect else {}
        frame = pd.DataFrame(rows, columns=names)
        return frame.to_csv(None, sep=separator, index=False, lineterminator=end, **setting)
    if dialect == "RFC 4180":
        cells = [["" if cell is None else str(cell) for cell in row] for row in [names, *rows]]
        quoted = [[f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row] for row in cells]
        return "\r\n".join(map(separator.join, quoted)) + "\r\n"
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=separator, lineterminator=end, **PYTHON[dialect])
    writer.writerow(names)
    writer.writerows(rows)
    return out.getvalue()


def read(content, name="table.csv", **more):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        return read_table(path, **more)


@pytest.mark.parametrize("dialect", [*PYTHON, *OTHERS])
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(tables(), st.sampled_from([",", ";", "|", "\t"]), st.sampled_from(["\n", "\r\n"]), st.booleans())
@example(("utf-8", [(1, None, 'w\\"'), (2, 'w"\nw', "w\r\nw")]), ",", "\r\n", False)
@example(("utf-8", [(1, "w\t\nw\t", "w"), (2, None, "w\nw\t\t")]), "\t", "\n", True)  # lines of three cells, too
def test_every_cell_is_read_back(dialect, table, separator, end, final):
    encoding, rows = table
    if "pandas" in dialect and pd is None:
        pytest.skip("pandas is not installed")
    if "escape" in dialect:
        rows = [*rows, (0, EVIDENCE, "w")]
    if dialect in NO_BACKSLASH:
        rows = [(a, b and b.replace("\\", "/"), c.replace("\\", "/")) for a, b, c in rows]
    if dialect == "nothing":
        drop = str.maketrans("", "", separator + "\r\n")
        rows = [(a, b and b.translate(drop), c.translate(drop)) for a, b, c in rows]
    text = written(dialect, separator, end, rows)
    frame = read((text if final else text.removesuffix(end)).encode(encoding), separator=separator)
    assert frame.columns == ["c0", "c1", "éx"]
    assert frame.rows() == rows


def test_escaped_quotes_in_every_third_row_of_a_public_file():
    lines, rows = ['"User-ID";"ISBN";"Book-Rating"'], []
    for user in range(300):
        isbn = ["034545104X", 'a"b', "\\8888809228", '"0432534220"', '"', "ü;"][user % 6]
        escaped = isbn.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'"{user}";"{escaped}";"{user % 11}"')
        rows.append((user, isbn, user % 11))
    for end in ("\n", "\r\n"):
        frame = read(end.join(lines).encode("latin-1"))
        assert frame.columns == ["User-ID", "ISBN", "Book-Rating"]
        assert frame.rows() == rows


def test_quotes_within_cells_beside_quoted_cells():
    assert read(b'a,b\nthe "end" of,"x, y"\n1,2\n').rows() == [('the "end" of', "x, y"), ("1", "2")]


def test_lines_of_tabs_are_rows_unless_numbers_say_that_quoted_cells_have_several():
    quoted = b'5\t"so\n%s\tx"\n7\ty\n'
    assert read(b"user\ttitle\n" + quoted % b"6").rows() == [(5, '"so'), (6, 'x"'), (7, "y")]
    assert read(b"user\ttitle\n" + quoted % b"and").rows() == [(5, "so\nand\tx"), (7, "y")]
    assert read(quoted % b"and", columns=["user", "title"]).rows() == [(5, "so\nand\tx"), (7, "y")]


def test_a_long_separator_within_quotes_is_text():
    assert read(b'a::b\n"x::y"::z\n').rows() == [("x::y", "z")]


def test_a_backslash_that_escapes_nothing_is_one():
    assert read(b'a,b\n"C:\\temp","x\\"y"\n').rows() == [("C:\\temp", 'x"y')]
    assert read(b'a,b\n"C:\\",x\n1,"D:\\"\n').rows() == [("C:\\", "x"), ("1", "D:\\")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'user,title\n5,"so\n6,x\n7,so"\n8,y\n',
            r"line 2: a quoted cell goes on to line 4, but the lines look like rows",
        ),
        ('\n\nuser,title\n5,"so\n6,x"\n8,y\n', r"line 4: a quoted cell goes on to line 5"),
        ('a,b\nx,"p\nx,p\nx,p\nx,p\nx,p"\nx,y\n', r"line 2: a quoted cell goes on to line 6"),
        (
            'a,b\n1,"x, y"\n2,"never, ever\n3,z\n',
            r"line 3: a quotation mark within a cell, neither doubled nor escaped;",
        ),
        ('a,b\n1,"x, y"\n2,"p"q, r"\n3,z\n', r"line 3: a quotation mark within a cell, neither doubled nor escaped;"),
        ('a,b\n1,"x\\\ny\\", z"\n2,"p"q, r"\n3,z\n', r"line 4: a quotation mark within a cell"),
    ],
)
def test_a_quote_out_of_place_is_refused_with_its_line(text, message):
    with pytest.raises(DataFileError, match=message):
        read(text.encode())


def test_cells_of_several_lines_that_are_no_rows_are_read():
    rows = [(1, "first, second\n2. third\n\nfourth"), (2, "Main Street\nSpringfield, USA")]
    text = "".join(f'{user},"{cell}"\n' for user, cell in rows)
    assert read(f"user,text\n{text}".encode()).rows() == rows
    assert read(b'a,b\nBob,"Main Street\nSpringfield, USA"\n').rows() == [("Bob", "Main Street\nSpringfield, USA")]


def test_rows_that_polars_does_not_find_are_missed(monkeypatch):
    whole = pl.read_csv
    monkeypatch.setattr(pl, "read_csv", lambda *args, **more: whole(*args, **more)[:-1])
    with pytest.raises(DataFileError, match=r"line 1: 3 rows from here on, of which 2 were read"):
        read(b"a,b\n1,2\n3,4\n")


def test_cells_and_rows_have_a_limit(monkeypatch):
    monkeypatch.setattr(_dialect, "CELL_BYTES", 3 << 20)
    monkeypatch.setattr(_dialect, "ROW_BYTES", 6 << 20)
    cell = b"x" * (3 << 20)
    assert len(read(b"a,b\n" + cell + b",1\n" + cell + b",2\n")) == 2
    with pytest.raises(DataFileError, match=r"table.csv, line 3: a cell of 4 MiB, but one has 3 at most;"):
        read(b"a,b\n1,2\n" + cell + b"x" * (1 << 20) + b",1\n")
    with pytest.raises(DataFileError, match=r"table.csv, line 2: a row of 9 MiB, but one has 6 at most;"):
        read(b"a,b,c\n" + b",".join([cell] * 3) + b"\n")


def test_names_are_compared_with_a_set():
    compared = 0

    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def strip(self, *_):
            return self

        def __eq__(self, other):
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    names = [Name(f"c{place}") for place in range(2000)]
    assert _separated._names("x.csv", names) == names[:]
    assert compared <= 3 * len(names)


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "SEP=;"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_first_line_of_excel_names_the_separator(tmp_path, first, end):
    path = tmp_path / "table.csv"
    path.write_bytes(end.join([first, "user;said", "a;x, y, z", "b;u, v, w", ""]).encode())
    assert read_table(path).to_dict(as_series=False) == {"user": ["a", "b"], "said": ["x, y, z", "u, v, w"]}
    path.write_bytes(end.join([first, "user;said", "a;x", "b"]).encode())
    with pytest.raises(DataFileError, match="line 4"):
        read_table(path)


@pytest.mark.parametrize("name", ["RFC 4180", "all", "escapes alone", "nothing"])
def test_rows_that_are_read_some_at_a_time_are_those_of_all_at_once(tmp_path, monkeypatch, name):
    rows = [(n, None if n % 3 else f"w{n}", "w one" if name in NO_BACKSLASH else f"w {n}, or\nmore") for n in range(50)]
    path = tmp_path / "t.csv"
    path.write_text(written(name, ",", "\n", rows), encoding="utf-8")
    whole = read_table(path)
    for size in (1, 20, 333):
        monkeypatch.setattr(_separated, "_BYTES_AT_ONCE", size)
        assert read_table(path).equals(whole)
