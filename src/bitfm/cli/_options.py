"""The options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from bitfm.data.columns.registry import kind_names

__all__ = ["CodeKind"]


class CodeKind(StrEnum):
    """Which model of codes to fit: `DistilledFM` or `DiscreteFM`."""

    distilled = "distilled"
    discrete = "discrete"


_KINDS = kind_names()

Interactions = Annotated[
    str,
    typer.Option(
        "--interactions", metavar="FILE", help="Ratings or events: CSV, Parquet, JSON lines and others; - is stdin."
    ),
]
Columns = Annotated[
    str | None,
    typer.Option("--columns", metavar="A,B,C", help="Its columns, if the file does not name them."),
]
Users = Annotated[
    list[str] | None,
    typer.Option("--users", metavar="FILE", help="Table of users. Several are joined by id."),
]
UserColumns = Annotated[
    list[str] | None,
    typer.Option("--user-columns", metavar="A,B,C", help="Columns of --users; the first is for the first."),
]
Items = Annotated[
    list[str] | None,
    typer.Option("--items", metavar="FILE", help="Table of items. Several are joined by id."),
]
ItemColumns = Annotated[
    list[str] | None,
    typer.Option("--item-columns", metavar="A,B,C", help="Columns of --items; the first is for the first."),
]
User = Annotated[str, typer.Option("--user", metavar="NAME", help="Column of the users' ids.")]
Item = Annotated[str, typer.Option("--item", metavar="NAME", help="Column of the items' ids.")]
Target = Annotated[str, typer.Option("--target", metavar="NAME", help="Column of the ratings.")]
NoTarget = Annotated[bool, typer.Option("--no-target", help="There are no ratings: every row is an event.")]
Context = Annotated[
    str | None,
    typer.Option("--context", metavar="A,B,C", help="Columns of interactions that tell of the moment."),
]
Time = Annotated[
    str | None, typer.Option("--time", metavar="NAME", help="Column of times: seconds since 1970, or dates.")
]
Title = Annotated[str | None, typer.Option("--title", metavar="NAME", help="Column of --items to show beside ids.")]
Kind = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="COLUMN=KIND",
        help=f"How to read a column: {', '.join(_KINDS[:-1])} or {_KINDS[-1]}. Several times.",
    ),
]
Separator = Annotated[
    str | None, typer.Option("--separator", metavar="TEXT", help="Between columns. Default: found out.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Of the split and of every fit.")]
Test = Annotated[
    float | None,
    typer.Option("--test", metavar="SHARE", help="Hold out this share of each user's interactions, e.g. 0.5."),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object, for programs.")]
Number = Annotated[int, typer.Option("-n", "--n", min=1, help="How many.")]
Moment = Annotated[
    list[str] | None,
    typer.Option("--context", metavar="COLUMN=VALUE", help="The moment, e.g. daytime=evening. Several times."),
]
Model = Annotated[str | None, typer.Argument(metavar="MODEL", help="File that bitfm fit wrote.")]
