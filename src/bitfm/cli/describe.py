"""``bitfm data describe``: what is in a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from bitfm.cli import _options as option
from bitfm.cli._options import names_of
from bitfm.cli.screen import notes_of_warnings, print_json, show

if TYPE_CHECKING:
    import polars as pl

_EXAMPLES = 3
_FACTS = ("encoding", "separator", "quote", "escape", "skipped")
_LONGEST = 40  # characters of an example
_FORMATS = "CSV and the like, Parquet, JSON lines, libFM; - is stdin."


@option.with_options_of(option.FileOptions)
def describe(
    context_: typer.Context,
    files: Annotated[list[str], typer.Argument(metavar="FILE", help=_FORMATS)],
    decimal: option.Decimal = None,
    dates: option.Dates = None,
    as_json: option.Json = False,
) -> None:
    """Show how tables are written, and their columns: types, missing values, examples, and the kind that fit infers."""
    how, columns = option.reading(context_.params), context_.params["columns"]
    from bitfm.data.tables.read import read_file

    if columns is not None and len(files) > 1:
        raise typer.BadParameter(f"names of columns were given for {len(files)} files; describe them one by one")
    for name in files:
        with notes_of_warnings():
            frame, facts = read_file(name, names_of(columns), how)
        rows = [_facts(column, how.decimal, None if dates is None else str(dates)) for column in frame]
        caption = f"{len(frame):,} rows, {frame.width} columns"
        if as_json:
            about = {"format": facts.format, **dict(zip(_FACTS, facts[1:6], strict=True))}
            print_json({"title": name, "caption": caption, "file": about, "rows": rows})
        else:
            show(name, rows, caption=f"{caption}; {facts}")


def _facts(column: pl.Series, decimal: str | None, dates: str | None) -> dict[str, Any]:
    from bitfm.data import infer_kind

    distinct = _values(column).unique(maintain_order=True)
    inferred = infer_kind(column.name, column, decimal=decimal, dates=dates)
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

    from bitfm.data.texts import as_text, flattened

    if column.dtype == pl.Object:
        column = as_text(column)
    while isinstance(column.dtype, pl.List):
        column = flattened(column)
    return column.fill_nan(None).drop_nulls() if column.dtype.is_float() else column.drop_nulls()


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
