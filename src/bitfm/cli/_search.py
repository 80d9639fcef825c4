"""A search for settings by Optuna, which can be broken off and gone on with."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bitfm.cli._progress import fit_progress
from bitfm.cli._settings import CodeSettings
from bitfm.cli._tables import Tables
from bitfm.errors import BitfmError

if TYPE_CHECKING:
    from bitfm.data import Interactions

__all__ = ["Search", "Trial"]

_VALIDATION = 0.2  # share of each user's interactions
_SPREAD = 7919  # apart from the seeds of other splits, so that no two draw the same rows
_BITS = (8, 16, 32, 64, 128)
_ANCHOR_STRENGTHS = ("auto", "inf", "10")
_RANKS = (0, 8, 16, 32)  # 0: the two teachers of distilled codes by default
_AS_IT_IS = {"bits": 64, "model": "distilled", "anchor_strength": "auto", "rank": 0}


@dataclass(frozen=True)
class Trial:
    """Settings that were tried: NDCG@10 on the validation part, and what it took."""

    settings: CodeSettings
    quality: float
    seconds: float


class Search:
    """Tries settings on a validation part of some interactions; the default settings come first."""

    def __init__(
        self, tables: Tables, rows: Interactions, seed: int, path: Path | None, say: Callable[[str], None]
    ) -> None:
        optuna = _optuna()
        self._tables, self._seed, self._say = tables, seed, say
        self._train, self._unseen = rows.split(_VALIDATION, seed + _SPREAD)
        self.protocol = f"{_VALIDATION:g} of each user's training interactions to validate"
        self._study = _open_study(optuna, path)
        self._check_same(path)
        # The same draws again would be the same trials again.
        self._study.sampler = optuna.samplers.TPESampler(seed=seed + len(self._study.trials))

    def run(self, trials: int, timeout: float | None = None) -> list[Trial]:
        """Try so many settings, those of an earlier run counted, and return all."""
        before = self._done()
        left = trials - len(before)
        if not before and not any(trial.state.name == "WAITING" for trial in self._study.trials):
            self._study.enqueue_trial(_AS_IT_IS)
        if left > 0:
            self._study.optimize(self._try, n_trials=left, timeout=timeout)
        done = self._done()
        if not done:
            raise BitfmError("no trial was finished; give more time or more trials")
        return done

    def _try(self, trial: Any) -> float:
        settings = _suggested(trial)
        begin = time.perf_counter()
        rec = settings.recommender(self._seed, self._tables.kinds)
        with fit_progress(f"trial {trial.number + 1}") as callback:
            self._tables.fit(rec, self._train, callback)
        quality = float(rec.evaluate(self._unseen).ndcg)
        seconds = time.perf_counter() - begin
        trial.set_user_attr("seconds", seconds)
        told = ", ".join(f"{name} {value}" for name, value in settings.options().items())
        self._say(f"trial {trial.number + 1}: NDCG@10 {quality:.4f}, {seconds:.1f} s: {told}")
        return quality

    def _done(self) -> list[Trial]:
        return [
            Trial(_settings(trial.params), trial.value, trial.user_attrs["seconds"])
            for trial in self._study.trials
            if trial.value is not None
        ]

    def _check_same(self, path: Path | None) -> None:
        """Keep trials apart whose figures cannot stand side by side."""
        about = {"settings": self._tables.asked.settings(), "rows": len(self._train), "seed": self._seed}
        before = self._study.user_attrs.get("about")
        if before is None:
            self._study.set_user_attr("about", about)
        elif before != about:
            different = next(key for key in about if before.get(key) != about[key])
            raise BitfmError(
                f"{path} holds trials with other {different}: {before.get(different)}, not {about[different]}; "
                "give another --study"
            )


def _open_study(optuna: Any, path: Path | None) -> Any:
    """Return a new study, or the one in a file."""
    if path is None:
        return optuna.create_study(direction="maximize")
    from sqlalchemy.exc import SQLAlchemyError

    try:
        return optuna.create_study(
            storage=f"sqlite:///{path}", study_name="bitfm tune", direction="maximize", load_if_exists=True
        )
    except (optuna.exceptions.StorageInternalError, SQLAlchemyError, RuntimeError):
        raise BitfmError(f"{path} is not a file of trials; give another --study") from None


def _suggested(trial: Any) -> CodeSettings:
    chosen = {
        "bits": trial.suggest_categorical("bits", _BITS),
        "model": trial.suggest_categorical("model", ("distilled", "discrete")),
    }
    if chosen["model"] == "discrete":
        chosen["beta"] = trial.suggest_float("beta", 0.01, 100.0, log=True)
    else:
        chosen["anchor_strength"] = trial.suggest_categorical("anchor_strength", _ANCHOR_STRENGTHS)
        chosen["rank"] = trial.suggest_categorical("rank", _RANKS)
    return _settings(chosen)


def _settings(chosen: dict[str, Any]) -> CodeSettings:
    rounded: dict[str, Any] = {
        name: float(f"{value:.3g}") if name == "beta" else value for name, value in chosen.items()
    }
    return CodeSettings(**{name: value for name, value in rounded.items() if value != 0})


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise BitfmError("bitfm tune needs Optuna; install it with pip install 'bitfm[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # it would tell of a trial that is broken off at length
    return optuna
