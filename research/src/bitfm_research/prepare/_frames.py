"""Batches of rows of a CSV, TSV or Parquet file, whatever its size."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from bitfm.data.files import first_line, is_parquet, not_parquet
from bitfm.errors import DataFileError

from bitfm_research.prepare._files import open_raw

if TYPE_CHECKING:
    import polars as pl

_BATCH_BYTES = 1 << 24
_BATCH_ROWS = 1 << 18
_LONGEST_ROW = 1 << 27  # bytes; a longer one is a quotation mark that is never closed


class Frame(NamedTuple):
    """Some rows, their numbers from 1 without the header, which have too many columns, and the share read by now."""

    rows: pl.DataFrame
    numbers: npt.NDArray[np.int64]
    too_long: npt.NDArray[np.bool_]
    done: float


def column_names(path: Path, separator: str | None = None) -> list[str]:
    """Return the names of a file's columns."""
    if is_parquet(path):
        import polars as pl

        try:
            return list(pl.read_parquet_schema(path))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            raise not_parquet(path, error) from None
    with open_raw(path) as file:
        return _header(path, file.stream.readline(_LONGEST_ROW), _separator(path, separator))


def frames(path: Path, columns: Sequence[str], separator: str | None = None) -> Iterator[Frame]:
    """Read the named columns; those of a CSV or TSV file are strings, and its empty lines are left out."""
    names = column_names(path, separator)
    for name in columns:
        if name not in names:
            raise DataFileError(f"{path} has no column {name!r}; there are {', '.join(map(repr, names))}")
    if is_parquet(path):
        return _parquet_frames(path, columns)
    return _csv_frames(path, {name: names.index(name) for name in columns}, len(names), _separator(path, separator))


def _parquet_frames(path: Path, columns: Sequence[str]) -> Iterator[Frame]:
    import polars as pl

    try:
        table = pl.scan_parquet(path, glob=False).select(columns)
        for name, kind in table.collect_schema().items():
            if kind.is_nested() or kind in (pl.Binary, pl.Object):
                raise DataFileError(f"{path}: column {name!r} is of type {kind}; expected text, numbers or times")
        n = table.select(pl.len()).collect().item()
        for begin in range(0, n, _BATCH_ROWS):
            rows = table.slice(begin, _BATCH_ROWS).collect()
            end = begin + len(rows)
            yield Frame(rows, np.arange(begin, end) + 1, np.zeros(len(rows), bool), end / n)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise not_parquet(path, error) from None


def _csv_frames(path: Path, places: dict[str, int], n_columns: int, separator: str) -> Iterator[Frame]:
    import polars as pl

    # Columns get names of their own, as the file's may repeat, and one more, in which rows that are too long show.
    header = separator.join(f"c{i}" for i in range(n_columns + 1)).encode() + b"\n"
    wanted = [pl.col(f"c{place}").alias(name) for name, place in places.items()]
    begin = 1
    with open_raw(path) as file:
        file.stream.readline()
        for chunk in _whole_rows(path, file.stream):
            try:
                rows = pl.read_csv(
                    header + chunk, separator=separator, infer_schema_length=0, truncate_ragged_lines=True
                )
            except pl.exceptions.PolarsError as error:
                raise _not_csv(path, chunk, begin, error) from None
            some = rows.select(~pl.all_horizontal(pl.all().is_null())).to_series()
            numbers = np.arange(begin, begin + len(rows))[some.to_numpy()]
            begin += len(rows)
            rows = rows.filter(some)
            too_long = rows[f"c{n_columns}"].is_not_null().to_numpy()
            yield Frame(rows.select(wanted), numbers, too_long, file.done())


def _whole_rows(path: Path, stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the rest of a CSV file in pieces that end where a row does."""
    rest = b""
    while chunk := stream.read(_BATCH_BYTES):
        rest += chunk
        end = _end_of_last_row(rest)
        if end:
            yield rest[:end]
            rest = rest[end:]
        elif len(rest) > _LONGEST_ROW:
            raise DataFileError(f"{path}: a row longer than {_LONGEST_ROW >> 20} MB; is a quotation mark not closed?")
    if rest:
        yield rest


def _end_of_last_row(text: bytes) -> int:
    """Return where the last whole row ends: behind the last line break with an even number of quotes before it."""
    end, quotes = len(text), text.count(b'"')
    while (line_break := text.rfind(b"\n", 0, end)) >= 0:
        quotes -= text.count(b'"', line_break, end)
        if quotes % 2 == 0:
            return line_break + 1
        end = line_break
    return 0


def _separator(path: Path, separator: str | None) -> str:
    if separator is None:
        return "\t" if path.name.lower().removesuffix(".gz").endswith(".tsv") else ","
    if len(separator) != 1 or not separator.isascii() or separator in '"\r\n':
        raise ValueError(f"separator is {separator!r}; expected a single character such as ';'")
    return separator


def _header(path: Path, line: bytes, separator: str) -> list[str]:
    try:
        text = line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        text = ""
    if not text or "\0" in text:
        raise DataFileError(f"{path}: expected a first line of column names in UTF-8; is it a CSV or Parquet file?")
    return next(csv.reader([text], delimiter=separator))


def _not_csv(path: Path, chunk: bytes, begin: int, error: Exception) -> DataFileError:
    try:
        chunk.decode()
    except UnicodeDecodeError as wrong:
        row = begin + chunk.count(b"\n", 0, wrong.start)
        return DataFileError(f"{path}, near row {row}: not UTF-8; convert the file to UTF-8")
    return DataFileError(
        f"{path}, row {begin} or later: not in CSV format ({first_line(error)}); are the quotation marks in pairs?"
    )
