"""From tables to recommendations: what a fold-in is worth, how large tables can be, and how long a query takes."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from bitfm import parameters
from bitfm.evaluation import split_per_user
from bitfm.models import FM, DistilledFM
from bitfm.recommender import RatingState, Recommender
from bitfm.validation import check_choice

from bitfm_research.bench._peak import peak_bytes, reset_peak
from bitfm_research.bench.cost import measure_costs
from bitfm_research.bench.datasets import load, need_data
from bitfm_research.bench.measure import Row
from bitfm_research.bench.readers import movie_ratings

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARTS", "run"]

Tables = Iterator[tuple[str, list[Row]]]


def run(parts: Sequence[str] | None = None, *, folder: Path | None = None, say: Callable[[str], None]) -> Tables:
    """Measure some parts, or all: a title and rows for each table."""
    for name in [check_choice("part", name, tuple(PARTS)) for name in parts or PARTS]:
        yield from PARTS[name](Path() if name in _GENERATED else need_data(folder), say)


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
    "fold-in": fold_in,
    "categories": categories,
    "query": query,
    "cost": measure_costs,
}
_GENERATED = ("categories", "cost")


def _split(data: pl.DataFrame, seed: int, fraction: float = 0.8) -> tuple[pl.DataFrame, pl.DataFrame]:
    train = split_per_user(data["user_id"].to_numpy(), fraction, seed)
    return data.filter(train), data.filter(~train)


def _solving_time(recommender: Recommender, side: str) -> float:
    """Return the time to solve for one code, from the interactions in the log: the median of 200."""
    state = recommender.state
    assert isinstance(state, RatingState)
    numbers = np.flatnonzero(np.diff(state.log.side(side).indptr))[:200]
    times = []
    for number in numbers[:, None]:
        begin = time.perf_counter()
        own, seen = state.rows(side, number), state.log.side(side).take(number)
        ratings = parameters.Ratings.of_one(seen.values, *state.other_side(side, seen.indices))
        parameters.fold_in(ratings, own.constants, own.vectors, state.moments[side], state.priors[side])
        times.append(time.perf_counter() - begin)
    return float(np.median(times))
