"""A table by its columns is what a stable sort gives, and arrays that are no table are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfm import _core
from bitfm.core import transpose
from spoilt import REFUSED, each_spoilt


def a_table(real=np.float32):
    """Three rows, the second of them empty; of four columns the third is, and the first occurs twice in a row."""
    indices = np.array([3, 0, 0, 1, 3], np.int32)
    return {
        "n_columns": 4,
        "indptr": np.array([0, 3, 3, 5]),
        "indices": indices,
        "values": np.arange(5).astype(real),
    }


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_columns_hold_their_entries_in_the_order_of_rows(real):
    start, rows, values = transpose(**a_table(real))
    np.testing.assert_array_equal(start, [0, 2, 3, 3, 5])
    np.testing.assert_array_equal(rows, [0, 0, 2, 0, 2])
    np.testing.assert_array_equal(values, [1, 2, 3, 0, 4])
    assert (start.dtype, rows.dtype, values.dtype) == (np.int64, np.int32, real)


@given(lengths=st.lists(st.integers(0, 6), max_size=8), n_columns=st.integers(1, 9), seed=st.integers(0, 10**6))
def test_it_is_a_stable_sort_by_column(lengths, n_columns, seed):
    rng = np.random.default_rng(seed)
    indptr = np.cumsum([0, *lengths], dtype=np.int64)
    indices = rng.integers(n_columns, size=indptr[-1]).astype(np.int32)  # in any order, and some of them twice
    values = rng.normal(size=len(indices))
    order = np.argsort(indices, kind="stable")
    start, rows, by_column = transpose(n_columns, indptr, indices, values)
    np.testing.assert_array_equal(start, np.cumsum([0, *np.bincount(indices, minlength=n_columns)]))
    np.testing.assert_array_equal(rows, np.repeat(np.arange(len(lengths)), lengths)[order])
    np.testing.assert_array_equal(by_column, values[order])


@pytest.mark.parametrize(("n_rows", "n_columns"), [(0, 0), (0, 3), (3, 0), (3, 3)])
def test_a_table_may_be_empty(n_rows, n_columns):
    nothing = np.zeros(0, np.int32), np.zeros(0, np.float32)
    start, rows, values = transpose(n_columns, np.zeros(n_rows + 1, np.int64), *nothing)
    assert start.tolist() == [0] * (n_columns + 1)
    assert len(rows) == len(values) == 0


def test_arrays_of_another_kind_are_refused():
    for call, real in ((_core.transpose32, np.float32), (_core.transpose64, np.float64)):
        each_spoilt(call, a_table(real), ["indptr", "indices", "values"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"indptr": np.zeros(0, np.int64)},
        {"indptr": np.array([1, 3, 3, 5])},
        {"indptr": np.array([0, 3, 3, 4])},
        {"indptr": np.array([0, 3, 3, 6])},
        {"indptr": np.array([0, 4, 3, 5])},
        {"indptr": np.array([0, -1, 3, 5])},
        {"indptr": np.array([0, 2**62, 3, 5])},
        {"indices": np.array([3, 0, 0, 1, 4], np.int32)},
        {"indices": np.array([3, 0, -1, 1, 3], np.int32)},
        {"n_columns": 3},
        {"n_columns": 0},
        {"n_columns": -1},
        {"n_columns": 2**31 - 1},
        {"n_columns": -(2**63)},
        {"n_columns": 2**64},
    ],
)
def test_what_is_no_table_is_refused(wrong):
    with pytest.raises(REFUSED):
        transpose(**a_table() | wrong)
