"""``bitfm fit``: tables in, a recommender out."""

from __future__ import annotations

import time as clock
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bitfm.cli import _options as option
from bitfm.cli._accuracy import baseline_rows, own_row, remark_on
from bitfm.cli._config import MODEL, Config, configurable
from bitfm.cli._models import need_writable, rows_of, with_percent
from bitfm.cli._peak import peak_megabytes
from bitfm.cli._progress import busy, fit_progress
from bitfm.cli._settings import ModelOptions
from bitfm.cli._split import check_share
from bitfm.cli._tables import FitOptions
from bitfm.cli.screen import line, note, print_json, show

if TYPE_CHECKING:
    from bitfm.data import HeldOut


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
    model: Annotated[
        option.CodeKind, typer.Option("--model", help="Codes distilled from a teacher, or fitted to the ratings.")
    ] = option.CodeKind.distilled,
    beta: Annotated[float | None, typer.Option("--beta", help="β of --model discrete.")] = None,
    anchor_strength: Annotated[
        str | None, typer.Option("--anchor-strength", help="λ of --model distilled: auto, inf or a number.")
    ] = None,
    rank: Annotated[
        int | None, typer.Option("--rank", min=1, help="Factors of the teacher of --model distilled; two by default.")
    ] = None,
    seed: option.Seed = 0,
    test: option.Test = None,
    baselines: option.Baselines = False,
    as_json: option.Json = False,
    config: Config = None,
) -> None:
    """Fit a recommender to tables, and save it.

    bitfm fit --interactions ratings.csv --users users.csv --items books.csv --test 0.5 -o shop.bitfm
    """
    options = FitOptions.of(context_)
    if baselines and test is None:
        raise typer.BadParameter("needs --test, to measure them on what is held out", param_hint="--baselines")
    share = None if test is None else check_share(test)
    settings = ModelOptions(bits, model.value, beta, anchor_strength, rank)
    need_writable(out)
    tables = options.read() if share is None else options.read().to_split()
    train, held_out = (tables.interactions, None) if share is None else tables.interactions.split(share, seed)
    begin = clock.perf_counter()
    rec = settings.recommender(seed, tables.kinds)
    with fit_progress() as callback:
        tables.fit(rec, train, callback, keep=baselines)
    rec.notes["interactions"] = options.interactions
    report: dict[str, Any] = {
        "columns": rows_of(rec.describe()),
        "seconds": clock.perf_counter() - begin,
        "peak_megabytes": peak_megabytes(),
    }
    with busy("saving"):
        rec.save(out)
    report |= {"model": str(out), "bytes": out.stat().st_size, "users": rec.n_users, "items": rec.n_items}
    report |= {"interactions": len(tables.interactions), "trained_on": len(train), "seed": seed}
    if held_out is not None:
        report["accuracy"] = baseline_rows(rec, rec.training_data(), held_out, seed=seed) if baselines else []
        report["accuracy"].append({**own_row(rec, held_out), "seconds": report["seconds"]})
        if remark := remark_on(report["accuracy"]):
            note(remark)
    if as_json:
        print_json(report)
        return
    _print(report, options, rec.held_out)


def _print(report: dict[str, Any], options: FitOptions, held_out: HeldOut | None) -> None:
    show("Inferred column types", with_percent(report["columns"]))
    if held_out is not None:
        show("Accuracy on what was held out", report["accuracy"])
        line(f"{options.interactions}: {held_out}")
    memory = report["peak_megabytes"]
    parts = [
        f"{report['users']:,} users, {report['items']:,} items, {report['trained_on']:,} interactions",
        f"{report['seconds']:.1f} s",
        *([] if memory is None else [f"{memory:,.0f} MB of memory at most"]),
        f"written to {report['model']} ({report['bytes'] / 1e6:,.2f} MB)",
    ]
    line("; ".join(parts))
