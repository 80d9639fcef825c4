"""Words where there are no ratings: papers that readers keep and apps that users run, ranked among all that are new."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from bitfm import DiscreteFM, ImplicitFM
from bitfm.core import best_of_scores
from bitfm.data import Block
from bitfm.data.feature_table import FeatureTable
from bitfm.evaluation import PerUser, rank_catalogue, rank_metrics, split_per_user
from bitfm.models.implicit.choice import choose_settings
from bitfm.models.implicit.data import EventData
from bitfm.models.implicit.fit import EventFit, EventSettings
from bitfm.models.progress import Progress
from bitfm.validation import thread_count

from bitfm_research.bench.datasets import Split
from bitfm_research.paper._bench import Bench, Fields
from bitfm_research.paper.names import FEATURES, KS
from bitfm_research.paper.plan import Plan
from bitfm_research.paper.results import Measure

__all__ = ["EVENTS_TUNED", "EVENT_METHODS", "choose_alpha", "event_fits", "ranked", "settings_chosen"]

EVENT_METHODS = ("popularity", "DFM, pairs of items", "ImplicitFM")
_FIELDS: Fields = ("words",)
_PAIRS = "DFM, pairs of items"
EVENTS_TUNED = f"{_PAIRS}; tuned"
_ALPHAS = (100.0, 1000.0, 10_000.0)  # the penalty of the weights, on which most depends
_NEGATIVES, _ITERATIONS = 4, 10
_SETTINGS = "ImplicitFM; tuned"
_CHOSEN = ("regularization", "feature_strength", "ratio")
_RANK, _SWEEPS = 128, 8  # the defaults of `ImplicitFM`

Work = Callable[[Bench], list[Measure]]


def event_fits(plan: Plan, seed: int) -> Iterator[tuple[str, int | None, Work]]:
    """Return the fits of a seed at the longest codes: name, bits and what to do, each without words and with them."""
    bits = max(plan.lengths)
    for label in EVENT_METHODS:
        if label == "popularity" and seed:
            continue
        for suffix, fields in (("", ()), (FEATURES, _FIELDS)) if label != "popularity" else (("", ()),):

            def work(bench: Bench, label: str = label, suffix: str = suffix, fields: Fields = fields) -> list[Measure]:
                begin = time.perf_counter()
                model = _fitted(label, suffix, fields, bits, seed, bench)
                seconds = time.perf_counter() - begin
                each = ranked(bench.split, model, fields)
                return bench.kept(label + suffix, None if model is None else bits, seed, each, seconds)

            yield label + suffix, None if label == "popularity" else bits, work


def choose_alpha(bench: Bench) -> list[Measure]:
    """Choose α of the paper's codes by NDCG@10 on a fifth of each user's training events, without words."""
    split, bits = bench.split, max(bench.plan.lengths)
    users, items, ones = split.train
    kept = split_per_user(users, 0.8, 1)
    part = replace(split, train=(users[kept], items[kept], ones[kept]), test=(users[~kept], items[~kept], ones[~kept]))
    found = {alpha: ranked(part, _codes(bits, alpha, 0).fit(part.blocks("train")), ()) for alpha in _ALPHAS}
    best = max(found, key=lambda alpha: float(np.atleast_1d(found[alpha].mean())[-1]))
    return [Measure(split.name, EVENTS_TUNED, bits, 0, "alpha", None, best)]


def settings_chosen(plan: Plan) -> Iterator[tuple[str, int, Work]]:
    """Choose the settings of `ImplicitFM` as it does by itself, but once for all seeds: without words and with them."""
    bits = max(plan.lengths)
    for suffix, fields in (("", ()), (FEATURES, _FIELDS)):

        def work(bench: Bench, label: str = _SETTINGS + suffix, fields: Fields = fields) -> list[Measure]:
            chosen = choose_settings(_event_fit(bench, fields, bits, 0), Progress(0, None))._asdict()
            return [Measure(bench.split.name, label, bits, 0, name, None, chosen[name]) for name in _CHOSEN]

        yield _SETTINGS + suffix, bits, work


def _event_fit(bench: Bench, fields: Fields, bits: int, seed: int) -> EventFit:
    data = EventData.of(bench.blocks("train", fields))
    return EventFit(data, bits, 0, min(bits, _RANK), _SWEEPS, seed, thread_count(-1))


def _fitted(label: str, suffix: str, fields: Fields, bits: int, seed: int, bench: Bench) -> Any:
    if label == "popularity":
        return None
    name, results = bench.split.name, bench.results
    if label == "ImplicitFM":
        found = {each: results.value(name, _SETTINGS + suffix, bits, 0, each) for each in _CHOSEN}
        chosen: dict[str, Any] = {each: value for each, value in found.items() if value is not None}
        settings = EventSettings(**chosen)
        model = ImplicitFM(bits, n_neighbors=0, tune=False, random_state=seed)
        model.parameters_ = _event_fit(bench, fields, bits, seed).parameters(settings)
        return model
    alpha = results.value(name, EVENTS_TUNED, bits, 0, "alpha")
    return _codes(bits, _ALPHAS[0] if alpha is None else alpha, seed).fit(bench.blocks("train", fields))


def _codes(bits: int, alpha: float, seed: int) -> DiscreteFM:
    return DiscreteFM(
        bits,
        loss="bpr",
        pairs="across",
        alpha=alpha,
        negatives=_NEGATIVES,
        init_iter=_ITERATIONS,
        max_iter=_ITERATIONS,
        random_state=seed,
    )


def ranked(split: Split, model: Any, fields: Fields) -> PerUser:
    """Return NDCG@1 to NDCG@10 of every user's ranking of the items that are new; without a model by popularity."""
    seen, wanted = (_matrix(split, part) for part in (split.train, split.test))
    if model is None:
        counts = np.bincount(split.train[1], minlength=split.n_items).astype(np.float32)
        scores = np.broadcast_to(counts, (split.n_users, split.n_items))
        found = best_of_scores(
            np.ascontiguousarray(scores), seen.indptr.astype(np.int64), seen.indices.astype(np.int32), KS[-1], 1
        )[0]
        return rank_metrics(found, wanted, KS).ndcg
    if isinstance(model, ImplicitFM):
        return rank_metrics(model.recommend(seen, KS[-1])[0], wanted, KS).ndcg
    tables: dict[str, Any] = {name: split.item_fields[name] for name in fields}
    items = Block(np.arange(split.n_items), {**tables, "id": FeatureTable.eye(split.n_items)})
    return rank_catalogue(model.index(items), np.arange(split.n_users), wanted, exclude=seen, k=KS).ndcg


def _matrix(split: Split, part: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[Any]]) -> sp.csr_matrix:
    users, items, ones = part
    return sp.csr_matrix((ones.astype(np.float32), (users, items)), shape=(split.n_users, split.n_items))
