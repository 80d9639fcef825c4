"""The anchored objective: codes tied to a Bayesian teacher, with what they are worth chosen on held-out ratings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from bitfm import _core
from bitfm.data.blocks import Blocks
from bitfm.models._anchor import FeatureAnchor, RowAnchor
from bitfm.models._base import Floats
from bitfm.models._gibbs import side_by_side
from bitfm.models._native import make_design, make_trainer
from bitfm.models._progress import Iteration, Progress
from bitfm.models.fm import FM

__all__ = ["AnchoredFit", "AnchoredSettings"]

_SETTLED = 0.005  # share of the bits that may still flip when the codes are done
_WEIGHT_SWEEPS = 5
_SCALE_SPREAD = 0.3  # a field's scale is expected within this of 1


@dataclass(frozen=True)
class AnchoredSettings:
    """DiscreteFM's parameters, checked."""

    bits: int
    teacher: FM | None
    validation_fraction: float
    max_iter: int
    inner_iter: int
    cross: bool
    seed: int
    threads: int


@dataclass(frozen=True)
class _Student:
    """Codes and gains by field, with the weights that go with them."""

    anchor: RowAnchor | FeatureAnchor
    gains: npt.NDArray[np.float32]
    weights: Floats
    bias: float


class AnchoredFit:
    """Fits a teacher, ties codes and gains to it, and refits the weights. Afterwards the teacher is not needed."""

    def __init__(self, blocks: Blocks, y: Floats, settings: AnchoredSettings, progress: Progress) -> None:
        self.settings, self.progress = settings, progress
        self._blocks, self._y = blocks, y
        self._rng = np.random.default_rng(settings.seed)
        self._stopped = False  # by the callback: what is left to do is done as briefly as can be

    def run(self) -> None:
        """Fit; afterwards codes, gains, weights and bias hold the model."""
        s = self.settings
        scales = np.ones(len(self._blocks.fields))
        teacher = s.teacher if s.teacher is not None and hasattr(s.teacher, "weights_") else None
        if teacher is None:
            held_out = self._rng.random(len(self._y)) < s.validation_fraction
            if held_out.any() and not held_out.all():
                scales = self._choose_scales(held_out)
            teacher = self._teach(self._blocks, self._y, "teacher")
        student = self._study(self._blocks, self._y, teacher, scales)
        self.codes, self.gains = student.anchor.codes, student.gains
        self.weights, self.bias = student.weights, student.bias

    def _choose_scales(self, held_out: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
        """Fit to a part of the data, and return by how much to scale each field's gains to predict the rest best.

        Nothing is one of the choices: codes that predict worse than the linear part alone get no gains.
        """
        learnt, unseen = self._blocks[~held_out], self._blocks[held_out]
        y, truth = self._y[~held_out], self._y[held_out]
        teacher = self._teach(learnt, y, "trial")
        as_is = np.ones(len(learnt.fields))
        student = self._study(learnt, y, teacher, as_is)
        linear = self._predict(unseen, student, gains=np.zeros_like(student.gains))
        fitted = student.anchor.fit_scales(unseen, truth - linear, spread=_SCALE_SPREAD)
        choices = [fitted, as_is, np.zeros_like(as_is)]
        errors = []
        for scales in choices:
            trial = self._refit(learnt, y, teacher, student.anchor, scales)
            errors.append(float(np.mean((truth - self._predict(unseen, trial)) ** 2)))
        return choices[int(np.argmin(errors))]

    def _teach(self, blocks: Blocks, y: Floats, stage: str) -> FM:
        s = self.settings
        teacher: FM = clone(s.teacher) if s.teacher is not None else FM(rank=16, solver="gibbs")
        teacher.set_params(
            interactions="cross" if s.cross else "all", n_jobs=s.threads, random_state=int(self._rng.integers(2**31))
        )

        def forward(item: Iteration) -> bool:
            self._stopped |= self.progress.forward(item, stage)
            return self._stopped

        return teacher.fit(blocks, y, callback=forward)

    def _study(self, blocks: Blocks, y: Floats, teacher: FM, scales: npt.NDArray[np.float64]) -> _Student:
        s = self.settings
        kind = RowAnchor if s.cross else FeatureAnchor
        anchor = kind(blocks, teacher_factors(teacher), s.bits, seed=s.seed, n_threads=s.threads)
        for number in range(1, s.max_iter + 1):
            flips = anchor.sweep(s.inner_iter)
            objective = anchor.objective()
            self._stopped |= self.progress.report("anchor", number, s.max_iter, objective, objective, flips)
            if self._stopped or flips <= _SETTLED * anchor.codes.size * 8:
                break
        return self._refit(blocks, y, teacher, anchor, scales)

    def _refit(
        self,
        blocks: Blocks,
        y: Floats,
        teacher: FM,
        anchor: RowAnchor | FeatureAnchor,
        scales: npt.NDArray[np.float64],
    ) -> _Student:
        """Fit weights and bias to what the codes leave, as tightly as the teacher's are held."""
        s = self.settings
        gains = anchor.gains * np.repeat(scales, [f.size for f in blocks.fields]).astype(np.float32)
        trainer: Any = make_trainer(blocks, y, None, cross=s.cross)
        weights, bias = teacher.weights_.astype(blocks.dtype), teacher.bias_
        ridge = weight_ridge(teacher, blocks, y)
        trainer.reset_codes(bias, weights, anchor.codes, gains, s.threads)
        for _ in range(_WEIGHT_SWEEPS):
            bias = trainer.sweep_weights(bias, weights, ridge, True, s.threads)
        return _Student(anchor, gains, weights, bias)

    def _predict(self, blocks: Blocks, student: _Student, gains: npt.NDArray[np.float32] | None = None) -> Floats:
        s = self.settings
        return _core.predict_codes(
            make_design(blocks, blocks.dtype),
            student.bias,
            student.weights,
            student.anchor.codes,
            student.gains if gains is None else gains,
            s.cross,
            s.threads,
        )


def teacher_factors(teacher: FM) -> npt.NDArray[np.float32]:
    """Return vectors whose inner products are what the teacher says of pairs: with draws, their mean."""
    if not hasattr(teacher, "samples_"):
        return np.ascontiguousarray(teacher.factors_, np.float32)
    factors = side_by_side(teacher.samples_)
    return np.asarray(factors / np.sqrt(len(teacher.samples_.biases)), np.float32)


def weight_ridge(teacher: FM, blocks: Blocks, y: Floats) -> npt.NDArray[np.float64]:
    """Return λ of each field's weights: the noise, over the mean square of the teacher's weights there."""
    if hasattr(teacher, "samples_"):
        noise = float(np.mean(1 / teacher.samples_.noise_precisions))
        squares = np.mean(np.square(teacher.samples_.weights, dtype=np.float64), axis=0)
    else:
        noise = float(np.mean((y - teacher.predict(blocks)) ** 2))
        squares = np.square(teacher.weights_, dtype=np.float64)
    seen = blocks.occurring()
    means = [squares[f.start : f.stop][seen[f.start : f.stop]] for f in blocks.fields]
    floor = 1e-6 * max(noise, 1e-300)
    return np.array([noise / max(float(np.mean(m)), floor) if len(m) else 1.0 for m in means])
