"""A third party's solver of FM, in one file and outside the package."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest

from bitfm import FM, load
from bitfm.datasets import make_bookshop
from bitfm.models.solvers import SOLVERS, register_solver


@pytest.fixture(autouse=True)
def gd():
    importlib.import_module("extending.gradient_descent")  # it registers itself
    yield
    del SOLVERS["gd"], sys.modules["extending.gradient_descent"]


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
