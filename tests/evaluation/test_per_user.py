"""Intervals: draws of users are fair, and an interval holds the true mean as often as it says."""

from __future__ import annotations

import numpy as np
import pytest

from bitfm import _core
from bitfm.evaluation import PerUser


def per_user(values, ks=()):
    return PerUser(np.arange(len(values)), np.asarray(values, float), ks)


@pytest.mark.parametrize("n", [1, 2, 7, 19])
def test_a_draw_has_as_many_users_as_there_are_and_all_are_as_likely(n):
    draws = 20_000
    counts = n * _core.bootstrap_means(np.eye(n), 5, draws, 2).reshape(draws, n)  # a column counts one user
    np.testing.assert_allclose(counts, counts.round(), atol=1e-9)
    np.testing.assert_allclose(counts.sum(axis=1), n)
    np.testing.assert_allclose(counts.mean(axis=0), 1, atol=5 * np.sqrt(1 / draws))
    np.testing.assert_allclose(counts.var(axis=0), 1 - 1 / n, atol=0.1)


def test_the_number_of_threads_and_of_other_columns_does_not_matter():
    values = np.random.default_rng(0).normal(size=(333, 19))
    one = _core.bootstrap_means(values, 3, 50, 1)
    for n_threads in (2, 5):
        np.testing.assert_array_equal(_core.bootstrap_means(values, 3, 50, n_threads), one)
    for column in (0, 7, 8, 18):
        alone = _core.bootstrap_means(values[:, [column]].copy(), 3, 50, 1)
        np.testing.assert_array_equal(alone, one.reshape(50, 19)[:, column])


def test_the_interval_holds_the_true_mean_as_often_as_it_says():
    rng = np.random.default_rng(0)
    held = 0
    for trial in range(400):
        low, high = per_user(rng.exponential(size=200)).interval(0.9, n=300, seed=trial)
        held += low < 1 < high
    assert 0.84 < held / 400 < 0.95


def test_a_seed_gives_the_same_again_and_a_level_nests():
    each = per_user(np.random.default_rng(0).normal(size=(50, 2)), (1, 5))
    low, high = each.interval(seed=4)
    np.testing.assert_array_equal(each.interval(seed=4)[0], low)
    assert (each.interval(seed=5)[0] != low).all()
    inner_low, inner_high = each.interval(0.5, seed=4)
    assert (low < inner_low).all()
    assert (inner_low < each.mean()).all()
    assert (each.mean() < inner_high).all()
    assert (inner_high < high).all()


def test_one_k_or_none_gives_numbers_and_several_give_arrays():
    values = [[0.5, 1.0], [1.0, 1.0]]
    assert per_user(values, (1, 2)).mean().tolist() == [0.75, 1.0]
    assert [end.tolist()[1] for end in per_user(values, (1, 2)).interval()] == [1.0, 1.0]
    assert per_user([0.5, 1.0], (1,)).mean() == 0.75
    assert isinstance(per_user([0.5, 1.0]).interval()[0], float)
    assert repr(per_user([0.5, 1.0], (3,))) == "PerUser(2 users, k=3, mean 0.75)"


def test_no_users_have_no_mean_and_no_interval():
    for nobody in (per_user([], (10,)), per_user(np.zeros((0, 2)), (1, 2))):
        assert np.isnan(nobody.mean()).all()
        assert np.shape(nobody.mean()) == nobody.values.shape[1:]
        with pytest.raises(ValueError, match="there are no users to draw from"):
            nobody.interval()


@pytest.mark.parametrize(
    ("values", "ks"), [([[1.0, 2.0]], (1,)), ([1.0], (1, 2)), ([[[1.0]]], (1,)), ([[1.0]], ()), (1.0, ())]
)
def test_values_must_fit_users_and_ks(values, ks):
    with pytest.raises(ValueError, match="expected a value for each user and k"):
        PerUser(np.arange(1), np.array(values), ks)


def test_values_and_settings_without_sense_are_refused():
    with pytest.raises(ValueError, match="leave those users out"):
        per_user([1, np.nan])
    each = per_user([1, 2])
    for level in (0, 1, -1, np.nan):
        with pytest.raises(ValueError, match="level must be above 0 and below 1"):
            each.interval(level)
    with pytest.raises(ValueError, match="n must be"):
        each.interval(n=0)
    for seed in (-1, 2**64, 0.5):
        with pytest.raises(ValueError, match="seed must be"):
            each.interval(seed=seed)
