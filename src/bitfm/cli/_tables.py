"""The tables that a command line names, read and joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import typer

from bitfm.cli import _split
from bitfm.cli._config import is_from_config, is_typed
from bitfm.cli._progress import busy

if TYPE_CHECKING:
    import polars as pl

    from bitfm import Recommender
    from bitfm.data import Interactions
    from bitfm.models import Callback

__all__ = ["FitOptions", "LoadedTables", "names_of", "pairs_of", "read_named"]


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


@dataclass(frozen=True)
class FitOptions:
    """What the command line says about tables and their columns."""

    interactions: str
    columns: str | None = None
    users: list[str] = field(default_factory=list)
    user_columns: list[str] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    item_columns: list[str] = field(default_factory=list)
    user: str = "user_id"
    item: str = "item_id"
    target: str | None = "rating"
    context: str | None = None
    time: str | None = None
    title: str | None = None
    kind: list[str] = field(default_factory=list)
    separator: str | None = None

    @classmethod
    def of(cls, context: typer.Context) -> FitOptions:
        """Take the options of a command; what the command line names overrules what goes with it in bitfm.toml."""
        given = dict(context.params)
        for tables, columns in (("interactions", "columns"), ("users", "user_columns"), ("items", "item_columns")):
            if is_typed(context, tables) and is_from_config(context, columns):
                given[columns] = None  # those of another table
        no_target = given["no_target"]
        if no_target and is_typed(context, "target"):
            if is_typed(context, "no_target"):
                raise typer.BadParameter("give --target or --no-target, not both", param_hint="--no-target")
            no_target = False
        given["target"] = None if no_target else given["target"]
        chosen = {name: given[name] for name in cls.__dataclass_fields__}
        for name in ("users", "user_columns", "items", "item_columns", "kind"):
            chosen[name] = list(chosen[name] or ())
        return cls(**chosen)

    def read(self) -> LoadedTables:
        """Read all tables."""
        kinds = pairs_of("--kind", self.kind)
        sides = (
            ("--users", "--user-columns", self.users, self.user_columns, self.user),
            ("--items", "--item-columns", self.items, self.item_columns, self.item),
        )
        for option, columns_option, sources, columns, _ in sides:
            if len(columns) > len(sources):
                raise typer.BadParameter(
                    f"given {len(columns)} times, but {option} only {len(sources)} times", param_hint=columns_option
                )
        from bitfm.data import Interactions

        table = read_named(self.interactions, self.columns, self.separator)
        context = names_of(self.context) or ()
        roles = {"user": self.user, "item": self.item, "target": self.target, "time": self.time}
        interactions = Interactions.of(table, **roles, context=context)  # type: ignore[arg-type]
        users, items = (_side(sources, columns, name, self.separator) for _, _, sources, columns, name in sides)
        return LoadedTables(self, interactions, users, items, kinds)

    def settings(self) -> dict[str, Any]:
        """Return what a table ``[fit]`` in bitfm.toml would hold for the same tables."""
        side_columns = {
            "user-columns": [names_of(names) for names in self.user_columns],
            "item-columns": [names_of(names) for names in self.item_columns],
        }
        settings = {
            "interactions": self.interactions,
            "columns": names_of(self.columns),
            "users": self.users,
            "items": self.items,
            **side_columns,
            "user": self.user,
            "item": self.item,
            **({"no-target": True} if self.target is None else {"target": self.target}),
            "context": names_of(self.context),
            "time": self.time,
            "title": self.title,
            "kind": pairs_of("--kind", self.kind),
            "separator": self.separator,
        }
        return {key: value for key, value in settings.items() if value}


@dataclass(frozen=True, eq=False)
class LoadedTables:
    """The tables in memory, and what was options about them."""

    options: FitOptions
    interactions: Interactions
    users: pl.DataFrame | None
    items: pl.DataFrame | None
    kinds: dict[str, str]

    def to_split(self) -> LoadedTables:
        """Return the same with the interactions that may be split, to fit to some and measure on others."""
        rows = _split.latest(self.interactions)
        _split.need_measurable(rows)
        return replace(self, interactions=rows)

    def fit(
        self, rec: Recommender, rows: Interactions, callback: Callback | None = None, *, keep: bool = False
    ) -> Recommender:
        """Fit a recommender to some of the interactions; it may keep what it is fitted to."""
        tables = {"users": self.users, "items": self.items, "title": self.options.title}
        return rec.fit(rows, **tables, callback=callback, keep_training_data=keep)  # type: ignore[arg-type]


def read_named(source: str, columns: str | None, separator: str | None) -> pl.DataFrame:
    """Read a table; its columns may be named, with commas between them."""
    from bitfm.data import read_table

    with busy(f"reading {source}"):
        return read_table(source, columns=names_of(columns), separator=separator)


def _side(sources: list[str], columns: list[str], name: str, separator: str | None) -> pl.DataFrame | None:
    """Read the tables of one side, and join them by id."""
    joined: pl.DataFrame | None = None
    for place, source in enumerate(sources):
        table = read_named(source, columns[place] if place < len(columns) else None, separator)
        if name not in table.columns:
            table = table.rename({table.columns[0]: name})
        joined = table if joined is None else _join(joined, table, name, source)
    return joined


def _join(left: pl.DataFrame, right: pl.DataFrame, name: str, source: str) -> pl.DataFrame:
    """Join two tables by id; an id that only one of them has lacks the columns of the other."""
    from bitfm.data.tables import ids_of, need_distinct
    from bitfm.errors import TableError

    twice = sorted(set(left.columns) & set(right.columns) - {name})
    if twice:
        raise TableError(f"{source} has the column {twice[0]!r}, and so has a table before it; rename one of them")
    tables = []
    for what, table in (("the tables before it", left), (source, right)):
        ids = ids_of(what, table, name).text
        need_distinct(what, ids)
        tables.append(table.with_columns(ids.alias(name)))
    return tables[0].join(tables[1], on=name, how="full", coalesce=True, maintain_order="left_right")
