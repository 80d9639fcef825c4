"""The real-valued factorization machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from reprlib import repr as short  # what a file says is of any length
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from bitfm.data.blocks import Blocks, FieldSizes
from bitfm.data.one_hot import split_one_hot
from bitfm.errors import ModelFileError
from bitfm.models.base import FeatureModel, Floats, counted
from bitfm.models.losses import LOSSES, Loss, SquaredLoss
from bitfm.models.progress import Callback, Progress
from bitfm.models.solvers import SOLVERS, Examples, FMParameters, FMProblem, FMSettings, Solution
from bitfm.models.solvers.gibbs import Samples, by_feature, from_features, last_draws
from bitfm.models.targets import TargetMoments, TargetUnits
from bitfm.parameters import FactorParameters, ModelRecord, Parameters
from bitfm.persist import Tensors
from bitfm.validation import check_choice, check_integer, check_real, thread_count

__all__ = ["FM"]

_DRAWS = ("sample_biases", "sample_weights", "sample_factors", "noise_precisions")  # `Samples` in a file


def _takes_parts(model: FM) -> bool:
    solver = SOLVERS.get(model.solver) if isinstance(model.solver, str) else None
    if solver is not None and not solver.incremental:
        raise AttributeError(f"{model.solver} needs all the data at once; fit with warm_start=True continues.")
    return True


@dataclass(eq=False, repr=False)
class FM(FeatureModel):
    """Factorization machine with real factors: ŷ = w0 + Σ w x + Σ_{i<j} ⟨v_i, v_j⟩ x_i x_j.

    It computes in float32 if all tables of X are, else in float64, at about half the speed.

    Parameters
    ----------
    rank : int, default 16
        Factors per feature.
    solver : {"als", "sgd", "gibbs"}, default "als"
        ``"als"``: coordinate descent on Σ e² + λ Σ w² + λ Σ v². ``"sgd"``: stochastic gradient descent as libFM does
        it, one step per interaction, each shrinking the parameters it touches by λ. ``"gibbs"``: the Bayesian FM; it
        draws the parameters and the strength of their penalties, by field and factor, from their posterior and predicts
        the mean over the draws. It needs no tuning and is usually the most accurate.
    loss : {"squared", "logistic"}, default "squared"
        ``"logistic"``: for targets from 0 to 1, such as clicks; `predict` then returns probabilities. It needs
        ``solver="als"``. `bitfm.models.losses.register_loss` adds another.
    n_iter : int, optional
        Sweeps or epochs at most; by default 50 (als), 30 (sgd) or 40 (gibbs).
    n_samples : int, default 64
        Draws to keep (gibbs), of all chains together: the last ones, `thin` sweeps apart.
    thin : int, default 2
        Sweeps from one kept draw of a chain to the next (gibbs).
    n_chains : int, default 4
        Chains to draw from (gibbs), each of `n_iter` sweeps from a start of its own; no more than `n_samples`. Several
        short ones see more of the posterior than a long one, and run side by side.
    regularization, linear_regularization : float or mapping of field names to floats, optional
        λ of the factors and of the weights, in the solver's own sense and for targets of variance 1; by default 20 and
        5 (als) or 0.02 and 0.002 (sgd). Gibbs draws its own.
    init_scale : float, default 0.1
        Standard deviation of the factors at the start.
    learning_rate : float, default 0.01
        Step of ``"sgd"``.
    scale_targets : bool, default True
        Fit to targets of mean 0 and variance 1, and scale the parameters afterwards: λ, `init_scale` and
        `learning_rate` then mean the same for stars and for euros, and targets × 100 give predictions × 100. ``False``
        is for settings in the units of the targets, as libFM's are. Only the squared loss is scaled.
    pairs : {"all", "across"}, default "all"
        All pairs of features, or only those from different blocks.
    early_stopping : bool, default False
        Hold out a part of the data, `validation_fraction`, stop when its error has not fallen for `patience`
        iterations, and keep the best parameters.
    validation_fraction : float, default 0.1
    patience : int, default 3
    tol : float, default 1e-5
        Stop when an iteration lowers the objective by less than this share (als).
    warm_start : bool, default False
        Let `fit` continue from the parameters of the last fit.
    random_state : int, RandomState or None, default 0
    n_jobs : int, default -1
        Threads; -1 is all. The result does not depend on it. ``"sgd"`` runs on one.
    verbose : int, default 0
        Print one line per iteration.

    Attributes
    ----------
    factors_ : array, features × rank
        With gibbs those of the last draw.
    weights_ : array, one per feature
        With gibbs their mean over the draws, and so is the bias.
    bias_ : float
    samples_ : Samples
        With gibbs the draws kept; `predict` averages over them.
    targets_ : TargetMoments
        Weight, mean and standard deviation of the targets of the last `fit` and of each `partial_fit` since.
    fit_log_ : list of Iteration
    fields_ : tuple of FieldSpan
    n_features_in_, n_iter_ : int

    Examples
    --------
    >>> from bitfm import FM
    >>> from bitfm.datasets import make_bookshop
    >>> shop = make_bookshop(200, 100, 4000)
    >>> model = FM(rank=8).fit(shop.blocks(), shop.ratings["rating"])
    >>> model.factors_.shape == (model.n_features_in_, 8)
    True
    """

    rank: int = 16
    _: KW_ONLY
    solver: str = "als"
    loss: str = "squared"
    n_iter: int | None = None
    n_samples: int = 64
    thin: int = 2
    n_chains: int = 4
    regularization: float | Mapping[str, float] | None = None
    linear_regularization: float | Mapping[str, float] | None = None
    init_scale: float = 0.1
    learning_rate: float = 0.01
    scale_targets: bool = True
    pairs: str = "all"
    early_stopping: bool = False
    validation_fraction: float = 0.1
    patience: int = 3
    tol: float = 1e-5
    warm_start: bool = False
    random_state: Any = 0
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
        """Fit bias, weights and factors.

        Parameters
        ----------
        X : Blocks, sparse matrix or dense array
        y, sample_weight : targets and, optionally, weights, one per interaction
        fields : optional
            How many columns each field has, for a plain matrix; see `Blocks.from_matrix`.
        callback : called with an `Iteration` after each iteration; returning True stops the fit
        """
        with self._fitting(callback) as progress:
            resume = self.warm_start and hasattr(self, "factors_")
            self._solve((X, y, sample_weight, fields), progress, resume=resume)
        return self

    @available_if(_takes_parts)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, *, fields: FieldSizes | None = None) -> Self:
        """Take one sweep or epoch over these interactions, from the present parameters."""
        done, log, resume = getattr(self, "n_iter_", 0), getattr(self, "fit_log_", []), hasattr(self, "factors_")
        with self._fitting() as progress:
            self._solve((X, y, sample_weight, fields), progress, resume=resume, part=done)
        self.fit_log_, self.n_iter_ = [*log, *self.fit_log_], done + 1
        return self

    def _settings(self, blocks: Blocks) -> FMSettings:
        solver = SOLVERS[check_choice("solver", self.solver, tuple(SOLVERS))]
        if self._loss() is not LOSSES["squared"] and not solver.any_loss:
            able = ", ".join(repr(name) for name, it in SOLVERS.items() if it.any_loss)
            raise ValueError(f"loss {self.loss!r} is not for solver {self.solver!r}; give one of {able}.")
        check_choice("pairs", self.pairs, ("all", "across"))
        return FMSettings(
            rank=check_integer("rank", self.rank, 1, 4096),
            loss=self._loss(),
            n_iter=solver.n_iter if self.n_iter is None else check_integer("n_iter", self.n_iter, 1),
            ridge_v=self._per_field("regularization", blocks, solver.regularization),
            ridge_w=self._per_field("linear_regularization", blocks, solver.linear_regularization),
            init_scale=check_real("init_scale", self.init_scale),
            learning_rate=check_real("learning_rate", self.learning_rate, above=True),
            tol=check_real("tol", self.tol),
            patience=check_integer("patience", self.patience, 1),
            n_samples=check_integer("n_samples", self.n_samples, 1),
            thin=check_integer("thin", self.thin, 1),
            n_chains=check_integer("n_chains", self.n_chains, 1),
            across=self.pairs == "across",
            threads=thread_count(self.n_jobs),
        )

    def _held_out(self, n: int, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
        if not SOLVERS[self.solver].incremental:
            raise ValueError(f"early_stopping: {self.solver} averages over draws and does not stop early; turn it off.")
        if not 0 < check_real("validation_fraction", self.validation_fraction) < 1:
            raise ValueError(f"validation_fraction must lie between 0 and 1, got {self.validation_fraction!r}.")
        held_out = rng.random(n) < self.validation_fraction
        if held_out.all() or not held_out.any():
            raise ValueError(f"early_stopping needs more than the {n} interaction(s) given.")
        return held_out

    def _solve(self, data: tuple[Any, ...], progress: Progress, *, resume: bool, part: int | None = None) -> None:
        """Fit to what `fit` takes: all there is, or one more part of it."""
        blocks, y, weight = self._training_data(*data, reset=not resume)
        examples = Examples(split_one_hot(blocks) if self.pairs == "all" else blocks, y, weight)
        rng = np.random.default_rng(self._seed() if part is None else [self._seed(), part])
        settings, train, validation = self._settings(examples.blocks), examples, None
        if part is not None:
            settings = replace(settings, n_iter=1)
        elif self.early_stopping:
            held_out = self._held_out(len(examples.y), rng)
            train, validation = examples.where(~held_out), examples.where(held_out)
        settings.loss.check(examples.y)
        moments = TargetMoments.of(examples.y, counted(examples.weight))
        if part and hasattr(self, "targets_"):
            moments = moments.joined(self.targets_)
        units = self._units(moments, examples.blocks.dtype, part=part is not None)
        bias = settings.loss.start(units.standardise(examples.y), counted(examples.weight))
        train, validation = train.standardised(units), validation and validation.standardised(units)
        progress.unit, solve = units.unit, SOLVERS[self.solver].fit
        previous = self._solution(settings, examples.blocks.dtype, units.inverse) if resume else None
        problem = FMProblem(train, validation, settings, bias, previous, rng, progress)
        del previous  # so that a solver can let go of earlier draws
        best, samples = solve(problem)
        if samples is None:
            best = best.scaled(units)
        else:
            samples.scale(units)
            best = samples.parameters()
        if resume and samples is None:  # what these interactions do not mention stays as it was
            unseen = ~train.blocks.occurring()
            best.weights[unseen], best.factors[unseen] = self.weights_[unseen], self.factors_[unseen]
        self.bias_, self.weights_ = best.bias, best.weights
        self.factors_: Floats = best.factors
        self.targets_: TargetMoments = moments
        self.__dict__.pop("samples_", None)
        if samples is not None:
            self.samples_: Samples = samples

    def _units(self, moments: TargetMoments, dtype: np.dtype[Any], *, part: bool) -> TargetUnits:
        """Return the units to fit in: those of the targets, or such that they have mean 0 and variance 1."""
        if not (self.scale_targets and isinstance(self._loss(), SquaredLoss)):
            return TargetUnits()
        if part and not moments.deviation:  # there are others to come
            return TargetUnits(moments.mean)
        return moments.units(dtype)

    def _solution(self, settings: FMSettings, dtype: np.dtype[Any], units: TargetUnits) -> Solution:
        """Return the solution of the last fit, to continue from in other units."""
        if self.factors_.shape[1] != settings.rank:
            what = f"rank is {settings.rank}, but the factors to continue from have {self.factors_.shape[1]} columns"
            raise ValueError(f"{what}; set it back or fit anew without warm_start.")
        if hasattr(self, "samples_"):  # of the weights there is a mean, but not of the factors: from a draw, then
            samples = self.samples_.last(settings.n_chains)
            samples.scale(units)
            return Solution(last_draws(samples, 1, dtype)[0], samples)
        last = FMParameters(self.bias_, self.weights_.astype(dtype), self.factors_.astype(dtype))
        return Solution(last.scaled(units))

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the targets of interactions.

        Parameters
        ----------
        X : Blocks, sparse matrix or dense array
            With the columns the model was fitted on.
        return_std : bool, default False
            With gibbs: also return the standard deviation of each target, from the spread of the draws and the noise.

        Returns
        -------
        array of float64 on the scale of the targets, one per interaction; or a pair of them, with standard deviations
        """
        if not return_std:
            return self._loss().inverse_link(super().predict(X))
        check_is_fitted(self)
        if not hasattr(self, "samples_"):
            raise ValueError(f"return_std needs draws: solver='gibbs' keeps them, {self.solver!r} does not.")
        blocks = self._prediction_blocks(X)
        mean, squares = np.zeros(len(blocks)), np.zeros(len(blocks))
        for n, (bias, weights, factors, _) in enumerate(zip(*self.samples_, strict=True), start=1):
            if len(blocks):
                draw = FactorParameters(self.fields_, bias, weights, np.ascontiguousarray(factors), self.pairs)
                shift = draw.scores(blocks.design(), thread_count(self.n_jobs)) - mean
                mean += shift / n
                squares += shift * shift * ((n - 1) / n)
        return mean, np.sqrt(squares / n + float(np.mean(1 / self.samples_.noise_precisions)))

    def _loss(self) -> Loss:
        return LOSSES[check_choice("loss", self.loss, tuple(LOSSES))]

    def record(self) -> ModelRecord:
        """Return what a file keeps of the model beside its parameters."""
        return replace(super().record(), targets=getattr(self, "targets_", None))

    @classmethod
    def from_record(cls, record: ModelRecord, parameters: Parameters, index: Any = None) -> Self:
        """Return the fitted model of what a file keeps."""
        model = super().from_record(record, parameters, index)
        if record.targets is not None:
            model.targets_ = TargetMoments(*record.targets)
        return model

    def _kept(self) -> tuple[str, Tensors]:
        self._check_unchanged("rank", self.factors_.shape[1])
        if not hasattr(self, "samples_"):
            return "factors", {}
        return "draws", dict(zip(_DRAWS, self.samples_, strict=True)) | {"sample_factors": by_feature(self.samples_)}

    def _restore(self, parameters: Any, extra: Tensors) -> None:
        rank = parameters.factors.shape[1] // parameters.n_draws if isinstance(parameters, FactorParameters) else None
        if not rank or rank != self.rank or parameters.pairs != self.pairs:
            ours = f"an FM of rank {short(self.rank)} and pairs {short(self.pairs)}"
            raise ModelFileError(f"has parameters that {ours} does not have")
        if self.loss not in LOSSES:
            known = " or ".join(map(repr, LOSSES))
            raise ModelFileError(f"has the loss {short(self.loss)}, expected {known}, or register it before")
        if extra:
            self.samples_ = from_features(*(extra[name] for name in _DRAWS))
        self.factors_ = self.samples_.factors[-1] if extra else parameters.factors

    def _parameters(self) -> FactorParameters:
        factors, n = self.factors_, 1
        if hasattr(self, "samples_"):
            n = len(self.samples_.biases)
            factors = by_feature(self.samples_).reshape(len(self.weights_), -1)  # side by side; nothing is copied
        return FactorParameters(self.fields_, self.bias_, self.weights_, factors, self.pairs, n)
