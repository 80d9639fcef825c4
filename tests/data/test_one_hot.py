"""One-hot and many-hot tables, by the definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bitfm.data.one_hot import many_hot, one_hot


def test_one_hot_has_a_column_for_each_value_in_order():
    np.testing.assert_array_equal(one_hot(["b", "a", "b"]).toarray(), [[0, 1], [1, 0], [0, 1]])


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), max_size=8), st.integers(1, 3))
def test_many_hot_keeps_what_occurs_in_enough_rows_and_has_unit_rows(lists, min_rows):
    kept = [letter for letter in "abcdef" if sum(letter in row for row in lists) >= min_rows]
    expected = np.array([[letter in row for letter in kept] for row in lists], float).reshape(len(lists), len(kept))
    expected /= np.sqrt(np.maximum(expected.sum(axis=1, keepdims=True), 1))
    table = many_hot(lists, min_rows)
    assert table.dtype == np.float32
    np.testing.assert_array_equal(table.toarray(), expected.astype(np.float32))
