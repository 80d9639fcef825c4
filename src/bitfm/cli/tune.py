"""``bitfm tune``: settings chosen on a part of the training data, by Optuna, which keeps the trials."""

from __future__ import annotations

import shlex
import time as clock
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tomli_w
import typer
from typer import Option

from bitfm.atomic import atomic_write
from bitfm.cli import _options as option
from bitfm.cli._config import FILE_NAME, Config, read_toml
from bitfm.cli._tables import FitOptions
from bitfm.cli._writing import need_writable
from bitfm.cli.fit import ModelOptions
from bitfm.cli.progress import fit_progress
from bitfm.cli.screen import line, note, print_json, show

if TYPE_CHECKING:
    from bitfm.tuning import Trial


@option.with_options_of(FitOptions)
def tune(
    context_: typer.Context,
    seed: option.Seed = 0,
    test: option.Test = None,
    split: option.Split = option.SplitBy.random,
    trials: Annotated[int, Option(min=1, help="Settings to try, earlier ones counted.")] = 20,
    timeout: Annotated[float | None, Option(metavar="SECONDS", min=0, help="Begin no trial after that.")] = None,
    study: Annotated[Path | None, Option(metavar="FILE.db", help="Keep the trials, to go on from them later.")] = None,
    out: Annotated[Path | None, Option("-o", "--out", help="Write the best settings as a bitfm.toml.")] = None,
    jobs: option.Jobs = None,
    quiet: option.Quiet = False,
    as_json: option.Json = False,
    config: Config = None,
) -> None:
    """Choose the settings of bitfm fit on a validation part of the training data (needs the extra tune).

    What --test holds out is not used; the validation part is held out in the same way. The settings: bits, model, β, λ
    and the rank of the teacher; of events, bits and neighbours.

    bitfm tune --interactions ratings.csv --test 0.5 --trials 30 --study trials.db -o bitfm.toml
    """
    from bitfm import Recommender
    from bitfm.tuning import Search

    options = FitOptions.of(context_)
    if study is not None:
        need_writable(study, [*options.files(), config or FILE_NAME], "--study")
    if out is not None:
        need_writable(out, [*options.files(), *([] if study is None else [study])])
    if out is not None and out.exists() and set(read_toml(out)) - {"fit"}:
        raise typer.BadParameter(f"{out} has more in it than [fit], which would be lost", param_hint="--out")
    if split == option.SplitBy.time and options.time is None:
        raise typer.BadParameter("to split by time, name the column of times with --time", param_hint="--split")
    tables = options.read(to_split=True)
    rows = tables.interactions
    if test is not None:
        rows, _ = rows.split(test, seed, by=split)
    begin = clock.perf_counter()
    template = Recommender(kinds=tables.kinds, random_state=seed, **options.about_events())
    about = {"settings": options.settings()}
    search = Search(rows, template, tables.sides(), by=split, seed=seed, study=study, about=about)
    found = search.run(trials, timeout, watch=lambda number: fit_progress(f"trial {number}"), report=_report)
    unset = dict.fromkeys(ModelOptions.__dataclass_fields__)
    done = [{**unset, **trial.settings, "NDCG@10": trial.ndcg, "seconds": trial.seconds} for trial in found]
    seconds, spent = clock.perf_counter() - begin, sum(trial.seconds for trial in found)
    ranked = sorted(done, key=lambda trial: -trial["NDCG@10"])
    chosen = {name: ranked[0][name] for name in ModelOptions.__dataclass_fields__ if ranked[0][name] is not None}
    chosen["seed"] = seed
    if out is not None:
        with atomic_write(out) as file:
            tomli_w.dump({"fit": options.settings() | chosen | _held_out(test, split)}, file)
    shell = " ".join(f"--{name.replace('_', '-')} {shlex.quote(str(value))}" for name, value in chosen.items())
    if as_json:
        best = {**chosen, "NDCG@10": ranked[0]["NDCG@10"]}
        times = {"seconds": seconds, "seconds_of_all_trials": spent}
        print_json({"best": best, "options": shell, "trials": done, **times})
        return
    show("The best settings", ranked[:5])
    line(f"validated on training data: {search.held_out}")
    line(f"{len(done)} trials of {spent:.1f} s together; {seconds:.1f} s now")
    line("the best of many figures on the same rows flatters itself: measure on what --test holds out")
    line(f"bitfm fit {shell}")
    if out is not None:
        line(f"written to {out}")


def _held_out(test: float | None, split: option.SplitBy) -> dict[str, Any]:
    """Return the options of fit that hold the same part out."""
    if test is None:
        return {}
    return {"test": test} | ({} if split == option.SplitBy.random else {"split": str(split)})


def _report(number: int, trial: Trial) -> None:
    chosen = ", ".join(f"{name} {value}" for name, value in trial.settings.items())
    note(f"trial {number}: NDCG@10 {trial.ndcg:.4f}, {trial.seconds:.1f} s: {chosen}")
