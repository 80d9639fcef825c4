"""Prediction by a bias and one weight a feature."""

from __future__ import annotations

from typing import Any

import numpy as np

from bitfm import _core
from bitfm.models._base import FeatureModel, Floats
from bitfm.validation import thread_count

__all__ = ["LinearModel"]


class LinearModel(FeatureModel):
    """A model without pair terms: w0 + Σ w x."""

    n_jobs: int | None

    def _score(self, design: Any, dtype: np.dtype[Any]) -> Floats:
        weights = np.ascontiguousarray(self.weights_, dtype)
        nothing = np.zeros((len(weights), 0), np.float32)
        return _core.predict_reals(design, self.bias_, weights, nothing, False, thread_count(self.n_jobs))
