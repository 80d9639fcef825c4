"""``bitfm tune``: settings chosen on a part of the training data."""

from __future__ import annotations

import shlex
import time as clock
from pathlib import Path
from typing import Annotated, Any

import tomli_w
import typer

from bitfm.atomic import atomic_write
from bitfm.cli import _options as option
from bitfm.cli._config import Config, configurable, read_toml
from bitfm.cli._models import need_writable
from bitfm.cli._search import Search, Trial
from bitfm.cli._split import Split
from bitfm.cli._tables import Asked
from bitfm.cli.screen import line, note, print_json, show


@configurable
def tune(
    context_: typer.Context,
    interactions: option.Interactions,
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
    seed: option.Seed = 0,
    test: option.Test = None,
    trials: Annotated[int, typer.Option("--trials", min=1, help="Settings to try, earlier ones counted.")] = 20,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", min=0, help="Begin no trial after that.")
    ] = None,
    study: Annotated[
        Path | None, typer.Option("--study", metavar="FILE.db", help="Keep the trials, to go on from them later.")
    ] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Write the best settings as a bitfm.toml.")] = None,
    as_json: option.Json = False,
    config: Config = None,
) -> None:
    """Choose the settings of bitfm fit on a validation part of the training data (needs the extra tune).

    What --test holds out is not used. The settings: bits, model, β, λ and the rank of the teacher.

    bitfm tune --interactions ratings.csv --test 0.5 --trials 30 --study trials.db -o bitfm.toml
    """
    asked = Asked.of(context_)
    for path in (out, study):
        if path is not None:
            need_writable(path)
    if out is not None and out.exists() and set(read_toml(out)) - {"fit"}:
        raise typer.BadParameter(f"{out} has more in it than [fit], which would be lost", param_hint="--out")
    tables = asked.read().to_split()
    rows = tables.interactions
    if test is not None:
        rows = rows.filter(Split(test, seed).train(rows, asked.user))
    begin = clock.perf_counter()
    search = Search(tables, rows, seed, study, say=note)
    done = search.run(trials, timeout)
    seconds = clock.perf_counter() - begin
    best = max(done, key=lambda trial: trial.quality)
    chosen = best.settings.options() | {"seed": seed}
    if out is not None:
        everything = asked.settings() | chosen | ({} if test is None else {"test": test})
        with atomic_write(out) as file:
            tomli_w.dump({"fit": everything}, file)
    options = " ".join(f"--{name.replace('_', '-')} {shlex.quote(str(value))}" for name, value in chosen.items())
    if as_json:
        print_json(
            {
                "best": {**chosen, "NDCG@10": best.quality},
                "options": options,
                "trials": [_row(trial) for trial in done],
                "seconds": seconds,
                "seconds_of_all_trials": sum(trial.seconds for trial in done),
            }
        )
        return
    ranked = sorted(done, key=lambda trial: -trial.quality)
    show("The best settings", [_row(trial) for trial in ranked[:5]])
    spent = sum(trial.seconds for trial in done)
    line(f"{search.protocol}, seed {seed}; {len(done)} trials of {spent:.1f} s together; {seconds:.1f} s now")
    line(f"bitfm fit {options}")
    if out is not None:
        line(f"written to {out}")


def _row(trial: Trial) -> dict[str, Any]:
    settings = dict.fromkeys(("bits", "model", "beta", "anchor_strength", "rank")) | trial.settings.options()
    return {**settings, "NDCG@10": trial.quality, "seconds": trial.seconds}
