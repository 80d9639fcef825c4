"""How a text writes its cells: the separator, the quotes and the escapes under which all of its lines are rows."""

from __future__ import annotations

import contextlib
import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitfm.data.numbers import MISSING
from bitfm.errors import DataFileError

_SEPARATORS = ("::", "\t", ",", ";", "|")  # the first of equals wins
_QUOTES_ARE_RARE = ("::", "\t")  # files of these have bare quotes in their texts more often than quoted cells
_SAMPLE_BYTES = 1 << 16
_SAMPLE_LINES = 100
_CONTROLS = [bytes([code]) for code in range(31, 0, -1) if code not in b"\t\n\r"]  # which texts hardly ever hold
CELL_BYTES = 16 << 20
ROW_BYTES = 256 << 20


class Dialect(NamedTuple):
    """What has a meaning beside that of a character."""

    separator: str
    quote: str  # a cell may be in these quotes, those within it doubled; or ""
    escape: str  # makes a character of a quote, a separator, a line break and of itself; or ""
    loose: bool = False  # quotes may also be within cells that are not quoted; then a line is a row

    @property
    def quoted(self) -> bool:
        """Whether a cell may be in quotes."""
        return bool(self.quote)


class Layout:
    """Where a text has its rows if it is in a dialect.

    Polars knows quotes as RFC 4180 has them and separators of one byte: unused bytes stand in for the rest.
    """

    def __init__(self, name: str, content: bytes, dialect: Dialect) -> None:
        self.dialect = dialect
        self.text, self.mark, self.stand_ins = _with_stand_ins(name, content, dialect)
        codes = self._codes = np.frombuffer(self.text, np.uint8)
        self._all_marks, self._breaks = np.flatnonzero(codes == ord(self.mark)), np.flatnonzero(codes == ord("\n"))
        marks, ends = self._all_marks, self._breaks
        self._quotes = np.flatnonzero(codes == ord(dialect.quote)) if dialect.quoted else ends[:0]
        if len(self._quotes):
            marks = marks[np.searchsorted(self._quotes, marks) % 2 == 0]
            ends = ends[np.searchsorted(self._quotes, ends) % 2 == 0]
        self.spans = len(ends) < len(self._breaks)  # cells of several lines
        if not len(ends) or ends[-1] != len(codes) - 1:
            ends = np.append(ends, len(codes))
        self._marks, self._ends = marks, ends
        self._begins = np.concatenate(([0], ends[:-1] + 1))
        self._cells = np.diff(np.searchsorted(marks, ends), prepend=0) + 1
        self.n_rows, self.n_columns = len(ends), int(self._cells[0])

    def parts(self, size: int) -> Iterator[bytes]:
        """Yield the text, rows of about so many bytes at a time."""
        begin, more = 0, True
        while more:
            last = int(np.searchsorted(self._ends, begin + size))
            end = int(self._ends[last]) + 1 if last < self.n_rows else len(self.text)
            yield self.text[begin:end]
            begin, more = end, end < len(self.text)

    def line(self, position: int) -> int:
        """Return the line that a byte is in, from 1."""
        breaks = ["\n", *(stand_in for stand_in, meaning in self.stand_ins.items() if "\n" in meaning)]
        return 1 + sum(self.text.count(each.encode(), 0, position) for each in breaks)

    def problem(self) -> tuple[int, str] | None:
        """Return the first line that is no row of this dialect, and why."""
        found = self._wrong_quote() + self._too_long()
        found += [(self._begins[row], self._told(row)) for row in self._wrong_rows()[:1]]
        lines = [(self.line(int(place)), what) for place, what in found]
        return min(lines, key=lambda each: each[0], default=None)

    def bad_lines(self) -> list[tuple[int, str]]:
        """Return lines that are no rows, and why; what follows a misplaced quote is to be looked at again without it.

        A row with such a quote may hold lines that are rows of their own, so its first line is the bad one.
        """
        rows = self._wrong_rows()
        quote = self._wrong_quote()[:1]
        last = [(int(np.searchsorted(self._ends, place)), what) for place, what in quote]
        before = rows[rows < last[0][0]] if last else rows
        lines = np.searchsorted(self._all_breaks(), self._begins) + 1
        return [(int(lines[row]), what) for row, what in [*((row, self._told(row)) for row in before), *last]]

    def _all_breaks(self) -> NDArray[np.intp]:
        """Return where lines end, also those whose end is escaped and was replaced."""
        replaced = [ord(stand_in) for stand_in, meaning in self.stand_ins.items() if "\n" in meaning]
        return np.flatnonzero(np.isin(self._codes, [*replaced, ord("\n")])) if replaced else self._breaks

    def _wrong_rows(self) -> NDArray[np.intp]:
        """Return the rows with another number of cells than the first, but for empty ones."""
        other = np.flatnonzero(self._cells != self.n_columns)
        sizes = (self._ends - self._begins)[other]
        return np.asarray(other[(sizes > 1) | ((sizes == 1) & (self._codes[self._begins[other]] != ord("\r")))])

    def _told(self, row: int) -> str:
        return f"{self._cells[row]} cells, but the first line has {self.n_columns}"

    def _wrong_quote(self) -> list[tuple[int, str]]:
        """Find a quote that is not of this dialect, if there is one."""
        if self.dialect.loose and self.spans:
            inside = self._breaks[~np.isin(self._breaks, self._ends)]
            return [(inside[0], "a quotation mark without a second one")]
        return self._misplaced_quote() if len(self._quotes) and not self.dialect.loose else []

    def _misplaced_quote(self) -> list[tuple[int, str]]:
        """Find a quote that is neither at an end of its cell nor one of two within it."""
        opening, closing = self._quotes[::2], self._quotes[1::2]
        edge = np.zeros(256, np.bool_)
        edge[[ord(self.dialect.quote), ord("\n"), ord(self.mark)]] = True
        later = opening[1:] if self._quotes[0] == 0 else opening
        misplaced = [later[~edge[self._codes[later - 1]]], opening[len(closing) :]]  # the latter has no second one
        edge[ord("\r")] = True
        earlier = closing[closing < len(self._codes) - 1]
        wrong = np.concatenate([*misplaced, earlier[~edge[self._codes[earlier + 1]]]])
        return [(wrong.min(), "a quotation mark within a cell, neither doubled nor escaped")] if len(wrong) else []

    def _too_long(self) -> list[tuple[int, str]]:
        """Find a row or a cell that nobody would write."""
        sizes = self._ends - self._begins
        for row in np.flatnonzero(sizes > CELL_BYTES):
            begin, end = self._begins[row], self._ends[row]
            within = self._marks[slice(*np.searchsorted(self._marks, (begin, end)))]
            if sizes[row] > ROW_BYTES:
                return [(begin, f"a row of {sizes[row] >> 20:,} MiB, but one has {ROW_BYTES >> 20} at most")]
            longest = np.diff(np.concatenate(([begin - 1], within, [end]))).max() - 1
            if longest > CELL_BYTES:
                return [(begin, f"a cell of {longest >> 20:,} MiB, but one has {CELL_BYTES >> 20} at most")]
        return []

    def doubtful(self, numeric: Sequence[int]) -> tuple[int, int] | None:
        """Return the first and last line of a row all of whose lines look like rows: a quote may be missing.

        They have as many cells as rows have, and numbers in the numeric columns; without such, lines must be many.
        """
        if not self.spans or self.n_columns < 2:
            return None
        line_ends = np.append(self._breaks, len(self._codes))
        fits = np.diff(np.searchsorted(self._all_marks, line_ends), prepend=0) + 1 == self.n_columns
        n_fitting = np.concatenate(([0], np.cumsum(fits)))
        first, last = np.searchsorted(self._breaks, self._begins), np.searchsorted(self._breaks, self._ends)
        for row in np.flatnonzero((last > first) & (n_fitting[last + 1] - n_fitting[first] == last + 1 - first)):
            begin, end = int(self._begins[row]), int(self._ends[row])
            lines = [line.split(self.mark) for line in self.text[begin:end].split(b"\n")]
            named = (cells[place].decode().strip(f" {self.dialect.quote}") for cells in lines for place in numeric)
            if all(map(is_number, named)) and (numeric or len(lines) > 3):
                return self.line(begin), self.line(end)
        return None


def dialects(content: bytes, separator: str, quote: str | None, escape: str | None) -> Iterator[Dialect]:
    """Yield the dialects that a text may be in, the likeliest first; quotes and escapes may be given, "" for none."""
    escapes = ["", *["\\"] * (b"\\" in content)] if escape is None else [escape]
    mark = ("'" if _has_single_quotes(content, separator) else '"') if quote is None else quote
    bare = [Dialect(separator, "", each) for each in escapes]
    quoted = [Dialect(separator, mark, each) for each in escapes] if mark and mark.encode() in content else []
    if quote and quoted:
        yield from quoted
    else:
        yield from bare[:1] + quoted + bare[1:] if separator in _QUOTES_ARE_RARE else quoted + bare
    yield from (dialect._replace(loose=True) for dialect in quoted)


def _has_single_quotes(content: bytes, separator: str) -> bool:
    """Tell whether every line but the first has a cell in single quotes, and there are no others."""
    if b'"' in content or content.count(b"'") < 2:
        return False
    between = re.escape(separator)
    cell = re.compile(rf"(?:^|{between})'(?:[^']|'')*'(?:{between}|\r?$)")
    lines = _sample(content)[1:]
    return bool(lines) and all(map(cell.search, lines))


def guess_separator(content: bytes, quote: str | None) -> str:
    """Return the separator that gives all rows the same number of cells, more than one, or comes nearest to it."""
    best, score = ",", 0.0
    lines = _sample(content)
    for separator in _SEPARATORS:
        lengths = Counter(_row_lengths(lines, separator, '"' if quote is None else quote))
        usual, count = lengths.most_common(1)[0] if lengths else (0, 0)
        if usual > 1 and count / lengths.total() > score:
            best, score = separator, count / lengths.total()
    return best


def _sample(content: bytes) -> list[str]:
    """Return the first lines with anything in them."""
    sample = content[:_SAMPLE_BYTES]
    if len(content) > _SAMPLE_BYTES:  # do not judge by half a line, unless there is no other
        sample = sample[: sample.rfind(b"\n") + 1] or content.split(b"\n", 1)[0]
    return [line for line in sample.decode(errors="replace").split("\n") if line.strip("\r")][:_SAMPLE_LINES]


def _row_lengths(lines: Sequence[str], separator: str, quote: str) -> list[int]:
    """Return how many cells the first rows have."""
    if separator not in _QUOTES_ARE_RARE and len(separator) == 1 and quote and quote != separator:
        rows = (line + "\n" for line in lines)
        with contextlib.suppress(csv.Error):
            return [len(row) for row in csv.reader(rows, delimiter=separator, quotechar=quote)]
    return [line.count(separator) + 1 for line in lines]


def _with_stand_ins(name: str, content: bytes, dialect: Dialect) -> tuple[bytes, bytes, dict[str, str]]:
    """Return a text without escapes, its separator of one byte, and what the bytes mean that stand in for others."""
    separator, meanings = dialect.separator, dict[str, str]()
    unused = (byte for byte in _CONTROLS if byte not in content)
    escapes = [dialect.escape, dialect.quote or '"', separator, "\r\n", "\n", "\r"] if dialect.escape else []
    short = len(separator) == 1 and separator.isascii()
    try:
        mark = separator.encode() if short else next(unused)
        for meaning in escapes:
            if (escape := f"{dialect.escape}{meaning}".encode()) in content:
                byte = next(unused)
                content, meanings[byte.decode()] = content.replace(escape, byte), meaning
    except StopIteration:
        what = f"{name} holds control characters of all kinds and is no text; expected a table"
        raise DataFileError(what) from None
    if not short:
        content, meanings[mark.decode()] = content.replace(separator.encode(), mark), separator
    return content, mark, meanings


def is_number(cell: str) -> bool:
    """Return whether a cell may be in a column of numbers."""
    with contextlib.suppress(ValueError):
        float(cell)
        return True
    return (cell := cell.strip()) == "" or cell in MISSING
