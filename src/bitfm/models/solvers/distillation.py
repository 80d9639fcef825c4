"""Distillation: codes that reproduce a teacher's scores, with λ and the gains' scales chosen on held-out ratings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from bitfm.core import make_trainer, release_memory
from bitfm.data.blocks import Blocks
from bitfm.models.base import Floats, check_finite
from bitfm.models.fm import FM
from bitfm.models.progress import Iteration, Progress
from bitfm.models.solvers.held_out import HeldOutPart, Verdict
from bitfm.models.solvers.teacher import (
    HEAVY,
    TeacherParameters,
    default_teacher,
    teacher_by_descent,
    teacher_by_draws,
    teacher_parameters,
)
from bitfm.models.solvers.teacher_distance import Codes, FeatureDistillation, RowDistillation, no_codes
from bitfm.models.solvers.weights_alone import WeightsAlone, settle_weights, weights_alone
from bitfm.parameters import CodeParameters

__all__ = ["DistillationFit"]

_SETTLED = 0.01  # share of the bits that may still flip when the codes are done
_SCALE_SPREAD = 0.3  # a field's scale is expected within this of 1
_STRENGTHS = (float("inf"), 10.0)  # λ to choose from, falling: less has never helped
# Of weights without codes, times the teacher's, which are too weak where there is little to learn; histories have none.
_PENALTIES, _NO_WEIGHTS = (1.0, 3.0, 10.0), 1000.0
_DATA_SWEEPS = 3
_MOST_ROWS = 1 << 14  # of contexts, which may be as many as interactions: so many tell enough


Distillation: TypeAlias = RowDistillation | FeatureDistillation


class _Choice(NamedTuple):
    """What the validation part decides: λ, by how much to scale each field's gains, and the weights' penalties."""

    strength: float
    scales: npt.NDArray[np.float64]
    penalties: npt.NDArray[np.float64] | float = 1.0  # times the teacher's


@dataclass
class DistillationFit:
    """Fits a teacher, then codes and gains to its scores, then the weights. Afterwards the teacher is not needed."""

    blocks: Blocks
    y: Floats
    progress: Progress
    bits: int
    teacher: FM | None
    strength: float | None  # λ; None: chosen
    shared_gains: bool
    validation_fraction: float
    max_iter: int
    inner_iter: int
    across: bool
    seed: int
    threads: int

    def __post_init__(self) -> None:
        self._rng, self._pairs = np.random.default_rng(self.seed), "across" if self.across else "all"
        self._middle = float(np.mean(self.y))
        self.y = self.y - self._middle  # what is far from 0 leaves few digits to single precision
        self._stopped = False  # by the callback: what is left to do is done as briefly as can be, and not reported
        self._heavy = self.blocks.n_entries > HEAVY
        self._set_aside: WeightsAlone | None = None

    def run(self) -> CodeParameters:
        """Return the model."""
        choice, view = self._decide()
        release_memory()  # of the trial
        codes: Distillation | Codes
        if choice.scales.any() or view is None:
            view = view or self._fit_teacher(self.blocks, self.y, "teacher")
            codes = self._fit_codes(view)
            self._fit_codes_to_data(view, codes, choice.strength)
        else:  # nothing to teach: the trial's penalties are all that a teacher is needed for
            codes = no_codes(view.teacher.factors, self.bits, self.seed, self.threads)
            view = _TrainingView(self.blocks, self.y, view.teacher, self.across, self.threads)
        fitted = self._fit_weights(view, codes, choice)
        fitted = replace(fitted, bias=fitted.bias + self._middle)
        return fitted if self._set_aside is None else self._set_aside.joined(fitted)

    def _decide(self) -> tuple[_Choice, _TrainingView | None]:
        """Return what to fit, and the view to fit it to if there is one."""
        strength = self.strength if self.strength is not None else float("inf")
        choice = _Choice(strength, np.ones(len(self.blocks.fields)))
        if self.teacher is not None and hasattr(self.teacher, "weights_"):
            y = self.y + self._middle
            parameters = teacher_parameters(self.teacher, self.blocks, y, across=self.across, seed=self.seed)
            parameters = parameters._replace(bias=parameters.bias - self._middle)
            return choice, _TrainingView(self.blocks, self.y, parameters, self.across, self.threads)
        held_out = self._rng.random(len(self.y)) < self.validation_fraction
        if held_out.all() or not held_out.any():
            return choice, None
        y = self._y_of_trial(held_out)
        choice, trial = self._choose(held_out, y)
        # A trial is what there is if the fit was stopped, and enough if there are no codes.
        return choice, trial if self._stopped or not choice.scales.any() else None

    def _y_of_trial(self, held_out: npt.NDArray[np.bool_]) -> Floats:
        """Set aside what weights alone will do for; return the targets of a trial, less what these weights tell."""
        if self.teacher is None and self.across:
            self._set_aside = weights_alone(
                self.blocks, self.y, held_out, seed=self.seed, n_threads=self.threads, report=self._report_pairs
            )
            release_memory()
        if self._set_aside is None:
            return self.y
        y = self.y - self._set_aside.scores(trial=True)
        self.blocks, self.y = self._set_aside.others, self.y - self._set_aside.scores()
        return y

    def _choose(self, held_out: npt.NDArray[np.bool_], y: Floats) -> tuple[_Choice, _TrainingView]:
        """Fit to a part of the data, and choose what predicts the rest best; return the view of the part as well."""
        part, learnt = HeldOutPart(self.blocks[held_out], y[held_out], self.threads), self.blocks[~held_out]
        view = self._fit_teacher(learnt, y[~held_out], "trial")
        plain, linear, as_taught = self._choose_penalties(view, part)
        codes, as_is, best, least = self._fit_codes(view), np.ones(len(learnt.fields)), plain, linear
        strengths = _STRENGTHS if self.strength is None else (self.strength,)
        by_teacher_alone = not isinstance(codes, RowDistillation) or codes.sampled
        for strength in strengths if not by_teacher_alone else (float("inf"),):
            self._fit_codes_to_data(view, codes, strength)
            unscaled = self._fit_weights(view, codes, _Choice(strength, as_is))
            left = part.y - part.scores(replace(unscaled, gains=np.zeros_like(unscaled.gains)))
            fitted = codes.fit_scales(part.blocks, left, spread=_SCALE_SPREAD)
            for scales in (fitted, as_is):
                choice = _Choice(strength, scales)
                found = part.judge(part.scores(self._fit_weights(view, codes, choice)))
                if best is plain or found.error < least.error:
                    best, least = choice, found
        return best if least.is_better_than(as_taught) and not linear.is_better_than(least) else plain, view

    def _choose_penalties(self, view: _TrainingView, part: HeldOutPart) -> tuple[_Choice, Verdict, Verdict]:
        """Choose how to fit weights if there are no codes: as the teacher would, or about as biases alone.

        Return the choice, what it is worth, and what the teacher's penalties are worth.
        """
        n_fields, codes = len(view.blocks.fields), no_codes(view.teacher.factors, self.bits, self.seed, self.threads)
        penalties = [np.where(_seen(view.blocks), _NO_WEIGHTS, penalty) for penalty in _PENALTIES]
        choices = [_Choice(float("inf"), np.zeros(n_fields), of) for of in (np.ones(n_fields), *penalties)]
        verdicts = [part.judge(part.scores(self._fit_weights(view, codes, choice))) for choice in choices]
        best = 0
        for other in range(1, len(choices)):
            best = other if verdicts[other].is_better_than(verdicts[best]) else best
        return choices[best], verdicts[best], verdicts[0]

    def _fit_teacher(self, blocks: Blocks, y: Floats, stage: str) -> _TrainingView:
        """Fit a teacher: the one asked for, or by default two that are better together."""
        own, seed = self.teacher is None, int(self._rng.integers(2**31))
        teacher: FM = default_teacher(trial=stage == "trial", heavy=self._heavy) if own else clone(self.teacher)
        teacher.set_params(pairs=self._pairs, n_jobs=self.threads, random_state=seed)
        callback = partial(self._forward, stage)
        if not own:
            teacher.fit(blocks, y, callback=callback)
            parameters = teacher_parameters(teacher, blocks, y, across=self.across, seed=self.seed)
        else:
            parameters = teacher_by_draws(teacher, blocks, y, across=self.across, seed=self.seed, callback=callback)
        del teacher  # its draws are large
        release_memory()
        if own and not self._stopped:
            callback = partial(self._forward, f"{stage}-als")
            other = teacher_by_descent(
                blocks, y, across=self.across, seed=self.seed, n_threads=self.threads, callback=callback
            )
            parameters = parameters.averaged_with(other)
            del other
            release_memory()
        return _TrainingView(blocks, y, parameters, self.across, self.threads)

    def _forward(self, stage: str, item: Iteration) -> bool:
        """Report an iteration of a teacher's fit; whether to stop it."""
        self._stopped = self._stopped or self.progress.forward(item, stage)
        return self._stopped

    def _report_pairs(self, number: int, total: int, loss: float) -> bool:
        self._report("pairs", number, total, loss, loss)
        return self._stopped

    def _report(self, *iteration: Any) -> None:
        self._stopped = self._stopped or self.progress.report(*iteration)

    def _fit_codes(self, view: _TrainingView) -> Distillation:
        """Fit codes and gains to the teacher."""
        # Codes that are fitted to the data as well need all rows.
        most_rows = _MOST_ROWS if self.strength in (None, float("inf")) else None
        by_rows = partial(RowDistillation, shared_gains=self.shared_gains, most_rows=most_rows)
        make: Any = by_rows if self.across else FeatureDistillation
        with np.errstate(over="ignore", invalid="ignore"):  # checked below
            factors = view.teacher.factors
            distillation: Distillation = make(view.blocks, factors, self.bits, seed=self.seed, n_threads=self.threads)
        check_finite("distillation", 0, float(np.sum(distillation.gains)))
        for number in range(1, self.max_iter + 1):
            with np.errstate(over="ignore", invalid="ignore"):
                flips, objective = distillation.sweep(self.inner_iter), distillation.objective()
            check_finite("distillation", number, objective)
            self._report("distillation", number, self.max_iter, objective, objective, flips)
            if self._stopped or flips <= _SETTLED * distillation.codes.size * 8:
                break
        return distillation

    def _fit_codes_to_data(self, view: _TrainingView, distillation: Distillation, strength: float) -> None:
        """Fit the codes to the data as well, if λ is finite."""
        if not np.isfinite(strength) or self._stopped or not isinstance(distillation, RowDistillation):
            return
        (trainer, weights, bias), ridge = view.open(distillation.codes, distillation.gains), view.teacher.ridge
        penalty = np.repeat(ridge, [f.size for f in view.blocks.fields])
        for number in range(1, _DATA_SWEEPS + 1):
            bias = trainer.sweep_weights(bias, weights, ridge, True, self.threads)
            flips = distillation.sweep_with_data(trainer, strength, self.inner_iter)
            loss = trainer.loss(self.threads)
            distance = strength * len(view.y) * distillation.distance()[0]
            objective = loss + distance + float(np.sum(penalty * np.square(weights, dtype=np.float64)))
            self._report("codes", number, _DATA_SWEEPS, loss, objective, flips)
            if self._stopped or not flips:
                break

    def _fit_weights(self, view: _TrainingView, found: Distillation | Codes, choice: _Choice) -> CodeParameters:
        """Fit weights and bias to what the codes leave."""
        sizes = [f.size for f in view.blocks.fields]
        gains = found.gains * np.repeat(choice.scales, sizes).astype(np.float32)
        trainer, weights, bias = view.open(found.codes, gains)
        bias = settle_weights(trainer, bias, weights, view.teacher.ridge * choice.penalties, self.threads)
        return CodeParameters(view.blocks.fields, bias, weights, found.codes, gains, self._pairs)


@dataclass
class _TrainingView:
    """Data and a teacher fitted to them, which codes are fitted to."""

    blocks: Blocks
    y: Floats
    teacher: TeacherParameters
    across: bool
    threads: int

    @cached_property
    def _trainer(self) -> Any:
        return make_trainer(self.blocks.design(), self.y, None, across=self.across)

    def open(self, codes: npt.NDArray[np.uint8], gains: npt.NDArray[np.float32]) -> tuple[Any, Floats, float]:
        """Return a trainer at these codes and about the teacher's weights; weights and bias."""
        weights, bias = self.teacher.weights.astype(self.blocks.dtype), self.teacher.bias
        self._trainer.reset_codes(bias, weights, codes, gains, self.threads)
        if not self._trainer.loss(self.threads) <= len(self.y) * np.var(self.y):  # the teacher is worse than the mean
            weights, bias = np.zeros_like(weights), float(np.mean(self.y))
            self._trainer.reset_codes(bias, weights, codes, gains, self.threads)
        return self._trainer, weights, bias


def _seen(blocks: Blocks) -> npt.NDArray[np.bool_]:
    """Return of each field whether it is a history, or raters: whether its columns are the rows of another block."""
    rows = {name: block.n_rows for name, block in blocks.blocks.items()}
    return np.array([
        not table.identity and any(table.n_columns == n for other, n in rows.items() if other != name)
        for name, block in blocks.blocks.items()
        for table in block.tables.values()
    ])  # fmt: skip
