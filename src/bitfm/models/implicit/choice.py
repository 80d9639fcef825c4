"""The choice of settings for events: what ranks a held-out fifth of each user's events best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bitfm.core import best_of_scores, multiply
from bitfm.models.implicit.encoder import encode_items
from bitfm.models.implicit.events import Events, hold_out
from bitfm.models.implicit.features import SideFeatures
from bitfm.models.implicit.neighbors import NeighborSettings, learn_neighbors
from bitfm.models.implicit.teacher import Teacher, fit_teacher, own_axes
from bitfm.parameters import EventWeights, Neighbors

__all__ = ["RATIO", "EventSettings", "choose_settings", "ndcg"]

Vectors = npt.NDArray[np.float32]

RATIO = 10.0  # how much all unobserved pairs count, against all events
_REGULARIZATIONS = (0.08, 0.12, 0.18, 0.27, 0.4, 0.6, 0.9)
_STRENGTHS = (0.3, 1.0, 3.0)
_NEIGHBORS = ((1.0, 20.0), (0.3, 10.0), (0.1, 5.0))
_SHARES = (1.0, 1.5, 2.2, 3.3, 5.0)
_RANK, _SWEEPS = 64, 5  # of teachers that are compared
_FRACTION = 0.2
_K = 20
_MOST_USERS, _FEWEST_USERS, _MOST_SCORES = 4000, 300, 5 * 10**7
_AT_ONCE = 512

Report = Callable[[str, int, int, float], bool]


class EventSettings(NamedTuple):
    """What a fit needs to know, chosen or given."""

    regularization: float = 0.18
    feature_strength: float = 1.0
    neighbors: NeighborSettings = NeighborSettings()

    def weights(self, events: Events) -> EventWeights:
        """Return the weights of the objective for events."""
        return EventWeights(RATIO * events.density, self.regularization / (1 + RATIO))


@dataclass(frozen=True, eq=False)
class _Trial:
    """A part of the events to learn from, and the rest to rank."""

    events: Events
    held_out: Events
    users: npt.NDArray[np.intp]  # of those with something held out, whose rankings are looked at
    sides: tuple[SideFeatures | None, SideFeatures | None]
    seed: int
    n_threads: int

    def teacher(self, settings: EventSettings, rank: int, n_iter: int) -> Teacher:
        of_users, of_items = (
            None if side is None else replace(side, strength=settings.feature_strength) for side in self.sides
        )
        weights = settings.weights(self.events)
        return fit_teacher(
            self.events,
            weights,
            rank,
            n_iter,
            self.seed,
            self.n_threads,
            user_features=of_users,
            item_features=of_items,
        )

    def qualities(self, scores: Callable[[npt.NDArray[np.intp]], Iterable[Vectors]], n: int = 1) -> list[float]:
        """Return the mean NDCG@20 of rankings of what is new to the users, for each of n ways to score all items."""
        totals = np.zeros(n)
        for begin in range(0, len(self.users), _AT_ONCE):
            users = self.users[begin : begin + _AT_ONCE]
            seen, held = (each.by_user.take(users) for each in (self.events, self.held_out))
            k = min(_K, seen.n_columns)
            for way, rows in enumerate(scores(users)):
                found, _ = best_of_scores(rows, seen.indptr, seen.indices, k, self.n_threads)
                totals[way] += ndcg(found, held.indptr, held.indices, seen.n_columns).sum()
        return list(totals / max(len(self.users), 1))


def choose_settings(
    events: Events,
    bits: int,
    n_neighbors: int,
    rank: int,
    n_iter: int,
    sides: tuple[SideFeatures | None, SideFeatures | None],
    seed: int,
    n_threads: int,
    report: Report,
) -> EventSettings:
    """Return the best of a few settings.

    The regularization rises as long as that helps; then come the strength of features and the settings of neighbours.
    `report` is called after each trial with what it was of, its number, how many there are at most and its NDCG@20.
    """
    rng = np.random.default_rng(seed)
    part, held_out = hold_out(events, _FRACTION, rng)
    users = np.flatnonzero((part.user_sizes > 0) & (held_out.user_sizes > 0))
    most = int(np.clip(_MOST_SCORES // max(events.shape[1], 1), _FEWEST_USERS, _MOST_USERS))
    users = np.sort(rng.permutation(users)[:most])
    trial, settings = _Trial(part, held_out, users, sides, seed, n_threads), EventSettings()
    if not len(users):
        return settings
    best, stopped = -1.0, False
    for number, value in enumerate(_REGULARIZATIONS, 1):
        tried = settings._replace(regularization=value)
        quality = _of_vectors(trial, trial.teacher(tried, min(rank, _RANK), _SWEEPS))
        stopped = report("regularization", number, len(_REGULARIZATIONS), quality)
        if quality < best:
            break
        best, settings = quality, tried
        if stopped:
            return settings
    if any(side is not None for side in sides):
        qualities = {settings.feature_strength: best}
        for number, value in enumerate(_STRENGTHS, 1):
            if value not in qualities:
                tried = settings._replace(feature_strength=value)
                qualities[value] = _of_vectors(trial, trial.teacher(tried, min(rank, _RANK), _SWEEPS))
            stopped = report("features", number, len(_STRENGTHS), qualities[value]) or stopped
        settings = settings._replace(feature_strength=max(qualities, key=lambda value: qualities[value]))
    if n_neighbors == 0 or stopped:
        return settings
    return _with_neighbors(trial, settings, bits, n_neighbors, rank, n_iter, report)


def _with_neighbors(
    trial: _Trial, settings: EventSettings, bits: int, n_neighbors: int, rank: int, n_iter: int, report: Report
) -> EventSettings:
    weights = settings.weights(trial.events)
    teacher = trial.teacher(settings, rank, n_iter)
    items = teacher.items
    if bits:
        codes = encode_items(trial.events, teacher.users, items, weights, bits, trial.seed, trial.n_threads)
        items = codes.vectors(n_threads=trial.n_threads)
    gram, axes = own_axes(items, trial.n_threads)
    items = multiply(items, axes, trial.n_threads)
    best = -1.0
    for number, (unobserved, ridge) in enumerate(_NEIGHBORS, 1):
        tried = NeighborSettings(unobserved, ridge, 1.0)
        found, users = learn_neighbors(trial.events, items, gram, weights, n_neighbors, tried, None, trial.n_threads)
        qualities = trial.qualities(partial(_blends, trial, found, users, items), len(_SHARES))
        for share, quality in zip(_SHARES, qualities, strict=True):
            if quality > best:
                best, settings = quality, settings._replace(neighbors=tried._replace(share=share))
        if report("neighbors", number, len(_NEIGHBORS), best):
            break
    return settings


def _blends(
    trial: _Trial, neighbors: Neighbors, users: Vectors, items: Vectors, which: npt.NDArray[np.intp]
) -> Iterator[Vectors]:
    """Yield the scores of some users for each share of the vectors."""
    by_vectors = np.float32(neighbors.scale) * multiply(users[which], items.T, trial.n_threads)
    by_neighbors = neighbors.sums(trial.events.liked().by_user.take(which)).toarray()
    for share in _SHARES:
        yield np.float32(share) * by_vectors + by_neighbors


def _of_vectors(trial: _Trial, teacher: Teacher) -> float:
    [quality] = trial.qualities(lambda users: [multiply(teacher.users[users], teacher.items.T, trial.n_threads)])
    return quality


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


_DISCOUNTS = 1 / np.log2(np.arange(2, _K + 2))
