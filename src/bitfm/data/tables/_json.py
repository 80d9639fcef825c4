"""Tables with one JSON object per line, or a JSON list of objects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bitfm.data.files import as_utf8
from bitfm.data.tables._python import from_rows
from bitfm.errors import DataFileError

if TYPE_CHECKING:
    import polars as pl


def read_json(name: str, content: bytes) -> pl.DataFrame:
    """Read all objects; what one of them lacks is missing there."""
    import polars as pl

    content = as_utf8(name, content)
    if content.lstrip().startswith(b"["):
        return from_rows(name, _whole(name, content))
    try:
        return pl.read_ndjson(content, infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return from_rows(name, _lines(name, content))  # objects that Polars does not put together, or an error's line


def _whole(name: str, content: bytes) -> list[dict[str, Any]]:
    try:
        rows = json.loads(content)
    except ValueError as error:
        raise DataFileError(f"{name} is not in JSON format ({error}); get the whole file") from None
    for number, row in enumerate(rows, 1):
        _check(name, f"element {number}", row)
    return list(rows)


def _lines(name: str, content: bytes) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DataFileError(
                f"{name}, line {number}: not in JSON format ({error}); expected one object per line"
            ) from None
        _check(name, f"line {number}", row)
        rows.append(row)
    return rows


def _check(name: str, place: str, row: Any) -> None:
    if not isinstance(row, dict):
        raise DataFileError(
            f"{name}, {place}: {type(row).__name__} in JSON; expected an object with one value per column"
        )
