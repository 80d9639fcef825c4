"""The bias-only model: the row that every table prints beside the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from bitfm.core import make_trainer
from bitfm.data.blocks import FieldSizes
from bitfm.models._one_hot import split_one_hot
from bitfm.models.base import FeatureModel, check_finite
from bitfm.models.progress import Callback, Iteration, Progress
from bitfm.validation import check_integer, check_real, thread_count

__all__ = ["BiasModel"]


class BiasModel(FeatureModel):
    """Ratings from a global bias and one weight a feature: w0 + Σ w x, by ridge regression.

    Parameters
    ----------
    regularization : float or mapping of field names to floats, default 3.0
        λ of Σ e² + λ Σ w².
    max_iter : int, default 100
        Sweeps of coordinate descent at most.
    tol : float, default 1e-7
        Stop when a sweep lowers the objective by less than this share.
    n_jobs : int, default -1
        Threads; -1 is all. The result does not depend on it.
    verbose : int, default 0
        Print a line an iteration.

    Attributes
    ----------
    bias_ : float
    weights_ : array, one a feature
    fit_log_ : list of Iteration
    fields_ : tuple of FieldSpan
    n_features_in_ : int

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from bitfm import BiasModel, Block, Blocks
    >>> X = Blocks(user=Block([0, 0, 1, 1], {"id": sp.identity(2)}), item=Block([0, 1, 0, 1], {"id": sp.identity(2)}))
    >>> model = BiasModel(regularization=0.1).fit(X, [5, 4, 3, 2])
    >>> model.predict(X).round(1)
    array([4.9, 4. , 3. , 2.1])
    """

    def __init__(
        self,
        regularization: float | Mapping[str, float] = 3.0,
        *,
        max_iter: int = 100,
        tol: float = 1e-7,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ) -> None:
        self.regularization = regularization
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        fields: FieldSizes | None = None,
        callback: Callback | None = None,
    ) -> Self:
        """Fit the bias and the weights.

        Parameters
        ----------
        X : Blocks, sparse matrix or dense array
        y : targets, one an interaction
        sample_weight : weights of the interactions, optional
        fields : sizes of the fields, for a plain matrix; see `Blocks.from_matrix`
        callback : called with an `Iteration` after each sweep; returning True stops the fit
        """
        with self._all_or_nothing():
            blocks, y, sample_weight = self._training_data(X, y, sample_weight, fields)
            max_iter, threads = check_integer("max_iter", self.max_iter, 1), thread_count(self.n_jobs)
            tol = check_real("tol", self.tol)
            blocks = split_one_hot(blocks)
            ridge = self._per_field("regularization", self.regularization, blocks)
            trainer = make_trainer(blocks.design(), y, sample_weight, across=False)
            weights = np.zeros(blocks.n_features, blocks.dtype)
            bias = float(
                np.average(y, weights=None if sample_weight is None or not sample_weight.any() else sample_weight)
            )
            trainer.reset_reals(bias, weights, np.zeros((len(weights), 0), blocks.dtype), threads)
            progress = Progress(self.verbose, callback)
            penalty = np.repeat(ridge, [field.size for field in blocks.fields])
            for number in range(1, max_iter + 1):
                bias = trainer.sweep_weights(bias, weights, ridge, True, threads)
                loss = trainer.loss(threads)
                objective = loss + float(np.sum(penalty * weights.astype(np.float64) ** 2))
                check_finite("weights", number, objective)
                if progress.report("weights", number, max_iter, loss, objective) or progress.settled(tol):
                    break
            self.bias_, self.weights_ = bias, weights
            self.fit_log_: list[Iteration] = progress.history
            self.n_iter_ = len(progress.history)
        return self
