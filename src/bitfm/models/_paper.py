"""The paper's objective: Eq. 4, by alternating its three subproblems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.core import make_trainer, pack_signs
from bitfm.data.blocks import Blocks
from bitfm.models._pull import Pull
from bitfm.models.base import Floats, check_finite
from bitfm.models.progress import Progress

__all__ = ["PaperFit", "PaperSettings", "TargetScale"]

_REFRESH = 5  # iterations after which residuals are computed anew, so that rounding cannot build up
_WEIGHT_SWEEPS = 2


@dataclass(frozen=True)
class TargetScale:
    """Targets stretched to ±2 bits, as the authors' code does, or to another range; undone, it is the constant gain."""

    middle: float
    unit: float  # of the target, per unit of the codes' inner product

    @classmethod
    def of(cls, y: Floats, bits: int, spread: float = 2.0) -> TargetScale:
        low, high = float(y.min()), float(y.max())
        if not high - low < 2 * spread * bits * float(np.finfo(np.float32).max):
            raise ValueError(f"y goes from {low:g} to {high:g}, too far for gains in float32; scale the targets.")
        return cls((low + high) / 2, (high - low) / (2 * spread * bits))

    def to_codes(self, y: Floats) -> Floats:
        """Return the targets in the codes' units; constant targets are all 0."""
        return (y - self.middle) / self.unit if self.unit > 0 else np.zeros_like(y)


@dataclass(frozen=True)
class PaperSettings:
    """Parameters, checked."""

    bits: int
    alpha: float
    relaxed: bool
    init_iter: int
    max_iter: int
    inner_iter: int
    tol: float
    cross: bool
    linear: bool
    threads: int


class PaperFit:
    """Alternates the B-, D- and w-subproblems of Eq. 4, after the relaxed problem, whose signs they start from."""

    def __init__(
        self,
        blocks: Blocks,
        targets: Floats,
        settings: PaperSettings,
        pull: Pull,
        rng: np.random.Generator,
        progress: Progress,
    ) -> None:
        self.settings, self.pull, self.rng, self.progress = settings, pull, rng, progress
        self.dtype, self.n = blocks.dtype, blocks.n_features
        self.trainer: Any = make_trainer(blocks.design(), targets, None, across=settings.cross)
        self.ridge = np.full(len(blocks.fields), settings.alpha)
        self.weights = np.zeros(self.n, self.dtype)
        self.bias = 0.0
        self.codes: npt.NDArray[np.uint8]

    def run(self) -> None:
        """Run both stages; afterwards codes, weights and bias hold the solution."""
        s = self.settings
        stopped = False
        if s.relaxed:
            factors = self.rng.random((self.n, s.bits), self.dtype.type)
            factors -= 0.5
            stopped = self._solve_relaxed(factors)
            self.codes = pack_signs(factors)
            del factors
        else:
            self.codes = self.rng.integers(0, 256, (self.n, s.bits // 8), np.uint8)
            self.pull.follow(self.codes, self.rng, s.threads)
        if not stopped:
            self._solve_codes()

    def _solve_relaxed(self, factors: Floats) -> bool:
        s = self.settings
        pull, ridges = self.pull, self.pull.ridges(len(self.ridge))
        pull.follow(factors, self.rng, s.threads)
        for number in range(1, s.init_iter + 1):
            if number % _REFRESH == 1:
                self.trainer.reset_reals(self.bias, self.weights, factors, s.threads)
            self.trainer.sweep_factors(factors, ridges, pull.matrix, pull.strength, s.threads)
            pull.follow(factors, self.rng, s.threads)
            self._sweep_weights()
            if self._report("relaxed", number, s.init_iter):
                return True
            if self.progress.settled(s.tol):
                break
        return False

    def _solve_codes(self) -> None:
        s, pull = self.settings, self.pull
        for number in range(1, s.max_iter + 1):
            if number % _REFRESH == 1:
                self.trainer.reset_codes(self.bias, self.weights, self.codes, None, s.threads)
            flips = self.trainer.sweep_codes(self.codes, pull.matrix, pull.strength, s.inner_iter, s.threads)
            pull.follow(self.codes, self.rng, s.threads)
            self._sweep_weights()
            if self._report("codes", number, s.max_iter, flips) or self.progress.settled(s.tol):
                break

    def _sweep_weights(self) -> None:
        for _ in range(_WEIGHT_SWEEPS if self.settings.linear else 0):
            self.bias = self.trainer.sweep_weights(self.bias, self.weights, self.ridge, True, self.settings.threads)

    def _report(self, stage: str, number: int, total: int, flips: int = 0) -> bool:
        s = self.settings
        loss = self.trainer.loss(s.threads)
        ridge = s.alpha * float(np.sum(self.weights.astype(np.float64) ** 2))
        objective = loss + ridge + self.pull.penalty
        check_finite(stage, number, objective, self.bias)
        return self.progress.report(stage, number, total, loss, objective, flips)
