"""The tables that a command line names, read and joined."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from bitfm.cli import _options as option
from bitfm.cli._config import source_of
from bitfm.cli._options import names_of, pairs_of
from bitfm.cli.progress import busy
from bitfm.cli.screen import note, notes_of_warnings
from bitfm.data.columns.kinds import kind_names
from bitfm.errors import TableError, ValueInTableError

if TYPE_CHECKING:
    import polars as pl

    from bitfm import Recommender
    from bitfm.data import Interactions
    from bitfm.data.tables.facts import Reading
    from bitfm.models import Callback

__all__ = ["FitOptions", "LoadedTables", "interactions_like", "latest", "read_like"]

_LARGEST_RATING = 1000  # that bitfm.evaluation.ndcg takes
_KINDS = kind_names()
_COUNTS = "What events of a kind count for, e.g. buy=10. Repeatable."
_FORGET = "Of events: keep no user in the model, nor what users did."
_MISSING = "Whether rows without a rating are dropped and counted, or an error."
_FILTERS = "Columns of --items to filter by later; by default all but texts that hardly repeat."
_HOW = f"How to read a column: {', '.join(_KINDS[:-1])} or {_KINDS[-1]}. Repeatable."


@dataclass(frozen=True)
class FitOptions:
    """What the command line says about tables and their columns."""

    interactions: option.Interactions
    columns: option.Columns = None
    users: Annotated[option.Texts, Option(metavar="FILE", help="Table of users. Several are joined by id.")] = None
    user_columns: Annotated[option.Texts, Option(metavar="A,B,C", help="The same for --users, in their order.")] = None
    items: Annotated[option.Texts, Option(metavar="FILE", help="Table of items. Several are joined by id.")] = None
    item_columns: Annotated[option.Texts, Option(metavar="A,B,C", help="The same for --items, in their order.")] = None
    user: Annotated[str, Option(metavar="NAME", help="Column of the users' ids.")] = "user_id"
    item: Annotated[str, Option(metavar="NAME", help="Column of the items' ids.")] = "item_id"
    target: Annotated[str | None, Option(metavar="NAME", help="Column of the ratings.")] = "rating"
    no_target: Annotated[bool, Option("--no-target", help="There are no ratings: every row is an event.")] = False
    context: Annotated[str | None, Option(metavar="A,B,C", help="Columns of interactions that are context.")] = None
    time: Annotated[str | None, Option(metavar="NAME", help="Column of times: seconds since 1970, or dates.")] = None
    event: Annotated[str | None, Option(metavar="NAME", help="Column of what an event is; see --event-weight.")] = None
    event_weight: Annotated[option.Texts, Option(metavar="KIND=NUMBER", help=_COUNTS)] = None
    weight: Annotated[str | None, Option(metavar="NAME", help="Column of how much an event counts.")] = None
    half_life: Annotated[float | None, Option(metavar="DAYS", help="An event so old counts for half.")] = None
    forget_users: Annotated[bool, Option("--forget-users", help=_FORGET)] = False
    title: Annotated[str | None, Option(metavar="NAME", help="Column of --items to show beside ids.")] = None
    filters: Annotated[str | None, Option(metavar="A,B,C", help=_FILTERS)] = None
    kind: Annotated[option.Texts, Option(metavar="COLUMN=KIND", help=_HOW)] = None
    separator: option.Separator = None
    quote: option.Quote = None
    escape: option.Escape = None
    encoding: option.Encoding = None
    skip_bad: option.SkipBad = 0
    decimal: option.Decimal = None
    dates: option.Dates = None
    missing: Annotated[option.Missing, Option(help=_MISSING)] = option.Missing.drop

    @classmethod
    def of(cls, context: typer.Context) -> FitOptions:
        """Take the options of a command; what the command line names overrules what goes with it in bitfm.toml."""
        given = {name: context.params[name] for name in cls.__dataclass_fields__}
        typed = {name for name in given if source_of(context, name) == "COMMANDLINE"}
        for tables, columns in (("interactions", "columns"), ("users", "user_columns"), ("items", "item_columns")):
            if tables in typed and source_of(context, columns) == "DEFAULT_MAP":
                given[columns] = None  # those of another table
        if {"target", "no_target"} <= typed and given["no_target"]:
            raise typer.BadParameter("give --target or --no-target, not both", param_hint="--no-target")
        given["no_target"] = given["no_target"] and "target" not in typed
        given["target"] = None if given["no_target"] else given["target"]
        return cls(**given)

    def files(self) -> list[str]:
        """Return the names of all tables."""
        return [self.interactions, *(self.users or ()), *(self.items or ())]

    def read(self, *, to_split: bool) -> LoadedTables:
        """Read all tables; interactions to be split, to fit to some and measure on others, must be measurable."""
        kinds = pairs_of("--kind", self.kind)
        sides = (("user", self.user, self.users, self.user_columns), ("item", self.item, self.items, self.item_columns))
        for side, _, sources, columns in sides:
            n_sources, n_columns = len(sources or ()), len(columns or ())
            if n_columns > n_sources:
                said = f"given {n_columns} times, but --{side}s only {n_sources} times"
                raise typer.BadParameter(said, param_hint=f"--{side}-columns")
        how = option.reading(self)
        interactions = self.read_interactions(self.interactions, to_measure=to_split)
        users, items = (_side(sources or (), columns or (), name, how) for _, name, sources, columns in sides)
        return LoadedTables(self, interactions, users, items, kinds)

    def read_interactions(self, source: str, *, to_measure: bool) -> Interactions:
        """Read a table of interactions with the columns of --interactions; what is measured on must be measurable."""
        from bitfm.data import Interactions

        table = read_named(source, self.columns, option.reading(self))
        context = names_of(self.context) or ()
        roles: dict[str, Any] = {"user": self.user, "item": self.item, "target": self.target, "time": self.time}
        roles |= {"context": context, "event": self.event, "weight": self.weight, "missing": str(self.missing)}
        with notes_of_warnings():
            interactions = Interactions.of(table, **roles, **self.formats())
        if to_measure:
            interactions = latest(interactions)
            need_measurable(interactions)
        return interactions

    def formats(self) -> dict[str, Any]:
        """Return the decimal mark and the order of day and month, None where they are to be found."""
        told = {"decimal": self.decimal, "dates": self.dates}
        return {name: None if value is None else str(value) for name, value in told.items()}

    def about_events(self) -> dict[str, Any]:
        """Return what a recommender is told about events."""
        weights = pairs_of("--event-weight", self.event_weight)
        try:
            by_kind = {kind: float(number) for kind, number in weights.items()} or None
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--event-weight") from None
        return {"event_weights": by_kind, "half_life": self.half_life, "keep_interactions": not self.forget_users}

    def settings(self) -> dict[str, Any]:
        """Return what a table ``[fit]`` in bitfm.toml would hold for the same tables."""
        lists = {name: names_of(getattr(self, name)) for name in ("columns", "context", "filters")}
        of_sides = {"user_columns": self.user_columns, "item_columns": self.item_columns}
        nested = {name: [names_of(names) for names in given or ()] for name, given in of_sides.items()}
        pairs = {"kind": pairs_of("--kind", self.kind), "event_weight": pairs_of("--event-weight", self.event_weight)}
        settings = asdict(self) | lists | nested | pairs | self.formats() | {"missing": str(self.missing)}
        empty = {name for name in ("quote", "escape") if settings[name] == ""}  # says that there is none
        defaults = {"missing": "drop"}
        kept = {name: value for name, value in settings.items() if value or name in empty}
        return {name.replace("_", "-"): value for name, value in kept.items() if defaults.get(name) != value}


@dataclass(frozen=True, eq=False)
class LoadedTables:
    """The tables in memory, and what was options about them."""

    options: FitOptions
    interactions: Interactions
    users: pl.DataFrame | None
    items: pl.DataFrame | None
    kinds: dict[str, str]

    def fit(self, rec: Recommender, rows: Interactions, callback: Callback, *, keep: bool = False) -> None:
        """Fit a recommender to some of the interactions; it may keep what it is fitted to."""
        rec.fit(rows, **self.sides(), callback=callback, keep_training_data=keep)

    def sides(self) -> dict[str, Any]:
        """Return what a fit is told beside the interactions."""
        tables = {"users": self.users, "items": self.items, "title": self.options.title, **self.options.formats()}
        return {**tables, "filters": names_of(self.options.filters)}


def latest(interactions: Interactions) -> Interactions:
    """Return the rows that a fit would use, and say how many it would not."""
    kept = interactions.latest()
    if len(kept) < len(interactions):
        note(f"rows left out, since a later one has the same user and item: {len(interactions) - len(kept):,}")
    return kept


def need_measurable(interactions: Interactions) -> None:
    """Refuse ratings that NDCG cannot take, before the work and not after it."""
    if interactions.target is None or interactions.target.max() <= _LARGEST_RATING:
        return
    raise ValueInTableError(
        f"interactions, column {interactions.roles.target!r}: the largest rating is {interactions.target.max():,g}, "
        f"but NDCG, which counts a rating r as 2^r − 1, takes at most {_LARGEST_RATING:,}; scale the ratings, for "
        "example to 1 to 5"
    )


def read_like(source: str, told: Mapping[str, Any], *recommenders: Recommender) -> pl.DataFrame:
    """Read a table like those that recommenders were fitted to; `told` has a command's `FileOptions`."""
    states = [rec.state for rec in recommenders]
    marks = {state.roles.decimal for state in states}
    marks |= {getattr(column.kind, "decimal", None) for state in states for column in state.context}
    return read_named(source, told["columns"], option.reading({**told, "decimal": "," if "," in marks else None}))


def interactions_like(rec: Recommender, table: pl.DataFrame) -> Interactions:
    """Return a table as interactions that a recommender can be measured on."""
    with notes_of_warnings():
        interactions = rec.interactions(table)
    need_measurable(interactions)
    return interactions


def read_named(source: str, columns: str | None, how: Reading) -> pl.DataFrame:
    """Read a table; its columns may be named, with commas between them."""
    from bitfm.data.tables.read import read_file

    with notes_of_warnings(), busy(f"reading {source}"):
        return read_file(source, names_of(columns), how)[0]


def _side(sources: Sequence[str], columns: Sequence[str], name: str, how: Reading) -> pl.DataFrame | None:
    """Read the tables of one side, and join them by id."""
    joined: pl.DataFrame | None = None
    for source, names in itertools.zip_longest(sources, columns):
        table = read_named(source, names, how)
        if name not in table.columns:
            table = table.rename({table.columns[0]: name})
        joined = table if joined is None else _join(joined, table, name, source)
    return joined


def _join(left: pl.DataFrame, right: pl.DataFrame, name: str, source: str) -> pl.DataFrame:
    """Join two tables by id; an id that only one of them has lacks the columns of the other."""
    from bitfm.data.tables import ids_of, need_distinct

    twice = sorted(set(left.columns) & set(right.columns) - {name})
    if twice:
        raise TableError(f"{source} has the column {twice[0]!r}, and so has a table before it; rename one of them")
    tables = []
    for what, table in (("the tables before it", left), (source, right)):
        ids = ids_of(what, table, name).text
        need_distinct(what, ids)
        tables.append(table.with_columns(ids.alias(name)))
    return tables[0].join(tables[1], on=name, how="full", coalesce=True, maintain_order="left_right")
