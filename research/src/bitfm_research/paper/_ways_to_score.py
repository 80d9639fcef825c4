"""Ways to score users and items, to be timed: what is worked out once, and what is done for every pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from bitfm.core import best_of_scores, libfm_scores, score_pairs_by_records, score_pairs_by_vectors
from bitfm.data.blocks import Blocks
from bitfm.models import FM, DiscreteFM
from bitfm.retrieval import records_of

from bitfm_research.paper._raw_features import RawFeatures

__all__ = [
    "Way",
    "best_scores",
    "by_codes",
    "by_float32",
    "by_libfm_loop",
    "by_product",
    "by_product_and_selection",
    "by_search",
    "vectors_of",
]

Floats32 = npt.NDArray[np.float32]
Users = npt.NDArray[np.int64]

_TOP = 10
_AT_ONCE = 64  # users of a product: few enough for their scores to stay in the cache
_GROUP = 16  # scores of which the largest is looked at first
_LEAST = -1e30
_WIDTH = 64  # numbers that the kernel for vectors takes at a time


@dataclass(frozen=True)
class Way:
    """A way to score."""

    n_pairs: int  # how many a run scores
    run: Callable[[Any], Any]  # called with what `prepare` returns
    prepare: Callable[[], Any] = lambda: None  # what is worked out once for all pairs


def by_libfm_loop(fm: FM, pairs: Blocks) -> Way:
    """Score by libFM's loop; the rows are expanded beforehand, as a file of libFM's would have them."""
    rows = pairs.to_csr()
    arrays = rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data.astype(np.float32)
    factors = np.ascontiguousarray(_normal(fm.factors_, np.float64).T)
    weights = _normal(fm.weights_, np.float64)
    return Way(len(pairs), lambda _: libfm_scores(*arrays, fm.bias_, weights, factors))


def by_float32(fm: FM, pairs: Blocks) -> Way:
    """Score by real vectors, without the pairs within a side; narrow ones are filled up with zeros."""
    rank = fm.factors_.shape[1]
    width = -(-rank // _WIDTH) * _WIDTH
    factors = np.zeros((len(fm.factors_), width), np.float32)
    factors[:, :rank] = _normal(fm.factors_)
    design: Any = pairs.design(np.float32)
    weights = _normal(fm.weights_)
    return Way(len(pairs), lambda _: score_pairs_by_vectors(design, fm.bias_, weights, factors, n_threads=1))


def by_codes(model: DiscreteFM, pairs: Blocks, *, across: bool = False) -> Way:
    """Score by records of codes; with `across` without the pairs within a side, as the kernel for real vectors does."""
    bare = all(len(block.tables) == 1 for block in pairs.blocks.values())  # then there are no pairs within a side
    cross = across or bare or model.pairs_ == "across"
    design: Any = pairs.design(np.float32)
    records = records_of(model.codes_, model.weights_.astype(np.float32), model.gains_)
    bits = 8 * model.codes_.shape[1]
    return Way(
        len(pairs), lambda _: score_pairs_by_records(design, model.bias_, records, "codes", bits, cross, n_threads=1)
    )


def by_product(fm: FM, features: RawFeatures, users: Users) -> Way:
    """Multiply vectors of users and items, block by block; nothing is kept of the scores."""

    def run(vectors: tuple[Floats32, Floats32]) -> None:
        for _ in _products(vectors, users):
            pass

    return Way(len(users) * features.n_items, run, partial(vectors_of, fm, features))


def by_product_and_selection(fm: FM, features: RawFeatures, users: Users) -> Way:
    """Multiply as `by_product` does, and keep the best ten items of each user and their scores."""

    def prepare() -> tuple[Floats32, Floats32]:
        p, q = vectors_of(fm, features)
        filled = np.zeros((-(-len(q) // _GROUP) * _GROUP, q.shape[1]), np.float32)
        filled[: len(q)] = q
        filled[len(q) :, -1] = _LEAST  # items that nobody finds
        return p, filled

    def run(vectors: tuple[Floats32, Floats32]) -> list[Any]:
        found = [best_scores(scores, min(_TOP, features.n_items)) for scores in _products(vectors, users)]
        return [np.concatenate(column) for column in zip(*found, strict=True)]

    return Way(len(users) * features.n_items, run, prepare)


def best_scores(scores: Floats32, n: int) -> tuple[npt.NDArray[np.int64], Floats32]:
    """Return the places and values of the n largest of each row, whose length is a multiple of 16.

    They lie in the n groups of 16 whose maxima are largest, and maxima take no more than a pass at the speed of memory.
    """
    m = scores.shape[1] // _GROUP
    if m < n:
        return best_of_scores(scores, None, None, n, 1)
    groups = scores.reshape(len(scores), _GROUP, m)
    chosen, _ = best_of_scores(groups.max(axis=1), None, None, n, 1)
    few = np.take_along_axis(groups, chosen[:, None, :], axis=2).reshape(len(scores), _GROUP * n)
    place, best = best_of_scores(few, None, None, n, 1)
    return place // n * m + np.take_along_axis(chosen, place % n, axis=1), best


def _products(vectors: tuple[Floats32, Floats32], users: Users) -> Iterator[Floats32]:
    chosen, items = vectors[0][users], vectors[1].T
    scores = np.empty((_AT_ONCE, items.shape[1]), np.float32)
    for begin in range(0, len(chosen), _AT_ONCE):
        block = chosen[begin : begin + _AT_ONCE]
        yield np.matmul(block, items, out=scores[: len(block)])


def vectors_of(fm: FM, features: RawFeatures) -> tuple[Floats32, Floats32]:
    """Return one vector per user and one per item whose product is the score, constants included."""
    n = features.n_users
    factors, weights = _normal(fm.factors_), _normal(fm.weights_)
    p, q, own = factors[:n], factors[n : n + features.n_items], weights[n : n + features.n_items]
    if features.words is not None:
        of_words, x = factors[n + features.n_items :], features.words
        sums = x @ of_words
        squares = x.multiply(x) @ np.einsum("ij,ij->i", of_words, of_words)
        own = own + x @ weights[n + features.n_items :] + np.einsum("ij,ij->i", q, sums)
        own += (np.einsum("ij,ij->i", sums, sums) - squares) / 2
        q = q + sums
    users = np.column_stack([p, weights[:n] + np.float32(fm.bias_), np.ones(n, np.float32)])
    return users, np.column_stack([q, np.ones(len(q), np.float32), own])


def _normal(values: npt.NDArray[Any], dtype: npt.DTypeLike = np.float32) -> npt.NDArray[Any]:
    """Return values in a precision, and 0 for those whose squares it cannot hold as normal numbers.

    A strong penalty shrinks factors to such values. They add nothing to scores, but with subnormal numbers processors
    take several times as long.
    """
    found = values.astype(dtype)
    found[np.abs(found) < np.sqrt(np.finfo(found.dtype).tiny)] = 0
    return found


def by_search(model: DiscreteFM, features: RawFeatures, users: Users) -> Way:
    """Find the best ten items of each user in an index of all."""
    items = features.items(np.arange(features.n_items))
    return Way(
        len(users) * features.n_items,
        lambda index: index.search(users, _TOP, n_jobs=1),
        lambda: model.index(items),
    )
