"""Histories and raters: by the definition, and nothing else becomes one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from bitfm import DiscreteFM
from bitfm.data import Block, Blocks, history, raters
from bitfm.data.feature_table import FeatureTable

pairs = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 7)), max_size=40)


@given(pairs)
def test_each_row_holds_its_distinct_partners_and_its_squares_sum_to_one(pairs):
    users, items = np.array(pairs, int).reshape(-1, 2).T
    table = history(users, items, n_users=6, n_items=8)
    expected = np.zeros((6, 8))
    for user in range(6):
        rated = {item for who, item in pairs if who == user}
        expected[user, list(rated)] = 1 / np.sqrt(max(len(rated), 1))
    np.testing.assert_array_equal(table.toarray(), expected.astype(np.float32))
    assert table.n_entries == len(set(pairs))
    squares = (table.toarray() ** 2).sum(axis=1)
    np.testing.assert_allclose(squares, np.isin(np.arange(6), users), atol=1e-6)


@given(pairs)
def test_raters_are_the_history_of_items(pairs):
    users, items = np.array(pairs, int).reshape(-1, 2).T
    of_items = raters(users, items, n_users=6, n_items=8)
    assert of_items.shape == (8, 6)
    np.testing.assert_array_equal(of_items.toarray(), history(items, users, n_users=8, n_items=6).toarray())


@pytest.mark.parametrize("table", [history, raters])
def test_it_is_a_canonical_single_precision_table(table):
    result = table([2, 0, 2, 2], [1, 3, 0, 1])
    assert isinstance(result, FeatureTable)
    assert result.dtype == np.float32
    assert result.to_csr().has_canonical_format


def test_sizes_are_those_of_the_numbers_unless_given():
    assert history([0, 3], [5, 1]).shape == (4, 6)
    assert raters([0, 3], [5, 1]).shape == (6, 4)
    assert history([0, 3], [5, 1], n_users=9).shape == (9, 6)
    assert history([0, 3], [5, 1], n_items=np.int64(9)).shape == (4, 9)
    assert history([], []).shape == (0, 0)
    assert raters([], [], n_users=2, n_items=3).shape == (3, 2)


def test_the_arrays_given_stay_as_they_were():
    users, items = np.array([1, 1, 0]), np.array([0, 0, 2])
    history(users, items)
    np.testing.assert_array_equal(users, [1, 1, 0])
    np.testing.assert_array_equal(items, [0, 0, 2])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (([0, 1], [0]), "2 users and 1 items; give one of each"),
        (([-1], [0]), "users must be from 0 .* from -1 to -1"),
        (([0], [2**40]), f"items must be from 0 .* to {2**40}"),
        (([0.0], [0]), "users must be whole numbers, got float64"),
        (([0], ["a"]), "items must be whole numbers, got <U1"),
        (([True], [0]), "users must be whole numbers, got bool"),
        (([[0]], [0]), r"users must be one-dimensional, got shape \(1, 1\)"),
        (([0, 4], [0, 1], 4), "users, of n_users=4, must be from 0 to 3, but they go from 0 to 4"),
        (([0], [0], None, 0), "items, of n_items=0, must"),
        (([0], [0], -1), "n_users must be a whole number .* got -1"),
        (([0], [0], None, 2.0), r"n_items must be a whole number .* got 2\.0"),
        (([0], [0], True), "n_users must be a whole number .* got True"),
        (([0], [0], 2**31), f"n_users must be a whole number .* got {2**31}"),
    ],
)
def test_what_names_no_interactions_is_refused(given, told):
    with pytest.raises(ValueError, match=f"history: .*{told}"):
        history(*given)


def test_raters_names_itself_in_errors():
    with pytest.raises(ValueError, match="raters: got 2 users and 1 items"):
        raters([0, 1], [0])


def test_a_model_takes_both_as_fields():
    rng = np.random.default_rng(0)
    users, items = rng.integers(20, size=200), rng.integers(15, size=200)
    X = Blocks(
        user=Block(users, {"history": history(users, items, 20, 15), "id": sp.identity(20)}),
        item=Block(items, {"raters": raters(users, items, 20, 15), "id": sp.identity(15)}),
    )
    assert X.dtype == np.float32
    model = DiscreteFM(bits=8, max_iter=2).fit(X, rng.integers(1, 6, 200))
    assert np.isfinite(model.predict(X)).all()
