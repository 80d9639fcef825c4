"""Sparse matrices as columns of lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    import polars as pl


def lists_of(name: str, matrix: sp.csr_matrix) -> pl.Series:
    """Return the columns of each row's non-zeros, as a list a row."""
    import polars as pl

    rows, columns = entries(matrix)[:2]
    numbers = pl.DataFrame({"row": np.arange(matrix.shape[0], dtype=np.int64)})
    lists = pl.DataFrame({"row": rows, name: columns}).group_by("row").agg(pl.col(name))
    joined = numbers.join(lists, on="row", how="left", maintain_order="left")[name]
    return joined.fill_null(pl.Series([[]], dtype=pl.List(pl.Int64)))


def entries(matrix: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return row, column and value of each non-zero, row by row."""
    csr = sp.csr_matrix(matrix)
    csr.sort_indices()
    coo = csr.tocoo()
    kept = coo.data != 0
    return coo.row[kept].astype(np.int64), coo.col[kept].astype(np.int64), coo.data[kept]
