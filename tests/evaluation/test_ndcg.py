"""NDCG against scikit-learn's, user by user."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from bitfm import _core
from bitfm.evaluation import ndcg, ndcg_per_user


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


@given(seed=st.integers(0, 10**6), ks=st.lists(st.integers(1, 15), min_size=1, max_size=6))
def test_several_ks_give_what_each_gives_alone(seed, ks):
    rng = np.random.default_rng(seed)
    users, relevance, scores = rng.integers(0, 9, 70), rng.integers(0, 6, 70), rng.integers(0, 9, 70)
    together = ndcg(users, relevance, scores, ks)
    assert together.shape == (len(ks),)
    assert together.tolist() == [ndcg(users, relevance, scores, k) for k in ks]


def test_every_user_is_named_with_a_value():
    users = np.array(["b", "a", "c", "b", "a", "d"])
    relevance, scores = [1, 3, 0, 2, 1, 4], [0.9, 0.9, 0.9, 0.1, 0.1, 0.1]
    each = ndcg_per_user(users, relevance, scores, k=[1, 2])
    assert each.users.tolist() == ["a", "b", "d"]  # nothing is relevant to c
    assert each.ks == (1, 2)
    for user, values in zip(each.users, each.values, strict=True):
        mine = users == user
        assert values.tolist() == ndcg(users[mine], np.array(relevance)[mine], np.array(scores)[mine], [1, 2]).tolist()
    alone = ndcg_per_user(users, relevance, scores, k=2)
    assert alone.values.tolist() == each.values[:, 1].tolist()
    assert alone.mean() == ndcg(users, relevance, scores, 2)


def test_the_order_of_the_ratings_does_not_matter():
    rng = np.random.default_rng(0)
    users, relevance, scores = rng.integers(-5, 50, 3000), rng.normal(2, 1, 3000), rng.normal(size=3000).round(1)
    shuffled = rng.permutation(3000)
    before = ndcg_per_user(users, relevance, scores, range(1, 11))
    after = ndcg_per_user(users[shuffled], relevance[shuffled], scores[shuffled], range(1, 11))
    np.testing.assert_array_equal(before.users, after.users)
    np.testing.assert_allclose(before.values, after.values, rtol=1e-12)


def test_the_number_of_threads_does_not_matter():
    rng = np.random.default_rng(1)
    users = np.concatenate([np.arange(700), rng.integers(0, 700, 9000)]).astype(np.int32)
    arrays = users, rng.normal(2, 1, len(users)), rng.integers(0, 20, len(users)).astype(float)
    one, two, five = (_core.ndcg(*arrays, 700, np.array([1, 5, 40]), n_threads) for n_threads in (1, 2, 5))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, five)


def test_a_long_list_has_all_its_ranks():
    rng = np.random.default_rng(2)
    relevance, scores = rng.integers(0, 5, 5000), rng.integers(0, 300, 5000).astype(float)
    for k in (1, 100, 4999, 5000, 10**6):
        expected = ndcg_score([2.0**relevance - 1], [scores], k=k)
        assert ndcg(np.zeros(5000, int), relevance, scores, k) == pytest.approx(expected)


@pytest.mark.parametrize("k", [0, -1, 2.0, True, "10", None, [1, 0], []])
def test_a_k_without_sense_is_refused(k):
    with pytest.raises((ValueError, TypeError), match="k"):
        ndcg([0], [1], [1.0], k)


@pytest.mark.parametrize("rating", [np.nan, np.inf, -np.inf, 1001])
def test_ratings_must_be_numbers_whose_gain_is_one(rating):
    with pytest.raises(ValueError, match="ndcg_per_user: ratings must be finite and at most 1000"):
        ndcg_per_user([0, 0], [1, rating], [1, 2])


def test_users_without_sense_are_refused():
    with pytest.raises(ValueError, match="some are NaN"):
        ndcg([0, np.nan], [1, 1], [1, 2])
    with pytest.raises(TypeError, match="all numbers or all strings"):
        ndcg(np.array([0, "a"], object), [1, 1], [1, 2])
    with pytest.raises(ValueError, match=r"users must be one-dimensional, got shape \(1, 2\)"):
        ndcg([[0, 1]], [1, 1], [1, 2])
