"""``bitfm data describe``: what is in a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from bitfm.cli import _options as option
from bitfm.cli._options import names_of
from bitfm.cli.screen import show

if TYPE_CHECKING:
    import polars as pl

_EXAMPLES = 3
_LONGEST = 40  # characters of an example
_FORMATS = "CSV and the like, Parquet, JSON lines, libFM; - is stdin."


def describe(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help=_FORMATS)],
    columns: option.Columns = None,
    separator: option.Separator = None,
    as_json: option.Json = False,
) -> None:
    """Show the columns of tables: types, distinct and missing values, examples, and the kind that fit infers."""
    from bitfm.data import read_table

    if columns is not None and len(files) > 1:
        raise typer.BadParameter(f"names of columns were given for {len(files)} files; describe them one by one")
    for name in files:
        frame = read_table(name, columns=names_of(columns), separator=separator)
        rows = [_facts(column) for column in frame]
        show(name, rows, caption=f"{len(frame):,} rows, {frame.width} columns", as_json=as_json)


def _facts(column: pl.Series) -> dict[str, Any]:
    from bitfm.data import infer_kind

    distinct, inferred = _values(column).unique(maintain_order=True), infer_kind(column.name, column)
    return {
        "column": column.name,
        "type": str(column.dtype),
        "distinct": len(distinct),
        "missing": column.null_count() + (int(column.is_nan().sum()) if column.dtype.is_float() else 0),
        "examples": ", ".join(_short(str(value)) for value in distinct.head(_EXAMPLES)),
        "kind": inferred.kind.called,
        "why": inferred.reason,
    }


def _values(column: pl.Series) -> pl.Series:
    """Return the values there are; those of lists one by one."""
    import polars as pl

    from bitfm.data.parsing import as_text, flattened

    if column.dtype == pl.Object:
        column = as_text(column)
    while isinstance(column.dtype, pl.List):
        column = flattened(column)
    return column.fill_nan(None).drop_nulls() if column.dtype.is_float() else column.drop_nulls()


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
