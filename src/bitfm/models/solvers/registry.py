"""The solvers of `bitfm.FM` by name: a new one is a new file that calls `register_solver`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from bitfm.core import predict_reals
from bitfm.data.blocks import Blocks
from bitfm.models.base import Floats, counted
from bitfm.models.losses import Loss
from bitfm.models.progress import Progress
from bitfm.models.targets import TargetUnits

if TYPE_CHECKING:
    from bitfm.models.solvers.gibbs import Samples


@dataclass(frozen=True)
class FMSettings:
    """FM's parameters, checked; what a solver has no use for it ignores."""

    rank: int
    loss: Loss
    n_iter: int
    ridge_v: npt.NDArray[np.float64]  # λ of the factors, per field
    ridge_w: npt.NDArray[np.float64]  # λ of the weights
    init_scale: float
    learning_rate: float
    tol: float
    patience: int
    n_samples: int
    thin: int
    n_chains: int
    across: bool  # pairs of features from different blocks only
    threads: int


class Examples(NamedTuple):
    """Interactions, their targets and weights."""

    blocks: Blocks
    y: Floats
    weight: Floats | None

    def where(self, mask: npt.NDArray[np.bool_]) -> Examples:
        """Return some of the interactions."""
        return Examples(self.blocks[mask], self.y[mask], None if self.weight is None else self.weight[mask])

    def standardised(self, units: TargetUnits) -> Examples:
        """Return the same with targets as a solver sees them."""
        return self._replace(y=units.standardise(self.y))


@dataclass
class FMParameters:
    """Bias, weights and factors (features × rank) of a factorization machine while it is being fitted."""

    bias: float
    weights: Floats
    factors: Floats

    def copy(self) -> FMParameters:
        """Return parameters of their own."""
        return FMParameters(self.bias, self.weights.copy(), self.factors.copy())

    def scaled(self, units: TargetUnits) -> FMParameters:
        """Return the parameters for scores middle + unit · score."""
        weights = self.weights * self.weights.dtype.type(units.unit)
        factors = self.factors * self.factors.dtype.type(np.sqrt(units.unit))
        return FMParameters(units.middle + units.unit * self.bias, weights, factors)


class Solution(NamedTuple):
    """What a solver returns: parameters, and draws from their posterior if `predict` is to average over these."""

    parameters: FMParameters
    samples: Samples | None = None


@dataclass
class FMProblem:
    """What a solver of `FM` takes: it calls ``progress.report`` after every iteration, and stops if that is True.

    Everything is in units of its own: those of squared error have targets of mean 0 and variance 1, unless `FM` has
    ``scale_targets=False``. What is reported, and what the solver returns, is put back into the units of the data.
    """

    train: Examples
    held_out: Examples | None  # with early stopping: what to validate on, with `rmse`
    settings: FMSettings
    bias: float  # to start from: the best constant score
    previous: Solution | None  # of an earlier fit, to continue from
    rng: np.random.Generator
    progress: Progress

    def start(self, rng: np.random.Generator | None = None) -> FMParameters:
        """Return parameters to start from: those of the previous solution, or small random factors and a bias."""
        if self.previous is not None:
            return self.previous.parameters.copy()
        n, dtype = self.train.blocks.n_features, self.train.blocks.dtype
        factors = (rng or self.rng).standard_normal((n, self.settings.rank), dtype.type)
        return FMParameters(self.bias, np.zeros(n, dtype), factors * dtype.type(self.settings.init_scale))

    def penalty(self, parameters: FMParameters) -> float:
        """Return Σ λ w² + Σ λ ‖v‖²."""
        sizes = [field.size for field in self.train.blocks.fields]
        ridge_w, ridge_v = np.repeat(self.settings.ridge_w, sizes), np.repeat(self.settings.ridge_v, sizes)
        # Sums, not dot products: BLAS threads would go on spinning beside the core's own.
        squares = np.einsum("ij,ij->i", parameters.factors, parameters.factors)
        return float(np.sum(ridge_w * parameters.weights.astype(np.float64) ** 2) + np.sum(ridge_v * squares))

    def rmse(self, parameters: FMParameters) -> float:
        """Return the error on what is held out, or NaN without it."""
        if self.held_out is None:
            return float("nan")
        s, now, (blocks, y, weight) = self.settings, parameters, self.held_out
        scores = predict_reals(blocks.design(), now.bias, now.weights, now.factors, s.across, s.threads)
        return float(np.sqrt(np.average((y - s.loss.inverse_link(scores)) ** 2, weights=counted(weight))))


@dataclass(frozen=True)
class Solver:
    """A way to fit an `FM`.

    Attributes
    ----------
    fit : callable
        Takes an `FMProblem` and returns a `Solution`.
    regularization, linear_regularization, n_iter
        Defaults of the parameters of `FM`.
    incremental : bool
        Whether it can stop early, and continue with a part of the data (`FM.partial_fit`).
    any_loss : bool
        Whether it fits any loss of `bitfm.models.losses`, and not squared error only.
    """

    fit: Callable[[FMProblem], Solution]
    regularization: float
    linear_regularization: float
    n_iter: int
    incremental: bool = True
    any_loss: bool = False


SOLVERS: dict[str, Solver] = {}


def register_solver(name: str, solver: Solver) -> None:
    """Let ``FM(solver=name)`` fit by this solver.

    Examples
    --------
    >>> from bitfm import FM
    >>> from bitfm.models.solvers import Solution, Solver, register_solver
    >>> def only_the_mean(problem):
    ...     return Solution(problem.start())
    >>> register_solver("mean", Solver(only_the_mean, regularization=0.0, linear_regularization=0.0, n_iter=1))
    >>> FM(solver="mean", init_scale=0).fit([[0, 1], [1, 0]], [3, 4]).bias_
    3.5
    """
    if SOLVERS.get(name, solver) is not solver:
        raise ValueError(f"solver {name!r} is registered already; choose another name.")
    SOLVERS[name] = solver
