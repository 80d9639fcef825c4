"""A third party's solver of FM, in one file and outside the package: plain gradient descent in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from bitfm import FM, load
from bitfm.datasets import make_bookshop
from bitfm.models.solvers import SOLVERS, Solution, Solver, register_solver


def scores(x, p):
    """w0 + Σ w x + Σ_{i<j} ⟨v_i, v_j⟩ x_i x_j."""
    return p.bias + x @ p.weights + ((x @ p.factors) ** 2 - x**2 @ p.factors**2).sum(axis=1) / 2


def gradient_descent(problem):
    """Lower Σ e² / n + λ |w|² + λ |v|², with a step that is halved when it would raise it."""
    s, p = problem.settings, problem.start()
    blocks, y, _ = problem.train
    x = blocks.to_csr().toarray().astype(float)
    sizes = [field.size for field in blocks.fields]
    ridge_w, ridge_v = np.repeat(s.ridge_w, sizes), np.repeat(s.ridge_v, sizes)

    def objective(p):
        return ((y - scores(x, p)) ** 2).mean() + problem.penalty(p)

    step, least = 1.0, objective(p)
    for number in range(1, s.n_iter + 1):
        error = -2 * (y - scores(x, p)) / len(y)
        of_weights = x.T @ error + 2 * ridge_w * p.weights
        of_factors = x.T @ (error[:, None] * (x @ p.factors))
        of_factors += (2 * ridge_v - (x**2).T @ error)[:, None] * p.factors
        while True:
            new = p.copy()
            new.bias -= step * error.sum()
            new.weights -= (step * of_weights).astype(p.weights.dtype)
            new.factors -= (step * of_factors).astype(p.factors.dtype)
            if objective(new) <= least or step < 1e-12:
                break
            step /= 2
        p, least, step = new, objective(new), step * 2
        if problem.progress.report("gd", number, s.n_iter, least, least, validation=problem.rmse(p)):
            break
    return Solution(p)


@pytest.fixture(autouse=True)
def gd():
    register_solver("gd", Solver(gradient_descent, regularization=0.001, linear_regularization=0.0001, n_iter=60))
    yield
    del SOLVERS["gd"]


@pytest.fixture(scope="module")
def shop():
    shop = make_bookshop(60, 40, 1500)
    return shop.blocks(), np.asarray(shop.ratings["rating"], float)


def test_it_is_a_solver_like_any_other(shop, tmp_path):
    X, y = shop
    model = FM(rank=4, solver="gd").fit(X, y)
    assert [step.stage for step in model.fit_log_] == ["gd"] * 60  # its own default
    assert all(b.objective <= a.objective for a, b in zip(model.fit_log_, model.fit_log_[1:], strict=False))
    assert np.mean((y - model.predict(X)) ** 2) < 0.8 * np.var(y)
    model.save(tmp_path / "gd.bitfm")
    np.testing.assert_array_equal(load(tmp_path / "gd.bitfm").predict(X), model.predict(X))


def test_it_continues_where_it_left_off_and_takes_what_fm_takes(shop):
    X, y = shop
    model = FM(rank=4, solver="gd", n_iter=10, warm_start=True).fit(X, y)
    last = model.fit_log_[-1].objective
    assert model.fit(X, y).fit_log_[0].objective < last
    assert model.partial_fit(X[:300], y[:300]).n_iter_ == 11
    early = FM(rank=4, solver="gd", n_iter=5, early_stopping=True, regularization={"default": 0.1}).fit(X, y)
    assert np.isfinite([step.validation for step in early.fit_log_]).all()
    assert FM(rank=4, solver="gd").fit(X, y, callback=lambda step: step.number == 3).n_iter_ == 3


def test_an_unknown_name_is_refused_and_a_taken_one_too(shop):
    with pytest.raises(ValueError, match=r"solver.*als.*gd.*'newton'"):
        FM(solver="newton").fit(*shop)
    with pytest.raises(ValueError, match="'als' is registered already"):
        register_solver("als", SOLVERS["gd"])
