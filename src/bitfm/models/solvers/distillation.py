"""Distillation: codes that reproduce a teacher's scores, with λ and the gains' scales chosen on held-out ratings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from bitfm.core import make_trainer
from bitfm.data.blocks import Blocks
from bitfm.models.base import Floats, check_finite
from bitfm.models.fm import FM
from bitfm.models.progress import Iteration, Progress
from bitfm.models.solvers.teacher import TeacherParameters, default_teacher, teacher_by_descent, teacher_parameters
from bitfm.models.solvers.teacher_distance import FeatureDistillation, RowDistillation
from bitfm.parameters import CodeParameters

__all__ = ["DistillationFit", "DistillationSettings"]

_SETTLED = 0.01  # share of the bits that may still flip when the codes are done
_WEIGHT_SWEEPS, _MOST_WEIGHT_SWEEPS = 5, 50
_WEIGHTS_SETTLED = 1e-4  # share of the loss that a sweep may still take away when the weights are done
_SCALE_SPREAD = 0.3  # a field's scale is expected within this of 1
_STRENGTHS = (float("inf"), 10.0)  # λ to choose from, falling: less has never helped
_DATA_SWEEPS = 3


@dataclass(frozen=True)
class DistillationSettings:
    """DistilledFM's parameters, checked."""

    bits: int
    teacher: FM | None
    anchor_strength: float | None  # λ; None: chosen
    shared_gains: bool
    validation_fraction: float
    max_iter: int
    inner_iter: int
    across: bool
    seed: int
    threads: int


Distillation: TypeAlias = RowDistillation | FeatureDistillation


class _Choice(NamedTuple):
    """What the validation part decides: λ, and by how much to scale each field's gains."""

    strength: float
    scales: npt.NDArray[np.float64]


class DistillationFit:
    """Fits a teacher, then codes and gains to its scores, then the weights. Afterwards the teacher is not needed."""

    def __init__(self, blocks: Blocks, y: Floats, settings: DistillationSettings, progress: Progress) -> None:
        self.settings, self.progress, self._blocks, self._y = settings, progress, blocks, y
        self._rng = np.random.default_rng(settings.seed)
        self._stopped = False  # by the callback: what is left to do is done as briefly as can be, and not reported

    def run(self) -> CodeParameters:
        """Return the model."""
        s, view = self.settings, None
        strength = s.anchor_strength if s.anchor_strength is not None else float("inf")
        choice = _Choice(strength, np.ones(len(self._blocks.fields)))
        if s.teacher is not None and hasattr(s.teacher, "weights_"):
            parameters = teacher_parameters(s.teacher, self._blocks, self._y, across=s.across, seed=s.seed)
            view = _TrainingView(self._blocks, self._y, parameters, s)
        else:
            held_out = self._rng.random(len(self._y)) < s.validation_fraction
            if held_out.any() and not held_out.all():
                choice, view = self._choose(held_out)
                view = view if self._stopped else None  # the trial is what there is, or of no more use
        view = view or self._fit_teacher(self._blocks, self._y, "teacher")
        distillation = self._fit_codes(view)
        self._fit_codes_to_data(view, distillation, choice.strength)
        return self._fit_weights(view, distillation, choice.scales)

    def _choose(self, held_out: npt.NDArray[np.bool_]) -> tuple[_Choice, _TrainingView]:
        """Fit to a part of the data, and choose what predicts the rest best; return the view of the part as well.

        No codes at all is one of the choices: gains are 0 unless codes predict better than the linear part alone, by
        more than one standard error of the difference.
        """
        s = self.settings
        unseen, truth = self._blocks[held_out], self._y[held_out]
        learnt, y = self._blocks[~held_out], self._y[~held_out]
        view = self._fit_teacher(learnt, y, "trial")
        distillation = self._fit_codes(view)

        def errors(parameters: CodeParameters) -> Floats:
            return np.asarray((truth - parameters.scores(unseen.design(), s.threads)) ** 2)

        as_is, nothing = np.ones(len(learnt.fields)), np.zeros(len(learnt.fields))
        best, least = _Choice(float("inf"), nothing), (linear := errors(self._fit_weights(view, distillation, nothing)))
        strengths = _STRENGTHS if s.anchor_strength is None else (s.anchor_strength,)
        for strength in strengths if s.across else (float("inf"),):
            self._fit_codes_to_data(view, distillation, strength)
            unscaled = self._fit_weights(view, distillation, as_is)
            linear_part = replace(unscaled, gains=np.zeros_like(unscaled.gains))
            left = truth - linear_part.scores(unseen.design(), s.threads)
            fitted = distillation.fit_scales(unseen, left, spread=_SCALE_SPREAD)
            for scales, candidate in ((fitted, self._fit_weights(view, distillation, fitted)), (as_is, unscaled)):
                squares = errors(candidate)
                if squares.mean() < least.mean():
                    best, least = _Choice(strength, scales), squares
        saved = linear - least
        if len(saved) < 2 or saved.mean() < saved.std(ddof=1) / np.sqrt(len(saved)):
            best = _Choice(float("inf"), nothing)
        return best, view

    def _fit_teacher(self, blocks: Blocks, y: Floats, stage: str) -> _TrainingView:
        """Fit a teacher: the one asked for, or by default two that are better together."""
        s = self.settings
        own, pairs, seed = s.teacher is None, "across" if s.across else "all", int(self._rng.integers(2**31))
        teacher: FM = default_teacher(blocks, trial=stage == "trial") if own else clone(s.teacher)
        teacher.set_params(pairs=pairs, n_jobs=s.threads, random_state=seed)
        teacher.fit(blocks, y, callback=partial(self._forward, stage))
        parameters = teacher_parameters(teacher, blocks, y, across=s.across, seed=s.seed)
        del teacher  # its draws are large
        if own and not self._stopped:
            callback = partial(self._forward, f"{stage}-als")
            other = teacher_by_descent(blocks, y, across=s.across, seed=s.seed, n_threads=s.threads, callback=callback)
            parameters = parameters.averaged_with(other)
        return _TrainingView(blocks, y, parameters, s)

    def _forward(self, stage: str, item: Iteration) -> bool:
        """Report an iteration of a teacher's fit; whether to stop it."""
        self._stopped = self._stopped or self.progress.forward(item, stage)
        return self._stopped

    def _report(self, *iteration: Any) -> None:
        self._stopped = self._stopped or self.progress.report(*iteration)

    def _fit_codes(self, view: _TrainingView) -> Distillation:
        """Fit codes and gains to the teacher."""
        s, teacher = self.settings, (view.blocks, view.factors)
        with np.errstate(over="ignore", invalid="ignore"):  # checked below
            how: Any = {"seed": s.seed, "n_threads": s.threads} | ({"shared_gains": s.shared_gains} if s.across else {})
            distillation: Distillation = (RowDistillation if s.across else FeatureDistillation)(*teacher, s.bits, **how)
        check_finite("distillation", 0, float(np.sum(distillation.gains)))
        for number in range(1, s.max_iter + 1):
            with np.errstate(over="ignore", invalid="ignore"):
                flips, objective = distillation.sweep(s.inner_iter), distillation.objective()
            check_finite("distillation", number, objective)
            self._report("distillation", number, s.max_iter, objective, objective, flips)
            if self._stopped or flips <= _SETTLED * distillation.codes.size * 8:
                break
        return distillation

    def _fit_codes_to_data(self, view: _TrainingView, distillation: Distillation, strength: float) -> None:
        """Fit the codes to the data as well, if λ is finite."""
        s = self.settings
        if not np.isfinite(strength) or self._stopped or not isinstance(distillation, RowDistillation):
            return
        trainer, weights, bias, ridge = view.open(distillation.codes, distillation.gains)
        penalty = np.repeat(ridge, [f.size for f in view.blocks.fields])
        for number in range(1, _DATA_SWEEPS + 1):
            bias = trainer.sweep_weights(bias, weights, ridge, True, s.threads)
            flips = distillation.sweep_with_data(trainer, strength, s.inner_iter)
            loss = trainer.loss(s.threads)
            distance = strength * len(view.y) * distillation.distance()[0]
            objective = loss + distance + float(np.sum(penalty * np.square(weights, dtype=np.float64)))
            self._report("codes", number, _DATA_SWEEPS, loss, objective, flips)
            if self._stopped or not flips:
                break

    def _fit_weights(
        self, view: _TrainingView, distillation: Distillation, scales: npt.NDArray[np.float64]
    ) -> CodeParameters:
        """Fit weights and bias to what the codes leave."""
        s, sizes, loss = self.settings, [f.size for f in view.blocks.fields], float("inf")
        gains = distillation.gains * np.repeat(scales, sizes).astype(np.float32)
        trainer, weights, bias, ridge = view.open(distillation.codes, gains)
        for number in range(1, _MOST_WEIGHT_SWEEPS + 1):
            bias = trainer.sweep_weights(bias, weights, ridge, True, s.threads)
            before, loss = loss, trainer.loss(s.threads)
            if number >= _WEIGHT_SWEEPS and before - loss <= _WEIGHTS_SETTLED * before:
                break
        pairs = "across" if s.across else "all"
        return CodeParameters(view.blocks.fields, bias, weights, distillation.codes, gains, pairs)


class _TrainingView:
    """Data and a teacher fitted to them, which codes are fitted to."""

    def __init__(self, blocks: Blocks, y: Floats, teacher: TeacherParameters, settings: DistillationSettings) -> None:
        self.blocks, self.y, self._settings = blocks, y, settings
        self.factors, self._weights, self._bias, self._ridge = teacher
        self._trainer: Any = None

    def open(
        self, codes: npt.NDArray[np.uint8], gains: npt.NDArray[np.float32]
    ) -> tuple[Any, Floats, float, npt.NDArray[np.float64]]:
        """Return a trainer at these codes and about the teacher's weights; weights, bias; the weights' λ by field."""
        s = self._settings
        if self._trainer is None:
            self._trainer = make_trainer(self.blocks.design(), self.y, None, across=s.across)
        weights, bias = self._weights.astype(self.blocks.dtype), self._bias
        self._trainer.reset_codes(bias, weights, codes, gains, s.threads)
        if not self._trainer.loss(s.threads) <= len(self.y) * np.var(self.y):  # the teacher is worse than the mean
            weights, bias = np.zeros_like(weights), float(np.mean(self.y))
            self._trainer.reset_codes(bias, weights, codes, gains, s.threads)
        return self._trainer, weights, bias, self._ridge
