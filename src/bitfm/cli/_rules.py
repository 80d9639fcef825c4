"""Options that say which items may be recommended."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from bitfm.cli import _options as option
from bitfm.cli._options import names_of, pairs_of
from bitfm.cli._titles import item_ids

if TYPE_CHECKING:
    import polars as pl

    from bitfm import Recommender

__all__ = ["RankOptions", "RuleOptions"]

_CONDITION = re.compile(r"(.+?)\s*(<=|>=|!=|=|<|>)\s*(.*)", re.DOTALL)
_WHERE = "Only items with this, e.g. genre=Fantasy or 'price<20'. Repeatable: all must hold; of one column, any."
_BOOST = "Add a column to scores, or so much of it, e.g. margin=0.1. Repeatable."
_DIVERSITY = "From 0 to 1: how much items that are alike fall behind; or at most so many of a value, e.g. author=1."


@dataclass(frozen=True)
class RuleOptions:
    """What the command line says about the items to choose from."""

    where: Annotated[option.Texts, Option(metavar="COLUMN=VALUE", help=_WHERE)] = None
    allow: Annotated[str | None, Option(metavar="ITEM,...", help="Only these items.")] = None
    deny: Annotated[str | None, Option(metavar="ITEM,...", help="None of these items.")] = None

    @classmethod
    def of(cls, context: typer.Context, rec: Recommender) -> dict[str, Any]:
        """Return the options of a command as a recommender takes them."""
        given = cls(**{name: context.params[name] for name in cls.__dataclass_fields__})
        allow, deny = item_ids(rec, given.allow), item_ids(rec, given.deny)
        return {"where": given.conditions(), "allow": allow, "deny": deny}

    def conditions(self) -> list[Any] | None:
        """Return what was given as --where: values of columns, and comparisons."""
        values: dict[str, list[str]] = {}
        comparisons = []
        for text in self.where or ():
            found = _CONDITION.fullmatch(text.strip())
            if found is None:
                raise typer.BadParameter(f"expected COLUMN=VALUE, got {text!r}", param_hint="--where")
            column, sign, value = found.groups()
            if sign == "=":
                values.setdefault(column, []).append(value)
            else:
                comparisons.append(_comparison(column, sign, value))
        return [values, *comparisons] if self.where else None


@dataclass(frozen=True)
class RankOptions:
    """What the command line says about the order of items."""

    boost: Annotated[option.Texts, Option(metavar="COLUMN[=NUMBER]", help=_BOOST)] = None
    diversity: Annotated[str | None, Option(metavar="SHARE|COLUMN=N,...", help=_DIVERSITY)] = None

    @classmethod
    def of(cls, context: typer.Context) -> dict[str, Any]:
        """Return the options of a command as a recommender takes them."""
        boost, diversity = context.params["boost"], names_of(context.params["diversity"])
        found: dict[str, Any] = {}
        if boost:
            pairs = pairs_of("--boost", [text if "=" in text else f"{text}=1" for text in boost]).items()
            found["boost"] = {name: _number("--boost", text, float) for name, text in pairs}
        if diversity and "=" in diversity[0]:
            limits = pairs_of("--diversity", diversity).items()
            found["diversity"] = {name: _number("--diversity", text, int) for name, text in limits}
        elif diversity:
            found["diversity"] = _number("--diversity", diversity[0], float)
        return found


def _number(name: str, text: str, kind: Callable[[str], Any]) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise typer.BadParameter(f"expected a number, got {text!r}", param_hint=name) from None


def _comparison(column: str, sign: str, text: str) -> pl.Expr:
    """Return a comparison with a number, a time or a text, whichever the value looks like."""
    import polars as pl

    from bitfm.data.numbers import parse_number
    from bitfm.data.times import parse_time

    value: Any = parse_number(text)
    if value is None:
        seconds = parse_time(text)
        value = text if seconds is None else datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    left = pl.col(column)
    compared: dict[str, pl.Expr] = {
        "<": left < value,
        "<=": left <= value,
        ">": left > value,
        ">=": left >= value,
        "!=": left != value,
    }
    return compared[sign]
