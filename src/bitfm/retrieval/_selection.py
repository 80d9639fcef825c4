"""Which items a search may return."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.data.feature_table import FeatureTable, check_rows
from bitfm.retrieval._segment import Excluded

__all__ = ["excluded_of", "positions_of"]


def positions_of(what: str, given: npt.ArrayLike, n_positions: int) -> npt.NDArray[np.int64]:
    """Return positions that are given as numbers, or as one boolean each."""
    array = np.atleast_1d(np.asarray(given))
    if array.dtype == bool:
        if array.shape != (n_positions,):
            raise ValueError(f"{what}: expected {n_positions} booleans, one per position, got shape {array.shape}.")
        return np.flatnonzero(array)
    return check_rows(what, array, n_positions).astype(np.int64)


def excluded_of(given: Any, n_queries: int, n_positions: int) -> Excluded:
    """Return the starts and positions of what each query leaves out."""
    if given is None:
        return None, None
    if not isinstance(given, FeatureTable) and not hasattr(given, "tocsr"):
        raise TypeError(f"exclude: expected a sparse matrix of queries × positions, got {type(given).__name__}.")
    table = FeatureTable.of("exclude", given)
    if table.n_rows != n_queries or table.n_columns > n_positions:
        raise ValueError(
            f"exclude: expected {n_queries} queries × {n_positions} positions, got a matrix of shape "
            f"{(table.n_rows, table.n_columns)}."
        )
    indptr, indices, _ = table.arrays()
    return indptr, indices
