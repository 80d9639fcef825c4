"""A data set on the bench: what its jobs share, and how fits are timed and scored."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
from bitfm.data.blocks import Blocks
from bitfm.evaluation import PerUser, ndcg_per_user, rmse
from bitfm.models import FM

from bitfm_research.bench.datasets import Split
from bitfm_research.paper.methods import METHODS
from bitfm_research.paper.names import KS, PARTS, plain
from bitfm_research.paper.parts import parts_of_scores
from bitfm_research.paper.plan import Plan
from bitfm_research.paper.results import Measure, Results
from bitfm_research.paper.user_scores import UserScores

__all__ = ["Bench"]

Fields = tuple[str, ...]


@dataclass
class Bench:
    """A data set, its blocks, the results so far, and the fitted FMs of one seed that teach the codes."""

    plan: Plan
    split: Split
    results: Results
    users: UserScores
    _blocks: dict[tuple[str, Fields], Blocks] = field(default_factory=dict)
    _teachers: dict[tuple[Fields, int], tuple[FM, float]] = field(default_factory=dict)
    _making: Lock = field(default_factory=Lock)  # jobs run beside each other, and want the same
    _teaching: Lock = field(default_factory=Lock)

    def blocks(self, part: str, fields: Fields) -> Blocks:
        """Return the interactions of a part."""
        key = part, fields
        with self._making:
            if key not in self._blocks:
                self._blocks[key] = self.split.blocks(part, fields)
            return self._blocks[key]

    def fit(self, model: Any, fields: Fields) -> Any:
        """Fit a model to the training part."""
        return model.fit(self.blocks("train", fields), self.split.train[2])

    def timed_fit(self, model: Any, fields: Fields) -> tuple[Any, float]:
        """Fit a model, and say how many seconds it took."""
        begin = time.perf_counter()
        return self.fit(model, fields), time.perf_counter() - begin

    def teacher(self, fields: Fields, seed: int) -> tuple[FM, float]:
        """Return the Bayesian FM and the seconds of its fit: fitted once, it teaches codes of every length."""
        key = fields, seed
        with self._teaching:
            if key not in self._teachers:
                self._teachers = {k: it for k, it in self._teachers.items() if k[1] == seed}  # its draws take memory
                fm = METHODS["FM, Gibbs"].make(self.split, 0, seed)
                self._teachers[key] = self.timed_fit(fm, fields)
            return self._teachers[key]

    def measured(
        self, label: str, bits: int | None, seed: int, model: Any, fields: Fields, seconds: float
    ) -> list[Measure]:
        """Score the test part by a fitted model, and by the parts of its scores if it is DFM."""
        X = self.blocks("test", fields)
        scores = model.predict(X)
        measures = self.scored(label, bits, seed, scores, seconds)
        if plain(label) == "DFM, paper":
            suffix = label.removeprefix("DFM, paper")
            for part, alone in zip(PARTS, parts_of_scores(model, X, scores), strict=False):
                measures += self.scored(part + suffix, bits, seed, alone, seconds)
        return measures

    def scored(
        self, label: str, bits: int | None, seed: int, scores: npt.NDArray[np.float64], seconds: float
    ) -> list[Measure]:
        """Return what scores of the test part are worth, and keep the NDCG of every user."""
        users, _, truth = self.split.test
        each = ndcg_per_user(users, truth, scores, KS)
        error = Measure(self.split.name, label, bits, seed, "RMSE", None, rmse(truth, scores))
        return [*self.kept(label, bits, seed, each, seconds), error]

    def kept(self, label: str, bits: int | None, seed: int, each: PerUser, seconds: float) -> list[Measure]:
        """Keep the NDCG of every user, and return its means and an interval."""
        self.users.add(self.split.name, label, bits, seed, each)
        low, high = PerUser(each.users, each.values[:, -1]).interval()

        def measure(metric: str, k: int | None, value: float) -> Measure:
            return Measure(self.split.name, label, bits, seed, metric, k, float(value))

        return [
            *(measure("NDCG", k, value) for k, value in zip(KS, np.atleast_1d(each.mean()), strict=True)),
            measure("NDCG low", 10, float(low)),
            measure("NDCG high", 10, float(high)),
            measure("seconds", None, seconds),
        ]

    def fitted_and_measured(self, label: str, bits: int | None, seed: int, model: Any, fields: Fields) -> list[Measure]:
        """Fit a model and score it."""
        fitted, seconds = self.timed_fit(model, fields)
        return self.measured(label, bits, seed, fitted, fields, seconds)
