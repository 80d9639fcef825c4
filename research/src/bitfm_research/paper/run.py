"""All experiments, as many at a time as there are threads; what has been measured before is not measured again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby

from bitfm.validation import limit_threads, thread_count
from threadpoolctl import threadpool_limits

from bitfm_research.paper._bench import Bench
from bitfm_research.paper.datasets import find_data, load_split, sampled
from bitfm_research.paper.jobs import Job, jobs_of
from bitfm_research.paper.plan import Plan
from bitfm_research.paper.results import Measure, Results
from bitfm_research.paper.user_scores import UserScores

__all__ = ["jobs_left", "run"]

_QUICK_USERS = 200


def jobs_left(plan: Plan, results: Results) -> tuple[list[tuple[str, Job]], int]:
    """Return the jobs of a plan that the results lack, each with its data set, and how many there are in all."""
    _, found = find_data(plan.data)
    for name in plan.datasets:
        if name not in found:
            raise FileNotFoundError(f"{name} is not in {plan.data}; there are {', '.join(found)}")
    jobs = [(name, job) for name in plan.datasets or found for job in jobs_of(plan, name)]
    left = [(name, job) for name, job in jobs if not results.has(name, job.label, job.bits, job.seed, job.metric)]
    return left, len(jobs)


def run(plan: Plan, results: Results, users: UserScores, say: Callable[[str], None]) -> None:
    """Run all jobs of a plan that the results lack; each is saved when it is done, and `say` told of it.

    Jobs of a data set and a seed run beside each other, each on one thread; the order of the results is theirs.
    """
    root, _ = find_data(plan.data)
    left, total = jobs_left(plan, results)
    if len(left) < total:
        say(f"{total - len(left)} of {total} jobs were done before")
    begin, number = time.perf_counter(), 0
    for name, of_set in groupby(left, key=lambda it: it[0]):
        say(f"read {name}")
        split = load_split(name, root, 0)
        bench = Bench(plan, sampled(split, _QUICK_USERS, 0) if plan.quick else split, results, users)
        for (alone, _), group in groupby((job for _, job in of_set), key=lambda job: (job.alone, job.seed)):
            for job, measures in (_one_by_one if alone else _beside_each_other)(list(group), bench):
                number += 1
                if results.has(name, job.label, job.bits, job.seed, job.metric):
                    continue  # a job before it gave the same rows: Figure 2 has the fits of Figure 1 among its own
                results.add(measures)
                say(f"[{number}/{len(left)}, {time.perf_counter() - begin:.0f} s] {name}: {_summary(job, measures)}")


def _one_by_one(jobs: list[Job], bench: Bench) -> Iterator[tuple[Job, list[Measure]]]:
    for job in jobs:
        yield job, job.work(bench)


def _beside_each_other(jobs: list[Job], bench: Bench) -> Iterator[tuple[Job, list[Measure]]]:
    pool = ThreadPoolExecutor(thread_count(-1))
    before = limit_threads(1)
    try:
        with threadpool_limits(1):
            yield from zip(jobs, pool.map(lambda job: job.work(bench), jobs), strict=True)
    finally:
        limit_threads(before)
        pool.shutdown(cancel_futures=True)


def _summary(job: Job, measures: Sequence[Measure]) -> str:
    of = job.label if job.bits is None else f"{job.label}, {job.bits} bits"
    best = [m.value for m in measures if m.method == job.label and m.metric == "NDCG" and m.k == 10]
    return f"{of}, seed {job.seed}: NDCG@10 {best[0]:.4f}" if best else of
