"""Tables of cells with a separator between them: CSV and its relatives, with and without quotes or a header."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl

from bitfm.data.files import as_utf8, cut, first_line, quoted
from bitfm.data.formats import TWO_READINGS
from bitfm.data.numbers import MISSING, parse_number, plain_numbers
from bitfm.data.tables._dialect import Dialect, Layout, dialects, guess_separator, is_number
from bitfm.data.tables.facts import FileFacts, Reading
from bitfm.errors import DataFileError

_SAMPLE_ROWS = 100
_BYTES_AT_ONCE = 1 << 24
_SEPARATOR_LINE = re.compile(rb'"?sep=([^\r\n])"?\r?\n', re.IGNORECASE)  # which Excel takes as the first


class _Text(NamedTuple):
    """A text in UTF-8, the number of lines before it, and lines that were taken out as they are no rows."""

    content: bytes
    empty: int
    skipped: tuple[tuple[int, str], ...] = ()


def read_separated(
    name: str, content: bytes, columns: Sequence[str] | None, how: Reading
) -> tuple[pl.DataFrame, FileFacts]:
    """Read a table, and tell how it is written; cells without anything in them are missing."""
    whole, encoding, undecoded = as_utf8(name, content, how.encoding, how.skip_bad)
    content, told = whole.lstrip(b"\r\n"), None
    if line := _SEPARATOR_LINE.match(content):
        content, told = content[line.end() :], line[1].decode(errors="replace")
    text = _Text(content, whole.count(b"\n", 0, len(whole) - len(content)))
    separator = told or guess_separator(content, how.quote) if how.separator is None else how.separator
    own = {how.quote or '"', how.escape or "\\", "\r", "\n"}
    if not separator or set(separator) & own:
        raise ValueError(f"separator is {separator!r}; expected what is between cells, such as ';' or '::'")
    text, candidates = _cells(name, text, separator, how, how.skip_bad - len(undecoded))
    (layout, frame), *others = [
        (layout, _columns(name, frame, columns, text.content, how)) for layout, frame in candidates
    ]
    for other in others:  # where a column is one of numbers only if quoted cells have several lines, they do
        layout, frame = other if _numeric(other[1]) - _numeric(frame) else (layout, frame)
    doubt = layout.doubtful(sorted(_numeric(frame)))
    if doubt is not None:
        begin, end = (line + text.empty for line in doubt)
        raise DataFileError(
            f"{name}, line {begin}: a quoted cell goes on to line {end}, but the lines look like rows of their own; "
            "double or remove quotation marks that do not enclose a cell"
        )
    bad = (*((line, f"not in the encoding {encoding}") for line in undecoded), *text.skipped)
    escapes = len(layout.stand_ins) > (layout.mark.decode() != separator)  # which has a stand-in then
    quote = layout.dialect.quote if layout.dialect.quote.encode() in layout.text else ""
    facts = FileFacts(
        "text", encoding, separator, quote, layout.dialect.escape * escapes, len(bad), min(bad, default=None)
    )
    return frame, facts


def _columns(
    name: str, frame: pl.DataFrame, columns: Sequence[str] | None, content: bytes, how: Reading
) -> pl.DataFrame:
    """Return the columns of a table, with names and types."""
    first = frame.row(0)
    if columns is not None and len(columns) != len(first):
        line = cut(content.split(b"\n", 1)[0].decode().rstrip("\r"), 100)
        raise DataFileError(
            f"{name} has {len(first)} columns, but {len(columns)} names were given; its first line is {line!r}"
        )
    if columns is None or _is_header(first, frame[1:_SAMPLE_ROWS].rows(), columns):
        frame = frame[1:]
    frame.columns = list(columns) if columns is not None else _names(name, first)
    return pl.DataFrame([_typed(column, as_text=how.decimal == ",") for column in _without_empty(frame)])


def _numeric(frame: pl.DataFrame) -> set[int]:
    return {place for place, dtype in enumerate(frame.dtypes) if dtype.is_numeric()}


def _cells(
    name: str, text: _Text, separator: str, how: Reading, most: int
) -> tuple[_Text, list[tuple[Layout, pl.DataFrame]]]:
    """Read all cells as strings, in the first dialect that all lines fit, or in the one that most of them fit.

    Of the latter, so many lines as may be skipped are taken out of the text.
    """
    known = list(dialects(text.content, separator, how.quote, how.escape))
    problem, found = _fitting(name, text.content, known, keep_quotes=how.quote is not None)
    if found:
        return text, found
    advice = "; or skip such lines with skip_bad= (--skip-bad)"
    if most > 0:
        tried = ((_without_bad(name, text, dialect, most), dialect) for dialect in known)
        cleaned = [(one, dialect) for one, dialect in tried if one is not None]
        if cleaned:
            best, dialect = min(cleaned, key=lambda each: len(each[0].skipped))
            if len(cleaned[0][0].skipped) <= 2 * len(best.skipped):
                best, dialect = cleaned[0]  # the likeliest, unless another one saves most of the lines
            problem, found = _fitting(name, best.content, [dialect], keep_quotes=how.quote is not None)
            if found:
                return best, found
        advice = f"; there are more than {most:,} such lines"
    raise DataFileError(
        f"{name}, line {problem[0] + text.empty}: {problem[1]}; are the quotation marks in pairs, and is {separator!r} "
        f"between all cells?{advice}"
    )


def _without_bad(name: str, text: _Text, dialect: Dialect, most: int) -> _Text | None:
    """Return a text without the lines that are no rows of a dialect; None if they are too many, or the first is one."""
    lines = list(enumerate(text.content.split(b"\n"), 1 + text.empty))
    skipped: list[tuple[int, str]] = []
    while True:
        layout = Layout(name, b"\n".join(line for _, line in lines), dialect)
        bad = {place - 1: what for place, what in layout.bad_lines()}
        if not bad:
            content = b"\n".join(line for _, line in lines)
            return _Text(content, text.empty, tuple(skipped)) if layout.problem() is None else None
        skipped += [(lines[place][0], what) for place, what in bad.items()]
        if 0 in bad or len(skipped) > most:
            return None
        lines = [line for place, line in enumerate(lines) if place not in bad]


def _fitting(
    name: str, content: bytes, known: Sequence[Dialect], *, keep_quotes: bool
) -> tuple[tuple[int, str], list[tuple[Layout, pl.DataFrame]]]:
    """Read all cells as strings in the first dialect that all lines fit; or return a line that does not, and why.

    Where that has no quotes, but all lines also fit a dialect in which quoted cells have several lines, read both.
    """
    problem, found = (0, ""), list[tuple[Layout, pl.DataFrame]]()
    for dialect in known:
        if found and (found[-1][0].dialect.quoted or dialect.loose or not dialect.quoted):
            break
        layout = Layout(name, content, dialect)
        what = layout.problem()
        if what is None and found and not (layout.spans and layout.n_columns == found[0][0].n_columns):
            break
        if what is None:
            try:
                frame = _as_strings(layout)
            except pl.exceptions.PolarsError as error:
                what = 1, f"not a table ({first_line(error)})"
            else:
                if frame.height == layout.n_rows:
                    found.append((layout, _as_written(frame, layout, keep_quotes=keep_quotes)))
                    continue
                what = 1, f"{layout.n_rows} rows from here on, of which {frame.height} were read"
        problem = max(problem, what, key=lambda each: each[0])  # of the dialect that fits best
    return problem, found


def _as_strings(layout: Layout) -> pl.DataFrame:
    """Return all cells as Polars reads them, of some rows after others: it takes a copy of a text."""
    # Columns get names of their own, as the file's may repeat, or its first line may be an empty one.
    names = layout.mark.join(b"%d" % place for place in range(layout.n_columns)) + b"\n"
    quote, mark = layout.dialect.quote or None, layout.mark.decode()
    parts = (
        pl.read_csv(names + part, separator=mark, quote_char=quote, infer_schema_length=0)
        for part in layout.parts(_BYTES_AT_ONCE)
    )
    return pl.concat(parts, rechunk=False)


def _as_written(frame: pl.DataFrame, layout: Layout, *, keep_quotes: bool) -> pl.DataFrame:
    """Return cells without the quotes around them, and with the characters that were escaped."""
    if not keep_quotes and not layout.dialect.quoted and b'"' in layout.text:
        frame = frame.select(_unquoted(column) for column in frame)
    if layout.stand_ins:
        meant = layout.stand_ins
        frame = frame.select(column.str.replace_many(list(meant), list(meant.values())) for column in frame)
    return frame


def _without_empty(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with anything in them."""
    empty = pl.repeat(True, frame.height, eager=True)
    for column in frame:
        empty &= column.is_null()
        if not empty.any():
            return frame
    return frame.filter(~empty)


def _names(name: str, cells: Sequence[str | None]) -> list[str]:
    names = [(cell or "").strip() or f"column {place}" for place, cell in enumerate(cells, 1)]
    seen: set[str] = set()
    for cell in names:
        if cell in seen:
            what = f"the first line has {quoted(cell)} twice; if it is not a line of column names, give names"
            raise DataFileError(f"{name}: {what}")
        seen.add(cell)
    return names


def _is_header(first: Sequence[Any], others: Sequence[Sequence[Any]], names: Sequence[str]) -> bool:
    """Return whether the first row holds names of columns: the names expected, or a word above numbers."""
    first = [(cell or "").strip() for cell in first]
    if [cell.casefold() for cell in first] == [name.strip().casefold() for name in names]:
        return True
    for place, cell in enumerate(first):
        below = ((row[place] or "").strip() for row in others)
        numbers = (parse_number(each) is not None for each in below if each and each not in MISSING)
        if cell and next(numbers, False) and parse_number(cell) is None and all(numbers):
            return True
    return False


def _typed(column: pl.Series, *, as_text: bool) -> pl.Series:
    """Return a column of strings, without the empty ones, or as numbers if all of them are numbers.

    As text, they are not if all points in them may stand between thousands.
    """
    numeric = all(map(is_number, column.drop_nulls().head(_SAMPLE_ROWS).to_list()))
    if numeric:
        integers = column.cast(pl.Int64, strict=False)
        if integers.null_count() < len(integers) and integers.cast(pl.String).equals(column):
            return integers  # the usual case, and the fastest
    empty = column == ""
    column = column.set(empty, None) if empty.any() else column
    if not numeric:
        return column
    cells = column.str.strip_chars()
    cells = cells.set(cells.is_in(MISSING), None)
    cells = cells.set(cells == "", None)
    if cells.null_count() == len(cells) or cells.str.contains(r"^[+-]?0[0-9]").any():  # as zip codes begin
        return column
    integers = cells.cast(pl.Int64, strict=False)
    if integers.null_count() == cells.null_count():
        return integers
    if as_text and cells.drop_nulls().str.contains(f"^(?:[-+]?[0-9]+|{TWO_READINGS})$").all():
        return column
    numbers = plain_numbers(cells)
    long = cells.str.contains(r"^[+-]?[0-9]+$").all()  # digits of something else
    return numbers if numbers.null_count() == cells.null_count() and not long else column


def _unquoted(column: pl.Series) -> pl.Series:
    """Return cells without the quotes around them."""
    if not column.str.starts_with('"').any():
        return column
    inside = column.str.extract(r'(?s)^"((?:[^"]|"")*)"$').str.replace_all('""', '"', literal=True)
    return inside.fill_null(column)
