"""All experiments, one job after another; what has been measured before is not measured again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from bitfm.data.blocks import Blocks
from bitfm.evaluation import ndcg_per_user, rmse
from bitfm.models import FM, DiscreteFM
from bitfm.validation import check_bits, check_choice

from bitfm_research.bench.datasets import Split
from bitfm_research.paper.datasets import ITEM_FIELDS, NAMES, find_data, load_split, sampled
from bitfm_research.paper.methods import METHODS, Method
from bitfm_research.paper.names import BITS, FEATURES, KS, PARTS, WITH_IDS, plain
from bitfm_research.paper.parts import parts_of_scores
from bitfm_research.paper.results import Measure, Results
from bitfm_research.paper.testing_time import testing_times

__all__ = ["Plan", "run"]

_STRENGTHS = (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)  # of figure 2: β, and λ of libFM
_QUICK_STRENGTHS = (0.0, 1e-2, 1.0, 100.0)
_QUICK_USERS, _QUICK_BITS = 600, (8, 64)


@dataclass(frozen=True)
class Plan:
    """What to run."""

    data: Path  # the folder of the data sets, or of the paper's two
    datasets: tuple[str, ...] = ()  # by default all that are there
    methods: tuple[str, ...] = ()  # by default all
    bits: tuple[int, ...] = ()  # by default the paper's code lengths
    seed: int = 0
    quick: bool = False  # a first look: some of the users, two code lengths, fewer settings

    def __post_init__(self) -> None:
        for kind, given, known in (("dataset", self.datasets, NAMES), ("method", self.methods, METHODS)):
            for name in given:
                check_choice(kind, name, tuple(known))
        for bits in self.bits:
            check_bits(bits)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The code lengths."""
        return self.bits or (_QUICK_BITS if self.quick else BITS)

    @property
    def strengths(self) -> tuple[float, ...]:
        """The settings of figure 2."""
        return _QUICK_STRENGTHS if self.quick else _STRENGTHS

    def chosen(self, method: str) -> bool:
        """Whether a method is to be run."""
        return not self.methods or method in self.methods


@dataclass
class _Bench:
    """A data set, and what several jobs share: its blocks, and the fitted FM that teaches the codes."""

    plan: Plan
    split: Split
    _blocks: dict[tuple[str, tuple[str, ...]], Blocks] = field(default_factory=dict)
    _teachers: dict[tuple[str, ...], tuple[FM, float]] = field(default_factory=dict)

    def blocks(self, part: str, fields: tuple[str, ...]) -> Blocks:
        key = part, fields
        if key not in self._blocks:
            self._blocks[key] = self.split.blocks(part, fields)
        return self._blocks[key]

    def fit(self, model: Any, fields: tuple[str, ...]) -> Any:
        return model.fit(self.blocks("train", fields), self.split.train[2])

    def timed_fit(self, model: Any, fields: tuple[str, ...]) -> tuple[Any, float]:
        begin = time.perf_counter()
        return self.fit(model, fields), time.perf_counter() - begin

    def teacher(self, fields: tuple[str, ...]) -> tuple[FM, float]:
        """Return the Bayesian FM and the seconds of its fit: fitted once, it teaches codes of every length."""
        if fields not in self._teachers:
            fm = METHODS["FM, Gibbs"].make(self.split, 0, self.plan.seed)
            self._teachers[fields] = self.timed_fit(fm, fields)
        return self._teachers[fields]

    def measured(
        self, label: str, bits: int | None, model: Any, fields: tuple[str, ...], seconds: float
    ) -> list[Measure]:
        """Score the test part by a fitted model, and by the parts of its scores if it is DFM."""
        X = self.blocks("test", fields)
        scores = model.predict(X)
        measures = self.scored(label, bits, scores, seconds)
        if plain(label) == "DFM, paper":
            suffix = label.removeprefix("DFM, paper")
            for part, alone in zip(PARTS, parts_of_scores(model, X, scores), strict=False):
                measures += self.scored(part + suffix, bits, alone, seconds)
        return measures

    def scored(self, label: str, bits: int | None, scores: npt.NDArray[np.float64], seconds: float) -> list[Measure]:
        """Return what scores of the test part are worth."""
        users, _, truth = self.split.test
        each = ndcg_per_user(users, truth, scores, KS)
        low, high = ndcg_per_user(users, truth, scores, 10).interval(seed=self.plan.seed)

        def measure(metric: str, k: int | None, value: float) -> Measure:
            return Measure(self.split.name, label, bits, self.plan.seed, metric, k, float(value))

        return [
            *(measure("NDCG", k, value) for k, value in zip(KS, np.atleast_1d(each.mean()), strict=True)),
            measure("NDCG low", 10, float(low)),
            measure("NDCG high", 10, float(high)),
            measure("RMSE", None, rmse(truth, scores)),
            measure("seconds", None, seconds),
        ]

    def fitted_and_measured(self, label: str, bits: int | None, model: Any, fields: tuple[str, ...]) -> list[Measure]:
        fitted, seconds = self.timed_fit(model, fields)
        return self.measured(label, bits, fitted, fields, seconds)


@dataclass(frozen=True)
class _Job:
    """One fit, or one row of times; `metric` is a metric that it gives, by which it is known to be done."""

    label: str
    bits: int | None
    metric: str
    work: Callable[[_Bench], list[Measure]]


def run(plan: Plan, results: Results, say: Callable[[str], None]) -> None:
    """Run all jobs of a plan that the results lack; each is saved when it is done, and `say` told of it."""
    root, found = find_data(plan.data)
    for name in plan.datasets:
        if name not in found:
            raise FileNotFoundError(f"{name} is not in {plan.data}; there are {', '.join(found)}")
    jobs = [(name, job) for name in plan.datasets or found for job in _jobs(plan, name)]
    left = [(name, job) for name, job in jobs if not results.has(name, job.label, job.bits, plan.seed, job.metric)]
    if len(left) < len(jobs):
        say(f"{len(jobs) - len(left)} of {len(jobs)} jobs were done before")
    begin, bench = time.perf_counter(), None
    for number, (name, job) in enumerate(left, 1):
        if bench is None or bench.split.name != name:
            say(f"read {name}")
            split = load_split(name, root, plan.seed)
            bench = _Bench(plan, sampled(split, _QUICK_USERS, plan.seed) if plan.quick else split)
        measures = job.work(bench)
        results.add(measures)
        say(f"[{number}/{len(left)}, {time.perf_counter() - begin:.0f} s] {name}: {_summary(job, measures)}")


def _summary(job: _Job, measures: Sequence[Measure]) -> str:
    of = job.label if job.bits is None else f"{job.label}, {job.bits} bits"
    best = [m.value for m in measures if m.metric == "NDCG" and m.k == 10]
    return f"{of}: NDCG@10 {best[0]:.4f}" if best else of


def _jobs(plan: Plan, name: str) -> Iterator[_Job]:
    for label, method in METHODS.items():
        if plan.chosen(label):
            yield from _fits(plan, name, label, method)
    if name in WITH_IDS:
        yield from _strengths(plan)
        yield from _times(plan)


def _fits(plan: Plan, name: str, label: str, method: Method) -> Iterator[_Job]:
    variants = [(label, method.fields)]
    if method.takes_features and name in ITEM_FIELDS:
        # Histories and raters stand in for content where there is none.
        own = () if label == "DCMF" else method.fields
        variants.append((label + FEATURES, (*own, *ITEM_FIELDS[name])))
    for variant, fields in variants:
        for bits in plan.lengths if method.by_bits else (None,):
            yield _Job(variant, bits, "NDCG", _fit(variant, label, method, bits, fields))


def _fit(
    variant: str, label: str, method: Method, bits: int | None, fields: tuple[str, ...]
) -> Callable[[_Bench], list[Measure]]:
    def work(bench: _Bench) -> list[Measure]:
        if label == "FM, Gibbs":
            fm, seconds = bench.teacher(fields)
            return bench.measured(variant, bits, fm, fields, seconds)
        model = method.make(bench.split, bits or 0, bench.plan.seed)
        if label == "DFM, distilled":
            model.set_params(teacher=bench.teacher(fields)[0])
        return bench.fitted_and_measured(variant, bits, model, fields)

    return work


def _strengths(plan: Plan) -> Iterator[_Job]:
    """Figure 2: how much β matters to the codes, and λ to libFM, at 64 bits."""
    bits = max(plan.lengths)
    for label, name, make in (
        ("DFM, paper", "beta", lambda x, seed: DiscreteFM(bits, beta=x, random_state=seed)),
        ("FM, SGD", "l2", lambda x, seed: FM(bits, solver="sgd", regularization=x, random_state=seed)),
    ):
        for strength in plan.strengths if plan.chosen(label) else ():
            variant = f"{label}; {name}={strength:g}"

            def work(bench: _Bench, variant: str = variant, make: Any = make, x: float = strength) -> list[Measure]:
                return bench.fitted_and_measured(variant, bits, make(x, bench.plan.seed), ())

            yield _Job(variant, bits, "NDCG", work)


def _times(plan: Plan) -> Iterator[_Job]:
    """Table 1."""
    for bits in plan.lengths if plan.chosen("DFM, paper") else ():
        for words in (False, True):

            def work(bench: _Bench, bits: int = bits, words: bool = words) -> list[Measure]:
                split, plan = bench.split, bench.plan
                model = bench.fit(DiscreteFM(bits, random_state=plan.seed), ())
                return testing_times(
                    split.name, split.n_users, split.n_items, model, plan.seed, words=words, quick=plan.quick
                )

            yield _Job("DFM, paper; retrieval", bits, "TTC, ids and words" if words else "TTC, ids", work)
