"""Ways to score users and items, to be timed: what is worked out once, and what is done for every pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from bitfm.core import libfm_scores, score_pairs_by_records, score_pairs_by_vectors
from bitfm.data.blocks import Blocks
from bitfm.models import FM, DiscreteFM
from bitfm.retrieval import records_of

from bitfm_research.paper._raw_features import RawFeatures

__all__ = ["Way", "by_codes", "by_float32", "by_libfm_loop", "by_product", "by_search", "vectors_of"]

Floats32 = npt.NDArray[np.float32]
Users = npt.NDArray[np.int64]

_TOP = 10
_AT_ONCE = 64  # users of a product: few enough for their scores to stay in the cache
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
    factors = np.ascontiguousarray(fm.factors_.T, np.float64)
    weights = np.ascontiguousarray(fm.weights_, np.float64)
    return Way(len(pairs), lambda _: libfm_scores(*arrays, fm.bias_, weights, factors))


def by_float32(fm: FM, pairs: Blocks) -> Way:
    """Score by real vectors, without the pairs within a side; narrow ones are filled up with zeros."""
    rank = fm.factors_.shape[1]
    width = -(-rank // _WIDTH) * _WIDTH
    factors = np.zeros((len(fm.factors_), width), np.float32)
    factors[:, :rank] = fm.factors_
    design: Any = pairs.design(np.float32)
    weights = fm.weights_.astype(np.float32)
    return Way(len(pairs), lambda _: score_pairs_by_vectors(design, fm.bias_, weights, factors, n_threads=1))


def by_codes(model: DiscreteFM, pairs: Blocks) -> Way:
    """Score by records of codes."""
    bare = all(len(block.tables) == 1 for block in pairs.blocks.values())  # then there are no pairs within a side
    cross = bare or model.pairs_ == "across"
    design: Any = pairs.design(np.float32)
    records = records_of(model.codes_, model.weights_.astype(np.float32), model.gains_)
    bits = 8 * model.codes_.shape[1]
    return Way(
        len(pairs), lambda _: score_pairs_by_records(design, model.bias_, records, "codes", bits, cross, n_threads=1)
    )


def by_product(fm: FM, features: RawFeatures, users: Users) -> Way:
    """Multiply vectors of users and items, block by block; nothing is kept of the scores."""
    scores = np.empty((_AT_ONCE, features.n_items), np.float32)

    def run(vectors: tuple[Floats32, Floats32]) -> None:
        chosen, items = vectors[0][users], vectors[1].T
        for begin in range(0, len(chosen), _AT_ONCE):
            block = chosen[begin : begin + _AT_ONCE]
            np.matmul(block, items, out=scores[: len(block)])

    return Way(len(users) * features.n_items, run, partial(vectors_of, fm, features))


def vectors_of(fm: FM, features: RawFeatures) -> tuple[Floats32, Floats32]:
    """Return one vector per user and one per item whose product is the score, constants included."""
    n = features.n_users
    factors, weights = fm.factors_.astype(np.float32), fm.weights_.astype(np.float32)
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


def by_search(model: DiscreteFM, features: RawFeatures, users: Users) -> Way:
    """Find the best ten items of each user in an index of all."""
    items = features.items(np.arange(features.n_items))
    return Way(
        len(users) * features.n_items,
        lambda index: index.search(users, _TOP, n_jobs=1),
        lambda: model.index(items),
    )
