"""Settings chosen on a part of the training data, by Optuna, which keeps the trials."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from bitfm.data.interactions import ColumnRoles, HeldOut, Interactions
from bitfm.errors import BitfmError
from bitfm.recommender import Recommender
from bitfm.validation import check_integer, check_real

if TYPE_CHECKING:
    from bitfm.models import Callback, DiscreteFM, DistilledFM, ImplicitFM

__all__ = ["Search", "Trial", "Tuning", "model_of", "tune"]

_SPREAD = 7919  # apart from the seeds of other splits, so that no two draw the same rows
_DEFAULT = {"bits": 64, "model": "distilled", "anchor_strength": "auto", "rank": 0}  # 0: two teachers
_DEFAULT_OF_EVENTS = {"bits": 256, "neighbors": 8}


class Trial(NamedTuple):
    """Settings that were tried, NDCG@10 on the validation part, and how long that took."""

    settings: dict[str, Any]
    ndcg: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Tuning:
    """What `tune` found.

    Attributes
    ----------
    best : dict of str to value
        The settings of the best trial: ``bits``, ``model``, ``beta``, ``anchor_strength`` and ``rank`` of ratings,
        ``bits`` and ``neighbors`` of events; what is not there is as it is by default.
    ndcg : float
        NDCG@10 of the best trial on the validation part. It is the best of many on the same rows, so that it flatters
        the settings: measure `recommender` on rows that were not given to `tune`.
    trials : frame
        One row per trial: settings, ``NDCG@10`` and ``seconds``.
    held_out : HeldOut
        Which part was validated on.
    recommender : Recommender or None
        Fitted to all interactions with the best settings.
    """

    best: dict[str, Any]
    ndcg: float
    trials: Any
    held_out: HeldOut
    recommender: Recommender | None = None

    def __repr__(self) -> str:
        return f"Tuning(best={self.best}, ndcg={self.ndcg:.4f}, {len(self.trials)} trials)"


def tune(
    interactions: Any,
    *,
    recommender: Recommender | None = None,
    trials: int = 20,
    timeout: float | None = None,
    validation: float = 0.2,
    by: str = "random",
    seed: int = 0,
    study: str | os.PathLike[str] | None = None,
    refit: bool = True,
    callback: Callback | None = None,
    **tables: Any,
) -> Tuning:
    """Choose the settings of a recommender on a validation part of its training data, and fit it; needs Optuna.

    The default settings are tried first, so the best are no worse on the validation part. Give only training data:
    what the result is to be measured on must have no say in it.

    Parameters
    ----------
    interactions : table as for `Recommender.fit`, or Interactions
    recommender : Recommender, optional
        What is not tuned, such as ``kinds``, ``event_weights`` or ``n_jobs``. It is not changed; its ``model`` is not
        used.
    trials : int, default 20
        Settings to try; those that a `study` has already are counted.
    timeout : float, optional
        Begin no trial after so many seconds.
    validation : float, default 0.2
        The share to validate on.
    by : {"random", "time", "user"}, default "random"
        How to hold it out, as for `Interactions.split`.
    seed : int, default 0
        The same seed gives the same trials, unless time runs out.
    study : path, optional
        A file that keeps the trials, to go on from them later.
    refit : bool, default True
        Whether to fit a recommender with the best settings to all interactions.
    callback : as for `Recommender.fit`, of all fits
    **tables
        ``users``, ``items``, ``user``, ``item``, ``target`` and whatever else `Recommender.fit` takes.

    Examples
    --------
    >>> import bitfm
    >>> from bitfm.datasets import make_bookshop
    >>> shop = make_bookshop(n_readers=60, n_books=40, n_ratings=600)
    >>> found = bitfm.tune(shop.ratings, user="reader", item="title", target=None, trials=2)
    >>> sorted(found.best), len(found.trials)
    (['bits', 'neighbors'], 2)
    >>> found.recommender
    Recommender(60 users, 39 items, 600 pairs with events, ... bits)
    """
    import polars as pl

    from bitfm.data.tables import in_kind

    rows = Interactions.of(
        interactions, **{name: tables[name] for name in ColumnRoles._fields if name in tables}
    ).latest()
    for name in {*ColumnRoles._fields} - {"decimal", "dates"}:  # those that tables of users and items have, too
        tables.pop(name, None)
    search = Search(rows, recommender or Recommender(), tables, validation=validation, by=by, seed=seed, study=study)
    done = search.run(trials, timeout, watch=lambda _: nullcontext(callback))
    best = max(done, key=lambda trial: trial.ndcg)
    names = dict.fromkeys(name for trial in done for name in trial.settings)
    table = {name: [trial.settings.get(name) for trial in done] for name in names}
    table |= {"NDCG@10": [trial.ndcg for trial in done], "seconds": [trial.seconds for trial in done]}
    frame = in_kind(pl.DataFrame(table, strict=False), rows.frames)
    fitted = search.recommender(best.settings).fit(rows, **tables, callback=callback) if refit else None
    return Tuning(best.settings, best.ndcg, frame, search.held_out, fitted)


def model_of(
    settings: Mapping[str, Any], *, events: bool, random_state: int = 0, n_jobs: int | None = -1
) -> DistilledFM | DiscreteFM | ImplicitFM:
    """Return the model of settings by the names of `Tuning.best`; what is not there, or None, is as by default.

    Examples
    --------
    >>> model_of({"bits": 32, "neighbors": 4}, events=True).n_neighbors
    4
    """
    from bitfm.models import FM, DiscreteFM, DistilledFM, ImplicitFM

    given = {name: value for name, value in settings.items() if value is not None}
    about: dict[str, Any] = {"random_state": random_state, "n_jobs": n_jobs}
    about |= {name: given[name] for name in ("bits", "beta") if name in given}
    if events:
        return ImplicitFM(**about, **({"n_neighbors": given["neighbors"]} if "neighbors" in given else {}))
    if given.get("model") == "discrete":
        return DiscreteFM(**about)
    if "anchor_strength" in given:
        strength = given["anchor_strength"]
        about["anchor_strength"] = strength if strength == "auto" else float(strength)
    if "rank" in given:
        about["teacher"] = FM(rank=given["rank"], solver="gibbs", random_state=random_state)
    return DistilledFM(**about)


@dataclass(frozen=True, eq=False)
class Search:
    """Tries settings on a validation part of some interactions.

    Parameters
    ----------
    rows : Interactions
    template : Recommender
        What is not tuned.
    tables : mapping
        What else `Recommender.fit` is told.
    validation, by, seed, study : as for `tune`
    about : mapping, optional
        What trials in a file must have been made with as well, for their figures to stand side by side.
    """

    rows: Interactions
    template: Recommender
    tables: Mapping[str, Any]
    _: KW_ONLY
    validation: float = 0.2
    by: str = "random"
    seed: int = 0
    study: str | os.PathLike[str] | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def held_out(self) -> HeldOut:
        """Which part is validated on."""
        held_out = self._parts()[0].held_out
        assert held_out is not None
        return held_out

    def _parts(self) -> tuple[Interactions, Interactions]:
        return self.rows.split(self.validation, self.seed + _SPREAD, by=self.by)

    def recommender(self, settings: Mapping[str, Any]) -> Recommender:
        """Return an unfitted recommender with some settings."""
        jobs, events = self.template.n_jobs, self.rows.target is None
        model = model_of(settings, events=events, random_state=self.seed, n_jobs=jobs)
        return Recommender(**self.template.get_params(deep=False) | {"bits": settings.get("bits"), "model": model})

    def run(
        self,
        n_trials: int,
        timeout: float | None = None,
        *,
        watch: Callable[[int], AbstractContextManager[Any]] | None = None,
        report: Callable[[int, Trial], None] | None = None,
    ) -> list[Trial]:
        """Try settings, the default first; return all trials, earlier ones included.

        `watch` gives a context with a callback for the fit of a trial, by its number, and `report` is called after it.
        """
        n_trials = check_integer("trials", n_trials, 1)
        timeout = None if timeout is None else check_real("timeout", timeout)
        optuna = _optuna()
        events, (train, unseen) = self.rows.target is None, self._parts()

        def quality(trial: Any) -> float:
            settings, number = _suggest(trial, events), trial.number + 1
            rec = self.recommender(settings)
            with nullcontext() if watch is None else watch(number) as callback:
                rec.fit(train, **self.tables, callback=callback)
            found = float(rec.evaluate(unseen).ndcg)
            if report is not None:
                report(number, Trial(settings, found, (datetime.now() - trial.datetime_start).total_seconds()))
            return found

        study = _open_study(optuna, self.study)
        about = {"rows": len(train), "table": self.rows.digest(times=True), "seed": self.seed, "by": self.by}
        _need_same(study, self.study, {**about, **self.about})
        complete, waiting = optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.WAITING
        if not study.get_trials(states=(complete, waiting)):
            study.enqueue_trial(_DEFAULT_OF_EVENTS if events else _DEFAULT)
        seed = self.seed + len(study.trials)  # the same draws are the same trials
        study.sampler = optuna.samplers.TPESampler(seed=seed)
        left = n_trials - len(study.get_trials(states=(complete,)))
        if left > 0:
            study.optimize(quality, n_trials=left, timeout=timeout)
        done = study.get_trials(states=(complete,))
        if not done:
            raise BitfmError("no trial was finished; give more time or more trials")
        return [Trial(_settings(trial.params), trial.value, trial.duration.total_seconds()) for trial in done]


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise BitfmError("tuning needs Optuna; install it with pip install 'bitfm[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # else it reports an interrupted trial at length
    return optuna


def _open_study(optuna: Any, file: str | os.PathLike[str] | None) -> Any:
    """Return a new study, or the one in a file."""
    from sqlalchemy.exc import SQLAlchemyError

    storage = None if file is None else f"sqlite:///{os.fspath(file)}"
    try:
        return optuna.create_study(storage=storage, study_name="bitfm tune", direction="maximize", load_if_exists=True)
    except (optuna.exceptions.StorageInternalError, SQLAlchemyError, RuntimeError):
        raise BitfmError(f"{file} is not a file of trials; give another study= (--study)") from None


def _need_same(study: Any, file: Any, about: Mapping[str, Any]) -> None:
    """Refuse to go on with trials of other data, whose figures cannot stand side by side."""
    for key, value in about.items():
        if study.user_attrs.get(key, value) != value:
            other = f"{file} holds trials with other {key}: {study.user_attrs[key]}, not {value}"
            raise BitfmError(f"{other}; give another study= (--study)")
        study.set_user_attr(key, value)


def _suggest(trial: Any, events: bool) -> dict[str, Any]:
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


def _settings(drawn: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a trial as they are given: β rounded, and no rank where that is two teachers."""
    chosen = {name: value for name, value in drawn.items() if value != 0 or name == "neighbors"}
    return chosen | ({"beta": float(f"{chosen['beta']:.3g}")} if "beta" in chosen else {})
