"""``bitfm fit``: tables in, a recommender out."""

from __future__ import annotations

import os
import sys
import tempfile
import time as clock
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from bitfm import persist
from bitfm.cli import _options as option
from bitfm.cli._config import FILE_NAME, MODEL, Config
from bitfm.cli._tables import FitOptions
from bitfm.cli.evaluate import accuracy
from bitfm.cli.screen import busy, fit_progress, line, note, plain, print_json, rows_of, show, with_percent
from bitfm.data.files import STANDARD_INPUT
from bitfm.errors import ModelFileError, NewerModelFileError
from bitfm.validation import check_path

if TYPE_CHECKING:
    from bitfm import Recommender

__all__ = ["ModelOptions", "fit", "may_hold_model", "need_writable", "peak_megabytes", "remark_on"]

_BITS = "Length of the codes: a multiple of 8 up to 512; 64 for ratings, 256 for events."
_MODEL = "Of ratings: codes distilled from a teacher, which is the default, or fitted to the ratings."
_NEIGHBORS = "Of events: neighbours per item, 8 by default."
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
        from bitfm import FM, DiscreteFM, DistilledFM, ImplicitFM, Recommender

        about: dict[str, Any] = {"kinds": kinds, "random_state": seed}
        about |= {} if options is None else options.about_events()
        size: dict[str, Any] = {} if self.bits is None else {"bits": self.bits}
        if options is not None and options.target is None:
            for name in ("model", "beta", "anchor_strength", "rank"):
                if getattr(self, name) is not None:
                    raise typer.BadParameter("only for ratings", param_hint=f"--{name.replace('_', '-')}")
            few: dict[str, Any] = {} if self.neighbors is None else {"n_neighbors": self.neighbors}
            return Recommender(self.bits, model=ImplicitFM(**size, **few, random_state=seed), **about)
        if self.neighbors is not None:
            raise typer.BadParameter("only for events, with --no-target", param_hint="--neighbors")
        teacher = None if self.rank is None else FM(rank=self.rank, solver="gibbs", random_state=seed)
        chosen = {"beta": self.beta, "anchor_strength": self._strength(), "teacher": teacher}
        given: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
        kind = DiscreteFM if self.model == "discrete" else DistilledFM
        model = kind(**size, random_state=seed, **given)
        return Recommender(self.bits, model=model, **about)

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
    settings = ModelOptions(**{name: context_.params[name] for name in ModelOptions.__dataclass_fields__})
    need_writable(out, [*options.files(), config or FILE_NAME])
    if not force and not may_hold_model(out):
        told = f"{out} exists and is not a bitfm model; give another name, or --force to replace it"
        raise typer.BadParameter(told, param_hint="--out")
    tables = options.read(to_split=test is not None)
    train, held_out = (tables.interactions, None) if test is None else tables.interactions.split(test, seed)
    begin = clock.perf_counter()
    rec = settings.recommender(seed, tables.kinds, options)
    with fit_progress() as callback:
        tables.fit(rec, train, callback, keep=baselines)
    rec.notes["interactions"] = plain(options.interactions)  # a name need not be Unicode
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
        report["accuracy"] = accuracy(rec, held_out, rec.training_data() if baselines else None, seed=seed)
        report["accuracy"][-1]["seconds"] = report["seconds"]
        if remark := remark_on(report["accuracy"]):
            note(remark)
    if as_json:
        print_json(report)
        return
    show("Inferred column types", with_percent(report["columns"]))
    if held_out is not None:
        show("Accuracy on what was held out", report["accuracy"])
        line(f"{options.interactions}: {rec.held_out}")
    memory = report["peak_megabytes"]
    parts = [
        f"{rec.n_users:,} users, {rec.n_items:,} items, {len(train):,} interactions",
        f"{report['seconds']:.1f} s",
        *([] if memory is None else [f"{memory:,.0f} MB of memory at most"]),
        f"written to {out} ({report['bytes'] / 1e6:,.2f} MB)",
    ]
    line("; ".join(parts))


def remark_on(rows: list[dict[str, Any]]) -> str | None:
    """Return what to say if a baseline ranks better than our model, the last row: people should not have to look."""
    *baselines, ours = rows
    better = [row["model"] for row in baselines if row["NDCG@10"] > ours["NDCG@10"]]
    said = "did better here: try another seed, more ratings, or fewer columns"
    return f"{' and '.join(better)} {said}" if better else None


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


def need_writable(path: Path, inputs: Iterable[str | Path] = (), option: str = "--out") -> None:
    """Refuse a file that could not be written or is one of the command's inputs, before the work and not after it."""
    check_path(path)
    for source in inputs:
        if _is_same(path, source):
            told = f"{path} is the same file as the input {source}, which would be lost; give another name"
            raise typer.BadParameter(told, param_hint=option)
    target = Path(os.path.realpath(path))  # a link stays, and what it names is written
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file to write")
    if target.exists() and not target.is_file():
        raise OSError(f"{path} is not a regular file; give the name of a file to create or replace")
    if not target.parent.is_dir():
        folder = target.parent if path.is_symlink() else path.parent
        raise FileNotFoundError(f"there is no folder {folder} to write {path.name} into; make it first")
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as problem:
        raise OSError(f"{path} cannot be written: {problem.strerror}; give a file in another folder") from None


def _is_same(path: Path, source: str | Path) -> bool:
    """Tell whether a file is one of the inputs, which may be standard input."""
    if source == STANDARD_INPUT:
        return path.exists() and os.path.samestat(path.stat(), os.fstat(0))
    check_path(source)
    there = path.exists() and os.path.exists(source)
    return os.path.samefile(path, source) if there else os.path.realpath(path) == os.path.realpath(source)


def may_hold_model(path: Path) -> bool:
    """Tell whether a model may be written here: there is no file yet, or one that bitfm wrote."""
    try:
        persist.read(path)
    except (FileNotFoundError, NewerModelFileError):
        return True
    except ModelFileError:
        return False
    return True
