"""Forms of a table in a model file: the narrowest types that hold its numbers, and no values where all are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.data.word_rows import fold
from bitfm.errors import ModelFileError
from bitfm.persist import Tensor, check_tensors, narrow_type, narrowed
from bitfm.validation import MOST_ROWS

__all__ = ["check", "packed", "unit_values"]

_DENSE = {"values": Tensor("float32", "rows columns", low=-np.inf)}
_LEVELS = {"values": Tensor("int8", "rows columns"), "scale": Tensor("float32", low=0)}
_LARGEST = np.iinfo(np.int8).max


def unit_values(indptr: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    """Return 1/√n for each of the n entries of a row."""
    n = np.diff(indptr)
    return np.repeat(1 / np.sqrt(np.maximum(n, 1)), n).astype(np.float32)


def packed(
    n_columns: int,
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    values: npt.NDArray[Any],
    *,
    any_form: bool,
    weights: npt.NDArray[np.float64] | None = None,
) -> dict[str, npt.NDArray[Any]]:
    """Return the tensors of a sparse table; those of the sparse form alone unless they may be of `any_form`."""
    n = np.diff(indptr)
    if any_form and n.max(initial=0) <= 1 and (values == 1).all():
        singles = np.zeros(len(n), narrow_type(n_columns))
        singles[n == 1] = indices + 1
        return {"singles": singles}
    starts, columns = narrowed(indptr, len(indices)), narrowed(indices, n_columns)
    if any_form and np.array_equal(values, unit_values(indptr)):
        return {"indptr": starts, "members": columns}
    if any_form and weights is not None and (folded := fold(indptr, indices, values, weights)) is not None:
        starts, words = folded
        return {"indptr": narrowed(starts, len(words)), "words": narrowed(words, n_columns)}
    whole = np.abs(values).max(initial=0) <= _LARGEST and (values == np.rint(values)).all()
    return {"indptr": starts, "indices": columns, "values": values.astype(np.int8) if whole else values}


def check(n_rows: int, n_columns: int, tensors: Mapping[str, npt.NDArray[Any]], *, any_form: bool) -> None:
    """Refuse tensors that are no table of so many rows and columns."""
    dense = tensors["values"].ndim == 2 if set(tensors) in (set(_DENSE), set(_LEVELS)) else False
    short = [name for name in ("members", "words") if any_form and name in tensors]
    columns = short[0] if short else "indices"
    n_entries = tensors[columns].size if columns in tensors else 0
    if max(n_rows, n_columns, n_entries) > MOST_ROWS:
        size = f"{n_rows:,} rows, {n_columns:,} columns and {n_entries:,} entries"
        raise ModelFileError(f"has a table of {size}, expected at most {MOST_ROWS:,} of each")
    if any_form and dense:
        declared = _LEVELS if "scale" in tensors else _DENSE
    elif any_form and "singles" in tensors:
        declared = {"singles": Tensor(narrow_type(n_columns), "rows")}
    else:
        starts, entries = Tensor(narrow_type(n_entries), "ends"), Tensor(narrow_type(n_columns), "entries")
        declared = {"indptr": starts, columns: entries}
        if columns == "indices":
            declared["values"] = Tensor("float32 int8", "entries")
    sizes = {"rows": n_rows, "columns": n_columns, "ends": n_rows + 1, "entries": n_entries}
    check_tensors(tensors, declared, sizes, prefix="table.")
