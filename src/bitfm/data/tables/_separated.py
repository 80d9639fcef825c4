"""Tables of cells with a separator between them: CSV and its relatives, with and without quotes or a header."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from bitfm.data.files import as_utf8, cut, first_line, quoted
from bitfm.data.parsing import parse_number, plain_numbers
from bitfm.data.tables._dialect import MISSING, Layout, dialects, guess_separator, is_number
from bitfm.errors import DataFileError

_SAMPLE_ROWS = 100


def read_separated(name: str, content: bytes, columns: Sequence[str] | None, separator: str | None) -> pl.DataFrame:
    """Read a table; cells without anything in them are missing."""
    whole = as_utf8(name, content)
    content = whole.lstrip(b"\r\n")
    skipped = whole.count(b"\n", 0, len(whole) - len(content))
    separator = guess_separator(content) if separator is None else separator
    if not separator or set(separator) & set('"\\\r\n'):
        raise ValueError(f"separator is {separator!r}; expected what is between cells, such as ';' or '::'")
    (layout, frame), *others = [
        (layout, _columns(name, frame, columns, content)) for layout, frame in _cells(name, content, separator, skipped)
    ]
    for other in others:  # where a column is one of numbers only if quoted cells have several lines, they do
        layout, frame = other if _numeric(other[1]) - _numeric(frame) else (layout, frame)
    doubt = layout.doubtful(sorted(_numeric(frame)))
    if doubt is not None:
        begin, end = (line + skipped for line in doubt)
        raise DataFileError(
            f"{name}, line {begin}: a quoted cell goes on to line {end}, but the lines look like rows of their own; "
            "double or remove quotation marks that do not enclose a cell"
        )
    return frame


def _columns(name: str, frame: pl.DataFrame, columns: Sequence[str] | None, content: bytes) -> pl.DataFrame:
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
    return pl.DataFrame([_typed(column) for column in _without_empty(frame)])


def _numeric(frame: pl.DataFrame) -> set[int]:
    return {place for place, dtype in enumerate(frame.dtypes) if dtype.is_numeric()}


def _cells(name: str, content: bytes, separator: str, skipped: int) -> list[tuple[Layout, pl.DataFrame]]:
    """Read all cells as strings, in the first dialect that all lines fit.

    Where that has no quotes, but all lines also fit a dialect in which quoted cells have several lines, read both.
    """
    problem, found = (0, ""), list[tuple[Layout, pl.DataFrame]]()
    for dialect in dialects(content, separator):
        if found and (found[-1][0].dialect.quoted or dialect.loose or not dialect.quoted):
            break
        layout = Layout(name, content, dialect)
        what = layout.problem()
        if what is None and found and not (layout.spans and layout.n_columns == found[0][0].n_columns):
            break
        if what is None:
            try:
                frame = pl.read_csv(
                    # Columns get names of their own, as the file's may repeat, or its first line may be an empty one.
                    layout.mark.join(b"%d" % place for place in range(layout.n_columns)) + b"\n" + layout.text,
                    separator=layout.mark.decode(),
                    quote_char='"' if dialect.quoted else None,
                    infer_schema_length=0,
                )
            except pl.exceptions.PolarsError as error:
                what = 1, f"not a table ({first_line(error)})"
            else:
                if frame.height == layout.n_rows:
                    found.append((layout, _as_written(frame, layout)))
                    continue
                what = 1, f"{layout.n_rows} rows from here on, of which {frame.height} were read"
        problem = max(problem, what, key=lambda each: each[0])  # of the dialect that fits best
    if found:
        return found
    raise DataFileError(
        f"{name}, line {problem[0] + skipped}: {problem[1]}; are the quotation marks in pairs, and is {separator!r} "
        "between all cells?"
    )


def _as_written(frame: pl.DataFrame, layout: Layout) -> pl.DataFrame:
    """Return cells without the quotes around them, and with the characters that were escaped."""
    if not layout.dialect.quoted and b'"' in layout.text:
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


def _typed(column: pl.Series) -> pl.Series:
    """Return a column of strings, without the empty ones, or as numbers if all of them are numbers."""
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
    numbers = plain_numbers(cells)
    long = cells.str.contains(r"^[+-]?[0-9]+$").all()  # digits of something else
    return numbers if numbers.null_count() == cells.null_count() and not long else column


def _unquoted(column: pl.Series) -> pl.Series:
    """Return cells without the quotes around them."""
    if not column.str.starts_with('"').any():
        return column
    inside = column.str.extract(r'(?s)^"((?:[^"]|"")*)"$').str.replace_all('""', '"', literal=True)
    return inside.fill_null(column)
