"""How long a sweep of alternating least squares takes, over users and then items, beside implicit's."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product
from pathlib import Path

from bitfm.models.implicit.fit import RATIO
from bitfm.models.implicit.teacher import fit_teacher
from bitfm.parameters import EventWeights
from bitfm.validation import check_choice
from threadpoolctl import threadpool_limits

from bitfm_research.bench.datasets import need_data
from bitfm_research.bench.events.protocol import READERS, Split, splits
from bitfm_research.bench.measure import Row

__all__ = ["run_speed"]

_SWEEPS, _REPEATS = 4, 5
_CG_STEPS = 3  # implicit's number
_REGULARIZATION = 0.1


def run_speed(
    names: Sequence[str] | None = None,
    *,
    factors: Sequence[int] = (64, 128),
    threads: Sequence[int] = (1, 2),
    folder: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[tuple[str, list[Row]]]:
    """Yield a title and the rows of each set: the least seconds of several sweeps by either, taken in turn."""
    import implicit

    for name in names or READERS:
        check_choice("dataset", name, tuple(READERS))
        [split] = splits(name, need_data(folder), [0])
        rows: list[Row] = []
        for rank, steps, n_threads in product(factors, (_CG_STEPS, 0), threads):
            solver = "conjugate gradients" if steps else "Cholesky"
            say(f"{name}, {rank} factors, {solver}, {n_threads} threads")
            both = [
                (_ours(split, rank, steps, n_threads), _theirs(split, rank, steps, n_threads)) for _ in range(_REPEATS)
            ]
            ours, theirs = (min(times) for times in zip(*both, strict=True))
            row = {"factors": rank, "solver": solver, "threads": n_threads}
            rows.append({**row, "bitfm seconds": ours, "implicit seconds": theirs, "ratio": ours / theirs})
        yield f"{name}: a sweep of bitfm beside implicit {implicit.__version__}", rows


def _ours(split: Split, rank: int, steps: int, n_threads: int) -> float:
    weights, ends = EventWeights(RATIO * split.train.density, _REGULARIZATION / (1 + RATIO)), [time.perf_counter()]

    def after(_: int) -> bool:
        ends.append(time.perf_counter())
        return False

    fit_teacher(split.train, weights, rank, _SWEEPS, 0, n_threads, cg_steps=steps, after_sweep=after)
    return min(end - begin for begin, end in pairwise(ends[1:]))  # the first has no vectors to improve


def _theirs(split: Split, rank: int, steps: int, n_threads: int) -> float:
    import implicit

    times: list[float] = []
    with threadpool_limits(1, "blas"):
        model = implicit.als.AlternatingLeastSquares(
            factors=rank,
            regularization=_REGULARIZATION,
            use_cg=bool(steps),
            iterations=_SWEEPS,
            num_threads=n_threads,
            random_state=0,
        )
        events = split.train.by_user.to_csr().copy()  # it wants arrays that it could write to
        model.fit(events, show_progress=False, callback=lambda _, seconds, *__: times.append(seconds))
    return min(times[1:])
