"""The choice of settings for events: what ranks held-out events best."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from bitfm.core import multiply
from bitfm.models.implicit.context_choice import choose_contexts
from bitfm.models.implicit.fit import Coded, EventFit, EventSettings
from bitfm.models.implicit.neighbors import NeighborSettings
from bitfm.models.implicit.teacher import own_axes
from bitfm.models.implicit.trial import Report, Trial, make_trials
from bitfm.models.progress import Progress
from bitfm.parameters import Neighbors

__all__ = ["choose_settings"]

Vectors = npt.NDArray[np.float32]

_REGULARIZATIONS = (0.05, 0.08, 0.12, 0.18, 0.27, 0.4, 0.6)
_STRENGTHS = (0.3, 0.1, 0.03)
_RATIOS = (2.5, 5.0, 10.0, 20.0)
_NEIGHBORS = ((1.0, 20.0), (0.3, 10.0), (0.1, 5.0))
_SHARES = (1.0, 1.5, 2.2, 3.3, 5.0, 7.5, 11.0)
_MOST_CANDIDATES = 16


class _Candidate(NamedTuple):
    """Items as they will be with some settings, in a trial: as codes, and without bits as the teacher has them."""

    trial: Trial
    coded: Coded
    items: Vectors  # that the codes stand for
    qualities: npt.NDArray[np.float64]  # of the users

    @classmethod
    def of(cls, trial: Trial, settings: EventSettings) -> Self:
        """Fit to a trial."""
        fit, threads = trial.fit, trial.fit.n_threads
        if fit.bits:
            coded = fit.coded(settings)
            items = coded.codes.vectors(n_threads=threads)
            users = fit.users(settings, coded, items)
        else:
            teacher = fit.teacher(settings)
            gram, axes = own_axes(teacher.items, threads)
            coded = Coded(None, gram, None, None, None)  # type: ignore[arg-type]
            users, items = (multiply(each, axes, threads) for each in (teacher.users, teacher.items))
        [qualities] = trial.qualities(lambda which: [multiply(users[which], items.T, threads)])
        return cls(trial, coded, items, np.asarray(qualities))


def choose_settings(fit: EventFit, progress: Progress) -> EventSettings:
    """Return the best of a few settings.

    The penalty of features, the regularization and what pairs without an event count for are changed one after the
    other, each step by step as long as that helps, until no step does; then come the settings of neighbours, and last
    what contexts and repeats count for. Each is what ranks a held-out fifth of each user's events best.
    """
    trials = make_trials(fit)
    settings = EventSettings(feature_strength=_STRENGTHS[0])

    def report(stage: str, number: int, total: int, quality: float) -> bool:
        return progress.report(stage, number, total, 1 - float(quality), 1 - float(quality))

    if not trials:
        return settings
    grids = {"regularization": _REGULARIZATIONS, "ratio": _RATIOS}
    if any(side is not None for side in fit.sides):
        grids = {"feature_strength": _STRENGTHS, **grids}
    settings, candidates, stopped = _climbed(trials, settings, grids, report)
    if fit.n_neighbors and not stopped:
        settings = _with_neighbors(candidates, settings, report)
    if fit.data.each is not None and fit.bits and not stopped:
        settings = choose_contexts(fit, settings, report)
    return settings


def _climbed(
    trials: list[Trial], settings: EventSettings, grids: dict[str, tuple[float, ...]], report: Report
) -> tuple[EventSettings, list[_Candidate], bool]:
    """Return settings from which no step to a neighbour in a grid ranks better, their trials, and whether to stop.

    Better is what is so by more than a standard error of the users' differences. Without that, chance would lead far
    away from the defaults where users are few.
    """
    known: dict[EventSettings, npt.NDArray[np.float64]] = {}
    best: list[_Candidate] = []
    stopped = False

    def better(there: EventSettings, name: str) -> bool:
        """Try settings, if that is new and there is time, and go there if they rank better."""
        nonlocal settings, stopped, best
        if there in known or stopped or len(known) == _MOST_CANDIDATES:
            return False
        tried = [_Candidate.of(trial, there) for trial in trials]
        known[there] = np.concatenate([each.qualities for each in tried])
        stopped = report(name, len(known), _MOST_CANDIDATES, float(known[there].mean()))
        gain = known[there] - known[settings]
        if best and gain.mean() <= gain.std() / np.sqrt(len(gain)):
            return False
        settings, best = there, tried
        return True

    better(settings, next(iter(grids)))
    moved = True
    while moved:
        moved = False
        for name, values in grids.items():
            for way in (-1, 1):
                step: dict[str, Any] = {}
                while 0 <= (place := values.index(getattr(settings, name)) + way) < len(values):
                    step[name] = values[place]
                    if not better(settings._replace(**step), name):
                        break
                    moved = True
    return settings, best, stopped


def _with_neighbors(candidates: list[_Candidate], settings: EventSettings, report: Report) -> EventSettings:
    best = -1.0
    for number, (unobserved, ridge) in enumerate(_NEIGHBORS, 1):
        tried = settings._replace(neighbors=NeighborSettings(unobserved, ridge, 1.0))
        qualities = []
        for trial, coded, items, _ in candidates:
            found, users = trial.fit.neighbors(tried, coded, items)
            ways = trial.qualities(partial(_blends, trial, found, users, items), len(_SHARES))
            qualities.append(ways.mean(axis=1))
        padded = np.pad(np.mean(qualities, axis=0), 1, mode="edge")
        smooth = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4  # a peak that its neighbours share is no accident
        for share, quality in zip(_SHARES, smooth.tolist(), strict=True):
            if quality > best:
                best, settings = quality, tried._replace(neighbors=tried.neighbors._replace(share=share))
        if report("neighbors", number, len(_NEIGHBORS), best):
            break
    return settings


def _blends(
    trial: Trial, neighbors: Neighbors, users: Vectors, items: Vectors, which: npt.NDArray[np.intp]
) -> Iterator[Vectors]:
    """Yield the scores of some users for each share of the vectors."""
    by_vectors = np.float32(neighbors.scale) * multiply(users[which], items.T, trial.fit.n_threads)
    by_neighbors = neighbors.sums(trial.fit.data.events.liked().by_user.take(which)).toarray()
    for share in _SHARES:
        yield np.float32(share) * by_vectors + by_neighbors
