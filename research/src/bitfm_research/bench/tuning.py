"""Hyper-parameters chosen on a validation part of the training data, for models that do not choose their own.

Baselines deserve their best settings, and the test part must not be what finds them. Each search fits to a part of the
training ratings, compares on the rest, and returns a model to be fitted to all of them. The part is 90 % of them and
the comparison is by RMSE, but for codes without weights, which rank better than they predict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import product
from threading import Lock
from typing import Any

from bitfm.evaluation import ndcg, rmse, split_per_user
from bitfm.models import FM, BiasModel

from bitfm_research.baselines import DCMF
from bitfm_research.bench.datasets import Split
from bitfm_research.bench.measure import WITH_HISTORY, named

__all__ = ["Tuned", "tune_als", "tune_bias", "tune_dcmf", "tune_sgd"]

Settings = dict[str, Any]
Trial = Callable[[Settings], tuple[float, Settings]]  # settings to validation RMSE, and what else it found

_FIELDS = ((), WITH_HISTORY)
_INTERACTIONS = (0.0, 0.3, 3.0, 10.0, 30.0)
_TRIAL_BITS = 16
_CHOOSING = Lock()  # of DCMF's, which several fits wait for
_PATIENCE = 5  # sweeps or epochs without a better validation error


@dataclass(frozen=True)
class Tuned:
    """A model with the settings that were chosen, not fitted yet, and the fields it is best given."""

    model: Any
    fields: tuple[str, ...]
    settings: Settings
    rmse: float
    tried: int

    def __str__(self) -> str:
        chosen = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        return f"{chosen}; fields {named(self.fields)} (best of {self.tried}, validation RMSE {self.rmse:.4f})"


def tune_bias(split: Split, seed: int = 0) -> Tuned:
    """Choose λ and the fields of a bias-only model."""
    part = split.validation(seed=seed)

    def trial(settings: Settings) -> tuple[float, Settings]:
        fields, rest = _apart(settings)
        model = BiasModel(**rest).fit(part.blocks("train", fields), part.train[2])
        return rmse(part.test[2], model.predict(part.blocks("test", fields))), {}

    steps = [_grid(regularization=(1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0), fields=_FIELDS)]
    return _search(trial, {}, steps, lambda settings: BiasModel(**settings))


def tune_als(split: Split, seed: int = 0) -> Tuned:
    """Choose both λ, the rank, the fields, their pairs and the number of sweeps of coordinate descent."""
    fixed: Settings = {"solver": "als", "tol": 0.0, "random_state": seed}
    start = {"rank": 8, "linear_regularization": 6.0, "pairs": "across"}
    steps = [
        _grid(regularization=(5.0, 10.0, 20.0, 40.0, 80.0), fields=_FIELDS),
        _grid(linear_regularization=(3.0, 12.0)),
        _grid(pairs=("all",)),
        _grid(rank=(16,)),
    ]
    trial = _stopped_early(split.validation(seed=seed), fixed, most=50)
    return _search(trial, start, steps, lambda settings: FM(**settings, **fixed))


def tune_sgd(split: Split, seed: int = 0) -> Tuned:
    """Choose learning rate, λ, the fields and the number of epochs of stochastic gradient descent.

    An epoch with histories costs as much as dozens without, so they are tried twice only: with what is best for ids,
    and with the smaller steps and λ that suit their many columns.
    """
    fixed: Settings = {"solver": "sgd", "random_state": seed}
    strengths: list[Settings] = [{"regularization": λ, "linear_regularization": λ} for λ in (0.005, 0.02, 0.05)]
    steps: list[list[Settings]] = [
        [{"learning_rate": rate, **strength} for rate, strength in product((0.005, 0.01, 0.02), strengths)],
        [{"fields": WITH_HISTORY}, {"fields": WITH_HISTORY, "learning_rate": 0.005, **strengths[1]}],
    ]
    trial = _stopped_early(split.validation(seed=seed), fixed, most=40)
    return _search(trial, {"rank": 16, "fields": ()}, steps, lambda settings: FM(**settings, **fixed))


def tune_dcmf(split: Split, bits: int, seed: int = 0) -> DCMF:
    """Choose the interaction regularisation of DCMF: by NDCG@10 of a half of each user's ratings, on the other half.

    It is chosen with ids alone and at one length, where a fit takes least, and is the same at all lengths and for all
    seeds; that of the last split is remembered, so that a table chooses once.
    """
    with _CHOOSING:
        last = getattr(tune_dcmf, "last", None)
        if last is None or last[0] is not split.train[2]:
            last = split.train[2], _best_interaction(split, 0)
            tune_dcmf.last = last  # type: ignore[attr-defined]
    return DCMF(bits, interaction=last[1], random_state=seed)


def _best_interaction(split: Split, seed: int) -> float:
    users, items, ratings = split.train
    half = split_per_user(users, 0.5, seed)
    train, rest = ((users[mask], items[mask], ratings[mask]) for mask in (half, ~half))
    part = replace(split, train=train, test=rest)

    def score(interaction: float) -> float:
        model = DCMF(_TRIAL_BITS, interaction=interaction, random_state=seed).fit(part.blocks("train"), train[2])
        return float(ndcg(rest[0], rest[2], model.predict(part.blocks("test")), 10))

    return max(_INTERACTIONS, key=score)


def _grid(**values: Iterable[Any]) -> list[Settings]:
    """Return every combination of the values."""
    return [dict(zip(values, combination, strict=True)) for combination in product(*values.values())]


def _search(trial: Trial, start: Settings, steps: list[list[Settings]], make: Callable[[Settings], Any]) -> Tuned:
    """Try each step's changes of the best settings so far, and keep the best of all."""
    best, found, lowest, tried = dict(start), dict[str, Any](), float("inf"), 0
    for changes in steps:
        before = best
        for change in changes:
            settings = {**before, **change}
            error, more = trial(settings)
            tried += 1
            if error < lowest:
                best, found, lowest = settings, more, error
    fields, rest = _apart(best)
    chosen = {**rest, **found}
    return Tuned(make(chosen), fields, chosen, lowest, tried)


def _stopped_early(part: Split, fixed: Settings, most: int) -> Trial:
    """Return a trial of `FM` settings that stops when the validation error no longer falls and finds ``n_iter``."""

    def trial(settings: Settings) -> tuple[float, Settings]:
        fields, rest = _apart(settings)
        X, unseen = part.blocks("train", fields), part.blocks("test", fields)
        model = FM(**rest, **fixed)
        lowest, best = float("inf"), 0
        for number in range(1, most + 1):
            error = rmse(part.test[2], model.partial_fit(X, part.train[2]).predict(unseen))
            if error < lowest:
                lowest, best = error, number
            elif number - best >= _PATIENCE:
                break
        return lowest, {"n_iter": best}

    return trial


def _apart(settings: Settings) -> tuple[tuple[str, ...], Settings]:
    """Part the fields from what the model is made of."""
    rest = dict(settings)
    return tuple(rest.pop("fields", ())), rest
