"""From tables to recommendations: what context, fold-in and events are worth, each beside its baselines."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from bitfm import parameters
from bitfm.evaluation import rank_metrics, split_per_user
from bitfm.models import FM, BiasModel, DistilledFM
from bitfm.recommender import Evaluation, Recommender
from bitfm.validation import check_choice
from sklearn.base import clone

from bitfm_research.bench._peak import peak_bytes, reset_peak
from bitfm_research.bench.datasets import load, need_data
from bitfm_research.bench.measure import Row
from bitfm_research.bench.readers import CONTEXT, app_usage, likes, movie_ratings, paper_likes

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARTS", "run"]

Tables = Iterator[tuple[str, list[Row]]]


def run(parts: Sequence[str] | None = None, *, folder: Path | None = None, say: Callable[[str], None]) -> Tables:
    """Measure some parts, or all: a title and rows for each table."""
    for name in [check_choice("part", name, tuple(PARTS)) for name in parts or PARTS]:
        yield from PARTS[name](need_data(folder) if name != "categories" else Path(), say)


def context(folder: Path, say: Callable[[str], None], seed: int = 0) -> Tables:
    """Rank all apps for each use of an app that was held out, with its context and without."""
    data = app_usage(folder)
    train, test = _split(data, seed)
    rows: list[Row] = []
    for known, columns in (("user and app alone", ()), ("context, too", CONTEXT)):
        say(f"Frappe: {known}")
        begin = time.perf_counter()
        recommender = Recommender(random_state=seed).fit(train, target=None, context=columns)
        seconds = time.perf_counter() - begin
        judge = partial(recommender.evaluate, test, by="interaction")
        rows += [{"known": known, **row} for row in _with_baselines(recommender, train, judge, seconds, seed)]
    yield f"Frappe: {len(test):,} uses of apps held out, a fifth of each user's; seed {seed}", rows


def fold_in(folder: Path, say: Callable[[str], None], seed: int = 0) -> Tables:
    """Add a fifth of the users, or of the items, after the fit, and compare with a fit that had them."""
    data = movie_ratings(folder)
    train, test = _split(data, seed, 0.5)
    rows: list[Row] = []
    for side in ("user", "item"):
        say(f"ML-100K: new {side}s")
        column = f"{side}_id"
        ids = np.random.default_rng(seed).permutation(np.unique(data[column].to_numpy()))
        new = ids[: len(ids) // 5].tolist()
        early, late = train.filter(~train[column].is_in(new)), train.filter(train[column].is_in(new))
        theirs = test.filter(test[column].is_in(new))
        whole = Recommender(random_state=seed).fit(train)
        recommender = Recommender(random_state=seed).fit(early)
        before = recommender.evaluate(theirs)
        recommender.add_ratings(late)
        after, reference = recommender.evaluate(theirs), whole.evaluate(theirs)
        rows.append(
            {
                "new": f"{len(new)} {side}s",
                "nothing known of them": before.ndcg,
                "folded in": after.ndcg,
                "fitted again": reference.ndcg,
                "share": f"{after.ndcg / reference.ndcg:.1%}",
                "µs per code": round(_solving_time(recommender, side) * 1e6),
            }
        )
    yield f"ML-100K: NDCG@10 of those who came after the fit; half of each user's ratings held out; seed {seed}", rows


def events(folder: Path, say: Callable[[str], None], seed: int = 0) -> Tables:
    """Rank the catalogue for each user, what they have already left out."""
    for name, read in (("ML-100K, ratings of 4 and 5", likes), ("CiteULike-t", paper_likes)):
        say(name)
        train, test = _split(read(folder), seed)
        begin = time.perf_counter()
        recommender = Recommender(random_state=seed).fit(train, target=None)
        seconds = time.perf_counter() - begin
        rows = _with_baselines(recommender, train, partial(recommender.evaluate, test), seconds, seed)
        if importlib.util.find_spec("implicit") is not None:
            rows.append(_implicit(recommender, test, seed))
        yield f"{name}: {len(test):,} events held out, a fifth of each user's; seed {seed}", rows


def categories(_: Path, say: Callable[[str], None], n: int = 10_000_000) -> Tables:
    """Fit to a table of users of which each has a category of its own; generated."""
    import polars as pl

    say(f"{n:,} users, each with a category of its own")
    rng = np.random.default_rng(0)
    users = pl.DataFrame({"user_id": np.arange(n), "group": rng.integers(100, size=n)})
    users = users.with_columns(badge=pl.format("badge {}", pl.Series(rng.permutation(n))))
    ratings = {
        "user_id": rng.integers(20_000, size=200_000) * (n // 20_000),
        "item_id": rng.integers(1000, size=200_000),
        "rating": rng.integers(1, 6, 200_000),
    }
    held = reset_peak()
    begin = time.perf_counter()
    recommender = Recommender(kinds={"badge": "category"}).fit(ratings, users=users)
    seconds, most = time.perf_counter() - begin, peak_bytes()
    row = {
        "users": n,
        "categories": users["badge"].n_unique(),
        "seconds": seconds,
        "MB of the tables": held / 1e6,
        "MB at the peak": most / 1e6,
        "what became of them": recommender.describe()["why"][1],
    }
    yield "A column of categories that occur once", [row]


def query(folder: Path, say: Callable[[str], None], n: int = 300) -> Tables:
    """Time one recommendation: in a warm process beside implicit's, and in a fresh one beside ``import numpy``."""
    say("ML-1M: one query after another")
    split = load("ml-1m", folder=folder)
    users, items, ratings = split.train
    table = {"user_id": users, "item_id": items, "rating": ratings}
    teacher = FM(16, n_iter=8, regularization=30.0)  # what is timed does not depend on the fit
    recommender = Recommender(model=DistilledFM(teacher=teacher, max_iter=2)).fit(table)
    asked = np.unique(users)[:n].tolist()
    rows = [
        {"method": "bitfm, a Polars frame", "ms": _median_ms(lambda user: recommender.recommend(user, n=10), asked)}
    ]
    if importlib.util.find_spec("implicit") is not None:
        import implicit
        import scipy.sparse as sp

        seen = sp.csr_matrix((np.ones(len(users), np.float32), (users, items)), shape=(split.n_users, split.n_items))
        model = implicit.als.AlternatingLeastSquares(factors=64, iterations=2, random_state=0)
        model.fit(seen, show_progress=False)
        took = _median_ms(lambda user: model.recommend(user, seen[user], N=10), asked)
        rows.append({"method": f"implicit {implicit.__version__}, arrays", "ms": took})
    yield f"ML-1M: recommend(user, n=10) in a warm process, the median of {n} users", rows
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, "small.bitfm")
        small = {"user_id": ["ann", "ann", "bob"], "item_id": ["tea", "milk", "tea"], "rating": [5, 2, 4]}
        Recommender(bits=8).fit(small).save(path)
        ours = f"import bitfm; bitfm.load({str(path)!r}).recommend('bob')"
        least, ours_took = _process_ms("import numpy"), _process_ms(ours)
    yield (
        "The first recommendation of a process, the least of 8 runs",
        [
            {"a fresh process": "import numpy", "ms": least, "ratio": 1.0},
            {"a fresh process": "open a small recommender, recommend", "ms": ours_took, "ratio": ours_took / least},
        ],
    )


def _median_ms(ask: Callable[[Any], Any], users: Sequence[Any]) -> float:
    times = []
    for user in [*users[:20], *users]:
        begin = time.perf_counter()
        ask(user)
        times.append(time.perf_counter() - begin)
    return float(np.median(times[20:])) * 1e3


def _process_ms(code: str) -> float:
    # Installed packages come with their bytecode, a clone has it from its second run on, unless a variable forbids it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for _ in range(8):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)
        times.append(time.perf_counter() - begin)
    return min(times) * 1e3


PARTS: dict[str, Callable[[Path, Callable[[str], None]], Tables]] = {
    "context": context,
    "fold-in": fold_in,
    "events": events,
    "categories": categories,
    "query": query,
}


def _split(data: pl.DataFrame, seed: int, fraction: float = 0.8) -> tuple[pl.DataFrame, pl.DataFrame]:
    train = split_per_user(data["user_id"].to_numpy(), fraction, seed)
    return data.filter(train), data.filter(~train)


def _with_baselines(
    recommender: Recommender, train: Any, judge: Callable[..., Evaluation], seconds: float, seed: int
) -> list[Row]:
    """Return rows of bias only, a real-valued FM on the same examples, and the recommender."""
    X, y = recommender.training_data(train)
    teacher = recommender.model_.teacher
    real = FM(16) if teacher is None else clone(teacher)
    models: dict[str, Any] = {
        "bias only": BiasModel(),
        f"FM, ALS, rank {real.rank}": real.set_params(pairs="across", random_state=seed),
    }
    rows: list[Row] = []
    for name, model in models.items():
        begin = time.perf_counter()
        model.fit(X, y)
        rows.append({"method": name, **judge(model=model).rows(), "seconds": time.perf_counter() - begin})
    ours = f"bitfm, {recommender.model_.bits} bits"
    return [*rows, {"method": ours, **judge().rows(), "seconds": seconds}]


def _solving_time(recommender: Recommender, side: str) -> float:
    """Return the time to solve for one code, from the interactions in the log: the median of 200."""
    state = recommender.state
    numbers = np.flatnonzero(np.diff(state.log.side(side).indptr))[:200]
    times = []
    for number in numbers[:, None]:
        begin = time.perf_counter()
        own, seen = state.rows(side, number), state.log.side(side).take(number)
        ratings = parameters.Ratings.of_one(seen.values, *state.other_side(side, seen.indices))
        parameters.fold_in(ratings, own.constants, own.vectors, state.moments[side], state.priors[side])
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def _implicit(recommender: Recommender, test: pl.DataFrame, seed: int) -> Row:
    """Judge implicit's alternating least squares, with its own settings, by the same measures."""
    import implicit
    import scipy.sparse as sp
    from threadpoolctl import threadpool_limits

    state = recommender.state
    users, items = (test[c].cast(str) for c in ("user_id", "item_id"))
    numbers = state.items.ids.indices(items).astype(np.int64)
    numbers[numbers < 0] = len(state.items) + np.arange(int((numbers < 0).sum()))  # not known, so missed
    shape = len(state.users), max(len(state.items), int(numbers.max()) + 1)
    ones = np.ones(len(test), np.float32)
    wanted = sp.csr_matrix((ones, (state.users.ids.indices(users), numbers)), shape=shape)
    seen = state.log.by_user.to_csr()
    begin = time.perf_counter()
    with threadpool_limits(1, "blas"):
        model = implicit.als.AlternatingLeastSquares(random_state=seed)
        model.fit(seen, show_progress=False)
        seconds = time.perf_counter() - begin
        found, _ = model.recommend(np.arange(len(state.users)), seen, N=10, filter_already_liked_items=True)
    means = rank_metrics(found, wanted, k=10).means()
    measured = {"NDCG@10": means["ndcg"], "hit rate@10": means["hit"], "MRR@10": means["reciprocal_rank"]}
    rank = model.factors
    return {"method": f"implicit {implicit.__version__}, ALS, {rank} factors", **measured, "seconds": seconds}
