"""The paper's objective: Eq. 4, by alternating its three subproblems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bitfm.core import make_trainer, nearest_delegate, pack_signs
from bitfm.data.blocks import Blocks
from bitfm.models.base import Floats, check_finite
from bitfm.models.progress import Progress

__all__ = ["JointDelegate", "PaperFit", "PaperSettings", "ProximalTarget", "TargetScale"]

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


@dataclass(frozen=True)
class PaperSettings:
    """DiscreteFM's parameters, checked."""

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


class PaperFit:
    """Alternates the B-, D- and w-subproblems of Eq. 4, after the relaxed problem, whose signs they start from."""

    def __init__(
        self,
        blocks: Blocks,
        targets: Floats,
        settings: PaperSettings,
        proximal: ProximalTarget,
        rng: np.random.Generator,
        progress: Progress,
    ) -> None:
        self.settings, self.proximal, self.rng, self.progress = settings, proximal, rng, progress
        self.dtype, self.n = blocks.dtype, blocks.n_features
        self.trainer: Any = make_trainer(blocks.design(), targets, None, across=settings.across)
        self.ridge = np.full(len(blocks.fields), settings.alpha)
        self.weights, self.bias = np.zeros(self.n, self.dtype), 0.0
        self.codes: npt.NDArray[np.uint8]

    def run(self) -> None:
        """Run both stages; afterwards codes, weights and bias hold the solution."""
        s, stopped = self.settings, False
        if s.relaxed:
            factors = self.rng.random((self.n, s.bits), self.dtype.type)
            factors -= 0.5
            stopped = self._solve_relaxed(factors)
            self.codes = pack_signs(factors)
            del factors
        else:
            self.codes = self.rng.integers(0, 256, (self.n, s.bits // 8), np.uint8)
            self.proximal.follow(self.codes, self.rng, s.threads)
        if not stopped:
            self._solve_codes()

    def _solve_relaxed(self, factors: Floats) -> bool:
        s, proximal = self.settings, self.proximal
        ridges = proximal.ridges(len(self.ridge))
        proximal.follow(factors, self.rng, s.threads)
        for number in range(1, s.init_iter + 1):
            if number % _REFRESH == 1:
                self.trainer.reset_reals(self.bias, self.weights, factors, s.threads)
            self.trainer.sweep_factors(factors, ridges, proximal.matrix, proximal.strength, s.threads)
            proximal.follow(factors, self.rng, s.threads)
            self._sweep_weights()
            if self._report("relaxed", number, s.init_iter):
                return True
            if self.progress.settled(s.tol):
                break
        return False

    def _solve_codes(self) -> None:
        s, proximal = self.settings, self.proximal
        for number in range(1, s.max_iter + 1):
            if number % _REFRESH == 1:
                self.trainer.reset_codes(self.bias, self.weights, self.codes, None, s.threads)
            flips = self.trainer.sweep_codes(self.codes, proximal.matrix, proximal.strength, s.inner_iter, s.threads)
            proximal.follow(self.codes, self.rng, s.threads)
            self._sweep_weights()
            if self._report("codes", number, s.max_iter, flips) or self.progress.settled(s.tol):
                break

    def _sweep_weights(self) -> None:
        for _ in range(_WEIGHT_SWEEPS if self.settings.linear else 0):
            self.bias = self.trainer.sweep_weights(self.bias, self.weights, self.ridge, True, self.settings.threads)

    def _report(self, stage: str, number: int, total: int, flips: int = 0) -> bool:
        loss = self.trainer.loss(self.settings.threads)
        ridge = self.settings.alpha * float(np.sum(self.weights.astype(np.float64) ** 2))
        objective = loss + ridge + self.proximal.penalty
        check_finite(stage, number, objective, self.bias)
        return self.progress.report(stage, number, total, loss, objective, flips)
