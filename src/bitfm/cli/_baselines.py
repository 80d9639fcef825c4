"""The baselines that codes are compared with, each at settings chosen on a part of the training data.

Codes choose theirs on a tenth of the training data, so baselines may as well; else the comparison would flatter codes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bitfm.core import best_of_scores, multiply
from bitfm.data.feature_table import FeatureTable
from bitfm.evaluation import rmse
from bitfm.models import FM, BiasModel
from bitfm.models.implicit.choice import choose_settings
from bitfm.models.implicit.data import EventData
from bitfm.models.implicit.fit import EventFit
from bitfm.models.implicit.teacher import own_axes
from bitfm.models.progress import Progress
from bitfm.models.solvers.teacher import ridge_by_field
from bitfm.parameters import fold_in_events
from bitfm.validation import thread_count

if TYPE_CHECKING:
    from bitfm.data.blocks import Blocks

__all__ = ["BASELINES", "EVENT_BASELINES"]

Ranked: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]

_RANK, _SWEEPS = 128, 8
_AT_ONCE = 512  # histories
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
    by_field = ridge_by_field(X)
    ridges: list[Any] = [{name: strength * λ for name, λ in by_field.items()} for strength in _STRENGTHS]
    ridges += _RIDGES
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


class RealFactors:
    """The real-valued vectors that codes are learnt from, at settings of their own; users are folded in."""

    def __init__(self, X: Blocks, y: npt.NDArray[np.float64], seed: int) -> None:
        threads = thread_count(-1)
        fit = EventFit(EventData.of(X, y), 0, 0, _RANK, _SWEEPS, seed, threads)
        settings = choose_settings(fit, Progress(0, None))
        items, self._weights = fit.teacher(settings).items, fit.weights(settings)
        self._gram, axes = own_axes(items[fit.observed], threads)
        self._items, self._n_observed = multiply(items, axes, threads), int(fit.observed.sum())

    def recommend(self, histories: Any, n: int, *, seen: bool) -> Ranked:
        """Return the best n items for histories, and their scores."""

        def scores(rows: FeatureTable) -> npt.NDArray[np.float32]:
            threads = thread_count(-1)
            known = self._items, self._gram, self._weights, self._n_observed
            users = fold_in_events(rows, *known, None, threads)
            return multiply(users, self._items.T, threads)

        return _best(scores, histories, n, seen)


def _best(scores: Callable[[FeatureTable], npt.NDArray[np.float32]], histories: Any, n: int, seen: bool) -> Ranked:
    table, found = FeatureTable.of("histories", histories), []
    for begin in range(0, len(table), _AT_ONCE):
        rows = table.take(np.arange(begin, min(begin + _AT_ONCE, len(table))))
        hidden = FeatureTable.empty(len(rows), rows.n_columns) if seen else rows
        best = min(n, rows.n_columns)
        found.append(best_of_scores(scores(rows), hidden.indptr, hidden.indices, best, thread_count(-1)))
    return np.concatenate([items for items, _ in found]), np.concatenate([values for _, values in found])


EVENT_BASELINES: dict[str, Callable[[Blocks, npt.NDArray[np.float64], int], Any]] = {
    "real factors (iALS)": RealFactors,
}
