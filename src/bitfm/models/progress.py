"""What a fit tells while it runs, and how it stops."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isnan, nan

__all__ = ["Callback", "Iteration", "Progress"]


@dataclass(frozen=True)
class Iteration:
    """One iteration of a fit, as kept in ``fit_log_`` and handed to a callback.

    Attributes
    ----------
    stage : str
        What ran: ``"als"``, ``"sgd"``, ``"gibbs"``, ``"relaxed"``, ``"codes"`` or ``"weights"``. In a distillation:
        ``"pairs"`` (whether long texts of contexts need more than weights), ``"trial"`` (a teacher of a part of the
        data), ``"teacher"``, ``"distillation"`` (codes and gains fitted to
        it) or ``"codes"`` (codes fitted to the data as well); ``"trial-als"`` and ``"teacher-als"`` are the second of
        two teachers.
    number, total : int
        The iteration within its stage, from 1; and how many the stage runs at most.
    loss : float
        Σ weight × error², in the units of the targets, but of `DiscreteFM` in those that its codes are fitted in. In
        a distillation the squared distance to the teacher as a share of that without codes, and so is the objective.
    objective : float
        The loss with its penalties: what the solver lowers; of gibbs the mean loss of its chains.
    flips : int
        Bits that changed; 0 where there are none.
    validation : float
        RMSE on the validation part, or NaN without one.
    seconds : float
        Time the iteration took.
    """

    stage: str
    number: int
    total: int
    loss: float
    objective: float
    flips: int = 0
    validation: float = nan
    seconds: float = 0.0

    @property
    def activity(self) -> str:
        """What the stage does, in words: ``"learning bits"``."""
        return _ACTIVITIES.get(self.stage.removesuffix("-als"), self.stage)


_ACTIVITIES = {
    **dict.fromkeys(
        ("pairs", "trial", "regularization", "feature_strength", "ratio", "neighbors", "contexts"),
        "trying settings on a part",
    ),
    "weights": "learning weights",
    **dict.fromkeys(("teacher", "relaxed", "als", "gibbs"), "learning real factors"),
    **dict.fromkeys(("distillation", "codes"), "learning bits"),
}

Callback = Callable[[Iteration], object]


class Progress:
    """Collects the iterations of a fit, prints them if asked, and asks the callback whether to go on."""

    def __init__(self, verbose: int, callback: Callback | None) -> None:
        self.history: list[Iteration] = []
        self.unit = 1.0  # of the targets, in which `report` is told of errors
        self._verbose, self._callback = verbose, callback
        self._clock = time.perf_counter()

    def report(
        self,
        stage: str,
        number: int,
        total: int,
        loss: float,
        objective: float,
        flips: int = 0,
        validation: float = nan,
    ) -> bool:
        """Record an iteration; True if the callback wants the fit to stop (it returned True)."""
        seconds, square = time.perf_counter() - self._clock, self.unit**2
        values = loss * square, objective * square, flips, validation * self.unit
        return self._record(Iteration(stage, number, total, *values, seconds))

    def forward(self, item: Iteration, stage: str) -> bool:
        """Record an iteration of a model that is fitted on the way to this one, under another name."""
        return self._record(replace(item, stage=stage))

    def _record(self, item: Iteration) -> bool:
        self._clock = time.perf_counter()
        self.history.append(item)
        if self._verbose:
            extra = f"  flips {item.flips}" if item.stage in ("codes", "distillation") else ""
            extra += "" if isnan(item.validation) else f"  validation RMSE {item.validation:.4f}"
            values = f"objective {item.objective:.6g}  loss {item.loss:.6g}{extra}  {item.seconds:.2f} s"
            print(f"{item.stage:>8} {item.number:3d}/{item.total}  {values}", file=sys.stderr)
        return self._callback is not None and self._callback(item) is True

    def settled(self, tol: float) -> bool:
        """Whether the last iteration lowered its stage's objective by no more than this share."""
        if len(self.history) < 2 or self.history[-2].stage != self.history[-1].stage:
            return False
        before, now = self.history[-2].objective, self.history[-1].objective
        return before - now <= tol * abs(before)
