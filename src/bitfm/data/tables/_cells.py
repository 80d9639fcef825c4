"""Cells of a text file as what they stand for: numbers where a whole column is numbers, and texts without quotes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bitfm.data.parsing import plain_numbers

if TYPE_CHECKING:
    import polars as pl

_MISSING = ["NA", "N/A", "NaN", "nan", "null", "NULL", "None", r"\N"]  # in a column of numbers


def typed(column: pl.Series) -> pl.Series:
    """Return a column of strings, without the empty ones, or as numbers if all of them are numbers."""
    import polars as pl

    empty = column == ""
    column = column.set(empty, None) if empty.any() else column
    present = column.drop_nulls()
    if not len(present) or not _may_be_numbers(present.head(100)):
        return column
    whole = column.cast(pl.Int64, strict=False)
    if whole.cast(pl.String).equals(column):  # the usual case, and the fastest
        return whole
    cells = column.str.strip_chars()
    cells = cells.set(cells.is_in(_MISSING), None)
    cells = cells.set(cells == "", None)
    if cells.null_count() == len(cells) or cells.str.contains(r"^[+-]?0[0-9]").any():  # as zip codes begin
        return column
    whole = cells.cast(pl.Int64, strict=False)
    if whole.null_count() == cells.null_count():
        return whole
    numbers = plain_numbers(cells)
    long = cells.str.contains(r"^[+-]?[0-9]+$").all()  # digits of something else
    return numbers if numbers.null_count() == cells.null_count() and not long else column


def unquoted(column: pl.Series) -> pl.Series:
    """Return cells without the quotes around them."""
    if not column.str.starts_with('"').any():
        return column
    inside = column.str.extract(r'(?s)^"((?:[^"]|"")*)"$').str.replace_all('""', '"', literal=True)
    return inside.fill_null(column)


def _may_be_numbers(few: pl.Series) -> bool:
    import polars as pl

    cells = few.str.strip_chars()
    return bool((cells.is_in([*_MISSING, ""]) | cells.cast(pl.Float64, strict=False).is_not_null()).all())
