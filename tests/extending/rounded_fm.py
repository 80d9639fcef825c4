"""A kind of model that bitfm does not have: the signs of a fitted FM."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from bitfm import FM
from bitfm.core import pack_signs
from bitfm.models import Callback, CodeModel, register_kind


@register_kind
class RoundedFM(CodeModel):
    """The signs of an FM's factors, and their mean length as gains.

    Parameters
    ----------
    bits : int, default 32
        Length of the codes, and rank of the FM.
    penalty : float or mapping of field names to floats, default 10.0
        λ of the FM.
    """

    def __init__(
        self,
        bits: int = 32,
        *,
        penalty: float | dict[str, float] = 10.0,
        random_state: Any = 0,
        n_jobs: int | None = -1,
    ) -> None:
        self.bits = bits
        self.penalty = penalty
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, *, fields: Any = None, callback: Callback | None = None) -> Self:
        """Fit the FM and round it."""
        fm = FM(self.bits, n_iter=5, regularization=self.penalty, pairs="across", random_state=self.random_state)
        fm.set_params(n_jobs=self.n_jobs).fit(X, y, fields=fields, callback=callback)
        self.fields_, self.n_features_in_, self.pairs_ = fm.fields_, fm.n_features_in_, fm.pairs
        self.bias_, self.weights_ = fm.bias_, fm.weights_
        self.codes_ = pack_signs(fm.factors_)
        self.gains_ = np.abs(fm.factors_).mean(axis=1).astype(np.float32)
        self.fit_log_, self.n_iter_ = fm.fit_log_, fm.n_iter_
        return self
