"""Balanced factors: the update is the minimum, and the objective falls."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from bitfm.models.progress import Progress
from scipy.optimize import minimize

from bitfm_research.baselines import BCCF
from bitfm_research.baselines._columns import Factorization
from bitfm_research.baselines._ids import IdRatings
from bitfm_research.baselines.bccf import balanced_column


@pytest.mark.parametrize("balance", [0.0, 0.3, 50.0])
def test_a_balanced_column_is_the_minimum(balance):
    rng = np.random.default_rng(0)
    num, den, ridge = rng.normal(size=12), rng.exponential(size=12), 0.2

    def objective(v):
        return np.sum(den * v * v - 2 * num * v + ridge * v * v) + balance * np.sum(v) ** 2

    v = balanced_column(num, den, balance, ridge)
    np.testing.assert_allclose(v, minimize(objective, np.zeros(12), tol=1e-12).x, atol=1e-5)
    for _ in range(100):
        assert objective(v + 1e-3 * rng.normal(size=12)) > objective(v)


def test_a_sweep_of_one_factor_equals_brute_force(rated):
    X, y = rated
    ratings = IdRatings.of(X, y, "test")
    targets = ratings.scaled(-0.5, 0.5)
    rng = np.random.default_rng(0)
    P, Q = rng.normal(size=(3, 50)), rng.normal(size=(3, 40))
    first = P[0].copy(), Q[0].copy()
    factorization = Factorization(ratings, targets, P, Q)
    np.testing.assert_allclose(
        factorization.loss(), np.sum((targets - np.sum(P.T[ratings.users] * Q.T[ratings.items], 1)) ** 2)
    )
    sums = []

    def rule(num, den, old):
        sums.append((num.copy(), den.copy(), old.copy()))
        return old

    factorization.sweep(rule, rule)
    left = targets - sum(P[t][ratings.users] * Q[t][ratings.items] for t in (1, 2))
    for (num, den, old), (rows, other, own) in zip(
        sums[:2],
        ((ratings.users, first[1][ratings.items], first[0]), (ratings.items, first[0][ratings.users], first[1])),
        strict=True,
    ):
        np.testing.assert_allclose(num, np.bincount(rows, left * other, minlength=len(num)), atol=1e-12)
        np.testing.assert_allclose(den, np.bincount(rows, other * other, minlength=len(den)), atol=1e-12)
        np.testing.assert_array_equal(old, own)


@pytest.mark.parametrize("balance", [0.0, 1e-3, 10.0])
def test_the_objective_never_rises(rated, balance):
    history = BCCF(32, balance=balance, ridge=0.5, n_iter=30, tol=0.0).fit(*rated).fit_log_
    for stage in ("relaxed", "rotation"):
        values = [item.objective for item in history if item.stage == stage]
        assert len(values) > 5
        assert all(after <= before * (1 + 1e-6) for before, after in itertools.pairwise(values))


def test_balance_balances(rated):
    X, y = rated
    ratings = IdRatings.of(X, y, "test")
    sums = []
    for balance in (0.0, 100.0):
        model = BCCF(8, balance=balance, ridge=0.5)
        factors, _ = model._relax(ratings, np.random.default_rng(0), Progress(0, None))
        sums.append(np.abs(factors[:50].sum(axis=0)).max())
    assert sums[1] < 0.01 * sums[0]


@pytest.mark.parametrize(
    ("name", "value"), [("balance", -1.0), ("ridge", 0.0), ("n_iter", 0), ("rotation_iter", -1), ("tol", "x")]
)
def test_settings_are_checked(rated, name, value):
    with pytest.raises(ValueError, match=f"{name} must be"):
        BCCF(8, **{name: value}).fit(*rated)
