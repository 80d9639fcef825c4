"""Tables of cells with a separator between them: CSV and its relatives, with and without quotes or a header."""

from __future__ import annotations

import contextlib
import csv
from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bitfm.data.files import as_utf8, first_line
from bitfm.data.parsing import parse_number, plain_numbers
from bitfm.errors import DataFileError

_SEPARATORS = ("::", "\t", ",", ";", "|")  # the first of equals wins
_QUOTES_ARE_RARE = ("::", "\t")  # files of these have bare quotes in their texts more often than quoted cells
_SAMPLE_BYTES = 1 << 16
_SAMPLE_LINES = 100
_MISSING = ["NA", "N/A", "NaN", "nan", "null", "NULL", "None", r"\N"]  # in a column of numbers
_UNUSED = b"\x1f\x1e\x1d\x1c\x01\x02\x03\x04\x05\x06\x07"


def read_separated(name: str, content: bytes, columns: Sequence[str] | None, separator: str | None) -> pl.DataFrame:
    """Read a table; cells without anything in them are missing."""
    n_bytes = len(content := as_utf8(name, content))
    content = content.lstrip(b"\n")
    if separator is None:
        separator = _guess_separator(content)
    if not separator or set(separator) & set('"\r\n'):
        raise ValueError(f"separator is {separator!r}; expected what is between cells, such as ';' or '::'")
    first, *others = _sample_rows(content, separator)
    if columns is not None and len(columns) != len(first):
        line = content.split(b"\n", 1)[0].decode()
        line = line if len(line) <= 100 else line[:97] + "..."
        raise DataFileError(
            f"{name} has {len(first)} columns, but {len(columns)} names were given; its first line is {line!r}"
        )
    names = list(columns) if columns is not None else _names(name, first)
    header = columns is None or _is_header(first, others, columns)
    frame = _read(name, content, separator, len(first), header, skipped=n_bytes - len(content))
    frame.columns = names
    return frame.select(_typed(column) for column in frame)


def _read(name: str, content: bytes, separator: str, n_columns: int, header: bool, skipped: int) -> pl.DataFrame:
    """Read all cells as strings, with quotes as CSV has them or as characters like any other, whichever fits."""
    text, mark = _with_one_byte(name, content, separator)
    # Columns get names of their own, as the file's may repeat, or its first line may be an empty one.
    topped = mark.join(b"%d" % place for place in range(n_columns)) + b"\n" + text
    readings = (False, True) if separator in _QUOTES_ARE_RARE else (True, False)
    problem = ""
    for quoted in readings if b'"' in text else (False,):
        cells, lines = _row_lengths(text, mark, quoted)
        wrong = np.flatnonzero(cells != n_columns)
        if len(wrong):
            line, n_cells = lines[wrong[0]] + skipped, cells[wrong[0]]
            problem = problem or f", line {line}: {n_cells} cells, but the first line has {n_columns}"
            continue
        try:
            frame = pl.read_csv(
                topped,
                skip_rows_after_header=int(header),
                separator=mark.decode(),
                quote_char='"' if quoted else None,
                infer_schema_length=0,
            )
        except pl.exceptions.PolarsError as error:
            problem = problem or f" cannot be read as a table ({first_line(error)})"
            continue
        frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))  # empty lines say nothing
        return frame if quoted or b'"' not in text else frame.select(_unquoted(column) for column in frame)
    raise DataFileError(f"{name}{problem}; are the quotation marks in pairs, and is {separator!r} between all cells?")


def _with_one_byte(name: str, content: bytes, separator: str) -> tuple[bytes, bytes]:
    """Return the text with a separator of one byte, which is all that Polars knows."""
    if len(separator) == 1 and separator.isascii():
        return content, separator.encode()
    for byte in _UNUSED:
        mark = bytes([byte])
        if mark not in content:
            return content.replace(separator.encode(), mark), mark
    raise DataFileError(f"{name} holds control characters of all kinds and is no text; expected a table")


def _row_lengths(text: bytes, mark: bytes, quoted: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many cells each row has that is not empty, and the line it begins in."""
    codes = np.frombuffer(text, np.uint8)
    marks, breaks = np.flatnonzero(codes == ord(mark)), np.flatnonzero(codes == ord("\n"))
    ends = breaks
    if quoted:
        quotes = np.flatnonzero(codes == ord('"'))
        marks = marks[np.searchsorted(quotes, marks) % 2 == 0]
        ends = breaks[np.searchsorted(quotes, breaks) % 2 == 0]
    if not len(ends) or ends[-1] != len(codes) - 1:
        ends = np.append(ends, len(codes))
    begins = np.concatenate(([0], ends[:-1] + 1))
    cells = np.diff(np.searchsorted(marks, ends), prepend=0) + 1
    some = ends > begins
    return cells[some], np.searchsorted(breaks, begins[some]) + 1


def _names(name: str, cells: Sequence[str]) -> list[str]:
    names = [cell.strip() or f"column {place}" for place, cell in enumerate(cells, 1)]
    for place, cell in enumerate(names):
        if cell in names[:place]:
            what = f"the first line has {cell!r} twice; if it is not a line of column names, give names"
            raise DataFileError(f"{name}: {what}")
    return names


def _guess_separator(content: bytes) -> str:
    """Return the separator that gives all rows the same number of cells, more than one, or comes nearest to it."""
    best, score = ",", 0.0
    for separator in _SEPARATORS:
        lengths = Counter(len(row) for row in _sample_rows(content, separator))
        usual, count = lengths.most_common(1)[0] if lengths else (0, 0)
        if usual > 1 and count / lengths.total() > score:
            best, score = separator, count / lengths.total()
    return best


def _sample_rows(content: bytes, separator: str) -> list[list[str]]:
    """Return the cells of the first rows."""
    sample = content[:_SAMPLE_BYTES]
    if len(content) > _SAMPLE_BYTES:  # do not judge by half a line, unless there is no other
        sample = sample[: sample.rfind(b"\n") + 1] or content.split(b"\n", 1)[0]
    lines = [line for line in sample.decode(errors="replace").split("\n") if line][:_SAMPLE_LINES]
    if separator not in _QUOTES_ARE_RARE and len(separator) == 1:
        with contextlib.suppress(csv.Error):
            return list(csv.reader((line + "\n" for line in lines), delimiter=separator))
    return [[_bare(cell) for cell in line.split(separator)] for line in lines]


def _is_header(first: Sequence[str], others: Sequence[Sequence[str]], names: Sequence[str]) -> bool:
    """Return whether the first row holds names of columns: the names expected, or a word above numbers."""
    if [cell.strip().casefold() for cell in first] == [name.strip().casefold() for name in names]:
        return True
    for place, cell in enumerate(first):
        below = [row[place].strip() for row in others if len(row) == len(first)]
        numbers = [parse_number(each) for each in below if each and each not in _MISSING]
        if cell.strip() and parse_number(cell) is None and numbers and None not in numbers:
            return True
    return False


def _bare(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell


def _typed(column: pl.Series) -> pl.Series:
    """Return a column of strings, without the empty ones, or as numbers if all of them are numbers."""
    empty = column == ""
    column = column.set(empty, None) if empty.any() else column
    few = column.drop_nulls().head(100).str.strip_chars()
    if not len(few) or not (few.is_in([*_MISSING, ""]) | few.cast(pl.Float64, strict=False).is_not_null()).all():
        return column
    integers = column.cast(pl.Int64, strict=False)
    if integers.cast(pl.String).equals(column):  # the usual case, and the fastest
        return integers
    cells = column.str.strip_chars()
    cells = cells.set(cells.is_in(_MISSING), None)
    cells = cells.set(cells == "", None)
    if cells.null_count() == len(cells) or cells.str.contains(r"^[+-]?0[0-9]").any():  # as zip codes begin
        return column
    integers = cells.cast(pl.Int64, strict=False)
    if integers.null_count() == cells.null_count():
        return integers
    numbers = plain_numbers(cells)
    long = cells.str.contains(r"^[+-]?[0-9]+$").all()  # digits of something else
    return numbers if numbers.null_count() == cells.null_count() and not long else column


def _unquoted(column: pl.Series) -> pl.Series:
    """Return cells without the quotes around them."""
    if not column.str.starts_with('"').any():
        return column
    inside = column.str.extract(r'(?s)^"((?:[^"]|"")*)"$').str.replace_all('""', '"', literal=True)
    return inside.fill_null(column)
