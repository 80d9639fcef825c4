"""Coverage, novelty and diversity of lists are what their definitions say."""

from __future__ import annotations

from itertools import combinations
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfm.evaluation import coverage, diversity, novelty

N_ITEMS, N_USERS = 12, 30


def problem(seed, k):
    """Lists of different items, some of them short; the last items are never had, and one has no vector."""
    rng = np.random.default_rng(seed)
    found = np.array([rng.permutation(N_ITEMS)[:k] for _ in range(7)]).reshape(7, k)
    for row, length in zip(found, rng.integers(0, k + 1, 7), strict=True):
        row[length:] = -1
    counts = rng.integers(0, N_USERS + 1, N_ITEMS)
    counts[-2:] = 0
    vectors = rng.normal(size=(N_ITEMS, 5))
    vectors[3] = 0
    return found, counts, vectors


def unlike(a, b):
    lengths = np.linalg.norm(a) * np.linalg.norm(b)
    return 1 - (a @ b / lengths if lengths else 0)


@given(seed=st.integers(0, 10**6), k=st.integers(1, 6))
def test_they_are_what_they_are_defined_to_be(seed, k):
    found, counts, vectors = problem(seed, k)
    lists = [[item for item in row.tolist() if item >= 0] for row in found]
    assert coverage(found, N_ITEMS) == len({item for items in lists for item in items}) / N_ITEMS
    surprise = {
        user: np.mean([-log2(max(int(counts[item]), 1) / N_USERS) for item in items])
        for user, items in enumerate(lists)
        if items
    }
    each = novelty(found, counts, N_USERS)
    assert each.users.tolist() == list(surprise)
    np.testing.assert_allclose(each.values, list(surprise.values()), atol=1e-12)
    pairs = {
        user: np.mean([unlike(vectors[a], vectors[b]) for a, b in combinations(items, 2)])
        for user, items in enumerate(lists)
        if len(items) > 1
    }
    each = diversity(found, vectors, users=[f"u{number}" for number in range(7)])
    assert each.users.tolist() == [f"u{user}" for user in pairs]
    np.testing.assert_allclose(each.values, list(pairs.values()), atol=1e-5)


def test_many_lists_are_measured_some_at_a_time(monkeypatch):
    found, _, vectors = problem(1, 6)
    whole = diversity(found, vectors).values
    monkeypatch.setattr("bitfm.evaluation.lists._NUMBERS_AT_ONCE", 64)
    np.testing.assert_array_equal(diversity(found, vectors).values, whole)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: coverage([[0, 4]], 4), "items from 0 to 3"),
        (lambda: coverage([0, 1], 4), "lists × k"),
        (lambda: coverage([[0]], 0), "n_items must be"),
        (lambda: novelty([[0]], [5], 4), "from 0 to the 4 users"),
        (lambda: novelty([[0.5]], [1], 4), "whole numbers"),
        (lambda: diversity([[0]], [[np.nan]]), "must be finite"),
        (lambda: diversity([[0], [0]], [[1.0]], users=["a"]), "expected 2 users"),
    ],
)
def test_what_cannot_be_measured_is_refused(call, told):
    with pytest.raises(ValueError, match=told):
        call()
