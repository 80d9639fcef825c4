"""Tables of events: bitfm's codes with and without neighbours beside tuned opponents."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from bitfm.core import multiply
from bitfm.models.implicit import ImplicitFM
from bitfm.models.implicit.choice import choose_settings
from bitfm.models.implicit.data import EventData
from bitfm.models.implicit.fit import EventFit
from bitfm.models.implicit.neighbors import learn_neighbors
from bitfm.models.implicit.teacher import own_axes
from bitfm.models.progress import Progress
from bitfm.parameters import EventWeights, ImplicitParameters, Neighbors, fold_in_events
from bitfm.validation import check_choice, thread_count

from bitfm_research.bench.datasets import need_data
from bitfm_research.bench.events.content import cold_papers, known_papers
from bitfm_research.bench.events.frappe import next_apps
from bitfm_research.bench.events.opponents import OPPONENTS, fit_floats, tuned
from bitfm_research.bench.events.protocol import READERS, Scorer, Split, judge, splits
from bitfm_research.bench.events.quantized import has_rabitq, rabitq, rotated_levels
from bitfm_research.bench.measure import Row

__all__ = ["SETS", "run"]

_OTHERS: dict[str, tuple[str, Callable[..., Iterator[Row]]]] = {
    "citeulike-t-words": ("papers with words and tags; a fifth of each user's likes held out", known_papers),
    "citeulike-t-cold": ("a fifth of the papers held out, known by words and tags alone", cold_papers),
    "frappe": ("a fifth of each user's uses of apps held out, all apps ranked for each of them", next_apps),
}
SETS = (*READERS, *_OTHERS)
_OURS = [(64, 0), (64, 8), (128, 0), (128, 4), (128, 8), (128, 16), (256, 0), (256, 8)]

Floats = npt.NDArray[np.float32]


def run(
    names: Sequence[str] | None = None,
    *,
    seeds: Iterable[int] = range(3),
    only: Sequence[str] | None = None,
    folder: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[tuple[str, list[Row]]]:
    """Yield a title and the rows of each set, a row per method and seed; `only` are beginnings of methods' names."""
    for name in names or SETS:
        check_choice("dataset", name, SETS)
        rows: list[Row] = []
        if name in _OTHERS:
            title, others = _OTHERS[name]
            for row in others(need_data(folder), seeds, partial(_wanted, only)):
                rows.append(row)
                say(_line(name, row))
            yield f"{name}: {title}", rows
            continue
        settings: dict[str, Any] = {}
        for split in splits(name, need_data(folder), seeds):
            for method, row in _methods(split, only, settings):
                rows.append({"method": method, **row, "seed": split.seed})
                say(_line(name, rows[-1]))
        yield f"{name}: a fifth of each user's events held out, all new items ranked", rows


def _line(name: str, row: Row) -> str:
    """Return what to say as soon as a row is there: the whole takes hours on the larger sets."""
    return f"{name}, seed {row['seed']}: {row['method']}: NDCG@20 {row['NDCG@20']:.4f}, {row['seconds']:.1f} s"


def _methods(
    split: Split, only: Sequence[str] | None, settings: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the row of each method; `settings` are those of slow opponents on the first split."""
    wanted = partial(_wanted, only)
    ials_setting = None
    for opponent in OPPONENTS:
        needed = opponent.name.startswith("iALS") and any(map(wanted, ("floats", "rotated", "FAISS")))
        if not opponent.available or not (wanted(opponent.name) or needed):
            continue
        setting = settings[opponent.name] if opponent.name in settings else tuned(opponent, split)
        settings |= {opponent.name: setting} if opponent.slow else {}
        ials_setting = setting if opponent.name.startswith("iALS") else ials_setting
        begin = time.perf_counter()
        scorer = opponent.fit(split, setting)
        seconds = time.perf_counter() - begin
        if wanted(opponent.name):
            size = {"bytes per item": opponent.bytes_per_item(split), "seconds": seconds}
            yield opponent.name, {**judge(split, scorer), **size, "setting": str(setting)}
    if ials_setting is not None:
        yield from _of_floats(split, ials_setting, wanted)
    for bits, n_neighbors in _OURS:
        name = f"bitfm, {bits} bits" + (f" + {n_neighbors}" if n_neighbors else "")
        if wanted(name):
            yield name, _ours(split, bits, n_neighbors)


def _wanted(only: Sequence[str] | None, name: str) -> bool:
    return not only or any(name.startswith(each) for each in only)


def _ours(split: Split, bits: int, n_neighbors: int) -> dict[str, Any]:
    begin = time.perf_counter()
    model = ImplicitFM(bits, n_neighbors=n_neighbors, random_state=split.seed).fit(split.train.by_user.to_csr())
    seconds = time.perf_counter() - begin
    parameters: ImplicitParameters = model.parameters_
    threads = thread_count(-1)
    users, items = (
        parameters.fold_in(split.train.by_user, n_threads=threads),
        parameters.items.vectors(n_threads=threads),
    )
    scores = judge(split, _with_neighbors(split, users, items, parameters.neighbors))
    size = bits / 8 + 2 + (1 + 3 * parameters.neighbors.n_entries / len(items) if n_neighbors else 0)
    return {**scores, "bytes per item": size, "seconds": seconds, "setting": str(tuple(model.settings_))}


def _of_floats(
    split: Split, setting: tuple[float, float], wanted: Callable[[str], bool]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what real vectors give with neighbours of their own settings, and when they are made small."""
    threads = thread_count(-1)
    if wanted("floats + 8"):
        begin = time.perf_counter()
        fit = EventFit(EventData(split.train, ("user", "item"), {}), 0, 8, 128, 8, split.seed, threads)
        chosen = choose_settings(fit, Progress(0, None))
        items, weights = fit.teacher(chosen).items, fit.weights(chosen)
        gram, axes = own_axes(items, threads)
        items = multiply(items, axes, threads)
        neighbors, users = learn_neighbors(split.train, items, gram, weights, 8, chosen.neighbors, None, threads)
        seconds = time.perf_counter() - begin
        size = {"bytes per item": 512 + 1 + 3 * neighbors.n_entries / len(items), "seconds": seconds}
        scorer = _with_neighbors(split, users, items, neighbors)
        yield "floats + 8", {**judge(split, scorer), **size, "setting": str(tuple(chosen))}
    if any(wanted(f"rotated levels, {bits} bits") for bits in (128, 256)):
        weights, _, items = fit_floats(split, setting)
        for bits in (128, 256):
            small = rotated_levels(items, bits, split.seed)
            scorer = _folded_in(split, small, weights)
            row = {"bytes per item": bits / 8 + 4, "seconds": 0.0, "setting": ""}
            yield f"rotated levels, {bits} bits", {**judge(split, scorer), **row}
    if has_rabitq() and any(wanted(f"FAISS RaBitQ, {bits} bits") for bits in (128, 256)):
        _, users, items = fit_floats(split, setting)
        for bits in (128, 256):
            begin = time.perf_counter()
            scorer, size_of_code = rabitq(users, items, bits, split.seed)
            row = {"bytes per item": size_of_code, "seconds": time.perf_counter() - begin, "setting": ""}
            yield f"FAISS RaBitQ, {bits} bits", {**judge(split, scorer), **row}


def _folded_in(split: Split, items: Floats, weights: EventWeights) -> Scorer:
    """Score by vectors of items, with users folded in over them."""
    threads = thread_count(-1)
    gram, axes = own_axes(items, threads)
    items = multiply(items, axes, threads)
    n_items = int((split.train.item_sizes > 0).sum())
    users = fold_in_events(split.train.by_user, items, gram, weights, n_items, None, threads)
    return lambda which: multiply(users[which], items.T, threads)


def _with_neighbors(split: Split, users: Floats, items: Floats, neighbors: Neighbors) -> Scorer:
    def scores(which: npt.NDArray[np.intp]) -> Floats:
        by_vectors = np.float32(neighbors.scale) * multiply(users[which], items.T, thread_count(-1))
        return np.asarray(by_vectors + neighbors.sums(split.train.by_user.take(which)).toarray(), np.float32)

    return scores
