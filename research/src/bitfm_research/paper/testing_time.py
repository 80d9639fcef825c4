"""Table 1 of the paper: what it takes to score every user with every item, by FM and by DFM, on one thread."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from bitfm.models import FM, DiscreteFM

from bitfm_research.blas import single_blas_thread
from bitfm_research.paper._raw_features import WORDS_PER_ITEM, RawFeatures, random_fm, with_words
from bitfm_research.paper._ways_to_score import (
    Way,
    by_codes,
    by_float32,
    by_libfm_loop,
    by_product,
    by_product_and_selection,
    by_search,
)
from bitfm_research.paper.names import (
    CODE_PAIRS,
    CODE_PAIRS_ACROSS,
    FLOAT_PAIRS,
    LOOP,
    PRODUCT,
    PRODUCT_AND_BEST,
    RETRIEVAL,
)
from bitfm_research.paper.results import Measure

__all__ = ["testing_times"]


class _Effort(NamedTuple):
    pairs: int  # of the sample, at least
    non_zeros: int  # of all of them, at least
    most_pairs: int  # of product and search, beyond which users are sampled there, too
    runs: int  # of each way, at least
    seconds: float  # of all its runs together, at least


_FULL, _QUICK = _Effort(20_000, 2_000_000, 2_000_000_000, 5, 0.5), _Effort(500, 100_000, 2_000_000, 2, 0.0)
_LONG = 4.0  # seconds, after which a way has had its runs, however few


def testing_times(
    dataset: str,
    n_users: int,
    n_items: int,
    model: DiscreteFM,
    seed: int,
    *,
    words: bool,
    fm: FM | None = None,  # noqa: PT028  (this is not a test)
    quick: bool = False,  # noqa: PT028
) -> list[Measure]:
    """Measure ways to score all users × items from raw features, each on one thread, in two jobs.

    The paper names no task for its testing time cost (TTC). Its times are those of the whole matrix: 1,414.67
    minutes on Amazon and 217.64 on Yelp, with 64 factors, are 6.5 to 1, and users × items are 6.6 to 1. That makes
    74 µs per pair of libFM's, or 1.2 µs per factor, whatever their number: items had hundreds of features, their
    words. The published splits carry ids alone, so words are generated: 200 different ones of 8,000 per item, with
    positive values of unit length. libFM would have taken 6 ns per factor and non-zero with that many.

    Pairs that are given one by one:

    ``"FM; libFM loop"``
        libFM's own loop over factors and non-zeros, in double precision, as plain as the original. A sample of pairs.
    ``"FM; float32 pairs"``
        bitfm's own kernel for pairs of real vectors, in single precision. It reads 64 numbers at a time, so fewer
        factors are filled up with zeros, and take as long as 64. It leaves out pairs within an item's features, which
        an FM of all pairs would have to add. The same sample.
    ``"DFM, paper; pairs"``
        The codes' kernel for pairs, with the model's one gain: all pairs of features, as libFM's loop has them. It sums
        64 bits at a time, so shorter codes take as long as those of 64. The same sample.
    ``"DFM, paper; pairs across"``
        The same without pairs within an item's features: the work of the kernel for real vectors. With words only.

    The best ten items of every user, from raw features:

    ``"FM; product and best 10"``
        Vectors of users and items, worked out once, all their products by BLAS, in blocks of users, and the best ten
        of each user's, by the maxima of groups of 16 scores.
    ``"FM; matrix product"``
        The same products alone. Nothing is kept of the scores or chosen among them.
    ``"DFM, paper; retrieval"``
        An exact search for the best ten items of each user, in an index of all, which is built in the time.

    A sample is some users, drawn at random, each with all items in turn, as scoring the matrix would; its time is
    taken times users over those drawn. The other two ways include their preparation and are measured whole, unless
    there are more than two billion pairs: then users are sampled, too. Times are processor time, each the best of
    several in turns, or of one that takes long; what else runs on the computer still takes its share of the caches,
    and of all ways libFM's loop needs them most. Except for that of retrieval no time depends on the values of the
    parameters; those next to 0, with which processors are slow, are taken for 0. A search depends on how scores are
    spread: with ids as the trained model has them, with words as a model with random codes beside the trained ones.

    Parameters
    ----------
    dataset : str
        A name for the rows.
    n_users, n_items : int
    model : DiscreteFM
        Trained on ids by the paper's objective: a block of users, then one of items.
    seed : int
        Of everything that is random.
    words : bool
        Whether items have words beside their ids.
    fm : FM, optional
        Trained on the same ids, with as many factors as the codes have bits; by default one of random parameters.
    quick : bool, default False
        Smaller samples.

    Returns
    -------
    list of Measure
        For each way ``"TTC, ids"`` or ``"TTC, ids and words"``, in seconds for the whole matrix, and ``"pairs timed,
        ids"`` or ``"pairs timed, ids and words"``, how many of its scores were computed.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from bitfm import Block, Blocks, DiscreteFM
    >>> X = Blocks(user=Block([0, 0, 1], {"id": sp.identity(2)}), item=Block([0, 2, 1], {"id": sp.identity(3)}))
    >>> model = DiscreteFM(8).fit(X, [5, 4, 3])
    >>> measures = testing_times("tiny", 2, 3, model, 0, words=False, quick=True)
    >>> [(m.method, m.metric, m.value > 0) for m in measures][:2]
    [('FM; libFM loop', 'TTC, ids', True), ('FM; libFM loop', 'pairs timed, ids', True)]
    """
    sizes = [field.size for field in model.fields_]
    if sizes != [n_users, n_items] or len({field.block for field in model.fields_}) != 2:
        raise ValueError(
            f"model has fields of sizes {sizes}, but there are {n_users} users and {n_items} items; "
            "give one fitted on a block of each, ids alone."
        )
    if fm is not None and fm.factors_.shape != (n_users + n_items, model.bits):
        raise ValueError(f"fm has factors of shape {fm.factors_.shape}; expected {(n_users + n_items, model.bits)}.")
    effort = _QUICK if quick else _FULL
    features = RawFeatures.of(n_users, n_items, words=words, seed=seed)
    ways = _ways(features, with_words(model, features, seed) if words else model, seed, effort, fm)
    variant = "ids and words" if words else "ids"
    measures = []
    for method, seconds in _best_seconds(ways, n_users * n_items, effort).items():
        measures += [
            Measure(dataset, method, model.bits, seed, f"TTC, {variant}", None, seconds),
            Measure(dataset, method, model.bits, seed, f"pairs timed, {variant}", None, float(ways[method].n_pairs)),
            Measure(dataset, method, model.bits, seed, f"pairs, {variant}", None, float(n_users * n_items)),
        ]
    return measures


def _ways(features: RawFeatures, model: DiscreteFM, seed: int, effort: _Effort, trained: FM | None) -> dict[str, Way]:
    rng, n_items = np.random.default_rng(seed), features.n_items
    fm = random_fm(features, model.bits, seed, trained)
    per_pair = 2 if features.words is None else 2 + WORDS_PER_ITEM
    n_pairs = max(effort.pairs, effort.non_zeros // per_pair)
    pairs = features.pairs(_some_users(rng, features.n_users, -(-n_pairs // n_items)))
    users = _some_users(rng, features.n_users, effort.most_pairs // n_items)
    across = {CODE_PAIRS_ACROSS: by_codes(model, pairs, across=True)} if features.words is not None else {}
    return {
        LOOP: by_libfm_loop(fm, pairs),
        FLOAT_PAIRS: by_float32(fm, pairs),
        CODE_PAIRS: by_codes(model, pairs),
        **across,
        PRODUCT: by_product(fm, features, users),
        PRODUCT_AND_BEST: by_product_and_selection(fm, features, users),
        RETRIEVAL: by_search(model, features, users),
    }


def _some_users(rng: np.random.Generator, n_users: int, n: int) -> npt.NDArray[np.int64]:
    return np.sort(rng.choice(n_users, min(n_users, max(1, n)), replace=False))


def _best_seconds(ways: Mapping[str, Way], n_pairs: int, effort: _Effort) -> dict[str, float]:
    """Return what each way takes at its best for so many pairs; they take turns until each has had enough."""
    prepared: dict[str, list[float]] = {name: [] for name in ways}
    taken: dict[str, list[float]] = {name: [] for name in ways}

    def waits(name: str) -> bool:
        total = sum(taken[name]) + sum(prepared[name])
        return total < _LONG and (len(taken[name]) < effort.runs or total < effort.seconds)

    with single_blas_thread():
        while waiting := [name for name in ways if waits(name)]:
            for name in waiting:
                begin = time.process_time()
                once = ways[name].prepare()
                middle = time.process_time()
                ways[name].run(once)
                taken[name].append(time.process_time() - middle)
                prepared[name].append(middle - begin)
    return {name: min(prepared[name]) + min(taken[name]) * n_pairs / way.n_pairs for name, way in ways.items()}
