"""Users of any kind get the numbers that `np.unique` gives them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfm.data.splits import distinct_indices as number

KINDS = [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64]


@given(st.data(), st.sampled_from(KINDS), st.booleans())
def test_whole_numbers(data, kind, close):
    lowest, highest = np.iinfo(kind).min, np.iinfo(kind).max
    if close:
        first = data.draw(st.integers(lowest, highest - 20))
        lowest, highest = first, first + 20
    values = np.array(data.draw(st.lists(st.integers(lowest, highest), min_size=1, max_size=40)), kind)
    distinct, places = number("test", "users", values)
    expected, expected_places = np.unique(values, return_inverse=True)
    np.testing.assert_array_equal(distinct, expected)
    np.testing.assert_array_equal(places, expected_places)
    assert distinct.dtype == kind
    assert places.dtype == np.int32


@pytest.mark.parametrize("kind", ["U", object, "datetime64[D]", float, bool])
def test_others(kind):
    values = np.array(["b", "a", "b"], kind) if kind in ("U", object) else np.array([1, 0, 1]).astype(kind)
    distinct, places = number("test", "users", values)
    np.testing.assert_array_equal(distinct[places], values)
    assert places.tolist() == [1, 0, 1]
