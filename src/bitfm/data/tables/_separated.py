"""Tables of cells with a separator between them: CSV and its relatives, with and without quotes or a header."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bitfm.data.tables._cells import typed, unquoted
from bitfm.data.tables._content import as_utf8
from bitfm.data.tables._sniff import QUOTES_ARE_RARE, guess_separator, is_header, sample_rows
from bitfm.errors import DataFileError

if TYPE_CHECKING:
    import polars as pl

_UNUSED = b"\x1f\x1e\x1d\x1c\x01\x02\x03\x04\x05\x06\x07"


def read_separated(name: str, content: bytes, columns: Sequence[str] | None, separator: str | None) -> pl.DataFrame:
    """Read a table; cells without anything in them are missing."""
    whole = as_utf8(name, content)
    content = whole.lstrip(b"\n")
    if separator is None:
        separator = guess_separator(content)
    if not separator or set(separator) & set('"\r\n'):
        raise ValueError(f"separator is {separator!r}; expected what is between cells, such as ';' or '::'")
    first, *others = sample_rows(content, separator)
    if columns is not None and len(columns) != len(first):
        raise DataFileError(
            f"{name} has {len(first)} columns, but {len(columns)} names were given; its first line is {_shown(content)}"
        )
    names = list(columns) if columns is not None else _names(name, first)
    header = columns is None or is_header(first, others, columns)
    frame = _read(name, content, separator, len(first), header, skipped=len(whole) - len(content))
    frame.columns = names
    return frame.select(typed(column) for column in frame)


def _read(name: str, content: bytes, separator: str, n_columns: int, header: bool, skipped: int) -> pl.DataFrame:
    """Read all cells as strings, with quotes as CSV has them or as characters like any other, whichever fits."""
    import polars as pl

    text, mark = _with_one_byte(name, content, separator)
    # Columns get names of their own, as the file's may repeat, or its first line may be an empty one.
    topped = mark.join(b"%d" % place for place in range(n_columns)) + b"\n" + text
    readings = (False, True) if separator in QUOTES_ARE_RARE else (True, False)
    problem = ""
    for quoted in readings if b'"' in text else (False,):
        cells, lines = _row_lengths(text, mark, quoted)
        wrong = np.flatnonzero(cells != n_columns)
        if len(wrong):
            line, found = lines[wrong[0]] + skipped, cells[wrong[0]]
            problem = problem or f", line {line}: {found} cells, but the first line has {n_columns}"
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
            reason = str(error).split("\n", 1)[0].rstrip(".:")
            problem = problem or f" cannot be read as a table ({reason})"
            continue
        frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))  # empty lines say nothing
        return frame if quoted or b'"' not in text else frame.select(unquoted(column) for column in frame)
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
    for place, given in enumerate(names):
        if given in names[:place]:
            raise DataFileError(
                f"{name}: the first line has {given!r} twice; if it is not a line of column names, give names"
            )
    return names


def _shown(content: bytes) -> str:
    line = content.split(b"\n", 1)[0].decode()
    return repr(line if len(line) <= 100 else line[:97] + "...")
