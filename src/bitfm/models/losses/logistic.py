"""Logistic loss, for targets that are 0, 1 or a probability."""

from __future__ import annotations

import numpy as np

from bitfm.core import logarithm, logistic, softplus
from bitfm.models.losses.loss import Floats, Working, register_loss

__all__ = ["LogisticLoss"]

_CURVATURE = 0.25  # the most that σ' is (Böhning & Lindsay, 1988)
_LEAST = 1e-6  # of a start: targets that are all alike have no finite log-odds


class LogisticLoss:
    """−2 log-likelihood of targets from 0 to 1: 2 (log(1 + exp(s)) − y s), of which σ(s) is the probability of a 1."""

    def check(self, y: Floats) -> None:
        """Raise a ValueError unless all targets lie from 0 to 1."""
        if not ((y >= 0) & (y <= 1)).all():
            raise ValueError(f"loss 'logistic' takes targets from 0 to 1, got {y[~((y >= 0) & (y <= 1))][0]:g}.")

    def start(self, y: Floats, weight: Floats | None) -> float:
        """Return the log-odds of the mean."""
        mean = np.clip(np.average(y, weights=weight), _LEAST, 1 - _LEAST)
        return float(np.subtract(*logarithm(np.array([mean, 1 - mean]))))

    def value(self, y: Floats, score: Floats) -> Floats:
        """Return twice the negative log-likelihood, which like a squared error adds up to the deviance."""
        return np.asarray(2 * (softplus(score.astype(np.float64, copy=False)) - y * score))

    def working(self, y: Floats, score: Floats) -> Working:
        """Return e = (y − σ(s)) / h and h = ¼, the bound of Böhning and Lindsay."""
        return Working(
            (y - logistic(score.astype(np.float64, copy=False))) / _CURVATURE, np.full_like(score, _CURVATURE)
        )

    def inverse_link(self, score: Floats) -> Floats:
        """Return σ(s), the probability of a 1."""
        return logistic(score.astype(np.float64, copy=False))


register_loss("logistic", LogisticLoss())
