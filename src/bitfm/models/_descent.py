"""Real factors by descent: coordinate descent (ALS), or stochastic gradient descent as libFM does it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.core import make_trainer
from bitfm.data.blocks import Blocks
from bitfm.models._parameters import Parameters
from bitfm.models.base import Floats
from bitfm.models.progress import Progress

__all__ = ["FMSettings", "descend"]

_REFRESH = 10  # sweeps after which residuals are computed anew, so that rounding cannot build up


@dataclass(frozen=True)
class FMSettings:
    """FM's parameters, checked."""

    solver: str
    rank: int
    n_iter: int
    ridge_v: npt.NDArray[np.float64]  # by field
    ridge_w: npt.NDArray[np.float64]
    init_scale: float
    learning_rate: float
    tol: float
    patience: int
    cross: bool
    threads: int


def descend(
    blocks: Blocks,
    y: Floats,
    sample_weight: Floats | None,
    held_out: npt.NDArray[np.bool_] | None,
    now: Parameters,
    settings: FMSettings,
    rng: np.random.Generator,
    progress: Progress,
) -> Parameters:
    """Return where descent from `now` ends: the last parameters, or the best on what is held out."""
    s = settings
    validation = None
    if held_out is not None:
        validation = _Validation.of(blocks[held_out], y[held_out], _part(sample_weight, held_out))
        blocks, y, sample_weight = blocks[~held_out], y[~held_out], _part(sample_weight, ~held_out)
    sizes = [field.size for field in blocks.fields]
    penalty_v, penalty_w = np.repeat(s.ridge_v, sizes), np.repeat(s.ridge_w, sizes)
    trainer: Any = make_trainer(blocks.design(), y, sample_weight, across=s.cross)
    best, least, waited = now.copy() if validation else now, float("inf"), 0
    for number in range(1, s.n_iter + 1):
        if s.solver == "als":
            if number % _REFRESH == 1:
                trainer.reset_reals(now.bias, now.weights, now.factors, s.threads)
            now.bias = trainer.sweep_weights(now.bias, now.weights, s.ridge_w, True, s.threads)
            trainer.sweep_factors(now.factors, s.ridge_v, None, 0.0, s.threads)
            loss = trainer.loss(s.threads)
        else:
            order = rng.permutation(len(y)).astype(np.int32)
            now.bias, loss = trainer.sweep_sgd(
                now.bias, now.weights, now.factors, s.ridge_v, s.ridge_w, s.learning_rate, order
            )
        _check(now, loss, number, s)
        rmse = float("nan")
        if validation is not None:
            rmse = validation.rmse(now, s)
            if rmse < least:
                best, least, waited = now.copy(), rmse, 0
            else:
                waited += 1
        objective = loss + now.penalty(penalty_w, penalty_v)
        stop = progress.report(s.solver, number, s.n_iter, loss, objective, validation=rmse)
        settled = s.solver == "als" and progress.settled(s.tol)
        if stop or settled or waited >= s.patience:
            break
    if s.solver == "sgd":  # whose loss is that of each step's beginning
        trainer.reset_reals(best.bias, best.weights, best.factors, s.threads)
        _check(best, trainer.loss(s.threads), number, s)
    return best


class _Validation(NamedTuple):
    """What is held out."""

    design: Any
    y: Floats
    weight: Floats | None

    @classmethod
    def of(cls, blocks: Blocks, y: Floats, weight: Floats | None) -> _Validation:
        counts = weight is not None and weight.any()
        return cls(blocks.design(), y, weight if counts else None)

    def rmse(self, now: Parameters, s: FMSettings) -> float:
        scores = _core.predict_reals(self.design, now.bias, now.weights, now.factors, s.cross, s.threads)
        return float(np.sqrt(np.average((self.y - scores) ** 2, weights=self.weight)))


def _part(weight: Floats | None, which: npt.NDArray[np.bool_]) -> Floats | None:
    return None if weight is None else weight[which]


def _check(now: Parameters, loss: float, number: int, s: FMSettings) -> None:
    if np.isfinite(loss) and np.isfinite(now.bias):
        return
    remedy = f"lower learning_rate (now {s.learning_rate})" if s.solver == "sgd" else "raise λ"
    raise ValueError(
        f"{s.solver} diverged in iteration {number}: {remedy}, lower init_scale (now {s.init_scale}), "
        "or scale the features."
    )
