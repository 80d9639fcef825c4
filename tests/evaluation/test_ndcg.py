"""NDCG against scikit-learn's, user by user."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from bitfm.evaluation import ndcg


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 12), ties=st.booleans())
def test_it_equals_the_mean_of_scikit_learns(seed, k, ties):
    rng = np.random.default_rng(seed)
    users = rng.integers(0, 8, 60)
    relevance = rng.integers(0, 6, 60)
    scores = rng.integers(0, 4, 60).astype(float) if ties else rng.normal(size=60)
    expected = []
    for user in np.unique(users):
        mine = users == user
        if mine.sum() < 2 or not relevance[mine].any():
            if relevance[mine].any():
                expected.append(1.0)
            continue
        expected.append(ndcg_score([2.0 ** relevance[mine] - 1], [scores[mine]], k=k))
    assert ndcg(users, relevance, scores, k) == pytest.approx(np.mean(expected))


def test_users_without_gain_are_left_out():
    assert ndcg([0, 0, 1, 1], [0, 0, 1, 0], [1, 2, 1, 0], k=5) == 1.0
    assert np.isnan(ndcg([0], [0], [1.0]))
    assert np.isnan(ndcg([], [], []))


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="2 users, 1 ratings"):
        ndcg([0, 1], [1], [0.5, 0.5])


def test_infinite_scores_tie_and_nan_is_refused():
    assert ndcg(["a", "a"], [1, 0], [-np.inf, -np.inf], k=1) == 0.5
    with pytest.raises(ValueError, match="NaN"):
        ndcg([0], [1], [np.nan])
