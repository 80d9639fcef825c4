"""A short list of neighbours per item: what codes leave over."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bitfm.core import event_scores, find_neighbors, multiply, vector_sums
from bitfm.data.feature_table import FeatureTable
from bitfm.models.implicit.events import Events
from bitfm.parameters import EventWeights, Neighbors, Steps, fold_in_events

__all__ = ["NeighborSettings", "learn_neighbors"]

Vectors = npt.NDArray[np.float32]

_CANDIDATES = 64
_MOST_LEVERAGE = 0.95
_MOST_TARGETS = 32  # that an item may be a neighbour of, so that histories of popular items stay cheap
_LONGEST_HISTORY = 2000  # items of a user that are looked at together: their pairs are as many as its square


class NeighborSettings(NamedTuple):
    """What a fit of neighbours weighs."""

    unobserved: float = 0.3  # a pair without an event, against one with it
    ridge: float = 10.0
    share: float = 3.3  # of the vectors' part of a score, beside what a least-squares fit would give it


def learn_neighbors(
    events: Events,
    items: Vectors,
    gram: npt.NDArray[np.float64],
    weights: EventWeights,
    n_neighbors: int,
    settings: NeighborSettings,
    priors: Vectors | None,
    n_threads: int,
) -> tuple[Neighbors, Vectors]:
    """Return neighbours by the items' vectors, whose Gram matrix is the diagonal `gram`; and the users' vectors."""
    rows = events.by_user.arrays()
    leverage = np.empty(len(rows[1]), np.float32)
    n_items = int((events.item_sizes > 0).sum())
    users = fold_in_events(events.by_user, items, gram, weights, n_items, priors, n_threads, leverage)
    plain = event_scores(*rows, users, items, n_threads)
    targets = (rows[2] > 0).astype(np.float32)
    leverage = np.minimum(leverage, np.float32(_MOST_LEVERAGE))
    held_out = np.asarray((plain - leverage * targets) / (1 - leverage), np.float32)
    observed = items[events.item_sizes > 0]
    beta = _share_of_vectors(np.abs(rows[2]), targets, held_out, plain, users, observed, settings.unobserved)
    n = len(items)
    found, values = np.full((n, n_neighbors), -1, np.int32), np.zeros((n, n_neighbors), np.float32)
    if n_neighbors:
        by_item = events.by_item
        entries = FeatureTable.sparse(rows[0], rows[1], np.arange(len(held_out), dtype=np.float64), n).transpose()
        order = entries.values.astype(np.int64)
        histories = _shortened(events.liked().by_user)
        holders = histories.transpose()
        sums = vector_sums(*holders.arrays()[:2], np.ones(holders.n_entries, np.float32), users, n_threads)
        find_neighbors(
            *by_item.arrays(),
            held_out[order],
            plain[order],
            *histories.arrays()[:2],
            *holders.arrays()[:2],
            items,
            sums,
            settings.unobserved,
            settings.ridge,
            beta,
            _CANDIDATES,
            found,
            values,
            n_threads,
        )
    return Neighbors.of(_by_source(found, values), settings.share * beta), users


def _share_of_vectors(
    weights: Vectors,
    targets: Vectors,
    held_out: Vectors,
    plain: Vectors,
    users: Vectors,
    items: Vectors,
    unobserved: float,
) -> float:
    """Return the β with the least squared error of β ŷ over all pairs of users and items."""
    grams = [multiply(each.astype(np.float64).T, each.astype(np.float64)) for each in (users, items)]
    everywhere = float(np.sum(grams[0] * grams[1]))
    e, y, out, all_in = (each.astype(np.float64) for each in (weights, targets, held_out, plain))
    size = float(np.sum(e * out**2)) + unobserved * (everywhere - float(np.sum(all_in**2)))
    return max(float(np.sum(e * y * out)) / size, 0.0) if size > 0 else 1.0


def _shortened(histories: FeatureTable) -> FeatureTable:
    """Return histories of no more than `_LONGEST_HISTORY` items: of longer ones every n-th."""
    indptr, indices, values = histories.arrays()
    sizes = np.diff(indptr)
    if sizes.max(initial=0) <= _LONGEST_HISTORY:
        return histories
    place = np.arange(len(indices)) - np.repeat(indptr[:-1], sizes)
    step = np.repeat(-(-sizes // _LONGEST_HISTORY), sizes)
    kept = place % np.maximum(step, 1) == 0
    ends = np.append(0, np.cumsum(kept))[indptr]
    return FeatureTable.sparse(ends, indices[kept], values[kept], histories.n_columns)


def _by_source(neighbors: npt.NDArray[np.int32], values: Vectors) -> FeatureTable:
    """Return S, sources × targets; a source keeps its largest entries."""
    n = len(neighbors)
    targets, places = np.nonzero(neighbors >= 0)
    sources, amounts = neighbors[targets, places], Steps.of(values[targets, places]).values
    order = np.lexsort((targets, -amounts, sources))
    sources, targets, amounts = sources[order], targets[order], amounts[order]
    starts = np.searchsorted(sources, np.arange(n + 1))
    kept = (np.arange(len(sources)) - starts[sources] < _MOST_TARGETS) & (amounts > 0)
    sources, targets, amounts = sources[kept], targets[kept], amounts[kept]
    order = np.lexsort((targets, sources))
    indptr = np.searchsorted(sources, np.arange(n + 1))
    return FeatureTable.sparse(indptr, targets[order].astype(np.int32), amounts[order], n)
