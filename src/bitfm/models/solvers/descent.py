"""Real factors by descent: coordinate descent (ALS), or stochastic gradient descent as libFM does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bitfm.core import make_trainer
from bitfm.models.losses import SquaredLoss
from bitfm.models.solvers.registry import FMParameters, FMProblem, FMSettings, Solution, Solver, register_solver

__all__ = ["fit_als", "fit_sgd"]

_REFRESH = 10  # sweeps after which residuals are computed anew, so that rounding cannot build up


def fit_als(problem: FMProblem) -> Solution:
    """Lower the loss + λ Σ w² + λ Σ v² by coordinate descent, on a quadratic that bounds it in each sweep."""
    s, trainer, (blocks, y, weight) = problem.settings, _trainer(problem), problem.train
    squared = isinstance(s.loss, SquaredLoss)  # which is its own quadratic

    def sweep(now: FMParameters, number: int) -> float:
        if number % _REFRESH == 1:
            trainer.reset_reals(now.bias, now.weights, now.factors, s.threads)
        if not squared:
            working = s.loss.working(y, trainer.scores(s.threads).astype(np.float64))
            trainer.set_working(*(x.astype(blocks.dtype) for x in working), s.threads)
        now.bias = trainer.sweep_weights(now.bias, now.weights, s.ridge_w, True, s.threads)
        trainer.sweep_factors(now.factors, s.ridge_v, None, 0.0, s.threads)
        if squared:
            return float(trainer.loss(s.threads))
        values = s.loss.value(y, trainer.scores(s.threads).astype(np.float64))
        return float(np.sum(values if weight is None else weight * values))

    best, _ = _descend(problem, "als", sweep, "raise λ", tol=s.tol)
    return Solution(best)


def fit_sgd(problem: FMProblem) -> Solution:
    """Take one gradient step per interaction and epoch, each shrinking the parameters it touches by λ."""
    s, trainer = problem.settings, _trainer(problem)
    remedy = f"lower learning_rate (now {s.learning_rate})"

    def epoch(now: FMParameters, _: int) -> float:
        order = problem.rng.permutation(len(problem.train.y)).astype(np.int32)
        ridges = s.ridge_v, s.ridge_w
        now.bias, loss = trainer.sweep_sgd(now.bias, now.weights, now.factors, *ridges, s.learning_rate, order)
        return float(loss)

    best, number = _descend(problem, "sgd", epoch, remedy)
    trainer.reset_reals(best.bias, best.weights, best.factors, s.threads)  # an epoch's loss is that of its beginning
    _check("sgd", best, trainer.loss(s.threads), number, s, remedy)
    return Solution(best)


def _descend(
    problem: FMProblem, name: str, step: Callable[[FMParameters, int], float], remedy: str, *, tol: float | None = None
) -> tuple[FMParameters, int]:
    """Return where the steps end, the last parameters or the best on what is held out; and how many steps it took."""
    s, now = problem.settings, problem.start()
    best, least, waited = now.copy() if problem.held_out else now, float("inf"), 0
    for number in range(1, s.n_iter + 1):
        loss = step(now, number)
        _check(name, now, loss, number, s, remedy)
        rmse = problem.rmse(now)
        if rmse < least:
            best, least, waited = now.copy(), rmse, 0
        elif problem.held_out:
            waited += 1
        objective = loss + problem.penalty(now)
        stop = problem.progress.report(name, number, s.n_iter, loss, objective, validation=rmse)
        if stop or (tol is not None and problem.progress.settled(tol)) or waited >= s.patience:
            break
    return best, number


def _trainer(problem: FMProblem) -> Any:
    blocks, y, weight = problem.train
    return make_trainer(blocks.design(), y, weight, across=problem.settings.across)


def _check(name: str, now: FMParameters, loss: float, number: int, s: FMSettings, remedy: str) -> None:
    if not np.isfinite([loss, now.bias]).all():
        advice = f"{remedy}, lower init_scale (now {s.init_scale}), or scale the features."
        raise ValueError(f"{name} diverged in iteration {number}: {advice}")


register_solver("als", Solver(fit_als, regularization=20.0, linear_regularization=5.0, n_iter=50, any_loss=True))
register_solver("sgd", Solver(fit_sgd, regularization=0.02, linear_regularization=0.002, n_iter=30))
