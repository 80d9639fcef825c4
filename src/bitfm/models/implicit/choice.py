"""The choice of settings for events: what ranks held-out events best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.core import best_of_scores, logarithm, multiply
from bitfm.data.feature_table import FeatureTable
from bitfm.models.implicit.data import EventList
from bitfm.models.implicit.events import Events, hold_out
from bitfm.models.implicit.fit import Coded, EventFit, EventSettings
from bitfm.models.implicit.neighbors import NeighborSettings
from bitfm.models.implicit.teacher import Teacher, own_axes
from bitfm.models.progress import Progress
from bitfm.parameters import Neighbors

__all__ = ["choose_settings", "ndcg"]

Vectors = npt.NDArray[np.float32]

_REGULARIZATIONS = (0.08, 0.12, 0.18, 0.27, 0.4, 0.6, 0.9)
_STRENGTHS = (0.3, 0.1, 0.03)
_NEIGHBORS = ((1.0, 20.0), (0.3, 10.0), (0.1, 5.0))
_SHARES = (1.0, 1.5, 2.2, 3.3, 5.0)
_CONTEXTS = (None, 0.2, 1.0, 5.0)
_REPEATS = (0.0, 0.1, 0.3, 1.0, 3.0)
_RATIOS = (2.5, 5.0, 10.0, 20.0)
_SWEEPS = 5  # of teachers that are compared
_FRACTION = 0.2
_K = 20
_MOST_USERS, _FEWEST_USERS, _MOST_SCORES = 8000, 300, 5 * 10**7
_MOST_TRIALS, _ENOUGH_USERS = 4, 3000
_MOST_AT_ONCE, _NUMBERS_AT_ONCE = 512, 1 << 24  # rows of scores, and the numbers in them


@dataclass(frozen=True, eq=False)
class _Trial:
    """A part of the events to learn from, and the rest to rank."""

    fit: EventFit
    held_out: Events
    users: npt.NDArray[np.intp]  # of those with something held out, whose rankings are looked at

    def qualities(self, scores: Callable[[npt.NDArray[np.intp]], Iterable[Vectors]], n: int = 1) -> list[float]:
        """Return the mean NDCG@20 of rankings of what is new to the users, for each of n ways to score all items."""
        totals, threads, step = np.zeros(n), self.fit.n_threads, _rows_at_once(self.held_out.shape[1])
        for begin in range(0, len(self.users), step):
            users = self.users[begin : begin + step]
            seen, held = (each.by_user.take(users) for each in (self.fit.data.events, self.held_out))
            k = min(_K, seen.n_columns)
            for way, rows in enumerate(scores(users)):
                found, _ = best_of_scores(rows, seen.indptr, seen.indices, k, threads)
                totals[way] += ndcg(found, held.indptr, held.indices, seen.n_columns).sum()
        return list(totals / max(len(self.users), 1))


def choose_settings(fit: EventFit, progress: Progress) -> EventSettings:
    """Return the best of a few settings.

    The penalty of features, the regularization and what pairs without an event count for are changed one after the
    other, each step by step as long as that helps; then come the settings of neighbours, and last what contexts and
    repeats count for. Each is what ranks a held-out fifth of each user's events best.
    """
    trials = _trials(fit)
    settings = EventSettings(feature_strength=_STRENGTHS[0])

    def report(stage: str, number: int, total: int, quality: float) -> bool:
        return progress.report(stage, number, total, 1 - float(quality), 1 - float(quality))

    if not trials:
        return settings
    steps: list[tuple[str, tuple[float, ...], int]] = [
        ("regularization", _REGULARIZATIONS, _REGULARIZATIONS.index(settings.regularization)),
        ("ratio", _RATIOS, _RATIOS.index(settings.ratio)),
    ]
    if any(side is not None for side in fit.sides):
        steps.insert(0, ("feature_strength", _STRENGTHS, 0))
    best, stopped = -1.0, False
    for name, values, start in steps:
        settings, best, stopped = _climbed(trials, settings, best, name, values, start, report)
        if stopped:
            break
    if fit.n_neighbors and not stopped:
        settings = _with_neighbors(trials, settings, report)
    if fit.data.each is not None and fit.bits and not stopped:
        settings = _with_contexts(fit, settings, report)
    return settings


Report = Callable[[str, int, int, float], bool]


def _trials(fit: EventFit) -> list[_Trial]:
    """Hold events out: once, or several times where there are few users to look at."""
    events, rng = fit.data.events, np.random.default_rng(fit.seed)
    trials: list[_Trial] = []
    while len(trials) < _MOST_TRIALS:
        part, held_out = hold_out(events, _FRACTION, rng)
        users = np.flatnonzero((part.user_sizes > 0) & (held_out.user_sizes > 0))
        users = np.sort(rng.permutation(users)[: _most_rows(events)])
        if not len(users):
            break
        trials.append(_Trial(replace(fit, data=fit.data.with_events(part, None)), held_out, users))
        if len(trials) * len(users) >= _ENOUGH_USERS:
            break
    return trials


def _climbed(
    trials: list[_Trial],
    settings: EventSettings,
    best: float,
    name: str,
    values: tuple[float, ...],
    start: int,
    report: Report,
) -> tuple[EventSettings, float, bool]:
    """Go from one of some values to the next as long as that ranks better, or else to the one before.

    Return the settings with the best, its quality, and whether to stop. `best` is that of the start, if it is known.
    """
    number = 0

    def tried(place: int) -> tuple[EventSettings, float, bool]:
        nonlocal number
        number += 1
        changed: dict[str, Any] = {name: values[place]}
        there = settings._replace(**changed)
        quality = float(np.mean([_of_vectors(trial, trial.fit.teacher(there, n_iter=_SWEEPS)) for trial in trials]))
        return there, quality, report(name, number, len(values), quality)

    if best < 0:
        settings, best, stopped = tried(start)
        if stopped:
            return settings, best, True
    found = settings
    for way in (1, -1):
        place = start + way
        while 0 <= place < len(values):
            there, quality, stopped = tried(place)
            if quality > best:
                found, best = there, quality
            if stopped:
                return found, best, True
            if found is not there:
                break
            place += way
        if found is not settings:
            break
    return found, best, False


def _with_neighbors(trials: list[_Trial], settings: EventSettings, report: Report) -> EventSettings:
    ready = [(trial, *_vectors(trial.fit, settings)) for trial in trials]
    best = -1.0
    for number, (unobserved, ridge) in enumerate(_NEIGHBORS, 1):
        tried = settings._replace(neighbors=NeighborSettings(unobserved, ridge, 1.0))
        qualities = []
        for trial, coded, items in ready:
            found, users = trial.fit.neighbors(tried, coded, items)
            qualities.append(trial.qualities(partial(_blends, trial, found, users, items), len(_SHARES)))
        padded = np.pad(np.mean(qualities, axis=0), 1, mode="edge")
        smooth = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4  # a peak that its neighbours share is no accident
        for share, quality in zip(_SHARES, smooth.tolist(), strict=True):
            if quality > best:
                best, settings = quality, tried._replace(neighbors=tried.neighbors._replace(share=share))
        if report("neighbors", number, len(_NEIGHBORS), best):
            break
    # The fit has more events than the trial had, and neighbours gain more from events than vectors do.
    chosen = settings.neighbors
    return settings._replace(neighbors=chosen._replace(share=(1 - _FRACTION) * chosen.share))


def _vectors(fit: EventFit, settings: EventSettings) -> tuple[Coded, Vectors]:
    """Return the items as codes and as what these stand for; without bits as they are."""
    if fit.bits:
        coded = fit.coded(settings)
        return coded, coded.codes.vectors(n_threads=fit.n_threads)
    items = fit.teacher(settings).items
    gram, axes = own_axes(items, fit.n_threads)
    return Coded(None, gram, None, None, None), multiply(items, axes, fit.n_threads)  # type: ignore[arg-type]


def _blends(
    trial: _Trial, neighbors: Neighbors, users: Vectors, items: Vectors, which: npt.NDArray[np.intp]
) -> Iterator[Vectors]:
    """Yield the scores of some users for each share of the vectors."""
    by_vectors = np.float32(neighbors.scale) * multiply(users[which], items.T, trial.fit.n_threads)
    by_neighbors = neighbors.sums(trial.fit.data.events.liked().by_user.take(which)).toarray()
    for share in _SHARES:
        yield np.float32(share) * by_vectors + by_neighbors


def _of_vectors(trial: _Trial, teacher: Teacher) -> float:
    threads = trial.fit.n_threads
    [quality] = trial.qualities(lambda users: [multiply(teacher.users[users], teacher.items.T, threads)])
    return quality


def _with_contexts(fit: EventFit, settings: EventSettings, report: Report) -> EventSettings:
    """Choose what contexts and repeats count for, by the item of each held-out event among all items.

    Where no pair has several events, among those that are new to its user.
    """
    each, rng = fit.data.each, np.random.default_rng(fit.seed)
    assert each is not None
    held = _some_events(each, rng)
    part = each.take(~held)
    trial = replace(fit, data=fit.data.with_events(part.summed(fit.data.events.shape), part))
    asked = np.flatnonzero(held & (each.values > 0))
    asked = np.sort(rng.permutation(asked)[: _most_rows(fit.data.events)])
    if not len(asked) or not (part.values > 0).any():
        return settings
    repeated = len(each) > fit.data.events.by_user.n_entries
    contexts = _CONTEXTS if fit.data.contexts is not None else (None,)
    best = -1.0
    for number, context in enumerate(contexts, 1):
        tried = settings._replace(context=context)
        coded = trial.coded(tried)
        items = coded.codes.vectors(n_threads=fit.n_threads)
        neighbors, users = trial.neighbors(tried, coded, items)
        vectors = trial.context_vectors(tried, coded, users, items)
        qualities = _of_events(trial, each.take(asked), users, items, neighbors, vectors, repeated)
        for repeat, quality in zip(_REPEATS, qualities, strict=False):
            if quality > best:
                best, settings = quality, tried._replace(repeat=repeat)
        if report("contexts", number, len(contexts), best):
            break
    return settings


def _of_events(
    fit: EventFit,
    asked: EventList,
    users: Vectors,
    items: Vectors,
    neighbors: Neighbors,
    contexts: Vectors | None,
    repeated: bool,
) -> list[float]:
    """Return the mean NDCG@20 of the items of events, by what a repeat counts for."""
    repeats = _REPEATS if repeated else _REPEATS[:1]
    totals, n_items, table = np.zeros(len(repeats)), len(items), fit.data.contexts
    step = _rows_at_once(n_items)
    for begin in range(0, len(asked), step):
        some = asked.take(np.arange(begin, min(begin + step, len(asked))))
        vectors = users[some.users]
        if contexts is not None and table is not None:
            vectors = vectors + table.take(some.contexts).sums(contexts)
        history = fit.data.events.by_user.take(some.users)
        seen = FeatureTable.empty(len(some), n_items) if repeated else history
        scores = np.float32(neighbors.scale) * multiply(vectors, items.T, fit.n_threads)
        scores += neighbors.sums(history).toarray()
        before, starts = 0.0, np.arange(len(some) + 1)
        roots = np.sqrt(np.maximum(history.toarray(), 0))
        for way, repeat in enumerate(repeats):
            scores += np.float32((repeat - before) * neighbors.scale) * roots
            before = repeat
            found, _ = best_of_scores(scores, seen.indptr, seen.indices, min(_K, n_items), fit.n_threads)
            totals[way] += ndcg(found, starts, some.items, n_items).sum()
    return list(totals / len(asked))


def _some_events(each: EventList, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Return a fifth of each user's events, rounded."""
    order = np.lexsort((rng.random(len(each)), each.users))
    starts = np.searchsorted(each.users[order], np.arange(int(each.users.max(initial=0)) + 2))
    place = np.empty(len(each), np.int64)
    place[order] = np.arange(len(each)) - starts[each.users[order]]
    held: npt.NDArray[np.bool_] = place < np.rint(_FRACTION * np.diff(starts))[each.users]
    return held


def _rows_at_once(n_items: int) -> int:
    return int(np.clip(_NUMBERS_AT_ONCE // max(n_items, 1), 1, _MOST_AT_ONCE))


def _most_rows(events: Events) -> int:
    return int(np.clip(_MOST_SCORES // max(events.shape[1], 1), _FEWEST_USERS, _MOST_USERS))


def ndcg(
    found: npt.NDArray[np.int64], start: npt.NDArray[np.int64], relevant: npt.NDArray[np.int32], n_items: int
) -> npt.NDArray[np.float64]:
    """Return the NDCG of each row of items found, best first; `relevant` are the items that should be."""
    n, k = found.shape
    discounts = np.array([_DISCOUNTS[place] for place in range(k)])
    sizes = np.diff(start)
    rows = np.repeat(np.arange(n), sizes)
    hits = np.isin(np.arange(n)[:, None] * n_items + found, rows * n_items + relevant) & (found >= 0)
    ideal = np.append(0.0, np.cumsum(discounts))[np.minimum(sizes, k)]
    return np.asarray(np.divide(np.sum(hits * discounts, axis=1), ideal, out=np.zeros(n), where=ideal > 0))


_DISCOUNTS = logarithm(np.array([2.0])) / logarithm(np.arange(2.0, _K + 2))
