"""Fits to events, in the core: rows of least squares, level codes and neighbours."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm._core import (
    best_of_scores,
    encode_levels,
    find_neighbors,
    improve_rows,
    level_magnitudes,
    score_listed,
    solve_rows,
)

__all__ = [
    "best_of_scores",
    "encode_levels",
    "event_scores",
    "find_neighbors",
    "improve_rows",
    "level_magnitudes",
    "normal_numbers",
    "score_listed",
    "solve_rows",
    "vector_sums",
]

Starts = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]


def event_scores(
    indptr: Starts, indices: Indices, values: Floats, rows: Floats, others: Floats, n_threads: int = 1
) -> Floats:
    """Return ⟨row, other⟩ of every entry of a sparse matrix of rows × others."""
    out = np.empty(len(indices), np.float32)
    _core.score_events(indptr, indices, values, rows, others, out, n_threads)
    return out


def vector_sums(indptr: Starts, indices: Indices, values: Floats, vectors: Floats, n_threads: int = 1) -> Floats:
    """Return a sparse matrix times a dense one, whose rows are vectors."""
    out = np.empty((max(len(indptr) - 1, 0), vectors.shape[1]), np.float32)
    _core.sum_vectors(indptr, indices, values, vectors, out, n_threads)
    return out


def normal_numbers(shape: tuple[int, int], seed: int) -> Floats:
    """Return standard normal numbers, the same on every machine."""
    return _core.normal(seed, 0, shape[0] * shape[1]).reshape(shape)
