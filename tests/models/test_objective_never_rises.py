"""No step of any solver raises what it minimises."""

from __future__ import annotations

import numpy as np
import pytest

from bitfm import FM, BiasModel, DiscreteFM
from bitfm.core import make_trainer, nearest_delegate, pack_signs, unpack_codes
from bitfm.datasets import make_bookshop
from problems import KINDS, random_blocks, scores


def falls(values, tolerance=1e-6):
    values = np.asarray(values)
    return bool((np.diff(values) <= tolerance * np.abs(values[:-1])).all())


@pytest.mark.parametrize("cross", [False, True], ids=["all", "across"])
@pytest.mark.parametrize("values", ["real", "integer", "binary"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_subproblem_lowers_the_papers_objective(kind, values, cross):
    """B, D and w in turn, Eq. 4 recomputed from scratch after each."""
    rng = np.random.default_rng(7)
    X = random_blocks(kind, values, n=60)
    n, bits, alpha, beta = X.n_features, 8, 0.5, 3.0
    y = rng.uniform(-2 * bits, 2 * bits, len(X))
    trainer = make_trainer(X.design(), y, None, across=cross)
    w, bias = np.zeros(n, X.dtype), 0.0
    codes = pack_signs(rng.normal(size=(n, bits)))
    D = nearest_delegate(codes, rng).matrix
    ridge = np.full(len(X.fields), alpha)

    def objective():
        B = unpack_codes(codes).astype(float)
        e = y - scores(X, bias, w.astype(float), B, cross)
        return (e**2).sum() + alpha * (w.astype(float) ** 2).sum() - 2 * beta * (B * D).sum()

    trainer.reset_codes(bias, w, codes, None, 1)
    trace = [objective()]
    for _ in range(6):
        trainer.sweep_codes(codes, D, beta, 5, 1)
        trace.append(objective())
        if n > bits:  # otherwise no D is feasible, and there is nothing to keep
            D = nearest_delegate(codes, rng).matrix
            trace.append(objective())
        bias = trainer.sweep_weights(bias, w, ridge, True, 1)
        trace.append(objective())
    assert falls(trace)
    assert trace[-1] < trace[0]


@pytest.mark.parametrize("bits", [8, 64])
def test_the_history_of_a_discrete_fit_falls_in_each_stage(bits):
    shop = make_bookshop(200, 100, 5000)
    model = DiscreteFM(objective="paper", bits=bits, max_iter=8, tol=0).fit(shop.blocks(), shop.ratings["rating"])
    for stage in ("relaxed", "codes"):
        objectives = [item.objective for item in model.fit_log_ if item.stage == stage]
        assert len(objectives) > 2
        assert falls(objectives)
    assert all(item.seconds > 0 for item in model.fit_log_)
    assert model.fit_log_[-1].flips < next(i for i in model.fit_log_ if i.stage == "codes").flips


@pytest.mark.parametrize("kind", KINDS)
def test_the_history_of_an_als_fit_falls(kind):
    X = random_blocks(kind, n=80)
    y = np.random.default_rng(0).normal(size=80)
    model = FM(rank=5, n_iter=20, regularization=0.3, tol=0).fit(X, y)
    assert falls([item.objective for item in model.fit_log_])
    assert falls([item.objective for item in BiasModel(tol=0, max_iter=20).fit(X, y).fit_log_])


def test_sgd_learns():
    shop = make_bookshop(200, 100, 5000)
    model = FM(rank=8, solver="sgd").fit(shop.blocks(), shop.ratings["rating"])
    losses = [item.loss for item in model.fit_log_]
    assert losses[-1] < 0.8 * losses[0]
