"""How long a search takes with neighbours and without, and how long it takes to recommend by a history."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from bitfm import ImplicitFM, Recommender
from bitfm.core import pack_signs
from bitfm.data.blocks import FieldSpan
from bitfm.data.feature_table import FeatureTable
from bitfm.parameters import (
    EventWeights,
    FeatureVectors,
    ImplicitParameters,
    ItemCodes,
    Neighbors,
    Steps,
    UserSide,
    bits_of_dimensions,
)
from bitfm.retrieval import Index

from bitfm_research.bench.datasets import need_data
from bitfm_research.bench.measure import Row
from bitfm_research.bench.readers import read_1m

__all__ = ["generated_events", "generated_histories", "run_search"]

_ITEMS, _BITS, _RANK, _PER_ITEM = 1_000_000, 256, 128, 8
_MOST_TARGETS = 32  # of the most popular items
_EVENTS, _QUERIES, _N, _REPEATS = 50, 64, 10, 5


def run_search(
    *, folder: Path | None = None, say: Callable[[str], None] = lambda _: None
) -> Iterator[tuple[str, list[Row]]]:
    """Yield the times of searches over generated items, and of recommendations from MovieLens' likes."""
    yield from _scans(say)
    yield from _recommendations(need_data(folder), say)


def _scans(say: Callable[[str], None]) -> Iterator[tuple[str, list[Row]]]:
    say(f"{_ITEMS:,} generated items")
    rng = np.random.default_rng(0)
    parameters, popular = generated_events(rng)
    index = Index(parameters)
    rows: list[Row] = []
    for name, of in (("random", None), ("the most popular items", popular)):
        histories = generated_histories(rng, of)
        queries = parameters.rows(histories, n_threads=1)
        plain = type(queries)(**{**queries.__dict__, "scored": None})
        times: dict[str, list[float]] = {"codes": [], "with neighbours": [], "to a query": []}
        for _ in range(_REPEATS):
            times["codes"].append(_timed(lambda: index.search_rows(plain, _N, n_jobs=1)))  # noqa: B023
            times["with neighbours"].append(_timed(lambda: index.search_rows(queries, _N, n_jobs=1)))  # noqa: B023
            times["to a query"].append(_timed(lambda: parameters.rows(histories, n_threads=1)))  # noqa: B023
        least = {key: 1e6 * min(value) / _QUERIES for key, value in times.items()}
        named = {f"µs, {key}": value for key, value in least.items()}
        touched = queries.scored.n_entries / _QUERIES if queries.scored is not None else 0
        ratio = least["with neighbours"] / least["codes"]
        rows.append({"histories": name, "items touched": touched, **named, "ratio": ratio})
    title = f"{_ITEMS:,} items of {_BITS} bits and {_PER_ITEM} neighbours, histories of {_EVENTS}"
    yield f"{title}: top {_N}, per query of {_QUERIES} at once, one thread", rows


def _recommendations(folder: Path, say: Callable[[str], None]) -> Iterator[tuple[str, list[Row]]]:
    say("ML-1M: one recommendation after another")
    ratings = read_1m(folder)
    liked = ratings.ratings >= 4
    table = pl.DataFrame({"user_id": ratings.users[liked], "item_id": ratings.items[liked]})
    rec = Recommender(model=ImplicitFM(tune=False)).fit(table, target=None)
    sizes = table.group_by("user_id").len()
    about_50 = sizes.filter(pl.col("len").is_between(45, 55))["user_id"].to_list()[:200]
    histories = [table.filter(pl.col("user_id") == user)["item_id"].to_list() for user in about_50]
    known = [1e3 * _timed(lambda: rec.recommend(user, _N)) for user in about_50]  # noqa: B023
    new = [1e3 * _timed(lambda: rec.recommend_new(history, n=_N)) for history in histories]  # noqa: B023
    title = f"ML-1M's likes, {rec.n_items:,} items: users with about 50 events, the median of {len(about_50)}"
    yield title, [{"recommend, ms": float(np.median(known)), "recommend_new, ms": float(np.median(new))}]


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def generated_events(rng: np.random.Generator) -> tuple[ImplicitParameters, npt.NDArray[np.int64]]:
    """Return a million items of random codes with neighbours, and those that are neighbours of most."""
    signs = np.where(rng.random((_ITEMS, _BITS), np.float32) < 0.5, np.float32(-1), np.float32(1))
    gains, weights = (Steps.of(rng.lognormal(sigma=0.3, size=_ITEMS)) for _ in range(2))
    dimensions = len(bits_of_dimensions(_BITS, _RANK))
    decoder = (rng.normal(size=(1 + dimensions, _RANK)) / np.sqrt(_RANK)).astype(np.float32)
    items = ItemCodes(pack_signs(signs), gains, weights, decoder)
    shares = 1 / np.arange(1, _ITEMS + 1)  # popular items are neighbours of many
    counts = np.minimum(rng.poisson(_PER_ITEM * _ITEMS * shares / shares.sum() * 0.5 + _PER_ITEM / 2), _MOST_TARGETS)
    sources = np.repeat(np.arange(_ITEMS), counts)
    keys = np.unique(sources * np.int64(_ITEMS) + rng.integers(_ITEMS, size=len(sources)))
    starts = np.searchsorted(keys // _ITEMS, np.arange(_ITEMS + 1))
    values = rng.lognormal(-2, 0.5, len(keys)).astype(np.float32)
    table = FeatureTable.sparse(starts, (keys % _ITEMS).astype(np.int32), values, _ITEMS)
    gram = np.sort(rng.random(_RANK))[::-1] * _ITEMS / _RANK
    mean = np.full(_RANK, 0.1, np.float32)
    side = UserSide(np.eye(_RANK), mean, mean, 1000)
    fields = FieldSpan("user", "history", 0, _ITEMS), FieldSpan("item", "id", _ITEMS, 2 * _ITEMS)
    nothing = FeatureVectors.of(np.zeros((0, _RANK)))
    parameters = ImplicitParameters(
        fields, items, gram, Neighbors.of(table, 1.0), EventWeights(1e-4, 0.02), _ITEMS, side, nothing
    )
    return parameters, np.argsort(-counts, kind="stable")[:1000]


def generated_histories(rng: np.random.Generator, among: npt.NDArray[np.int64] | None) -> FeatureTable:
    """Return random histories, of all items or of some."""
    n = _ITEMS if among is None else len(among)
    chosen = np.stack([np.sort(rng.choice(n, _EVENTS, replace=False)) for _ in range(_QUERIES)])
    indices = chosen if among is None else np.sort(among[chosen], axis=1)
    starts = np.arange(_QUERIES + 1) * _EVENTS
    ones = np.ones(_QUERIES * _EVENTS, np.float32)
    return FeatureTable.sparse(starts, indices.ravel().astype(np.int32), ones, _ITEMS)
