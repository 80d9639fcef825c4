"""A file of any of the usual formats as a table."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import warnings
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from bitfm.data.files import STANDARD_INPUT, as_utf8, cut, is_parquet, not_parquet, read_content
from bitfm.data.forks import need_threads
from bitfm.data.libfm import read_libfm
from bitfm.data.tables._dialect import ROW_BYTES
from bitfm.data.tables._separated import read_separated
from bitfm.data.tables.facts import FileFacts, Reading
from bitfm.data.tables.frames import from_rows
from bitfm.errors import BitfmWarning, DataFileError, EmptyTableError
from bitfm.validation import check_path, is_text

_POLARS_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
_JSON = (".json", ".jsonl", ".ndjson")
_HALF = re.compile(rb"\\u[dD](?:[89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..\\u[dD])[c-fC-F])")  # of a character
_MOST_NESTED = 100
_UNSTRUCTURED = bytes(set(range(256)) - set(b'"[]{}'))


def read_table(
    source: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    separator: str | None = None,
    quote: str | None = None,
    escape: str | None = None,
    encoding: str | None = None,
    skip_bad: int = 0,
    decimal: str | None = None,
) -> pl.DataFrame:
    r"""Read a table from a file.

    The format follows from the name and the content, and so do the encoding of a text, its separator, quotes and
    escapes, unless they are given. A file compressed with gzip is recognised by its first bytes.

    =============== =====================================================================================
    CSV, TSV, ...   a tab, ``,``, ``;``, ``|`` or ``::`` between cells; a column all of whose cells are
                    numbers holds numbers, unless one begins with 0 as zip codes do
    Parquet         by its first bytes or its name
    JSON            ``.jsonl``, ``.ndjson`` and ``.json`` with one object per line; lists stay lists
    libFM           ``.libfm``; needs ``columns`` such as ``["user:943", "item:1682", "genres:18"]``
    =============== =====================================================================================

    Parameters
    ----------
    source
        The path, or ``-`` for standard input.
    columns
        Names for all of the file's columns. With names, a header is recognised by these names, or by a word above
        numbers; without, the first line always is the header. For libFM, the fields with their sizes: each becomes a
        column of indices within the field, or of lists.
    separator
        What is between cells, if it is not to be guessed.
    quote, escape
        The character that encloses cells, and the one that makes a quote or separator after it a part of the text;
        ``""`` if there is none. By default they are found: ``"``, or ``'`` where every line has it, and a backslash.
    encoding
        That of a text, by Python's name; by default UTF-8, UTF-16, or else Windows-1252 or Latin-1.
    skip_bad
        So many lines may be skipped that are no rows or not in the encoding. They are counted in a `BitfmWarning`.
    decimal : "." or ",", optional
        ``","`` leaves a column of numbers as text if every point in it may stand between thousands, as in 1.299; by
        default it is a decimal point. `parse_numbers` and `Recommender.fit` read texts.

    Raises
    ------
    EmptyTableError, DataFileError
        If the file is empty, damaged or has another number of columns; the message names the line where it is known.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "ratings.dat")
    ...     _ = path.write_text("1::1193::5\n1::661::3\n")
    ...     read_table(path, columns=["user", "item", "rating"]).rows()
    [(1, 1193, 5), (1, 661, 3)]
    """
    return read_file(source, columns, Reading(separator, quote, escape, encoding, skip_bad, decimal))[0]


def read_file(
    source: str | os.PathLike[str], columns: Sequence[str] | None, how: Reading
) -> tuple[pl.DataFrame, FileFacts]:
    """Read a table as `read_table` does, and tell how it is written."""
    frame, facts = _read_file(source, columns, how)
    if facts.skipped:
        shown = "standard input" if os.fspath(source) == STANDARD_INPUT else os.fspath(source)
        warnings.warn(f"{shown}: {facts.skipped_lines()}", BitfmWarning, stacklevel=3)
    return frame, facts


def _read_file(
    source: str | os.PathLike[str], columns: Sequence[str] | None, how: Reading
) -> tuple[pl.DataFrame, FileFacts]:
    check_path(source)
    name = os.fspath(source)
    shown = "standard input" if name == STANDARD_INPUT else name
    need_threads(f"reading {shown}", "read it before the fork")
    if columns is not None and len(set(columns)) < len(columns):
        raise ValueError(f"columns is {list(columns)}; expected names that differ")
    for text in (*(columns or ()), how.separator or ""):
        if not is_text(text):
            raise ValueError(f"{text!r} is half of a surrogate pair or holds one, which no file has; give another text")
    suffix = Path(name.lower().removesuffix(".gz")).suffix
    if suffix == ".libfm":
        return _read_libfm(name, columns), FileFacts("libFM")
    if name != STANDARD_INPUT and os.path.getsize(name) and is_parquet(Path(name)):
        return _renamed(name, _read_parquet(name, Path(name)), columns), FileFacts("Parquet")
    content = read_content(name)
    if not content or content.isspace():
        raise EmptyTableError(f"{shown} is empty; expected a table")
    if content.startswith(b"PAR1"):
        return _renamed(shown, _read_parquet(shown, BytesIO(content)), columns), FileFacts("Parquet")
    if suffix in _JSON or (name == STANDARD_INPUT and content.lstrip()[:1] in (b"{", b"[")):
        frame, facts = _read_json(shown, content, how)
        return _renamed(shown, frame, columns), facts
    return read_separated(shown, content, columns, how.with_separator("\t" if suffix == ".tsv" else None))


def _read_parquet(name: str, source: Path | BytesIO) -> pl.DataFrame:
    try:
        return pl.read_parquet(source, glob=False)
    except (*_POLARS_ERRORS, OSError) as error:
        raise not_parquet(name, error) from None


def _read_json(name: str, content: bytes, how: Reading) -> tuple[pl.DataFrame, FileFacts]:
    """Read one object per line, or a list of objects; what one of them lacks is missing there."""
    content, encoding, undecoded = as_utf8(name, content, how.encoding, how.skip_bad)
    bad = [(line, f"not in the encoding {encoding}") for line in undecoded]
    try:
        if content.lstrip().startswith(b"["):
            frame = _json_list(name, content)
        else:
            frame, unread = _json_lines(name, content, how.skip_bad - len(bad))
            bad += unread
        return frame, FileFacts("JSON", encoding, skipped=len(bad), first_skipped=min(bad, default=None))
    except RecursionError:
        what = f"values within more than {_MOST_NESTED} others in JSON"
        raise DataFileError(f"{name} holds {what}; expected columns of texts, numbers or lists") from None


def _json_list(name: str, content: bytes) -> pl.DataFrame:
    elements = enumerate(_json(f"{name}:", content, "get the whole file"), 1)
    return _from_json(name, {f"element {place}": row for place, row in elements})


def _json_lines(name: str, content: bytes, most: int) -> tuple[pl.DataFrame, list[tuple[int, str]]]:
    """Read one object per line, and tell which lines were skipped, up to so many as are no JSON."""
    _need_short_lines(name, content)
    if not _HALF.search(content) and not _is_deep(content):  # Polars reads zero bytes there
        with contextlib.suppress(*_POLARS_ERRORS):  # types differ, or the error needs its line
            return pl.read_ndjson(content, infer_schema_length=None), []
    rows, bad = dict[str, Any](), list[tuple[int, str]]()
    for place, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            rows[f"line {place}"] = _json(f"{name}, line {place}:", line, "expected one object per line")
        except DataFileError:
            bad.append((place, "not in JSON format"))
            if len(bad) > most:
                raise
    return _from_json(name, rows), bad


def _need_short_lines(name: str, content: bytes) -> None:
    """Refuse a row that nobody would write: Polars takes up to 65 times its size in memory."""
    if len(content) <= ROW_BYTES:
        return
    ends = np.append(np.flatnonzero(np.frombuffer(content, np.uint8) == ord("\n")), len(content))
    sizes = np.diff(ends, prepend=-1) - 1
    longest = int(sizes.argmax())
    if sizes[longest] > ROW_BYTES:
        what = f"a row of {sizes[longest] >> 20:,} MiB, but one has {ROW_BYTES >> 20} at most"
        raise DataFileError(f"{name}, line {longest + 1}: {what}; write one object per line")


def _from_json(name: str, rows: dict[str, Any]) -> pl.DataFrame:
    for place, row in rows.items():
        if not isinstance(row, dict):
            what = f"{type(row).__name__} in JSON; expected an object with one value per column"
            raise DataFileError(f"{name}, {place}: {what}")
    return from_rows(name, list(rows.values()))


def _is_deep(text: bytes) -> bool:
    """Return whether JSON nests values deeper than anybody would: Polars takes all memory or minutes over some 900."""
    if text.count(b"[") + text.count(b"{") <= _MOST_NESTED:
        return False
    structure = text.replace(rb"\\", b"").replace(rb"\"", b"").translate(None, _UNSTRUCTURED)
    codes = np.frombuffer(structure, np.uint8)
    quoted = np.cumsum(codes == ord('"'), dtype=np.uint8) % 2 == 1
    steps = np.where((codes == ord("[")) | (codes == ord("{")), np.int8(1), np.int8(-1))
    steps[quoted | (codes == ord('"'))] = 0
    return bool(np.cumsum(steps, dtype=np.int32).max(initial=0) > _MOST_NESTED)


def _json(what: str, text: bytes, advice: str) -> Any:
    if _is_deep(text):
        raise RecursionError
    try:
        return json.loads(text, parse_float=_finite, parse_int=_finite_integer)
    except OverflowError as error:
        raise DataFileError(f"{what} {error} is larger than any number; remove it or write it as a string") from None
    except ValueError as error:
        raise DataFileError(f"{what} not in JSON format ({error}); {advice}") from None


def _finite(text: str) -> float:
    if math.isinf(number := float(text)):
        raise OverflowError(text if len(text) < 20 else f"{text[:20]}...")
    return number


def _finite_integer(text: str) -> int:
    if len(text) > 300:
        _finite(text)
    return int(text)


def _renamed(name: str, frame: pl.DataFrame, columns: Sequence[str] | None) -> pl.DataFrame:
    if columns is None:
        return frame
    if len(columns) != frame.width:
        raise DataFileError(
            f"{name} has {frame.width} columns ({cut(', '.join(frame.columns))}), but {len(columns)} names were given; "
            "give a name for each, or none"
        )
    return frame.rename(dict(zip(frame.columns, columns, strict=True)))


def _read_libfm(name: str, columns: Sequence[str] | None) -> pl.DataFrame:
    """Read the targets, and for each field the index within it, or the list of indices if there are several."""
    fields = [_field(text) for text in columns or ()]
    if not fields:
        raise ValueError(
            f"{name}: a libFM file does not say which features belong together; give columns such as user:943 item:1682"
        )
    X, y = read_libfm(name)
    if not len(y):
        raise EmptyTableError(f"{name} is empty; expected a table")
    total = sum(size for _, size in fields)
    if X.shape[1] > total:
        raise DataFileError(f"{name} holds {X.shape[1]} features, but the columns have {total}; give their true sizes")
    other = np.flatnonzero((X.data != 1) & (X.data != 0))
    if len(other):
        row = int(np.searchsorted(X.indptr, other[0], side="right"))
        raise DataFileError(
            f"{name}, row {row}: a feature has the value {X.data[other[0]]:g}, but a table's columns hold values that "
            "are there or not; read it with bitfm.data.read_libfm and fit a DiscreteFM"
        )
    X = sp.csr_matrix((X.data, X.indices, X.indptr), shape=(len(y), total))
    made, begin = [pl.Series("target", y)], 0
    for field, size in fields:
        made.append(_by_row(field, X[:, begin : begin + size]))
        begin += size
    return pl.DataFrame(made)


def _field(text: str) -> tuple[str, int]:
    name, _, size = text.rpartition(":")
    if not name or not size.isdecimal() or name == "target":
        raise ValueError(f"the column {text!r} of a libFM file; expected a name and a number of features: user:943")
    return name, int(size)


def _by_row(name: str, matrix: sp.csr_matrix) -> pl.Series:
    """Return the column of each row's non-zero, or lists of them if a row has several."""
    matrix.sort_indices()
    matrix.eliminate_zeros()
    entries = matrix.tocoo()
    rows, columns = entries.row.astype(np.int64), entries.col.astype(np.int64)
    if (np.diff(rows) > 0).all():
        of_rows = np.full(matrix.shape[0], -1, np.int64)
        of_rows[rows] = columns
        return pl.Series(name, of_rows).set(pl.Series(of_rows < 0), None)
    grouped = pl.DataFrame({"row": rows, "columns": columns}).group_by("row").agg("columns")
    every = pl.DataFrame({"row": np.arange(matrix.shape[0], dtype=np.int64)})
    joined = every.join(grouped, on="row", how="left", maintain_order="left")["columns"].alias(name)
    return joined.fill_null(pl.Series([[]], dtype=pl.List(pl.Int64)))
