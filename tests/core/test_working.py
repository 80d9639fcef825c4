"""A loss that is given by residual and curvature at the present scores is fitted by the sweeps as they are."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

from bitfm import _core

N, USERS, ITEMS, WORDS, RANK = 60, 6, 5, 4, 3
FEATURES = USERS + ITEMS + WORDS
RIDGE = np.array([0.5, 0.8, 1.1])  # per field
PER_FEATURE = np.repeat(RIDGE, [USERS, ITEMS, WORDS])


class Problem:
    """Users and items with words, in no order; the same as a matrix."""

    def __init__(self, seed=0, words=True):
        rng = np.random.default_rng(seed)
        u, i = rng.integers(USERS, size=N), rng.integers(ITEMS, size=N)
        table = sp.csr_matrix(rng.normal(size=(ITEMS, WORDS)) * (rng.random((ITEMS, WORDS)) < 0.6))
        self.x = np.hstack([np.eye(USERS)[u], np.eye(ITEMS)[i], *([table.toarray()[i]] if words else [])])
        self.ridge = RIDGE[: 2 + words]
        self.design = _core.Design64()
        self.design.add_block(USERS, u.astype(np.int32))
        self.design.add_identity(USERS)
        self.design.add_block(ITEMS, i.astype(np.int32))
        self.design.add_identity(ITEMS)
        if words:
            arrays = table.indptr.astype(np.int64), table.indices.astype(np.int32), table.data
            self.design.add_table(WORDS, *arrays)
        self.y = (rng.random(N) < 0.6).astype(float)
        self.bias, self.weights = 0.3, rng.normal(size=self.x.shape[1]) * 0.3
        self.factors = rng.normal(size=(self.x.shape[1], RANK)) * 0.5
        self.codes = rng.integers(0, 256, (self.x.shape[1], 1), dtype=np.uint8)
        self.delegate = rng.normal(size=(self.x.shape[1], 8)).astype(np.float32)

    def trainer(self, sample_weight=None, factors=True):
        trainer = _core.Trainer64(self.design, self.y, sample_weight, False)
        start = self.factors if factors else self.factors[:, :0]
        trainer.reset_reals(self.bias, self.weights, np.ascontiguousarray(start), 1)
        return trainer

    def scores(self, bias, weights, factors):
        sums = self.x @ factors
        return bias + self.x @ weights + ((sums**2 - self.x**2 @ factors**2) / 2).sum(axis=1)


def logistic(y, score):
    """e and h of twice the negative log-likelihood, which Σ h (e − δ)² bounds from above (Böhning)."""
    return 4 * (y - 1 / (1 + np.exp(-score))), np.full(len(y), 0.25)


def deviance(y, score):
    return 2 * (np.logaddexp(0, score) - y * score).sum()


def test_scores_come_in_the_callers_order():
    p = Problem()
    trainer = p.trainer()
    np.testing.assert_allclose(trainer.scores(1), p.scores(p.bias, p.weights, p.factors), rtol=1e-12)
    bias = trainer.sweep_weights(p.bias, p.weights, p.ridge, True, 1)
    trainer.sweep_factors(p.factors, p.ridge, None, 0.0, 2)
    np.testing.assert_allclose(trainer.scores(2), p.scores(bias, p.weights, p.factors), rtol=1e-10)


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("words", [False, True], ids=["bare", "words"])
def test_squared_error_gives_what_it_gives_without(weighted, words):
    plain, given = Problem(words=words), Problem(words=words)
    weight = np.random.default_rng(1).uniform(0.5, 2, N) if weighted else None
    a, b = plain.trainer(weight), given.trainer(weight)
    for _ in range(3):
        for trainer, p in ((a, plain), (b, given)):
            if trainer is b:
                trainer.set_working(p.y - trainer.scores(1), np.ones(N), 1)
            p.bias = trainer.sweep_weights(p.bias, p.weights, p.ridge, True, 1)
            trainer.sweep_factors(p.factors, p.ridge, None, 0.0, 1)
    np.testing.assert_allclose(given.factors, plain.factors, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(given.weights, plain.weights, rtol=1e-10, atol=1e-12)
    assert b.loss(1) == pytest.approx(a.loss(1), rel=1e-10)
    for trainer, p in ((a, plain), (b, given)):
        trainer.reset_codes(p.bias, p.weights, p.codes, None, 1)
        if trainer is b:
            trainer.set_working(p.y - trainer.scores(1), np.ones(N), 1)
        trainer.sweep_codes(p.codes, p.delegate, 0.3, 2, 1)
    assert (given.codes == plain.codes).all()
    assert b.loss(1) == pytest.approx(a.loss(1), rel=1e-5)  # in fixed point where there are ids alone


@pytest.mark.parametrize("words", [False, True], ids=["bare", "words"])
def test_curvatures_multiply_the_weights(words):
    rng = np.random.default_rng(2)
    weight, curvature = rng.uniform(0.5, 2, N), rng.uniform(0.1, 1, N)
    plain, given = Problem(words=words), Problem(words=words)
    a, b = plain.trainer(weight * curvature), given.trainer(weight)
    b.set_working(given.y - b.scores(1), curvature, 2)
    for trainer, p in ((a, plain), (b, given)):
        p.bias = trainer.sweep_weights(p.bias, p.weights, p.ridge, True, 1)
        trainer.sweep_factors(p.factors, p.ridge, None, 0.0, 1)
        p.bias = trainer.draw_weights(p.bias, p.weights, p.ridge, 0 * p.ridge, 2.0, 5, 1)
        trainer.reset_codes(p.bias, p.weights, p.codes, None, 1)
        trainer.sweep_codes(p.codes, p.delegate, 0.3, 2, 1)
    np.testing.assert_allclose(given.factors, plain.factors, rtol=1e-10, atol=1e-12)
    assert (given.codes == plain.codes).all()
    assert b.loss(1) == pytest.approx(a.loss(1), rel=1e-10)


def brute_force(p, z, h, bias, weights, factors):
    """A sweep over weights, bias and factors, each the minimum of Σ h (z − score)² + Σ λ w² + Σ λ |v|²."""
    for j in range(FEATURES):
        e = z - p.scores(bias, weights, factors) + p.x[:, j] * weights[j]
        weights[j] = (h * p.x[:, j] * e).sum() / ((h * p.x[:, j] ** 2).sum() + PER_FEATURE[j])
    bias += (h * (z - p.scores(bias, weights, factors))).sum() / h.sum()
    for j in range(FEATURES):
        for t in range(RANK):
            slope = p.x[:, j] * (p.x @ factors[:, t] - p.x[:, j] * factors[j, t])
            e = z - p.scores(bias, weights, factors) + slope * factors[j, t]
            factors[j, t] = (h * slope * e).sum() / ((h * slope**2).sum() + PER_FEATURE[j])
    return bias


def test_a_logistic_loss_falls_and_follows_its_formula():
    p = Problem()
    trainer = p.trainer()
    bias, weights, factors = p.bias, p.weights.copy(), p.factors.copy()

    def objective():
        penalty = (PER_FEATURE * (p.weights**2 + (p.factors**2).sum(axis=1))).sum()
        return deviance(p.y, p.scores(p.bias, p.weights, p.factors)) + penalty

    values = [objective()]
    for _ in range(20):
        trainer.set_working(*logistic(p.y, trainer.scores(1)), 1)
        p.bias = trainer.sweep_weights(p.bias, p.weights, p.ridge, True, 1)
        values.append(objective())  # the bound holds all along, so each of the sweeps lowers it
        trainer.sweep_factors(p.factors, p.ridge, None, 0.0, 1)
        values.append(objective())
        e, h = logistic(p.y, p.scores(bias, weights, factors))
        bias = brute_force(p, p.scores(bias, weights, factors) + e, h, bias, weights, factors)
        np.testing.assert_allclose(p.weights, weights, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(p.factors, factors, rtol=1e-7, atol=1e-9)
        assert p.bias == pytest.approx(bias, rel=1e-8)
    assert (np.diff(values) <= 1e-10).all()
    assert values[-1] < values[0] - 1


def test_weights_converge_to_logistic_regression():
    p = Problem()
    trainer = p.trainer(factors=False)
    for _ in range(500):
        trainer.set_working(*logistic(p.y, trainer.scores(1)), 1)
        p.bias = trainer.sweep_weights(p.bias, p.weights, p.ridge, True, 1)

    def objective(parameters):
        return deviance(p.y, parameters[0] + p.x @ parameters[1:]) + (PER_FEATURE * parameters[1:] ** 2).sum()

    best = scipy.optimize.minimize(objective, np.zeros(FEATURES + 1), tol=1e-12)
    np.testing.assert_allclose(np.r_[p.bias, p.weights], best.x, atol=1e-5)


def test_what_makes_no_sense_is_refused_and_changes_nothing():
    p = Problem()
    trainer = p.trainer()
    before = trainer.loss(1)
    good = {"residual": np.zeros(N), "curvature": np.ones(N)}
    for name, wrong in (
        ("residual", np.full(N, np.nan)),
        ("residual", np.zeros(N - 1)),
        ("curvature", np.full(N, np.inf)),
        ("curvature", -np.ones(N)),
        ("curvature", np.ones(N + 1)),
    ):
        with pytest.raises(ValueError, match=r"must be|needed"):
            trainer.set_working(**good | {name: wrong}, n_threads=1)
    with pytest.raises(TypeError):
        trainer.set_working(np.zeros(N, np.float32), np.ones(N), 1)
    assert trainer.loss(1) == before


def test_another_fit_to_the_same_data_keeps_its_own():
    p = Problem()
    trainer = p.trainer()
    sibling = trainer.sibling()
    trainer.set_working(np.zeros(N), np.full(N, 2.0), 1)
    sibling.reset_reals(p.bias, p.weights, p.factors, 1)
    expected = p.y - p.scores(p.bias, p.weights, p.factors)
    assert sibling.loss(1) == pytest.approx((expected**2).sum())
    assert trainer.loss(1) == 0
