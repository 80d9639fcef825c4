"""Sweeps over reals: every update is the minimum over its coordinate, on blocks as on the expanded matrix."""

from __future__ import annotations

import numpy as np
import pytest

from bitfm import _core
from bitfm.core import make_trainer
from bitfm.data.blocks import Block, Blocks
from bitfm.data.feature_table import FeatureTable
from problems import KINDS, float64, random_blocks, scores, slopes, sweep_order


def brute_force_sweep(X, residual_of, V, ridge, D, scale, cross, weight):
    V, D = V.copy(), D.astype(np.float64)
    for feature, lanes in sweep_order(X, V.shape[1], bare=False):
        h = slopes(X, V, feature, cross)
        for t in lanes:
            e = residual_of(V)
            num = (weight * h[:, t] * (e + h[:, t] * V[feature, t])).sum() + scale * D[feature, t]
            den = (weight * h[:, t] ** 2).sum() + ridge[feature]
            V[feature, t] = num / den if den > 0 else 0.0
    return V


@pytest.mark.parametrize("cross", [False, True], ids=["all", "across"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rank", [3, 11])
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_a_factor_sweep_equals_its_formula(kind, rank, cross, weighted):
    rng = np.random.default_rng(rank)
    X = float64(random_blocks(kind, seed=rank))
    n = X.n_features
    y, w, V = rng.normal(size=len(X)), rng.normal(size=n), rng.normal(size=(n, rank))
    D = rng.normal(size=(n, rank)).astype(np.float32)
    weight = rng.integers(0, 3, len(X)).astype(float) if weighted else np.ones(len(X))
    ridge = rng.uniform(0.1, 2, len(X.fields))
    trainer = make_trainer(X.design(), y, weight if weighted else None, across=cross)
    trainer.reset_reals(0.5, w, V, 1)
    per_feature = np.repeat(ridge, [f.size for f in X.fields])
    expected = brute_force_sweep(X, lambda v: y - scores(X, 0.5, w, v, cross), V, per_feature, D, 0.7, cross, weight)
    trainer.sweep_factors(V, ridge, D, 0.7, 1)
    np.testing.assert_allclose(V, expected, rtol=1e-7, atol=1e-9)
    loss = (weight * (y - scores(X, 0.5, w, V, cross)) ** 2).sum()
    assert trainer.loss(1) == pytest.approx(loss, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_converge_to_ridge_regression(kind):
    rng = np.random.default_rng(0)
    X = float64(random_blocks(kind))
    y, n = rng.normal(size=len(X)), X.n_features
    trainer = make_trainer(X.design(), y, None, across=False)
    w, bias, alpha = np.zeros(n), 0.0, np.full(len(X.fields), 0.8)
    trainer.reset_reals(bias, w, np.zeros((n, 0)), 1)
    for _ in range(3000):
        bias = trainer.sweep_weights(bias, w, alpha, True, 1)
    x = np.column_stack([np.ones(len(X)), X.to_csr().toarray()])
    penalty = np.diag(np.r_[0, np.full(n, 0.8)])
    expected = np.linalg.solve(x.T @ x + penalty, x.T @ y)
    np.testing.assert_allclose(np.r_[bias, w], expected, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cross", [False, True], ids=["all", "across"])
def test_scores_equal_the_formula(kind, cross):
    rng = np.random.default_rng(4)
    X = float64(random_blocks(kind))
    n = X.n_features
    w, V = rng.normal(size=n), rng.normal(size=(n, 13))
    for part in (X, X[:3], X[[7]], X[5:5]):
        design = part.design(np.float64)
        got = _core.predict_reals(design, 0.4, w, V, cross, 2)
        np.testing.assert_allclose(got, scores(part, 0.4, w, V, cross), rtol=1e-9, atol=1e-9)
    codes = rng.integers(0, 256, (n, 2), np.uint8)
    gains = rng.random(n).astype(np.float32)
    signs = np.unpackbits(codes, axis=1, bitorder="little") * 2.0 - 1
    got = _core.predict_codes(X.design(np.float64), 0.4, w, codes, gains, cross, 1)
    np.testing.assert_allclose(got, scores(X, 0.4, w, signs * gains[:, None], cross), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("cross", [False, True], ids=["all", "across"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rank", [5, 16])
def test_an_epoch_of_sgd_follows_its_steps(kind, rank, cross):
    rng = np.random.default_rng(2)
    X = float64(random_blocks(kind, n=12))
    n, x = X.n_features, X.to_csr().toarray()
    # the trainer numbers interactions by the first block's rows: sort them so that both agree
    first = next(iter(X.blocks.values())).rows
    X = X[np.argsort(first, kind="stable")]
    x = X.to_csr().toarray()
    y, w, V = rng.normal(size=len(X)), 0.1 * rng.normal(size=n), 0.1 * rng.normal(size=(n, rank))
    order = rng.permutation(len(X)).astype(np.int32)
    ridge_v, ridge_w = rng.uniform(0, 0.1, len(X.fields)), rng.uniform(0, 0.1, len(X.fields))
    trainer = make_trainer(X.design(), y, None, across=cross)
    got_w, got_V = w.copy(), V.copy()
    bias, loss = trainer.sweep_sgd(0.2, got_w, got_V, ridge_v, ridge_w, 0.05, order)

    sizes = [f.size for f in X.fields]
    rv, rw = np.repeat(ridge_v, sizes), np.repeat(ridge_w, sizes)
    b, total = 0.2, 0.0
    for s in order:
        error = scores(X[[s]], b, w, V, cross)[0] - y[s]
        total += error**2
        touched = x[s] != 0
        h = np.stack([slopes(X[[s]], V, i, cross)[0] for i in range(n)])
        b -= 0.05 * error
        w = np.where(touched, w - 0.05 * (error * x[s] + rw * w), w)
        V = np.where(touched[:, None], V - 0.05 * (error * h + rv[:, None] * V), V)
    np.testing.assert_allclose(got_V, V, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(got_w, w, rtol=1e-8, atol=1e-10)
    assert (bias, loss) == (pytest.approx(b), pytest.approx(total))


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wide", [False, True], ids=["float32", "float64"])
def test_every_instruction_set_rounds_alike(isa, kind, wide):
    X = random_blocks(kind, n=200)
    if wide:
        X = float64(X)
    elif X.dtype == np.float64:
        X = Blocks(**{name: Block(b.rows, {f: narrow(t) for f, t in b.tables.items()}) for name, b in X.blocks.items()})
    assert X.dtype == (np.float64 if wide else np.float32)
    used, results = _core.isa(), []
    try:
        for name in ("portable", isa):
            _core.use_isa(name)
            rng = np.random.default_rng(1)
            n = X.n_features
            y, w = rng.normal(size=len(X)), np.zeros(n, X.dtype)
            V = rng.normal(size=(n, 12)).astype(X.dtype)
            trainer = make_trainer(X.design(), y, None, across=False)
            trainer.reset_reals(0.0, w, V, 1)
            for _ in range(3):
                trainer.sweep_weights(0.0, w, np.ones(len(X.fields)), True, 1)
                trainer.sweep_factors(V, np.ones(len(X.fields)), None, 0.0, 1)
                trainer.draw_factors(V, np.ones((len(X.fields), 12)), np.ones((len(X.fields), 12)), 2.0, 7, 1)
            order = rng.permutation(len(X)).astype(np.int32)
            ridge = np.full(len(X.fields), 0.01)
            trainer.sweep_sgd(0.0, w, V, ridge, ridge, 0.01, order)
            results.append((V.tobytes(), w.tobytes(), trainer.loss(1)))
    finally:
        _core.use_isa(used)
    assert results[0] == results[1]


def narrow(table):
    return table if table.identity else FeatureTable.of("x", table.to_csr().astype(np.float32))
