"""Who reads what: shares that add up, and books drawn without a readers × books matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "choose_books", "spread"]

Rows: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

_ROUNDS = 8
_EAGER = 0.25  # of the shop: beyond it most redraws would repeat a book
_CELLS = 1 << 21  # of a dense readers × books slab: 16 MB


def spread(total: int, weights: Floats, low: int, high: int) -> Rows:
    """Split `total` in proportion to `weights` into integers between `low` and `high`."""
    counts = np.full(len(weights), low, dtype=np.int64)
    while left := total - int(counts.sum()):
        room = np.flatnonzero(counts < high)
        share = left * weights[room] / weights[room].sum()
        extra = share.astype(np.int64)
        largest_remainders = np.argsort(extra - share, kind="stable")
        extra[largest_remainders[: left - int(extra.sum())]] += 1
        counts[room] += np.minimum(extra, high - counts[room])
    return counts


def choose_books(
    rng: np.random.Generator, counts: Rows, popularity: Floats, affinity: Callable[[Rows, Rows], Floats]
) -> tuple[Rows, Rows]:
    """Draw `counts[u]` different books for every reader u, as rows of readers and of books.

    A book is drawn in proportion to its popularity and accepted with probability sigmoid(affinity). A few
    rounds of this fill nearly everybody; those who want a good part of the shop get an exact weighted draw.
    """
    n_books = len(popularity)
    cumulative = np.cumsum(popularity)
    pairs = np.empty(0, dtype=np.int64)
    by_rounds = np.where(counts > _EAGER * n_books, 0, counts)
    for _ in range(_ROUNDS):
        missing = by_rounds - np.bincount(pairs // n_books, minlength=len(counts))
        readers = np.repeat(np.arange(len(counts)), 2 * missing + 4 * (missing > 0))
        if not len(readers):
            break
        draws = cumulative[-1] * rng.random(len(readers))
        books = np.minimum(np.searchsorted(cumulative, draws, side="right"), n_books - 1)
        liked = rng.random(len(readers)) * (1 + np.exp(-affinity(readers, books))) < 1
        pairs = _first_of_each(np.concatenate([pairs, (readers * n_books + books)[liked]]), n_books, by_rounds)

    missing = counts - np.bincount(pairs // n_books, minlength=len(counts))
    unfinished, books = np.flatnonzero(missing), np.arange(n_books)
    slab = max(1, _CELLS // n_books)
    parts = [pairs]
    for start in range(0, len(unfinished), slab):  # by the Gumbel top-k trick, over all books not drawn yet
        readers = unfinished[start : start + slab]
        keys = np.log(popularity) - np.logaddexp(0, -affinity(readers[:, None], books))
        keys += rng.gumbel(size=keys.shape)
        taken = pairs[np.isin(pairs // n_books, readers)]
        keys[np.searchsorted(readers, taken // n_books), taken % n_books] = -np.inf
        best = np.argsort(-keys, axis=1, kind="stable")
        parts.append((readers[:, None] * n_books + best)[books < missing[readers][:, None]])
    pairs = np.sort(np.concatenate(parts))
    return pairs // n_books, pairs % n_books


def _first_of_each(pairs: Rows, n_books: int, counts: Rows) -> Rows:
    """Drop repeated pairs and what exceeds a reader's count, earliest draws kept, ordered by reader."""
    _, first = np.unique(pairs, return_index=True)
    pairs = pairs[np.sort(first)]
    pairs = pairs[np.argsort(pairs // n_books, kind="stable")]
    readers = pairs // n_books
    starts = np.searchsorted(readers, np.arange(len(counts)))
    kept: Rows = pairs[np.arange(len(pairs)) - starts[readers] < counts[readers]]
    return kept
