"""The choice of what contexts and repeats count for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from bitfm.core import best_of_scores, multiply
from bitfm.data.feature_table import FeatureTable
from bitfm.models.implicit.data import EventList
from bitfm.models.implicit.fit import EventFit, EventSettings
from bitfm.models.implicit.trial import FRACTION, K, Report, most_rows, ndcg, rows_at_once
from bitfm.parameters import Neighbors

__all__ = ["choose_contexts"]

Vectors = npt.NDArray[np.float32]

_CONTEXTS = (None, 0.2, 1.0, 5.0)
_REPEATS = (0.0, 0.1, 0.3, 1.0, 3.0)


def choose_contexts(fit: EventFit, settings: EventSettings, report: Report) -> EventSettings:
    """Choose what contexts and repeats count for, by the item of each held-out event among all items.

    Where no pair has several events, among those that are new to its user.
    """
    each, rng = fit.data.each, np.random.default_rng(fit.seed)
    assert each is not None
    held = _some_events(each, rng)
    part = each.take(~held)
    trial = replace(fit, data=fit.data.with_events(part.summed(fit.data.events.shape), part), share=1 - FRACTION)
    asked = np.flatnonzero(held & (each.values > 0))
    asked = np.sort(rng.permutation(asked)[: most_rows(fit.data.events)])
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
    step = rows_at_once(n_items)
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
            found, _ = best_of_scores(scores, seen.indptr, seen.indices, min(K, n_items), fit.n_threads)
            totals[way] += ndcg(found, starts, some.items, n_items).sum()
    return list(totals / len(asked))


def _some_events(each: EventList, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Return a fifth of each user's events, rounded."""
    order = np.lexsort((rng.random(len(each)), each.users))
    starts = np.searchsorted(each.users[order], np.arange(int(each.users.max(initial=0)) + 2))
    place = np.empty(len(each), np.int64)
    place[order] = np.arange(len(each)) - starts[each.users[order]]
    held: npt.NDArray[np.bool_] = place < np.rint(FRACTION * np.diff(starts))[each.users]
    return held
