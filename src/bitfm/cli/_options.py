"""Options that several commands share, and what is made of their texts."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from bitfm.cli.screen import be_quiet
from bitfm.validation import limit_threads

if TYPE_CHECKING:
    from bitfm.data.tables.facts import Reading

__all__ = ["FileOptions", "SplitBy", "names_of", "pairs_of", "reading", "with_options_of"]


def with_options_of(*groups: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the fields of dataclasses as options, before its own; it finds them in its context's params."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own, *more = (inspect.signature(one, eval_str=True).parameters for one in (command, *groups))

        @functools.wraps(command)
        def with_more(**given: Any) -> None:
            command(**{name: given[name] for name in own})

        every = [one.replace(kind=one.KEYWORD_ONLY) for part in (*more, own) for one in part.values()]
        with_more.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        return with_more

    return decorate


def names_of(text: str | None) -> list[str] | None:
    """Return names that were given with commas between them."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def pairs_of(option: str, given: Sequence[str] | None) -> dict[str, str]:
    """Return what was given as key=value, several times."""
    pairs = {}
    for text in given or ():
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise typer.BadParameter(f"expected NAME=VALUE, got {text!r}", param_hint=option)
        pairs[key.strip()] = value.strip()
    return pairs


def _check_share(share: float | None) -> float | None:
    if share is not None and not 0 < share < 1:
        raise typer.BadParameter(f"expected a share above 0 and below 1, got {share:g}", param_hint="--test")
    return share


def _limit(context: typer.Context, jobs: int | None) -> int | None:
    """Limit the threads of the process, those of Polars included if they have not begun."""
    if not context.resilient_parsing:
        limit_threads(jobs)
        if jobs is not None and "polars" not in sys.modules:
            os.environ["POLARS_MAX_THREADS"] = str(jobs)
    return jobs


def _hush(context: typer.Context, quiet: bool) -> bool:
    if not context.resilient_parsing:
        be_quiet(quiet)
    return quiet


class DecimalMark(StrEnum):
    """What is before the fraction of a number."""

    point = "."
    comma = ","


class DateOrder(StrEnum):
    """What is first in a date."""

    dmy = "dmy"
    mdy = "mdy"


class Missing(StrEnum):
    """What is done with rows without a rating."""

    drop = "drop"
    error = "error"


class SplitBy(StrEnum):
    """What is held out to measure on."""

    random = "random"
    time = "time"
    user = "user"


def reading(source: Any) -> Reading:
    """Return how files are to be read: what a command was told, in its parameters or as attributes of its options."""
    from bitfm.data.tables.facts import Reading

    told = source if isinstance(source, Mapping) else vars(source)
    names = ("separator", "quote", "escape", "encoding", "skip_bad", "decimal")
    given: dict[str, Any] = {name: told[name] for name in names}
    given["decimal"] = None if given["decimal"] is None else str(given["decimal"])
    return Reading(**given)


Texts: TypeAlias = list[str] | None  # of what may be given several times
_ROWS = "Ratings or events: CSV, Parquet, JSON lines; - is stdin."
Interactions = Annotated[str, typer.Option(metavar="FILE", help=_ROWS)]
Columns = Annotated[str | None, typer.Option(metavar="A,B,C", help="Names of the columns, if the file has none.")]
Separator = Annotated[str | None, typer.Option(metavar="TEXT", help="Between columns; guessed by default.")]
_QUOTE = 'What encloses cells, "" if nothing; found by default.'
Quote = Annotated[str | None, typer.Option(metavar="CHAR", help=_QUOTE)]
_ESCAPE = 'What makes the next character text, "" if nothing; found by default.'
Escape = Annotated[str | None, typer.Option(metavar="CHAR", help=_ESCAPE)]
Encoding = Annotated[str | None, typer.Option(metavar="NAME", help="Of texts, e.g. windows-1252; found by default.")]
SkipBad = Annotated[int, typer.Option(metavar="N", min=0, help="Skip up to N lines that are no rows, and count them.")]
_DECIMAL = "Decimal mark of numbers; found for each column by default."
Decimal = Annotated[DecimalMark | None, typer.Option(help=_DECIMAL)]
_DATES = "Day or month first, as in 03/04/2018; found for each column by default."
Dates = Annotated[DateOrder | None, typer.Option(help=_DATES)]


@dataclass(frozen=True)
class FileOptions:
    """How a command is told that files are written."""

    columns: Columns = None
    separator: Separator = None
    quote: Quote = None
    escape: Escape = None
    encoding: Encoding = None
    skip_bad: SkipBad = 0


Seed = Annotated[int, typer.Option(min=0, help="Random seed of the split and of every fit.")]
_HELD_OUT = "Hold out this share of the interactions, e.g. 0.2, to measure on; see --split."
Test = Annotated[float | None, typer.Option(metavar="SHARE", callback=_check_share, help=_HELD_OUT)]
_SPLIT = "What --test holds out: random interactions of each user, the last of all by --time, or whole users."
Split = Annotated[SplitBy, typer.Option("--split", help=_SPLIT)]
_BASELINES = "Also tune, fit and measure the baselines: bias only or popularity, and real-valued factors."
Baselines = Annotated[bool, typer.Option("--baselines", help=_BASELINES)]
_JOBS = "Threads to use at most; all by default. The result does not depend on it."
Jobs = Annotated[int | None, typer.Option("-j", "--jobs", metavar="N", min=1, callback=_limit, help=_JOBS)]
_QUIET = "Print neither remarks nor progress to standard error, only errors."
Quiet = Annotated[bool, typer.Option("-q", "--quiet", callback=_hush, help=_QUIET)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Number = Annotated[int, typer.Option("-n", "--n", min=1, help="How many items.")]
_WHEN = "The context, e.g. daytime=evening. Repeatable."
Moment = Annotated[Texts, typer.Option("--context", metavar="COLUMN=VALUE", help=_WHEN)]
Model = Annotated[str | None, typer.Argument(metavar="MODEL", help="File that bitfm fit wrote.")]
