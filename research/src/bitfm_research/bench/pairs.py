"""How fast pairs are scored from raw features: codes against tables of real and of whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from bitfm.core import score_pairs_by_records, unpack_codes
from bitfm.data.blocks import Block, Blocks
from bitfm.retrieval import records_of

from bitfm_research.bench._comparison import OURS, compare_times
from bitfm_research.bench.generated import sparse_rows
from bitfm_research.bench.measure import Row

__all__ = ["FEATURES", "run"]

FEATURES = (10_000, 100_000, 10_000_000)
_BITS, _NON_ZEROS = 64, 100
_IN_CACHE, _COLD = 2000, 20_000  # pairs: few enough to stay in the cache beside the table, or far too many to
_STEPS = 100  # of the whole numbers


def run(
    features: Sequence[int] = FEATURES, *, n_pairs: int | None = None, say: Callable[[str], None] = print
) -> Iterator[tuple[str, list[Row]]]:
    """Score generated pairs of 100 features each, half of them the user's, by vectors of 64, on one thread.

    All methods ask memory for what comes next ahead of time; they differ in what a feature's record holds. With binary
    x the codes have one gain for all, as fields may have, and are counted.

    Parameters
    ----------
    features : sizes of the tables
    n_pairs : by default 2,000, or 20,000 where the table is larger than any cache
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
        for values in ("real", "binary"):
            X = _pairs(n, pairs, values)
            rows += _comparison(f"{values} x", X, tables, "feature" if values == "real" else "field")
        yield f"{pairs:,} pairs of {_NON_ZEROS} of {n:,} features, {_BITS} bits or numbers each", rows


def _tables(n: int) -> dict[str, tuple[str, npt.NDArray[np.uint8]]]:
    """Return the records of each method: the same model, but that "field" has one gain for all."""
    rng = np.random.default_rng(0)
    codes = rng.integers(256, size=(n, _BITS // 8), dtype=np.uint8)
    weights = rng.standard_normal(n, np.float32)
    gains = {"feature": rng.random(n, np.float32) + np.float32(0.5), "field": np.ones(n, np.float32)}
    signs = unpack_codes(codes)
    return {
        **{name: ("codes", records_of(codes, weights, gain)) for name, gain in gains.items()},
        "int8": ("bytes", records_of((signs * _STEPS).astype(np.int8), weights, gains["feature"] / np.float32(_STEPS))),
        "float32": ("reals", records_of(signs * gains["feature"][:, None], weights, gains["feature"])),
    }


def _comparison(what: str, X: Blocks, tables: dict[str, tuple[str, npt.NDArray[np.uint8]]], gains: str) -> list[Row]:
    design: Any = X.design(np.float32)
    names = {f"{OURS}, one gain per {gains}": gains, "float32 table": "float32", "int8 table": "int8"}
    methods = {}
    for name, table in names.items():
        kind, records = tables[table]
        methods[name] = partial(score_pairs_by_records, design, 3.5, records, kind, _BITS, True, 1)
    rows = compare_times(what, len(X), methods, rounds=50, seconds=5)
    return [
        {
            "what": row["what"],
            "method": row["method"],
            "ns per pair": 1e3 * row["µs per query"],
            "bytes per feature": tables[names[row["method"]]][1].shape[1],
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
