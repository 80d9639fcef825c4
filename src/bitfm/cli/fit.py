"""``bitfm fit``: tables in, a recommender out."""

from __future__ import annotations

import time as clock
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bitfm.cli import _options as option
from bitfm.cli._accuracy import own_row, remark_on, rival_rows
from bitfm.cli._config import MODEL, Config, configurable
from bitfm.cli._models import need_writable, rows_of, with_percent
from bitfm.cli._peak import peak_megabytes
from bitfm.cli._progress import busy, fit_progress
from bitfm.cli._settings import CodeSettings
from bitfm.cli._split import SPLIT_NOTE, Fingerprint, Split
from bitfm.cli._tables import Asked, Tables
from bitfm.cli.screen import line, note, print_json, show

if TYPE_CHECKING:
    import polars as pl

    from bitfm import Recommender


@configurable
def fit(
    context_: typer.Context,
    interactions: option.Interactions,
    out: Annotated[Path, MODEL, typer.Option("-o", "--out", help="The model file to write.")],
    columns: option.Columns = None,
    users: option.Users = None,
    user_columns: option.UserColumns = None,
    items: option.Items = None,
    item_columns: option.ItemColumns = None,
    user: option.User = "user_id",
    item: option.Item = "item_id",
    target: option.Target = "rating",
    no_target: option.NoTarget = False,
    context: option.Context = None,
    time: option.Time = None,
    title: option.Title = None,
    kind: option.Kind = None,
    separator: option.Separator = None,
    bits: Annotated[int, typer.Option("--bits", help="Length of the codes: a multiple of 8 up to 512.")] = 64,
    objective: Annotated[
        option.Objective, typer.Option("--objective", help="What the codes are fitted to.")
    ] = option.Objective.anchored,
    beta: Annotated[float | None, typer.Option("--beta", help="β of the paper's objective.")] = None,
    anchor: Annotated[str | None, typer.Option("--anchor", help="λ of anchored codes: auto, inf or a number.")] = None,
    rank: Annotated[
        int | None, typer.Option("--rank", min=1, help="Factors of a teacher of your own choice, for anchored codes.")
    ] = None,
    seed: option.Seed = 0,
    test: option.Test = None,
    as_json: option.Json = False,
    config: Config = None,
) -> None:
    """Fit a recommender to tables, and save it.

    bitfm fit --interactions ratings.csv --users users.csv --items books.csv --test 0.5 -o shop.bitfm
    """
    asked = Asked.of(context_)
    split = None if test is None else Split(test, seed)
    settings = CodeSettings(bits, objective.value, beta, anchor, rank)
    need_writable(out)
    tables = asked.read() if split is None else asked.read().to_split()
    begin = clock.perf_counter()
    rec, train = fit_tables(tables, settings, split, seed)
    report: dict[str, Any] = {
        "columns": rows_of(rec.describe()),
        "seconds": clock.perf_counter() - begin,
        "peak_megabytes": peak_megabytes(),
    }
    with busy("saving"):
        rec.save(out)
    report |= {"model": str(out), "bytes": out.stat().st_size, "users": rec.n_users, "items": rec.n_items}
    report |= {"interactions": tables.interactions.height, "trained_on": train.height, "seed": seed}
    if split is not None:
        test_rows = tables.interactions.filter(~split.train(tables.interactions, asked.user))
        report["accuracy"] = [*rival_rows(rec, train, test_rows, seed=seed), own_row(rec, test_rows)]
        report["accuracy"][-1]["seconds"] = report["seconds"]
        if remark := remark_on(report["accuracy"]):
            note(remark)
    if as_json:
        print_json(report)
        return
    _print(report, asked, split)


def fit_tables(
    tables: Tables, settings: CodeSettings, split: Split | None, seed: int
) -> tuple[Recommender, pl.DataFrame]:
    """Fit to all interactions, or to those that a split leaves; the recommender notes how it came about."""
    rows = tables.interactions
    if split is not None:
        rows = rows.filter(split.train(rows, tables.asked.user))
    rec = settings.recommender(seed, tables.kinds)
    with fit_progress() as callback:
        tables.fit(rec, rows, callback)
    rec.notes["interactions"] = tables.asked.interactions
    if split is not None:
        asked = tables.asked
        rec.notes[SPLIT_NOTE] = split.note(Fingerprint.of(tables.interactions, asked.user, asked.item))
    return rec, rows


def _print(report: dict[str, Any], asked: Asked, split: Split | None) -> None:
    show("What was made of the columns", with_percent(report["columns"]))
    if split is not None:
        show("Accuracy on what was held out", report["accuracy"])
        line(f"{asked.interactions}: {split}")
    memory = report["peak_megabytes"]
    parts = [
        f"{report['users']:,} users, {report['items']:,} items, {report['trained_on']:,} interactions",
        f"{report['seconds']:.1f} s",
        *([] if memory is None else [f"{memory:,.0f} MB of memory at most"]),
        f"written to {report['model']} ({report['bytes'] / 1e6:,.2f} MB)",
    ]
    line("; ".join(parts))
