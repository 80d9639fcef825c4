"""How the commands print: tables for people, JSON for programs, remarks to standard error."""

from __future__ import annotations

import contextlib
import json
import math
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bitfm.errors import BitfmWarning

if TYPE_CHECKING:
    import polars as pl


class _Console(Console):
    """A console that leaves a closed pipe to the command line, where it is not an error."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


# A pipe has no width of its own; give tables there enough for every column.
console = _Console(width=None if sys.stdout.isatty() else 180)
_stderr = Console(stderr=True)
_quiet = False
_NUMBER = re.compile(r"([-+\d.,e]+( ± [\d.,]+)?)?")
# What a terminal obeys instead of showing it: controls, other line ends, changes of direction; half surrogates.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_FORMULA = r"^([=+\-@\t\r])"  # that a spreadsheet takes for the beginning of a formula


def plain(text: str) -> str:
    r"""Return a text with its control characters escaped, as ``\x1b``: a terminal must not obey what is in data."""
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def _plain_lines(text: str) -> str:
    return "\n".join(map(plain, text.split("\n")))


def error(message: str) -> None:
    """Print a message to standard error."""
    _stderr.print(_plain_lines(f"bitfm: {message}"), style="red", highlight=False, markup=False, soft_wrap=True)


def be_quiet(quiet: bool) -> None:
    """Print no remarks from now on, or print them again; errors are printed anyway."""
    global _quiet
    _quiet = quiet


def is_quiet() -> bool:
    """Tell whether remarks are left out."""
    return _quiet


def note(message: str) -> None:
    """Print a remark to standard error, so that standard output stays the result."""
    if _quiet:
        return
    _stderr.print(_plain_lines(message), style="dim", highlight=False, markup=False, soft_wrap=True)


@contextlib.contextmanager
def notes_of_warnings() -> Iterator[None]:
    """Print what bitfm warns of as remarks, such as how many lines were skipped; each once."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", BitfmWarning)
        yield
    for message in dict.fromkeys(str(one.message) for one in said if issubclass(one.category, BitfmWarning)):
        note(message)
    for one in said:
        if not issubclass(one.category, BitfmWarning):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def line(message: str) -> None:
    """Print a line of the result, as long as it is."""
    console.print(_plain_lines(message), highlight=False, markup=False, soft_wrap=True)


def print_json(content: Any) -> None:
    """Print one JSON object; what JSON has no number for, such as NaN, is null."""
    text = json.dumps(_jsonable(content), allow_nan=False, ensure_ascii=False)
    print(_CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text))  # those that JSON itself does not escape


def csv_of(frame: pl.DataFrame, *, header: bool, no_formulas: bool) -> str:
    """Return a part of a CSV; without formulas, what a spreadsheet would take for one has a ' before it."""
    import polars as pl

    if no_formulas:
        frame = frame.with_columns(pl.col(pl.String).str.replace(_FORMULA, "'$1"))
    return frame.write_csv(include_header=header)


def print_csv(frame: pl.DataFrame, *, header: bool, no_formulas: bool) -> None:
    """Print a part of a CSV, as `csv_of`."""
    text = csv_of(frame, header=header, no_formulas=no_formulas)
    sys.stdout.write(_plain_lines(text) if sys.stdout.isatty() else text)  # programs get what is there


def show(title: str, rows: Sequence[Mapping[str, Any]], *, caption: str = "", as_json: bool = False) -> None:
    """Print rows as a table with a line below it, or as JSON."""
    if as_json:
        print_json({"title": title, "caption": caption, "rows": list(rows)})
        return
    table = Table(
        title=escape(plain(title)),
        title_justify="left",
        title_style="bold",
        caption=escape(_plain_lines(caption)) or None,
        caption_justify="left",
        header_style="bold",
    )
    columns = list(dict.fromkeys(key for row in rows for key in row))
    texts = {name: [_text(row.get(name)) for row in rows] for name in columns}
    for name in columns:
        numeric = all(_NUMBER.fullmatch(text) for text in texts[name])
        table.add_column(escape(plain(name)), justify="right" if numeric else "left", overflow="fold")
    for row in zip(*texts.values(), strict=True):
        table.add_row(*(escape(plain(text)) for text in row))
    console.print(table)


def rows_of(frame: Any) -> list[dict[str, Any]]:
    """Return the rows of a frame of any kind: a recommender answers in the kind that it was fitted on."""
    return polars_of(frame).to_dicts()


def with_percent(columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what was made of columns as people read it: which share is missing, if any."""
    return [{**row, "missing": f"{row['missing']:.1%}" if row["missing"] else ""} for row in columns]


def polars_of(frame: Any) -> pl.DataFrame:
    """Return a frame of any kind as one of Polars."""
    from bitfm.data.tables import as_frame

    return as_frame("the result", frame)[0]


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:#,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _jsonable(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(item) for item in value]
    return value if isinstance(value, str | int | float | None) else str(value)
