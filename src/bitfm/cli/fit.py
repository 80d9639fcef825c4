"""``bitfm fit``: tables in, a recommender out."""

from __future__ import annotations

import sys
import time as clock
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from bitfm.cli import _options as option
from bitfm.cli._accuracy import as_rows, measure, remark_on, remark_on_seen, show_accuracy
from bitfm.cli._config import FILE_NAME, MODEL, Config
from bitfm.cli._tables import FitOptions
from bitfm.cli._writing import may_hold_model, need_writable
from bitfm.cli.progress import busy, fit_progress
from bitfm.cli.screen import line, note, plain, print_json, rows_of, show, with_percent

if TYPE_CHECKING:
    from bitfm import Recommender

__all__ = ["ModelOptions", "fit", "need_way_to_split", "peak_megabytes"]

_BITS = "Length of the codes: a multiple of 8 up to 512; 64 for ratings, 256 for events."
_MODEL = "Of ratings: codes distilled from a teacher, which is the default, or fitted to the ratings."
_NEIGHBORS = "Of events: neighbours per item, 8 by default."
_TEST_FILE = "Interactions to measure on instead, with the same columns."
_RANK = "Factors of the teacher of --model distilled; two by default."


class _CodeKind(StrEnum):
    distilled = "distilled"
    discrete = "discrete"


@dataclass(frozen=True)
class ModelOptions:
    """What to make of codes; None leaves a setting as the model has it."""

    bits: Annotated[int | None, Option(help=_BITS)] = None
    model: Annotated[_CodeKind | None, Option(help=_MODEL)] = None
    beta: Annotated[float | None, Option(help="β of --model discrete.")] = None
    anchor_strength: Annotated[str | None, Option(help="λ of --model distilled: auto, inf or a number.")] = None
    rank: Annotated[int | None, Option(min=1, help=_RANK)] = None
    neighbors: Annotated[int | None, Option(min=0, help=_NEIGHBORS)] = None

    def __post_init__(self) -> None:
        for name, model in {"beta": "discrete", "anchor_strength": "distilled", "rank": "distilled"}.items():
            if getattr(self, name) is not None and (self.model or "distilled") != model:
                raise typer.BadParameter(f"only for --model {model}", param_hint=f"--{name.replace('_', '-')}")
        try:
            self._strength()
        except ValueError:
            message = f"expected auto, inf or a number, got {self.anchor_strength!r}"
            raise typer.BadParameter(message, param_hint="--anchor-strength") from None

    def _strength(self) -> float | str | None:
        given = self.anchor_strength
        return given if given is None or given == "auto" else float(given)

    def recommender(self, seed: int, kinds: dict[str, str], options: FitOptions | None = None) -> Recommender:
        """Return a recommender to be fitted; without options, to ratings."""
        from bitfm import Recommender
        from bitfm.tuning import model_of

        events = options is not None and options.target is None
        others = ("model", "beta", "anchor_strength", "rank") if events else ("neighbors",)
        for name in others:
            if getattr(self, name) is not None:
                only = "only for ratings" if events else "only for events, with --no-target"
                raise typer.BadParameter(only, param_hint=f"--{name.replace('_', '-')}")
        model = model_of(asdict(self), events=events, random_state=seed)
        about = {} if options is None else options.about_events()
        return Recommender(self.bits, model=model, kinds=kinds, random_state=seed, **about)

    def options(self) -> dict[str, Any]:
        """Return the settings that are not None."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@option.with_options_of(FitOptions, ModelOptions)
def fit(
    context_: typer.Context,
    out: Annotated[Path, MODEL, Option("-o", "--out", help="The model file to write.")],
    force: Annotated[bool, Option("--force", help="Replace a file that is not a bitfm model.")] = False,
    seed: option.Seed = 0,
    test: option.Test = None,
    split: option.Split = option.SplitBy.random,
    test_file: Annotated[str | None, Option(metavar="FILE", help=_TEST_FILE)] = None,
    baselines: option.Baselines = False,
    jobs: option.Jobs = None,
    quiet: option.Quiet = False,
    as_json: option.Json = False,
    config: Config = None,
) -> None:
    """Fit a recommender to tables, and save it.

    bitfm fit --interactions ratings.csv --users users.csv --items books.csv --test 0.5 -o shop.bitfm
    """
    options = FitOptions.of(context_)
    if baselines and test is None and test_file is None:
        raise typer.BadParameter("needs --test or --test-file, to measure them on", param_hint="--baselines")
    if test is not None and test_file is not None:
        raise typer.BadParameter("give --test or --test-file, not both", param_hint="--test-file")
    need_way_to_split(split, test, options)
    settings = ModelOptions(**{name: context_.params[name] for name in ModelOptions.__dataclass_fields__})
    need_writable(out, [*options.files(), *([] if test_file is None else [test_file]), config or FILE_NAME])
    if not force and not may_hold_model(out):
        told = f"{out} exists and is not a bitfm model; give another name, or --force to replace it"
        raise typer.BadParameter(told, param_hint="--out")
    tables = options.read(to_split=test is not None)
    train, held_out = tables.interactions, None
    if test is not None:
        train, held_out = train.split(test, seed, by=split)
    elif test_file is not None:
        held_out = options.read_interactions(test_file, to_measure=True)
    begin = clock.perf_counter()
    rec = settings.recommender(seed, tables.kinds, options)
    with fit_progress() as callback:
        tables.fit(rec, train, callback, keep=baselines)
    rec.notes["interactions"] = plain(options.interactions)  # a name need not be Unicode
    if settings.rank is not None:
        rec.notes["teacher"] = f"of rank {settings.rank}"  # a model keeps nothing of its teacher
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
        if test_file is not None:
            remark_on_seen(rec, held_out)
        events = held_out.target is None
        found = measure(
            rec, held_out, rec.training_data() if baselines else None, seed=seed, popularity=baselines and events
        )
        found[-1] = replace(found[-1], seconds=report["seconds"])
        report["accuracy"] = as_rows(found)
        if remark := remark_on(found):
            note(remark)
    if as_json:
        print_json(report)
        return
    show("Inferred column types", with_percent(report["columns"]))
    if held_out is not None:
        show_accuracy("Accuracy on what was held out" if test_file is None else f"Accuracy on {test_file}", found)
        said = f"{options.interactions}: {rec.held_out}" if test_file is None else test_file
        line(f"{said}; {len(held_out):,} interactions of {found[-1].evaluation.users:,} users")
    memory = report["peak_megabytes"]
    parts = [
        f"{rec.n_users:,} users, {rec.n_items:,} items, {len(train):,} interactions",
        f"{report['seconds']:.1f} s",
        *([] if memory is None else [f"{memory:,.0f} MB of memory at most"]),
        f"written to {out} ({report['bytes'] / 1e6:,.2f} MB)",
    ]
    line("; ".join(parts))


def need_way_to_split(split: option.SplitBy, test: float | None, options: FitOptions) -> None:
    """Refuse a way to hold a part out that there is no part or no time for."""
    if split != option.SplitBy.random and test is None:
        raise typer.BadParameter("needs --test, the share to hold out", param_hint="--split")
    if split == option.SplitBy.time and options.time is None:
        raise typer.BadParameter("to split by time, name the column of times with --time", param_hint="--split")


def peak_megabytes() -> float | None:
    """Return the most memory resident since the process began, in MB; None where the system does not tell."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux, where getrusage also counts the process that started this one
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 / 1e6
    try:
        import resource
    except ImportError:  # not a POSIX system
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
