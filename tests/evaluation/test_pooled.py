"""Means over interactions: users are drawn and flipped with all that is theirs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from bitfm.evaluation import PerUser, Pooled, compare, holm, rmse


def problem(seed, n=400, n_users=40):
    rng = np.random.default_rng(seed)
    users = rng.permutation(np.repeat(np.arange(n_users), rng.multinomial(n, np.ones(n_users) / n_users)))
    return users, rng.normal(0, 1 + users % 3, n), rng


def test_the_mean_and_its_root_are_over_all_interactions():
    users, errors, _ = problem(0)
    assert Pooled.of(users, errors**2, root=True).mean() == pytest.approx(rmse(errors, np.zeros(len(errors))))
    assert Pooled.of(users, np.abs(errors)).mean() == pytest.approx(np.abs(errors).mean())


def test_the_interval_is_that_of_users_drawn_with_all_of_their_interactions():
    users, errors, rng = problem(1)
    low, high = Pooled.of(users, errors**2, root=True).interval(n=20_000)
    rows = [np.flatnonzero(users == user) for user in range(40)]
    draws = [np.concatenate([rows[user] for user in rng.integers(40, size=40)]) for _ in range(4000)]
    expected = np.quantile([np.sqrt(np.mean(errors[draw] ** 2)) for draw in draws], [0.025, 0.975])
    np.testing.assert_allclose([low, high], expected, atol=0.02)


def test_the_p_value_is_the_share_of_all_choices_of_users_signs():
    rng = np.random.default_rng(3)
    users = np.repeat(np.arange(10), 3)
    a, b = rng.random(30) + 0.1, rng.random(30)
    sums = np.bincount(users, a - b)
    flips = np.abs(np.array(list(product([-1, 1], repeat=10))) @ sums)
    found = compare(Pooled.of(users, a), Pooled.of(users, b), n=40_000)
    assert found.p_value == pytest.approx(np.mean(flips >= abs(sums.sum()) - 1e-9), abs=0.0125)
    assert found.difference == pytest.approx((a - b).mean())
    assert found.low < found.difference < found.high
    root = compare(Pooled.of(users, a, root=True), Pooled.of(users, b, root=True), n=40_000)
    assert root.p_value == found.p_value
    assert root.difference == pytest.approx(np.sqrt(a.mean()) - np.sqrt(b.mean()))


def test_what_is_not_of_the_same_interactions_is_refused():
    one = Pooled.of(["a", "b"], [1.0, 2.0])
    with pytest.raises(ValueError, match="same interactions"):
        compare(one, Pooled.of(["a", "b", "b"], [1.0, 2.0, 3.0]))
    with pytest.raises(TypeError, match="a Pooled and a PerUser"):
        compare(one, PerUser(np.array(["a", "b"]), np.array([1.0, 2.0])))
    with pytest.raises(ValueError, match="a finite value"):
        Pooled.of(["a"], [np.inf])
    with pytest.raises(ValueError, match="no users"):
        Pooled.of([], []).interval()
    assert np.isnan(Pooled.of([], []).mean())


def test_holm_multiplies_the_smallest_by_their_number_and_never_lets_them_fall():
    assert holm([0.01, 0.02, 0.04]) == pytest.approx([0.03, 0.04, 0.04])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
