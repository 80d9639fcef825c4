"""Checks of matrices that callers give, before SciPy or the core relies on their arrays."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from bitfm.validation import check_count

__all__ = ["check_arrays", "check_range", "check_sizes", "refuse_sizes"]


def check_sizes(name: str, matrix: Any) -> None:
    """Refuse a matrix, dense or of SciPy, that is larger than a table can be, without reading it."""
    kept = matrix.data.size if getattr(matrix, "format", "dense") in ("coo", "csr", "csc", "bsr") else 0
    refuse_sizes(name, *getattr(matrix, "shape", (0, 0))[:2], kept)


def refuse_sizes(name: str, *sizes: int) -> None:
    """Refuse numbers of rows, columns and non-zeros that are more than a table can have."""
    for n, of in zip(sizes, ("rows", "columns", "non-zeros"), strict=False):
        check_count(name, n, of)


def check_arrays(name: str, m: Any) -> None:
    """Refuse arrays that are no matrix, which SciPy trusts, even while it converts them; the core must not."""
    form = getattr(m, "format", "dense")
    if form == "coo":
        if not len(m.row) == len(m.col) == len(m.data):
            raise ValueError(f"{name}: a damaged COO matrix ({len(m.row)}, {len(m.col)} and {len(m.data)} entries).")
        check_range(f"{name}: row indices", m.row, m.shape[0])
        check_range(f"{name}: column indices", m.col, m.shape[1])
    elif form in ("csr", "csc", "bsr"):
        by_row = [size // step for size, step in zip(m.shape, m.blocksize if form == "bsr" else (1, 1), strict=True)]
        outer, inner = by_row[::-1] if form == "csc" else by_row
        indptr, indices = m.indptr, m.indices
        if len(indptr) != outer + 1 or len(indices) != len(m.data):
            raise ValueError(f"{name}: a damaged {form.upper()} matrix (array lengths do not fit its shape).")
        if indptr[0] != 0 or indptr[-1] != len(indices) or (indptr[1:] < indptr[:-1]).any():
            raise ValueError(f"{name}: a damaged {form.upper()} matrix (indptr must rise from 0 to {len(indices)}).")
        check_range(f"{name}: {'row' if form == 'csc' else 'column'} indices", indices, inner)


def check_range(what: str, indices: npt.NDArray[Any], size: int) -> None:
    """Refuse indices that are not from 0 to ``size - 1``."""
    few = indices.tolist() if indices.size < 16 else [indices.min(), indices.max()]  # Python is faster if there are few
    low, high = int(min(few, default=0)), int(max(few, default=-1))
    if low < 0 or high >= size:
        raise ValueError(f"{what} must be from 0 to {size - 1}, but they go from {low} to {high}.")
