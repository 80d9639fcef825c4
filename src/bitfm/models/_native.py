"""From blocks to the core's design, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.data._tables import Table
from bitfm.data.blocks import Block, Blocks


def as_reals(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numbers as the core takes them, in either precision: mostly as they are."""
    return np.ascontiguousarray(values, values.dtype if values.dtype in (np.float32, np.float64) else np.float32)


def make_design(X: Blocks, dtype: npt.DTypeLike) -> _core.Design32 | _core.Design64:
    """Hand the blocks to the core; it borrows their arrays."""
    design = _core.Design32() if np.dtype(dtype) == np.float32 else _core.Design64()
    for block in X.blocks.values():
        design.add_block(block.n_rows, np.ascontiguousarray(block.rows))
        for table in block.tables.values():
            if table.identity:
                design.add_identity(table.n_columns)
            else:
                design.add_table(table.n_columns, *table.native(dtype))
    return design


def make_trainer(
    X: Blocks, y: npt.NDArray[Any], sample_weight: npt.NDArray[Any] | None, *, cross: bool
) -> _core.Trainer32 | _core.Trainer64:
    """Build the solver's state for these interactions; computes in float32 if all of X is."""
    dtype = X.dtype
    design: Any = make_design(X, dtype)
    trainer: Any = _core.Trainer32 if dtype == np.float32 else _core.Trainer64
    weights = None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype)
    return trainer(design, np.ascontiguousarray(y, dtype), weights, cross)  # type: ignore[no-any-return]


def split_one_hot(X: Blocks) -> Blocks:
    """Recognise a plain matrix that is nothing but one-hot fields, such as a libFM file of ids.

    Kept as bare ids it trains many times faster, and the model is the same.
    """
    if len(X.blocks) != 1:
        return X
    block = next(iter(X.blocks.values()))
    if len(block.tables) != 1:
        return X
    table = next(iter(block.tables.values()))
    if table.matrix is None or table.n_rows != len(block):
        return X
    m = table.matrix
    per_row = m.nnz // max(table.n_rows, 1)
    if per_row < 2 or not (np.diff(m.indptr) == per_row).all() or not (m.data == 1).all():
        return X
    ids = m.indices.reshape(table.n_rows, per_row)
    starts, ends = ids.min(axis=0), ids.max(axis=0)
    if not (ends[:-1] < starts[1:]).all():
        return X
    edges = [0, *(int(s) for s in starts[1:]), table.n_columns]
    return Blocks(
        **{
            f"field{j}": Block(ids[block.rows, j] - edges[j], {"id": Table.eye(edges[j + 1] - edges[j])})
            for j in range(per_row)
        }
    )
