"""``bitfm tune``: settings chosen on a part of the training data, by Optuna, which keeps the trials."""

from __future__ import annotations

import shlex
import time as clock
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tomli_w
import typer
from typer import Option

from bitfm.atomic import atomic_write
from bitfm.cli import _options as option
from bitfm.cli._config import FILE_NAME, Config, read_toml
from bitfm.cli._tables import FitOptions, LoadedTables
from bitfm.cli._writing import need_writable
from bitfm.cli.fit import ModelOptions
from bitfm.cli.screen import fit_progress, line, note, print_json, show
from bitfm.errors import BitfmError

if TYPE_CHECKING:
    from bitfm.data import Interactions

_VALIDATION = 0.2  # share of each user's interactions
_SPREAD = 7919  # apart from the seeds of other splits, so that no two draw the same rows
_DEFAULT = {"bits": 64, "model": "distilled", "anchor_strength": "auto", "rank": 0}  # 0: two teachers
_DEFAULT_OF_EVENTS = {"bits": 256, "neighbors": 8}


@option.with_options_of(FitOptions)
def tune(
    context_: typer.Context,
    seed: option.Seed = 0,
    test: option.Test = None,
    trials: Annotated[int, Option(min=1, help="Settings to try, earlier ones counted.")] = 20,
    timeout: Annotated[float | None, Option(metavar="SECONDS", min=0, help="Begin no trial after that.")] = None,
    study: Annotated[Path | None, Option(metavar="FILE.db", help="Keep the trials, to go on from them later.")] = None,
    out: Annotated[Path | None, Option("-o", "--out", help="Write the best settings as a bitfm.toml.")] = None,
    as_json: option.Json = False,
    config: Config = None,
) -> None:
    """Choose the settings of bitfm fit on a validation part of the training data (needs the extra tune).

    What --test holds out is not used. The settings: bits, model, β, λ and the rank of the teacher; of events, bits and
    neighbours.

    bitfm tune --interactions ratings.csv --test 0.5 --trials 30 --study trials.db -o bitfm.toml
    """
    options = FitOptions.of(context_)
    if study is not None:
        need_writable(study, [*options.files(), config or FILE_NAME], "--study")
    if out is not None:
        need_writable(out, [*options.files(), *([] if study is None else [study])])
    if out is not None and out.exists() and set(read_toml(out)) - {"fit"}:
        raise typer.BadParameter(f"{out} has more in it than [fit], which would be lost", param_hint="--out")
    tables = options.read(to_split=True)
    rows = tables.interactions
    if test is not None:
        rows, _ = rows.split(test, seed)
    begin = clock.perf_counter()
    done = _search(tables, rows, seed, study, trials, timeout)
    seconds, spent = clock.perf_counter() - begin, sum(trial["seconds"] for trial in done)
    ranked = sorted(done, key=lambda trial: -trial["NDCG@10"])
    chosen = {name: ranked[0][name] for name in ModelOptions.__dataclass_fields__ if ranked[0][name] is not None}
    chosen["seed"] = seed
    if out is not None:
        with atomic_write(out) as file:
            tomli_w.dump({"fit": options.settings() | chosen | ({} if test is None else {"test": test})}, file)
    shell = " ".join(f"--{name.replace('_', '-')} {shlex.quote(str(value))}" for name, value in chosen.items())
    if as_json:
        best = {**chosen, "NDCG@10": ranked[0]["NDCG@10"]}
        times = {"seconds": seconds, "seconds_of_all_trials": spent}
        print_json({"best": best, "options": shell, "trials": done, **times})
        return
    show("The best settings", ranked[:5])
    protocol = f"{_VALIDATION:g} of each user's training interactions to validate, seed {seed}"
    line(f"{protocol}; {len(done)} trials of {spent:.1f} s together; {seconds:.1f} s now")
    line(f"bitfm fit {shell}")
    if out is not None:
        line(f"written to {out}")


def _search(
    tables: LoadedTables, rows: Interactions, seed: int, file: Path | None, n_trials: int, timeout: float | None
) -> list[dict[str, Any]]:
    """Try settings on a validation part of some rows, the default first; return all trials, earlier ones included."""
    try:
        import optuna
    except ImportError:
        raise BitfmError("bitfm tune needs Optuna; install it with pip install 'bitfm[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # else it reports an interrupted trial at length
    train, unseen = rows.split(_VALIDATION, seed + _SPREAD)
    events = rows.target is None

    def quality(trial: Any) -> float:
        settings = _suggest(trial, events)
        rec = settings.recommender(seed, tables.kinds, tables.options)
        with fit_progress(f"trial {trial.number + 1}") as callback:
            tables.fit(rec, train, callback)
        found = float(rec.evaluate(unseen).ndcg)
        chosen = ", ".join(f"{name} {value}" for name, value in settings.options().items())
        seconds = (datetime.now() - trial.datetime_start).total_seconds()
        note(f"trial {trial.number + 1}: NDCG@10 {found:.4f}, {seconds:.1f} s: {chosen}")
        return found

    study = _open_study(optuna, file)
    _need_same(study, file, {"settings": tables.options.settings(), "rows": len(train), "seed": seed})
    complete, waiting = optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.WAITING
    if not study.get_trials(states=(complete, waiting)):
        study.enqueue_trial(_DEFAULT_OF_EVENTS if events else _DEFAULT)
    study.sampler = optuna.samplers.TPESampler(seed=seed + len(study.trials))  # the same draws are the same trials
    left = n_trials - len(study.get_trials(states=(complete,)))
    if left > 0:
        study.optimize(quality, n_trials=left, timeout=timeout)
    done = study.get_trials(states=(complete,))
    if not done:
        raise BitfmError("no trial was finished; give more time or more trials")
    unset = dict.fromkeys(ModelOptions.__dataclass_fields__)
    return [
        {**unset, **_settings(t.params).options(), "NDCG@10": t.value, "seconds": t.duration.total_seconds()}
        for t in done
    ]


def _open_study(optuna: Any, file: Path | None) -> Any:
    """Return a new study, or the one in a file."""
    from sqlalchemy.exc import SQLAlchemyError

    storage = None if file is None else f"sqlite:///{file}"
    try:
        return optuna.create_study(storage=storage, study_name="bitfm tune", direction="maximize", load_if_exists=True)
    except (optuna.exceptions.StorageInternalError, SQLAlchemyError, RuntimeError):
        raise BitfmError(f"{file} is not a file of trials; give another --study") from None


def _need_same(study: Any, file: Path | None, about: dict[str, Any]) -> None:
    """Refuse to go on with trials of other data, whose figures cannot stand side by side."""
    for key, value in about.items():
        if study.user_attrs.get(key, value) != value:
            other = f"{file} holds trials with other {key}: {study.user_attrs[key]}, not {value}"
            raise BitfmError(f"{other}; give another --study")
        study.set_user_attr(key, value)


def _suggest(trial: Any, events: bool) -> ModelOptions:
    if events:
        trial.suggest_categorical("bits", (32, 64, 128, 256))
        trial.suggest_categorical("neighbors", (0, 4, 8, 16))
        return _settings(trial.params)
    trial.suggest_categorical("bits", (8, 16, 32, 64, 128))
    if trial.suggest_categorical("model", ("distilled", "discrete")) == "discrete":
        trial.suggest_float("beta", 0.01, 100.0, log=True)
    else:
        trial.suggest_categorical("anchor_strength", ("auto", "inf", "10"))
        trial.suggest_categorical("rank", (0, 8, 16, 32))
    return _settings(trial.params)


def _settings(chosen: dict[str, Any]) -> ModelOptions:
    if "beta" in chosen:
        chosen = chosen | {"beta": float(f"{chosen['beta']:.3g}")}
    return ModelOptions(**{name: value for name, value in chosen.items() if value != 0 or name == "neighbors"})
