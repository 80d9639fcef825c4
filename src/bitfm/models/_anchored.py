"""The anchored objective: codes tied to a real-valued teacher, with what they are worth chosen on held-out ratings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from bitfm import _core
from bitfm.core import make_trainer
from bitfm.data.blocks import Blocks
from bitfm.models._anchor import FeatureAnchor, RowAnchor
from bitfm.models._teacher import Teaching, default_teacher, teacher_by_descent, teaching_of
from bitfm.models.base import Floats, check_finite
from bitfm.models.fm import FM
from bitfm.models.progress import Iteration, Progress

__all__ = ["AnchoredFit", "AnchoredSettings"]

_SETTLED = 0.01  # share of the bits that may still flip when the codes are done
_WEIGHT_SWEEPS, _MOST_WEIGHT_SWEEPS = 5, 50
_WEIGHTS_SETTLED = 1e-4  # share of the loss that a sweep may still take away when the weights are done
_SCALE_SPREAD = 0.3  # a field's scale is expected within this of 1
_STRENGTHS = (float("inf"), 10.0)  # λ to choose from, falling: less has never helped
_DATA_SWEEPS = 3


@dataclass(frozen=True)
class AnchoredSettings:
    """DiscreteFM's parameters, checked."""

    bits: int
    teacher: FM | None
    anchor: float | None  # λ; None: chosen
    shared_gains: bool
    validation_fraction: float
    max_iter: int
    inner_iter: int
    cross: bool
    seed: int
    threads: int


class _Choice(NamedTuple):
    """What the validation part decides: λ, and by how much to scale each field's gains."""

    strength: float
    scales: npt.NDArray[np.float64]


class _Student(NamedTuple):
    """Codes and gains by field, with the weights that go with them."""

    codes: npt.NDArray[np.uint8]
    gains: npt.NDArray[np.float32]
    weights: Floats
    bias: float


class AnchoredFit:
    """Fits a teacher, ties codes and gains to it, and refits the weights. Afterwards the teacher is not needed."""

    def __init__(self, blocks: Blocks, y: Floats, settings: AnchoredSettings, progress: Progress) -> None:
        self.settings, self.progress = settings, progress
        self._blocks, self._y = blocks, y
        self._rng = np.random.default_rng(settings.seed)
        self._stopped = False  # by the callback: what is left to do is done as briefly as can be, and not reported

    def run(self) -> _Student:
        """Return the model."""
        s = self.settings
        strength = s.anchor if s.anchor is not None else float("inf")
        choice = _Choice(strength, np.ones(len(self._blocks.fields)))
        lesson = None
        if s.teacher is not None and hasattr(s.teacher, "weights_"):
            said = teaching_of(s.teacher, self._blocks, self._y, cross=s.cross, seed=s.seed)
            lesson = _Lesson(self._blocks, self._y, said, s)
        else:
            held_out = self._rng.random(len(self._y)) < s.validation_fraction
            if held_out.any() and not held_out.all():
                choice, lesson = self._choose(held_out)
            if not self._stopped:  # else the trial is what there is
                lesson = None
        if lesson is None:
            lesson = self._teach(self._blocks, self._y, "teacher")
        anchor = self._study(lesson)
        self._study_data(lesson, anchor, choice.strength)
        return self._refit(lesson, anchor, choice.scales)

    def _choose(self, held_out: npt.NDArray[np.bool_]) -> tuple[_Choice, _Lesson]:
        """Fit to a part of the data, and find what predicts the rest best; return the part, too.

        Nothing is one of the choices: codes get no gains unless they predict better than the linear part alone, by
        more than one standard error of the difference.
        """
        s = self.settings
        unseen, truth = self._blocks[held_out], self._y[held_out]
        learnt, y = self._blocks[~held_out], self._y[~held_out]
        lesson = self._teach(learnt, y, "trial")
        anchor = self._study(lesson)

        def errors(student: _Student) -> Floats:
            return (truth - self._predict(unseen, student)) ** 2

        as_is = np.ones(len(learnt.fields))
        nothing = np.zeros_like(as_is)
        best, least = _Choice(float("inf"), nothing), (linear := errors(self._refit(lesson, anchor, nothing)))
        for strength in (float("inf"),) if not s.cross else _STRENGTHS if s.anchor is None else (s.anchor,):
            self._study_data(lesson, anchor, strength)
            student = self._refit(lesson, anchor, as_is)
            left = truth - self._predict(unseen, student._replace(gains=np.zeros_like(student.gains)))
            fitted = anchor.fit_scales(unseen, left, spread=_SCALE_SPREAD)
            for scales, candidate in ((fitted, self._refit(lesson, anchor, fitted)), (as_is, student)):
                squares = errors(candidate)
                if squares.mean() < least.mean():
                    best, least = _Choice(strength, scales), squares
        saved = linear - least
        if len(saved) < 2 or saved.mean() < saved.std(ddof=1) / np.sqrt(len(saved)):
            best = _Choice(float("inf"), nothing)
        return best, lesson

    def _teach(self, blocks: Blocks, y: Floats, stage: str) -> _Lesson:
        """Fit a teacher: the one asked for, or by default two that are better together."""
        s = self.settings
        own = s.teacher is None
        teacher: FM = default_teacher(blocks, trial=stage == "trial") if own else clone(s.teacher)
        teacher.set_params(
            pairs="across" if s.cross else "all", n_jobs=s.threads, random_state=int(self._rng.integers(2**31))
        )
        teacher.fit(blocks, y, callback=self._forward(stage))
        said = teaching_of(teacher, blocks, y, cross=s.cross, seed=s.seed)
        del teacher  # its draws are large
        if own and not self._stopped:
            callback = self._forward(f"{stage}-als")
            other = teacher_by_descent(blocks, y, cross=s.cross, seed=s.seed, n_threads=s.threads, callback=callback)
            said = said.averaged_with(other)
        return _Lesson(blocks, y, said, s)

    def _forward(self, stage: str) -> Callable[[Iteration], bool]:
        """Return a callback for a teacher's fit."""

        def forward(item: Iteration) -> bool:
            self._stopped = self._stopped or self.progress.forward(item, stage)
            return self._stopped

        return forward

    def _report(self, *told: Any) -> None:
        self._stopped = self._stopped or self.progress.report(*told)

    def _study(self, lesson: _Lesson) -> RowAnchor | FeatureAnchor:
        """Fit codes and gains to the teacher."""
        s = self.settings
        given = lesson.blocks, lesson.factors, s.bits
        with np.errstate(over="ignore", invalid="ignore"):  # told below
            anchor: RowAnchor | FeatureAnchor
            if s.cross:
                anchor = RowAnchor(*given, shared_gains=s.shared_gains, seed=s.seed, n_threads=s.threads)
            else:
                anchor = FeatureAnchor(*given, seed=s.seed, n_threads=s.threads)
        check_finite("anchor", 0, float(np.sum(anchor.gains)))
        for number in range(1, s.max_iter + 1):
            with np.errstate(over="ignore", invalid="ignore"):
                flips, objective = anchor.sweep(s.inner_iter), anchor.objective()
            check_finite("anchor", number, objective)
            self._report("anchor", number, s.max_iter, objective, objective, flips)
            if self._stopped or flips <= _SETTLED * anchor.codes.size * 8:
                break
        return anchor

    def _study_data(self, lesson: _Lesson, anchor: RowAnchor | FeatureAnchor, strength: float) -> None:
        """Fit the codes to the data as well, if λ is finite."""
        s = self.settings
        if not np.isfinite(strength) or self._stopped or not isinstance(anchor, RowAnchor):
            return
        trainer, weights, bias, ridge = lesson.open(anchor.codes, anchor.gains)
        penalty = np.repeat(ridge, [f.size for f in lesson.blocks.fields])
        for number in range(1, _DATA_SWEEPS + 1):
            bias = trainer.sweep_weights(bias, weights, ridge, True, s.threads)
            flips = anchor.sweep_with_data(trainer, strength, s.inner_iter)
            loss = trainer.loss(s.threads)
            held = strength * len(lesson.y) * anchor.disagreement()[0]
            objective = loss + held + float(np.sum(penalty * np.square(weights, dtype=np.float64)))
            self._report("codes", number, _DATA_SWEEPS, loss, objective, flips)
            if self._stopped or not flips:
                break

    def _refit(self, lesson: _Lesson, anchor: RowAnchor | FeatureAnchor, scales: npt.NDArray[np.float64]) -> _Student:
        """Fit weights and bias to what the codes leave."""
        s = self.settings
        sizes = [f.size for f in lesson.blocks.fields]
        gains = anchor.gains * np.repeat(scales, sizes).astype(np.float32)
        trainer, weights, bias, ridge = lesson.open(anchor.codes, gains)
        loss = float("inf")
        for number in range(1, _MOST_WEIGHT_SWEEPS + 1):
            bias = trainer.sweep_weights(bias, weights, ridge, True, s.threads)
            before, loss = loss, trainer.loss(s.threads)
            if number >= _WEIGHT_SWEEPS and before - loss <= _WEIGHTS_SETTLED * before:
                break
        return _Student(anchor.codes, gains, weights, bias)

    def _predict(self, blocks: Blocks, student: _Student) -> Floats:
        s = self.settings
        codes, gains, weights, bias = student
        design = blocks.design()
        return _core.predict_codes(design, bias, weights, codes, gains, s.cross, s.threads)


class _Lesson:
    """Data and a teacher fitted to them: what codes learn from."""

    def __init__(self, blocks: Blocks, y: Floats, said: Teaching, settings: AnchoredSettings) -> None:
        self.blocks, self.y, self._settings = blocks, y, settings
        self.factors, self._weights, self._bias, self._ridge = said
        self._trainer: Any = None

    def open(
        self, codes: npt.NDArray[np.uint8], gains: npt.NDArray[np.float32]
    ) -> tuple[Any, Floats, float, npt.NDArray[np.float64]]:
        """Return a trainer at these codes and about the teacher's weights; weights, bias; the weights' λ by field."""
        s = self._settings
        if self._trainer is None:
            self._trainer = make_trainer(self.blocks.design(), self.y, None, across=s.cross)
        weights, bias = self._weights.astype(self.blocks.dtype), self._bias
        self._trainer.reset_codes(bias, weights, codes, gains, s.threads)
        if not self._trainer.loss(s.threads) <= len(self.y) * np.var(self.y):  # the teacher is lost
            weights, bias = np.zeros_like(weights), float(np.mean(self.y))
            self._trainer.reset_codes(bias, weights, codes, gains, s.threads)
        return self._trainer, weights, bias, self._ridge
