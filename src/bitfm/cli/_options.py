"""The options that several commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import typer

from bitfm.data.columns.kinds import kind_names

__all__ = ["CodeKind", "with_options_of"]


class CodeKind(StrEnum):
    """Which model of codes to fit: `DistilledFM` or `DiscreteFM`."""

    distilled = "distilled"
    discrete = "discrete"


def with_options_of(other: Callable[..., None], *names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command some options of another, before its own; it finds them in the params of its context."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own, more = (inspect.signature(one, eval_str=True).parameters for one in (command, other))
        every = {name: more[name] for name in more if name in names} | dict(own)

        @functools.wraps(command)
        def with_more(**given: Any) -> None:
            command(**{name: given[name] for name in own})

        parameters = [one.replace(kind=one.KEYWORD_ONLY) for one in every.values()]
        with_more.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return with_more

    return decorate


_KINDS = kind_names()
_FILE: dict[str, Any] = {"metavar": "FILE"}
_NAME: dict[str, Any] = {"metavar": "NAME"}
_NAMES: dict[str, Any] = {"metavar": "A,B,C"}  # bitfm.toml has a list for it

Interactions = Annotated[
    str, typer.Option("--interactions", help="Ratings or events: CSV, Parquet, JSON lines; - is stdin.", **_FILE)
]
Columns = Annotated[str | None, typer.Option(help="Names of the columns, if the file has none.", **_NAMES)]
Users = Annotated[list[str] | None, typer.Option(help="Table of users. Several are joined by id.", **_FILE)]
UserColumns = Annotated[list[str] | None, typer.Option(help="The same for --users, in their order.", **_NAMES)]
Items = Annotated[list[str] | None, typer.Option(help="Table of items. Several are joined by id.", **_FILE)]
ItemColumns = Annotated[list[str] | None, typer.Option(help="The same for --items, in their order.", **_NAMES)]
User = Annotated[str, typer.Option(help="Column of the users' ids.", **_NAME)]
Item = Annotated[str, typer.Option(help="Column of the items' ids.", **_NAME)]
Target = Annotated[str, typer.Option(help="Column of the ratings.", **_NAME)]
NoTarget = Annotated[bool, typer.Option("--no-target", help="There are no ratings: every row is an event.")]
Context = Annotated[str | None, typer.Option(help="Columns of interactions that are context.", **_NAMES)]
Time = Annotated[str | None, typer.Option(help="Column of times: seconds since 1970, or dates.", **_NAME)]
Title = Annotated[str | None, typer.Option(help="Column of --items to show beside ids.", **_NAME)]
_HOW = f"How to read a column: {', '.join(_KINDS[:-1])} or {_KINDS[-1]}. Repeatable."
Kind = Annotated[list[str] | None, typer.Option("--kind", metavar="COLUMN=KIND", help=_HOW)]
Separator = Annotated[str | None, typer.Option(metavar="TEXT", help="Between columns; guessed by default.")]
Seed = Annotated[int, typer.Option(min=0, help="Random seed of the split and of every fit.")]
Test = Annotated[
    float | None, typer.Option(metavar="SHARE", help="Hold out this share of each user's interactions, e.g. 0.5.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Number = Annotated[int, typer.Option("-n", "--n", min=1, help="How many items.")]
_WHEN = "The context, e.g. daytime=evening. Repeatable."
Moment = Annotated[list[str] | None, typer.Option("--context", metavar="COLUMN=VALUE", help=_WHEN)]
Model = Annotated[str | None, typer.Argument(metavar="MODEL", help="File that bitfm fit wrote.")]
_BASELINES = "Also tune, fit and measure the baselines: bias only, and a real-valued FM."
Baselines = Annotated[bool, typer.Option("--baselines", help=_BASELINES)]
