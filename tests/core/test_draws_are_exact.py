"""Draws of weights and factors: each is its conditional posterior's mean plus noise, as computed the long way."""

from __future__ import annotations

import numpy as np
import pytest

from bitfm import _core
from bitfm.core import make_trainer
from problems import KINDS, float64, random_blocks, scores, slopes, sweep_order

TAU, SEED = 1.7, 2**62 + 11


def drawn(num, den, precision, mean, noise):
    """One value given all others: N((τ num + λ μ) / (τ den + λ), 1 / (τ den + λ)); without data the prior's mean."""
    if den == 0:
        return mean
    total = TAU * den + precision
    return (TAU * num + precision * mean) / total + noise / np.sqrt(total)


def draw_factors(X, y, bias, w, V, precision, mean, cross, weight):
    V, n = V.copy(), X.n_features
    field = np.repeat(np.arange(len(X.fields)), [f.size for f in X.fields])
    for feature, lanes in sweep_order(X, V.shape[1], bare=False):
        h = slopes(X, V, feature, cross)
        noise = _core.normal(SEED, lanes[0] * n, 8 * n).reshape(n, 8)[feature]
        for t in lanes:
            e = y - scores(X, bias, w, V, cross)
            num = (weight * h[:, t] * (e + h[:, t] * V[feature, t])).sum()
            prior = precision[field[feature], t], mean[field[feature], t]
            V[feature, t] = drawn(num, (weight * h[:, t] ** 2).sum(), *prior, noise[t % 8])
    return V


def draw_weights(X, y, bias, w, V, precision, mean, cross, weight):
    w, x, noise = w.copy(), X.to_csr().toarray(), _core.normal(SEED, 0, X.n_features + 1)
    field = np.repeat(np.arange(len(X.fields)), [f.size for f in X.fields])
    for i in range(X.n_features):
        e = y - scores(X, bias, w, V, cross)
        num = (weight * x[:, i] * (e + x[:, i] * w[i])).sum()
        w[i] = drawn(num, (weight * x[:, i] ** 2).sum(), precision[field[i]], mean[field[i]], noise[i])
    e, mass = y - scores(X, bias, w, V, cross), weight.sum()
    return bias + (weight * e).sum() / mass + noise[-1] / np.sqrt(TAU * mass), w


class Problem:
    """Blocks with parameters and priors; columns that never occur are the one that `float64` adds, and others."""

    def __init__(self, kind, rank, weighted):
        rng = np.random.default_rng(rank)
        self.X = X = float64(random_blocks(kind, seed=rank))
        n, fields = X.n_features, len(X.fields)
        self.y, self.w, self.V = rng.normal(size=len(X)), rng.normal(size=n), rng.normal(size=(n, rank))
        self.weight = rng.integers(0, 3, len(X)).astype(float) if weighted else np.ones(len(X))
        self.of_weights = rng.uniform(0.1, 2, fields), rng.normal(size=fields)
        self.of_factors = rng.uniform(0.1, 2, (fields, rank)), rng.normal(size=(fields, rank))
        self.unseen = ~X[np.flatnonzero(self.weight)].occurring()
        self.field = np.repeat(np.arange(fields), [f.size for f in X.fields])
        self.given = self.weight if weighted else None

    def trainer(self, cross):
        trainer = make_trainer(self.X.design(), self.y, self.given, across=cross)
        trainer.reset_reals(0.5, self.w, self.V, 1)
        return trainer


@pytest.mark.parametrize("cross", [False, True], ids=["all", "across"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("rank", "weighted"), [(8, False), (11, True)], ids=["8", "11-weighted"])
def test_a_draw_of_the_factors_equals_its_formula(kind, rank, cross, weighted):
    p = Problem(kind, rank, weighted)
    trainer, V = p.trainer(cross), p.V.copy()
    trainer.draw_factors(V, *p.of_factors, TAU, SEED, 2)
    expected = draw_factors(p.X, p.y, 0.5, p.w, p.V, *p.of_factors, cross, p.weight)
    np.testing.assert_allclose(V, expected, rtol=1e-7, atol=1e-9)
    assert p.unseen.any()
    np.testing.assert_array_equal(V[p.unseen], p.of_factors[1][p.field[p.unseen]])
    loss = (p.weight * (p.y - scores(p.X, 0.5, p.w, V, cross)) ** 2).sum()
    assert trainer.loss(1) == pytest.approx(loss, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_a_draw_of_the_weights_equals_its_formula(kind, weighted):
    p = Problem(kind, 3, weighted)
    trainer, w = p.trainer(False), p.w.copy()
    bias = trainer.draw_weights(0.5, w, *p.of_weights, TAU, SEED, 2)
    expected_bias, expected = draw_weights(p.X, p.y, 0.5, p.w, p.V, *p.of_weights, False, p.weight)
    np.testing.assert_allclose(w, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(w[p.unseen], p.of_weights[1][p.field[p.unseen]])
    assert bias == pytest.approx(expected_bias, rel=1e-9)
    loss = (p.weight * (p.y - scores(p.X, bias, w, p.V)) ** 2).sum()
    assert trainer.loss(1) == pytest.approx(loss, rel=1e-9)


def test_single_precision_draws_nearly_the_same():
    rng = np.random.default_rng(0)
    X = random_blocks("bare")
    assert X.dtype == np.float32
    y, w, V = rng.normal(size=len(X)), rng.normal(size=11), rng.normal(size=(11, 3))
    prior = np.ones((2, 3)), np.full((2, 3), 0.3)
    expected = draw_factors(X, y, 0.5, w, V, *prior, False, np.ones(len(X)))
    trainer, w, V = make_trainer(X.design(), y, None, across=False), w.astype(np.float32), V.astype(np.float32)
    trainer.reset_reals(0.5, w, V, 1)
    trainer.draw_factors(V, *prior, TAU, SEED, 1)
    np.testing.assert_allclose(V, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_the_chain_of_a_linear_model_has_the_exact_posterior(weighted):
    """Without factors, and with priors and noise fixed, the posterior is a normal distribution in closed form."""
    p = Problem("shared", 1, weighted)
    x = np.column_stack([p.X.to_csr().toarray(), np.ones(len(p.X))])
    precision, mean = (a[p.field] for a in p.of_weights)
    exact_precision = TAU * (x.T * p.weight) @ x + np.diag(np.r_[precision, 0])
    covariance = np.linalg.inv(exact_precision)
    exact = covariance @ (TAU * x.T @ (p.weight * p.y) + np.r_[precision * mean, 0])

    trainer = make_trainer(p.X.design(), p.y, p.given, across=False)
    w, bias, n = np.zeros(p.X.n_features), 0.0, 40_000
    trainer.reset_reals(bias, w, np.zeros((len(w), 0)), 1)
    draws = np.empty((n, len(w) + 1))
    for i in range(-100, n):
        bias = trainer.draw_weights(bias, w, *p.of_weights, TAU, 1000 + i, 1)
        if i >= 0:
            draws[i] = *w, bias
    told = np.r_[~p.unseen, True]
    np.testing.assert_allclose(draws[:, ~told], np.broadcast_to(exact[~told], (n, (~told).sum())), rtol=1e-12)
    draws, exact, covariance = draws[:, told], exact[told], covariance[np.ix_(told, told)]
    batches = draws.reshape(40, -1, draws.shape[1])  # draws of a chain depend on each other, its stretches do not
    error = batches.mean(axis=1).std(axis=0) / np.sqrt(40)
    assert (np.abs(draws.mean(axis=0) - exact) < 5 * error).all()
    assert (error < 0.1 * np.sqrt(np.diag(covariance))).all()
    products = np.einsum("bni,bnj->bij", batches - exact, batches - exact) / batches.shape[1]
    assert (np.abs(products.mean(axis=0) - covariance) < 6 * products.std(axis=0) / np.sqrt(40)).all()


def test_other_seeds_draw_other_numbers():
    p = Problem("shared", 8, False)
    draws = set()
    for seed in (0, 1, 2, 2**63, 2**64 - 1):
        V, w = p.V.copy(), p.w.copy()
        p.trainer(False).draw_factors(V, *p.of_factors, TAU, seed, 1)
        p.trainer(False).draw_weights(0.5, w, *p.of_weights, TAU, seed, 1)
        draws |= {V.tobytes(), w.tobytes()}
    assert len(draws) == 10
