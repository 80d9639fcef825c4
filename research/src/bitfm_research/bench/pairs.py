"""How fast pairs are scored from raw features: codes against tables of real and of whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from bitfm.core import score_pairs_by_records, score_pairs_by_vectors, unpack_codes
from bitfm.data.blocks import Block, Blocks
from bitfm.retrieval import records_of

from bitfm_research.bench._comparison import OURS, compare_times
from bitfm_research.bench.generated import sparse_rows
from bitfm_research.bench.measure import Row

__all__ = ["FEATURES", "run"]

FEATURES = (3000, 10_000, 100_000, 10_000_000)  # a float table in the second-level cache, beyond it, and far beyond
_BITS, _NON_ZEROS = 64, 100
_IN_CACHE, _COLD = 2000, 20_000  # pairs: few enough to stay in the cache beside the table, or far too many to
_IDS = 10  # times as many pairs where these are of two features only
_STEPS = 100  # of the whole numbers
_LINE = 64  # bytes of a cache line


@dataclass(frozen=True)
class _Table:
    """What a method reads of the features."""

    score: Callable[[Any], npt.NDArray[np.float64]]  # called with a design
    bytes_per_feature: int


def run(
    features: Sequence[int] = FEATURES, *, n_pairs: int | None = None, say: Callable[[str], None] = print
) -> Iterator[tuple[str, list[Row]]]:
    """Score generated pairs of 100 features each, half of them the user's, by vectors of 64, on one thread.

    All methods ask memory for what comes next ahead of time; they differ in what they keep of a feature. Floats are one
    vector per feature, aligned to cache lines, with weights apart, and their kernel fuses products and sums. With
    binary x the codes have one gain for all, as fields may have, and are counted. Last, pairs of two ids.

    Parameters
    ----------
    features : sizes of the tables
    n_pairs : by default 2,000, or 20,000 where the table is larger than any cache, and ten times as many of ids
    say : called with a line about what is measured

    Yields
    ------
    title, rows
        One row per method, with ``what``, ``method``, ``ns per pair``, ``bytes per feature`` and ``times``: how many
        times as long as bitfm it takes.
    """
    for n in features:
        say(f"generate {n:,} features")
        pairs = n_pairs or (_COLD if n > 1_000_000 else _IN_CACHE)
        tables = _tables(n)
        rows: list[Row] = []
        for values, gains in (("real", "feature"), ("binary", "field")):
            rows += _comparison(f"{values} x", _pairs(n, pairs, values), tables, gains)
        rows += _comparison("two ids", _ids(n, _IDS * pairs), tables, "feature")
        yield f"{pairs:,} pairs of {_NON_ZEROS} of {n:,} features, {_BITS} bits or numbers each", rows


def _tables(n: int) -> dict[str, _Table]:
    """Return the table of each method: the same model, but that "field" has one gain for all."""
    rng = np.random.default_rng(0)
    codes = rng.integers(256, size=(n, _BITS // 8), dtype=np.uint8)
    weights = rng.standard_normal(n, np.float32)
    gains = {"feature": rng.random(n, np.float32) + np.float32(0.5), "field": np.ones(n, np.float32)}
    signs = unpack_codes(codes)
    tables = {name: _by_records("codes", records_of(codes, weights, gain)) for name, gain in gains.items()}
    whole = (signs * _STEPS).astype(np.int8)
    tables["int8"] = _by_records("bytes", records_of(whole, weights, gains["feature"] / np.float32(_STEPS)))
    vectors = _aligned(n, _BITS)
    np.multiply(signs, gains["feature"][:, None], out=vectors)
    by_vectors: Any = partial(score_pairs_by_vectors, bias=3.5, weights=weights, vectors=vectors, n_threads=1)
    tables["float32"] = _Table(by_vectors, vectors.itemsize * (_BITS + 1))
    return tables


def _by_records(kind: str, records: npt.NDArray[np.uint8]) -> _Table:
    score: Any = partial(
        score_pairs_by_records, bias=3.5, records=records, kind=kind, width=_BITS, across=True, n_threads=1
    )
    return _Table(score, records.shape[1])


def _aligned(n: int, width: int) -> npt.NDArray[np.float32]:
    """Return room for vectors, each of which begins with a cache line."""
    room = np.empty(n * width * 4 + _LINE, np.uint8)
    begin = -room.ctypes.data % _LINE
    return room[begin : begin + n * width * 4].view(np.float32).reshape(n, width)


def _comparison(what: str, X: Blocks, tables: dict[str, _Table], gains: str) -> list[Row]:
    design: Any = X.design(np.float32)
    names = {f"{OURS}, one gain per {gains}": gains, "float32 table": "float32", "int8 table": "int8"}
    methods = {name: partial(tables[table].score, design) for name, table in names.items()}
    rows = compare_times(what, len(X), methods, rounds=50, seconds=5)
    return [
        {
            "what": row["what"],
            "method": row["method"],
            "ns per pair": 1e3 * row["µs per query"],
            "bytes per feature": tables[names[row["method"]]].bytes_per_feature,
            "times": row["times"],
        }
        for row in rows
    ]


def _pairs(n: int, n_pairs: int, values: str) -> Blocks:
    """Return pairs that share no row."""
    rng = np.random.default_rng(1)
    each, half = _NON_ZEROS // 2, n // 2

    def side() -> Block:
        x = rng.random((n_pairs, each), np.float32) if values == "real" else 1
        columns = np.arange(each) * (half // each) + rng.integers(half // each, size=(n_pairs, each))  # all different
        return Block(np.arange(n_pairs), {"features": sparse_rows(columns, x, half)})

    return Blocks(user=side(), item=side())


def _ids(n: int, n_pairs: int) -> Blocks:
    """Return pairs of a user's and an item's id, in no order."""
    rng, half = np.random.default_rng(2), n // 2
    ids = sp.identity(half, np.float32, "csr")
    return Blocks(
        user=Block(rng.integers(half, size=n_pairs), {"id": ids}),
        item=Block(rng.integers(half, size=n_pairs), {"id": ids}),
    )
