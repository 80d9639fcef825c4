"""Models that were never trained: random codes, with gains and biases of the usual spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from bitfm.data import Block
from bitfm.data.blocks import FieldSpan
from bitfm.models import DiscreteFM

__all__ = ["BITS", "generated_codes", "generated_features", "sparse_rows", "untrained"]

BITS = 64
_TASTES = 16
# Spread of biases and interactions: those of the model trained on MovieLens 1M with histories.
_BIAS_SPREAD, _INTERACTION_SPREAD = 0.48, 0.30


def generated_codes(n_users: int, n_items: int, n_contexts: int = 0, seed: int = 0) -> DiscreteFM:
    """Return a model of bare ids with random codes, and gains and biases of the usual spread."""
    fields = [("user", "id", n_users), ("context", "id", n_contexts), ("item", "id", n_items)]
    return _generated([field for field in fields if field[2]], seed)


def generated_features(n_users: int, n_items: int, seed: int = 0) -> tuple[DiscreteFM, Block]:
    """Return a model whose items have an id and nine of 5,000 tags, and the items."""
    rng = np.random.default_rng(seed)
    tags = sparse_rows(rng.integers(5000, size=9 * n_items).reshape(-1, 9), np.float32(1 / 3), 5000)
    model = _generated([("user", "id", n_users), ("item", "id", n_items), ("item", "tags", 5000)], seed)
    return model, Block(np.arange(n_items), {"id": sp.identity(n_items, np.float32, "csr"), "tags": tags})


def _generated(fields: Sequence[tuple[str, str, int]], seed: int) -> DiscreteFM:
    rng = np.random.default_rng(seed)
    n = sum(size for _, _, size in fields)
    codes = np.concatenate([_tastes(rng, size) for _, _, size in fields])
    gain = np.sqrt(_INTERACTION_SPREAD / np.sqrt(BITS))
    gains = (gain * np.exp(rng.normal(0, 0.25, n))).astype(np.float32)
    return untrained(codes, gains, rng.normal(0, _BIAS_SPREAD, n).astype(np.float32), fields)


def untrained(
    codes: npt.NDArray[np.uint8],
    gains: npt.NDArray[np.float32],
    weights: npt.NDArray[np.float32],
    fields: Sequence[tuple[str, str, int]],
) -> DiscreteFM:
    """Return a model of these parameters. A field is its block, its name and its size."""
    model = DiscreteFM(codes.shape[1] * 8)
    model.codes_, model.gains_, model.weights_ = codes, gains, weights
    model.bias_, model.pairs_, model.n_features_in_ = 3.5, "across", len(codes)
    spans, start = [], 0
    for block, name, size in fields:
        spans.append(FieldSpan(block, name, start, start + size))
        start += size
    model.fields_ = tuple(spans)
    return model


def sparse_rows(columns: npt.NDArray[Any], values: Any, n_columns: int) -> sp.csr_matrix:
    """Return a matrix of as many non-zeros in every row, given the column and the value of each."""
    data = np.array(np.broadcast_to(values, columns.shape), np.float32).ravel()
    starts = np.arange(0, columns.size + 1, columns.shape[1])
    return sp.csr_matrix((data, columns.astype(np.int32).ravel(), starts), (len(columns), n_columns))


def _tastes(rng: np.random.Generator, n: int) -> npt.NDArray[np.uint8]:
    """Return codes that have something in common, as learned ones have: the signs of few tastes and some noise."""
    tastes = np.random.default_rng(0).normal(size=(_TASTES, BITS)).astype(np.float32)
    parts = []
    for begin in range(0, n, 1 << 18):
        size = min(1 << 18, n - begin)
        own = rng.standard_normal((size, _TASTES), np.float32)
        noise = rng.standard_normal((size, BITS), np.float32)
        parts.append(np.packbits(own @ tastes + noise * np.sqrt(_TASTES / 2) > 0, axis=1, bitorder="little"))
    return np.concatenate(parts)
