"""``bitfm tune``: settings chosen on a part of the training data."""

from __future__ import annotations

import shlex
import time as clock
from pathlib import Path
from typing import Annotated

import tomli_w
import typer

from bitfm.atomic import atomic_write
from bitfm.cli import _options as option
from bitfm.cli._config import Config, configurable, read_toml
from bitfm.cli._models import need_writable
from bitfm.cli._search import PROTOCOL, search
from bitfm.cli._settings import CodeSettings
from bitfm.cli._split import check_share
from bitfm.cli._tables import Asked
from bitfm.cli.fit import fit
from bitfm.cli.screen import line, print_json, show


@configurable
@option.with_options_of(fit, *Asked.__dataclass_fields__, "no_target")
def tune(
    context_: typer.Context,
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
        rows, _ = rows.split(check_share(test), seed)
    begin = clock.perf_counter()
    done = search(tables, rows, seed, study, trials, timeout)
    seconds, spent = clock.perf_counter() - begin, sum(trial["seconds"] for trial in done)
    ranked = sorted(done, key=lambda trial: -trial["NDCG@10"])
    chosen = {name: ranked[0][name] for name in CodeSettings.__dataclass_fields__ if ranked[0][name] is not None}
    chosen["seed"] = seed
    if out is not None:
        with atomic_write(out) as file:
            tomli_w.dump({"fit": asked.settings() | chosen | ({} if test is None else {"test": test})}, file)
    options = " ".join(f"--{name.replace('_', '-')} {shlex.quote(str(value))}" for name, value in chosen.items())
    if as_json:
        best = {**chosen, "NDCG@10": ranked[0]["NDCG@10"]}
        times = {"seconds": seconds, "seconds_of_all_trials": spent}
        print_json({"best": best, "options": options, "trials": done, **times})
        return
    show("The best settings", ranked[:5])
    line(f"{PROTOCOL}, seed {seed}; {len(done)} trials of {spent:.1f} s together; {seconds:.1f} s now")
    line(f"bitfm fit {options}")
    if out is not None:
        line(f"written to {out}")
