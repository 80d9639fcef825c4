"""Designs and trainers of the core, in the precision of the data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm._core import Design32, Design64, Trainer32, Trainer64

__all__ = ["Design", "Trainer", "as_reals", "make_design", "make_trainer", "transpose"]

Design: TypeAlias = Design32 | Design64
Trainer: TypeAlias = Trainer32 | Trainer64


class _Table(Protocol):
    @property
    def n_columns(self) -> int: ...

    @property
    def identity(self) -> bool: ...

    @property
    def has_levels(self) -> bool: ...

    @property
    def values(self) -> npt.NDArray[Any]: ...

    @property
    def scale(self) -> float: ...

    def arrays(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[Any]]: ...


def as_reals(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numbers as the core takes them, in either precision: mostly as they are."""
    return np.ascontiguousarray(values, values.dtype if values.dtype in (np.float32, np.float64) else np.float32)


def make_design(blocks: Iterable[tuple[int, npt.NDArray[np.int32], Sequence[_Table]]], dtype: npt.DTypeLike) -> Design:
    """Hand blocks to the core, each its number of rows, the row of each interaction, and its tables.

    The core borrows the arrays.
    """
    design: Any = Design32() if np.dtype(dtype) == np.float32 else Design64()
    for n_rows, rows, tables in blocks:
        design.add_block(n_rows, np.ascontiguousarray(rows))
        for table in tables:
            if table.identity:
                design.add_identity(table.n_columns)
            elif table.has_levels:
                design.add_dense(table.values, table.scale)
            else:
                indptr, indices, values = table.arrays()
                design.add_table(table.n_columns, indptr, indices, np.ascontiguousarray(values, dtype))
    return design  # type: ignore[no-any-return]


def make_trainer(
    design: Design, y: npt.NDArray[Any], sample_weight: npt.NDArray[Any] | None, *, across: bool
) -> Trainer:
    """Build the solvers' state for interactions, their targets and weights; it computes in the design's precision.

    See `Blocks.design`; `across` is whether only pairs of features from different blocks count.
    """
    single = isinstance(design, Design32)
    dtype = np.float32 if single else np.float64
    weights = None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype)
    trainer: Any = Trainer32 if single else Trainer64
    return trainer(design, np.ascontiguousarray(y, dtype), weights, across)  # type: ignore[no-any-return]


def transpose(
    n_columns: int, indptr: npt.NDArray[np.int64], indices: npt.NDArray[np.int32], values: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[Any]]:
    """Return the arrays of a table by its columns: starts, rows and values, the rows of a column in their order."""
    if values.dtype == np.float32:
        return _core.transpose32(n_columns, indptr, indices, values)
    return _core.transpose64(n_columns, indptr, indices, values)
