"""The bias-only model: the row that every table prints beside the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from bitfm.core import make_trainer
from bitfm.data.blocks import FieldSizes
from bitfm.data.one_hot import split_one_hot
from bitfm.models.base import FeatureModel, check_finite, counted
from bitfm.models.progress import Callback
from bitfm.models.targets import TargetMoments
from bitfm.validation import check_integer, check_real, thread_count

__all__ = ["BiasModel"]


@dataclass(eq=False, repr=False)
class BiasModel(FeatureModel):
    """Ratings from a global bias and one weight per feature: w0 + Σ w x, by ridge regression.

    Parameters
    ----------
    regularization : float or mapping of field names to floats, default 3.0
        λ of Σ e² + λ Σ w². The units of the targets do not matter.
    max_iter : int, default 100
        Sweeps of coordinate descent at most.
    tol : float, default 1e-7
        Stop when a sweep lowers the objective by less than this share.
    n_jobs, verbose
        As for `FM`.

    Attributes
    ----------
    bias_ : float
    weights_ : array, one per feature
    fit_log_ : list of Iteration

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from bitfm import BiasModel, Block, Blocks
    >>> X = Blocks(user=Block([0, 0, 1, 1], {"id": sp.identity(2)}), item=Block([0, 1, 0, 1], {"id": sp.identity(2)}))
    >>> BiasModel(regularization=0.1).fit(X, [5, 4, 3, 2]).predict(X).round(1)
    array([4.9, 4. , 3. , 2.1])
    """

    regularization: float | Mapping[str, float] = 3.0
    _: KW_ONLY
    max_iter: int = 100
    tol: float = 1e-7
    n_jobs: int | None = -1
    verbose: int = 0

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        fields: FieldSizes | None = None,
        callback: Callback | None = None,
    ) -> Self:
        """Fit the bias and the weights; see `FM.fit`."""
        with self._fitting(callback) as progress:
            blocks, y, sample_weight = self._training_data(X, y, sample_weight, fields)
            max_iter, threads = check_integer("max_iter", self.max_iter, 1), thread_count(self.n_jobs)
            tol = check_real("tol", self.tol)
            blocks = split_one_hot(blocks)
            ridge = self._per_field("regularization", blocks)
            penalty = np.repeat(ridge, [field.size for field in blocks.fields])
            units = TargetMoments.of(y, counted(sample_weight)).units(blocks.dtype)
            trainer = make_trainer(blocks.design(), units.standardise(y), sample_weight, across=False)
            progress.unit, bias, weights = units.unit, 0.0, np.zeros(len(penalty), blocks.dtype)
            trainer.reset_reals(bias, weights, np.zeros((len(weights), 0), blocks.dtype), threads)
            for number in range(1, max_iter + 1):
                bias = trainer.sweep_weights(bias, weights, ridge, True, threads)
                loss = trainer.loss(threads)
                objective = loss + float(np.sum(penalty * weights.astype(np.float64) ** 2))
                check_finite("weights", number, objective)
                if progress.report("weights", number, max_iter, loss, objective) or progress.settled(tol):
                    break
            self.bias_ = units.middle + units.unit * bias
            self.weights_ = weights * weights.dtype.type(units.unit)
        return self
