"""Results as files: CSV, JSON lines or Parquet, by the name's ending."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bitfm.atomic import atomic_write
from bitfm.cli._writing import need_writable
from bitfm.cli.screen import csv_of

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Out", "need_table", "write_table"]

_CSV, _JSON, _PARQUET = (".csv",), (".jsonl", ".ndjson", ".json"), (".parquet",)
_OUT = "Write a table instead, by its ending: .parquet, .csv or .jsonl."
Out = Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help=_OUT)]


def need_table(out: Path | None, inputs: Iterable[str | Path]) -> None:
    """Refuse a file that no table can be written to, before the work and not after it."""
    if out is None:
        return
    if out.suffix.lower() not in (endings := (*_PARQUET, *_CSV, *_JSON)):
        raise typer.BadParameter(f"{out} must end in {', '.join(endings[:-1])} or {endings[-1]}", param_hint="--out")
    need_writable(out, inputs)


def write_table(out: Path, batches: Iterable[pl.DataFrame], *, no_formulas: bool = False) -> int:
    """Write frames of the same columns, one after another, to a file that appears whole; return how many rows."""
    import polars as pl

    ending, rows = out.suffix.lower(), 0
    with atomic_write(out) as file:
        if ending in _PARQUET:  # it has the sizes of all columns at its end
            whole = pl.concat(batches, how="vertical_relaxed")
            whole.write_parquet(file)
            return len(whole)
        for number, batch in enumerate(batches):
            if ending in _JSON:
                batch.write_ndjson(file)
            else:
                file.write(csv_of(batch, header=number == 0, no_formulas=no_formulas).encode())
            rows += len(batch)
    return rows
