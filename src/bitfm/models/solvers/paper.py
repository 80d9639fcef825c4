"""The paper's objective: Eq. 4, by alternating its three subproblems."""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bitfm.core import make_trainer, nearest_delegate, pack_signs
from bitfm.data.blocks import Blocks
from bitfm.models.base import Floats, check_finite
from bitfm.models.progress import Progress

__all__ = ["JointDelegate", "PaperFit", "ProximalTarget", "TargetScale"]

_REFRESH = 5  # iterations after which residuals are computed anew, so that rounding cannot build up
_WEIGHT_SWEEPS = 2


@dataclass(frozen=True)
class TargetScale:
    """Targets stretched to ±2 bits, as the authors' code does, or to another range; undone, it is the constant gain."""

    middle: float
    unit: float  # of the target, per unit of the codes' inner product

    @classmethod
    def of(cls, y: Floats, bits: int, spread: float = 2.0) -> TargetScale:
        """Return the scale that takes the range of y to ±spread · bits."""
        low, high = float(y.min()), float(y.max())
        if not high - low < 2 * spread * bits * float(np.finfo(np.float32).max):
            raise ValueError(f"y goes from {low:g} to {high:g}, too far for gains in float32; scale the targets.")
        return cls((low + high) / 2, (high - low) / (2 * spread * bits))

    def to_codes(self, y: Floats) -> Floats:
        """Return the targets in the codes' units; constant targets are all 0."""
        return (y - self.middle) / self.unit if self.unit > 0 else np.zeros_like(y)


class ProximalTarget(Protocol):
    """A matrix that factors or codes are drawn to, which follows them in turn."""

    strength: float  # the objective has − 2 · strength · tr(BᵀM)
    matrix: npt.NDArray[np.float32]  # features × bits
    penalty: float  # what all of it, of which tr(BᵀM) is a part, adds to the objective

    def ridges(self, n_fields: int) -> npt.NDArray[np.float64]:
        """Return the penalty of the factors' squares in the relaxed problem, one per field."""

    def follow(self, values: npt.NDArray[Any], rng: np.random.Generator, n_threads: int) -> None:
        """Take the best matrix for factors, or for packed codes; the penalty does not rise."""


class JointDelegate:
    """D of the paper's Eq. 4: one balanced and decorrelated matrix for all features."""

    matrix: npt.NDArray[np.float32]

    def __init__(self, beta: float) -> None:
        self.strength, self.penalty = beta, 0.0

    def ridges(self, n_fields: int) -> npt.NDArray[np.float64]:
        """Return β: in the relaxed problem, β |V − D|² takes the place of − 2β tr(BᵀD)."""
        return np.full(n_fields, self.strength)

    def follow(self, values: npt.NDArray[Any], rng: np.random.Generator, n_threads: int) -> None:
        """Solve the D-subproblem."""
        delegate = nearest_delegate(values, rng, getattr(self, "matrix", None), n_threads)
        self.matrix = delegate.matrix
        squares = 0.0 if values.dtype == np.uint8 else delegate.squares  # those of codes are constant
        self.penalty = self.strength * (squares - 2 * delegate.trace)


@dataclass
class PaperFit:
    """Alternates the B-, D- and w-subproblems of Eq. 4, after the relaxed problem, whose signs they start from."""

    blocks: Blocks
    targets: InitVar[Floats]
    proximal: ProximalTarget
    rng: np.random.Generator
    progress: Progress
    bits: int
    alpha: float
    relaxed: bool
    init_iter: int
    max_iter: int
    inner_iter: int
    tol: float
    across: bool
    linear: bool
    threads: int
    ranks: bool = False  # the scores are differences, of which the first block's weights and the bias are no part

    def __post_init__(self, targets: Floats) -> None:
        self.trainer: Any = make_trainer(self.blocks.design(), targets, None, across=self.across)
        self.weights, self.bias = np.zeros(self.blocks.n_features, self.blocks.dtype), 0.0
        self.codes: npt.NDArray[np.uint8]

    def run(self) -> None:
        """Run both stages; afterwards codes, weights and bias hold the solution."""
        stopped, n = False, len(self.weights)
        if self.relaxed:
            factors = self.rng.random((n, self.bits), self.weights.dtype.type)
            factors -= 0.5
            self.proximal.follow(factors, self.rng, self.threads)
            stopped = self._alternate("relaxed", factors, self.init_iter)
            self.codes = pack_signs(factors)
            del factors
        else:
            self.codes = self.rng.integers(0, 256, (n, self.bits // 8), np.uint8)
            self.proximal.follow(self.codes, self.rng, self.threads)
        if not stopped:
            self._alternate("codes", self.codes, self.max_iter)

    def _alternate(self, stage: str, values: npt.NDArray[Any], n_iter: int) -> bool:
        """Improve factors or codes, what they are drawn to and the weights in turn; whether the callback stopped it."""
        trainer, proximal, threads, flips = self.trainer, self.proximal, self.threads, 0
        n_fields = len(self.blocks.fields)
        ridges, weight_ridge = proximal.ridges(n_fields), np.full(n_fields, self.alpha)
        if self.ranks:
            weight_ridge[: len(next(iter(self.blocks.blocks.values())).tables)] = np.inf
        for number in range(1, n_iter + 1):
            if stage == "relaxed":
                if number % _REFRESH == 1:
                    trainer.reset_reals(self.bias, self.weights, values, threads)
                trainer.sweep_factors(values, ridges, proximal.matrix, proximal.strength, threads)
            else:
                if number % _REFRESH == 1:
                    trainer.reset_codes(self.bias, self.weights, values, None, threads)
                flips = trainer.sweep_codes(values, proximal.matrix, proximal.strength, self.inner_iter, threads)
            proximal.follow(values, self.rng, threads)
            for _ in range(_WEIGHT_SWEEPS if self.linear else 0):
                self.bias = trainer.sweep_weights(self.bias, self.weights, weight_ridge, not self.ranks, threads)
            loss = trainer.loss(threads)
            objective = loss + self.alpha * float(np.sum(self.weights.astype(np.float64) ** 2)) + proximal.penalty
            check_finite(stage, number, objective, self.bias)
            if self.progress.report(stage, number, n_iter, loss, objective, flips):
                return True
            if self.progress.settled(self.tol):
                break
        return False
