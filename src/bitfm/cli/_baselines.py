"""The baselines that codes are compared with, each at settings chosen on a part of the training data.

Codes choose theirs on a tenth of the training data, so baselines may as well; else the comparison would flatter codes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitfm.evaluation import rmse
from bitfm.models import FM, BiasModel
from bitfm.models.solvers.teacher import ridge_by_field

if TYPE_CHECKING:
    from bitfm.data.blocks import Blocks

__all__ = ["BASELINES"]

_HELD_OUT = 0.1
_FEW = 200  # interactions, of which a tenth tells nothing and may be none
_BIAS_RIDGES = (3.0, 10.0, 30.0)
_STRENGTHS = (1.0, 2.0)  # of the penalty of each field that suits a teacher of codes
_RIDGES = (1.0, 3.0, 10.0, 30.0, 100.0)  # the same penalty for all fields; small ones suit few or clean ratings


def fit_bias(X: Blocks, y: npt.NDArray[np.float64], seed: int) -> BiasModel:
    """Fit biases with the λ that predicts a part of the data best."""
    if len(y) < _FEW:
        return BiasModel(_BIAS_RIDGES[0]).fit(X, y)
    held_out = np.random.default_rng(seed).random(len(y)) < _HELD_OUT
    learnt, unseen = X[~held_out], X[held_out]
    errors = [rmse(y[held_out], BiasModel(ridge).fit(learnt, y[~held_out]).predict(unseen)) for ridge in _BIAS_RIDGES]
    return BiasModel(_BIAS_RIDGES[int(np.argmin(errors))]).fit(X, y)


def fit_als(X: Blocks, y: npt.NDArray[np.float64], seed: int) -> FM:
    """Fit an FM of 16 factors with the λ and the number of sweeps that predict a part of the data best."""
    unit = float(np.std(y)) or 1.0  # factors' λ grows with the targets, weights' λ does not
    by_field = ridge_by_field(X)
    ridges: list[Any] = [{name: unit * strength * λ for name, λ in by_field.items()} for strength in _STRENGTHS]
    ridges += [unit * λ for λ in _RIDGES]
    shared: dict[str, Any] = {"linear_regularization": 10.0, "pairs": "across", "random_state": seed}
    if len(y) < _FEW:
        return FM(regularization=ridges[0], **shared).fit(X, y)
    trials = []
    for ridge in ridges:
        trial = FM(regularization=ridge, early_stopping=True, validation_fraction=_HELD_OUT, **shared).fit(X, y)
        errors = [iteration.validation for iteration in trial.fit_log_]
        trials.append((min(errors), int(np.argmin(errors)) + 1, ridge))
    _, n_iter, ridge = min(trials, key=lambda trial: trial[0])
    return FM(regularization=ridge, n_iter=n_iter, tol=0, **shared).fit(X, y)


BASELINES: dict[str, Callable[[Blocks, npt.NDArray[np.float64], int], Any]] = {
    "bias only": fit_bias,
    "FM (ALS)": fit_als,
}
