"""The experiments as jobs, each a fit, a search for settings or a row of times, in the order of their results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from bitfm.models import DiscreteFM

from bitfm_research.paper._bench import Bench, Fields
from bitfm_research.paper.datasets import ITEM_FIELDS
from bitfm_research.paper.events import EVENTS_TUNED, choose_alpha, event_fits, settings_chosen
from bitfm_research.paper.libfm import RATES, TUNED, chosen_setting, measures_of, setting_at, tune_libfm, with_l2
from bitfm_research.paper.libfm_program import run_libfm
from bitfm_research.paper.methods import METHODS, Method
from bitfm_research.paper.names import EVENTS, FEATURES, LIBFM, WITH_IDS
from bitfm_research.paper.plan import Plan
from bitfm_research.paper.results import Measure
from bitfm_research.paper.testing_time import testing_times

__all__ = ["Job", "jobs_of"]

_BETA = 10.0  # the default of `DiscreteFM`, hence the β of Figure 1


@dataclass(frozen=True)
class Job:
    """One step of a run; `metric` is a metric that it gives, by which it is known to be done."""

    label: str
    bits: int | None
    seed: int
    metric: str
    work: Callable[[Bench], list[Measure]]
    alone: bool = False  # whether it wants all threads: others of its seed run beside each other, a thread each


def jobs_of(plan: Plan, name: str) -> Iterator[Job]:
    """Return the jobs of a data set: all of one seed, then those of the next; times at the end."""
    if name in EVENTS:
        yield from _events(plan)
        return
    if plan.chosen("FM, SGD") or (plan.libfm and plan.chosen(LIBFM)):
        yield from _searches(plan, name)
    for seed in plan.all_seeds:
        for label, method in METHODS.items():
            if plan.chosen(label) and seed in plan.seeds_of(label):
                yield from _fits(plan, name, label, method, seed)
        if name in WITH_IDS:
            yield from _strengths(plan, seed)
            yield from _program(plan, seed)
    if name in WITH_IDS:
        yield from _times(plan)


def _events(plan: Plan) -> Iterator[Job]:
    """Words where there are no ratings, at the longest codes."""
    if plan.chosen("DFM, paper"):
        yield Job(EVENTS_TUNED, max(plan.lengths), 0, "alpha", choose_alpha, alone=True)
        for label, longest, work in () if plan.quick else settings_chosen(plan):
            yield Job(label, longest, 0, "ratio", work, alone=True)
        for seed in plan.all_seeds:
            for label, bits, work in event_fits(plan, seed):
                yield Job(label, bits, seed, "NDCG", work, alone=label.startswith("ImplicitFM"))


def _variants(name: str, label: str, method: Method) -> Iterator[tuple[str, Fields]]:
    """Return a method's suffix and fields: as it is, and with the features of the items where there are any."""
    yield "", method.fields
    if method.takes_features and name in ITEM_FIELDS:
        # Histories and raters stand in for content where there is none.
        own = () if label.startswith("DCMF") else method.fields
        yield FEATURES, (*own, *ITEM_FIELDS[name])


def _searches(plan: Plan, name: str) -> Iterator[Job]:
    """Tune libFM: by ids at every length, with the linear terms' L2 of the longest; with features at the shortest."""
    lengths = sorted(plan.lengths, reverse=True)
    for suffix, fields in _variants(name, "FM, SGD", METHODS["FM, SGD"]):
        for bits in lengths if not suffix else lengths[-1:]:  # with features an epoch costs as much as dozens without

            def work(bench: Bench, bits: int = bits, fields: Fields = fields, suffix: str = suffix) -> list[Measure]:
                split, first = bench.split, suffix or bits == lengths[0]
                linear = None if first else chosen_setting(bench.results, split.name, lengths[0]).linear_l2
                strengths = [x for x in plan.strengths if x or first]  # zero is of Figure 2, at the longest alone
                rates = RATES[1:] if plan.quick else RATES
                found = tune_libfm(split, bits, fields=fields, strengths=strengths, rates=rates, linear_l2=linear)
                return measures_of(found, split.name, bits, suffix)

            yield Job(TUNED + suffix, bits, 0, "validation RMSE", work, alone=True)


def _fits(plan: Plan, name: str, label: str, method: Method, seed: int) -> Iterator[Job]:
    for suffix, fields in _variants(name, label, method):
        for bits in plan.lengths if method.by_bits else (None,):
            yield Job(label + suffix, bits, seed, "NDCG", _fit(label, suffix, bits, seed, fields))


def _fit(label: str, suffix: str, bits: int | None, seed: int, fields: Fields) -> Callable[[Bench], list[Measure]]:
    def work(bench: Bench) -> list[Measure]:
        variant, split, plan = label + suffix, bench.split, bench.plan
        if label == "FM, Gibbs":
            fm, seconds = bench.teacher(fields, seed)
            return bench.measured(variant, bits, seed, fm, fields, seconds)
        model, also = METHODS[label].make(split, bits or 0, seed), ""
        if label == "DFM, distilled":
            model.set_params(teacher=bench.teacher(fields, seed)[0])
        elif label == "FM, SGD":
            setting = chosen_setting(bench.results, split.name, min(plan.lengths) if suffix else bits or 0, suffix)
            model, also = setting.model(bits or 0, seed), with_l2(setting.l2)
        elif label == "DFM, paper":
            also = _with_beta(_BETA)
        if suffix or split.name not in WITH_IDS or bits != max(plan.lengths):
            also = ""
        return _twice(bench, bench.fitted_and_measured(variant, bits, seed, model, fields), variant, also)

    return work


def _twice(bench: Bench, measures: list[Measure], label: str, also: str) -> list[Measure]:
    """Return the rows of a fit of Figure 1 a second time under the name that it has in Figure 2."""
    if not also:
        return measures
    first = measures[0]
    bench.users.copy(first.dataset, label, also, first.bits, first.seed)
    return measures + [replace(m, method=also) for m in measures if m.method == label]


def _with_beta(beta: float) -> str:
    return f"DFM, paper; beta={beta:g}"


def _strengths(plan: Plan, seed: int) -> Iterator[Job]:
    """Figure 2: how much β matters to the codes, and λ to libFM, at 64 bits."""
    bits = max(plan.lengths)
    for strength in plan.strengths if plan.chosen("DFM, paper") else ():

        def codes(bench: Bench, x: float = strength) -> list[Measure]:
            model = DiscreteFM(bits, beta=x, random_state=seed)
            return bench.fitted_and_measured(_with_beta(x), bits, seed, model, ())

        if strength != _BETA:
            yield Job(_with_beta(strength), bits, seed, "NDCG", codes)
    for strength in plan.strengths if plan.chosen("FM, SGD") else ():

        def reals(bench: Bench, x: float = strength) -> list[Measure]:
            model = setting_at(bench.results, bench.split.name, bits, x).model(bits, seed)
            return bench.fitted_and_measured(with_l2(x), bits, seed, model, ())

        yield Job(with_l2(strength), bits, seed, "NDCG", reals)


def _program(plan: Plan, seed: int) -> Iterator[Job]:
    """Run libFM itself, with the settings of our own FM by SGD."""
    program = plan.libfm
    for bits in plan.lengths if program is not None and plan.chosen(LIBFM) else ():

        def work(bench: Bench, bits: int = bits) -> list[Measure]:
            assert program is not None
            split = bench.split
            setting = chosen_setting(bench.results, split.name, bits)
            found = run_libfm(program, split, setting, bits, seed)
            measures = bench.scored(LIBFM, bits, seed, found.scores, found.seconds)
            if math.isfinite(found.seconds_per_pass):
                n, pairs = len(split.test[2]), split.n_users * split.n_items
                for metric, value in (
                    ("TTC", found.seconds_per_pass * pairs / n), ("pairs timed", n), ("pairs", pairs)
                ):  # fmt: skip
                    measures.append(Measure(split.name, LIBFM, bits, seed, f"{metric}, ids", None, float(value)))
            return measures

        yield Job(LIBFM, bits, seed, "NDCG", work, alone=True)


def _times(plan: Plan) -> Iterator[Job]:
    """Table 1: no time depends on a seed."""
    for bits in plan.lengths if plan.chosen("DFM, paper") else ():

        def work(bench: Bench, bits: int = bits) -> list[Measure]:
            split, plan = bench.split, bench.plan
            model, fm = bench.fit(DiscreteFM(bits, random_state=0), ()), None
            if plan.chosen("FM, SGD"):
                fm = bench.fit(chosen_setting(bench.results, split.name, bits).model(bits, 0), ())
            sizes = split.n_users, split.n_items
            settings: dict[str, Any] = {"fm": fm, "quick": plan.quick}
            return [
                measure
                for words in (False, True)
                for measure in testing_times(split.name, *sizes, model, 0, words=words, **settings)
            ]

        yield Job("DFM, paper; retrieval", bits, 0, "TTC, ids and words", work, alone=True)
