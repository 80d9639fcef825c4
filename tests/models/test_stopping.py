"""How a fit ends: by itself, by its callback, by Ctrl-C, by a validation error; and how it goes on."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from bitfm import FM, BiasModel, Block, Blocks, DiscreteFM, DistilledFM, Iteration

STAGES = {
    "BiasModel": ["weights"],
    "als": ["als"],
    "sgd": ["sgd"],
    "gibbs": ["gibbs"],
    "DiscreteFM": ["relaxed", "codes"],
    "DistilledFM": ["trial", "distillation", "codes", "teacher"],
}


def stages_of(model):
    return STAGES[getattr(model, "solver", type(model).__name__)]


# By itself


def test_a_fit_runs_until_the_objective_settles(shop):
    X, y = shop
    for model in (BiasModel(max_iter=500, tol=1e-4), FM(rank=3, n_iter=500, tol=1e-4)):
        values = np.array([h.objective for h in model.fit(X, y).fit_log_])
        falls = (values[:-1] - values[1:]) / values[:-1]
        assert 2 < len(values) < 500
        assert (falls[:-1] > 1e-4).all()
        assert falls[-1] <= 1e-4


def test_each_stage_of_a_discrete_fit_runs_until_its_objective_settles(shop):
    history = DiscreteFM(bits=16, init_iter=100, max_iter=100, tol=1e-3).fit(*shop).fit_log_
    for stage in ("relaxed", "codes"):
        values = [h.objective for h in history if h.stage == stage]
        assert 2 <= len(values) < 100
        for before, after in itertools.pairwise(values[:-1]):
            assert before - after > 1e-3 * abs(before)
        assert values[-2] - values[-1] <= 1e-3 * abs(values[-2])


def test_coordinate_descent_never_raises_its_objective(shop):
    X, y = shop
    history = [
        *BiasModel(max_iter=30, tol=0).fit(X, y).fit_log_,
        *FM(rank=6, n_iter=30, tol=0).fit(X, y).fit_log_,
        *FM(rank=6, n_iter=30, tol=0, pairs="across").fit(X, y).fit_log_,
        *DiscreteFM(bits=16, max_iter=30, tol=0).fit(X, y).fit_log_,
    ]
    for before, after in itertools.pairwise(history):
        if after.number > 1:
            assert after.objective <= before.objective + 1e-9 * abs(before.objective)


def test_a_fit_without_tolerance_runs_to_the_last_iteration_unless_nothing_moves(shop):
    X, y = shop
    assert FM(rank=3, n_iter=17, tol=0).fit(X, y).n_iter_ == 17
    assert FM(rank=3, solver="sgd", n_iter=17).fit(X, y).n_iter_ == 17
    assert BiasModel(tol=0, max_iter=7).fit(X, y).n_iter_ == 7


def test_the_loss_reported_is_that_of_the_predictions(shop):
    X, y = shop
    for model in (BiasModel(), FM(rank=4, n_iter=7), FM(rank=4, n_iter=7, pairs="across")):
        model.fit(X, y)
        np.testing.assert_allclose(model.fit_log_[-1].loss, ((y - model.predict(X)) ** 2).sum(), rtol=1e-6)


# By the callback


def test_the_callback_gets_every_iteration_in_order(model, shop):
    seen = []
    model.fit(*shop, callback=seen.append)
    assert seen == model.fit_log_
    assert len(seen) == model.n_iter_
    assert all(isinstance(item, Iteration) for item in seen)
    assert list(dict.fromkeys(item.stage for item in seen)) == stages_of(model)
    for _, run in itertools.groupby(seen, lambda item: item.stage):
        of_stage = list(run)
        assert [item.number for item in of_stage] == list(range(1, len(of_stage) + 1))
        assert len({item.total for item in of_stage}) == 1
        assert len(of_stage) <= of_stage[0].total
    for item in seen:
        assert item.loss >= 0
        assert np.isfinite([item.loss, item.objective]).all()
        assert item.seconds >= 0
        assert item.flips >= 0 if item.stage in ("codes", "distillation") else item.flips == 0
        assert np.isnan(item.validation)


@pytest.mark.parametrize("answer", [None, False, 1, "yes", np.True_, 0])
def test_only_true_stops_the_fit(shop, answer):
    assert FM(rank=2, n_iter=4, tol=0).fit(*shop, callback=lambda _: answer).n_iter_ == 4


def test_verbose_prints_a_line_an_iteration(model, shop, capsys):
    model.set_params(verbose=1).fit(*shop)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == model.n_iter_


# By Ctrl-C

LONG = {  # hours of work
    "DiscreteFM": (DiscreteFM(bits=512, max_iter=10_000, tol=0, init="random"), "ids"),
    "DiscreteFM-relaxed": (DiscreteFM(bits=512, max_iter=10_000, tol=0), "features"),
    "FM-als": (FM(rank=256, n_iter=10_000, tol=0), "features"),
    "FM-sgd": (FM(rank=256, solver="sgd", n_iter=10_000, learning_rate=1e-6), "ids"),
    "FM-gibbs": (FM(rank=256, solver="gibbs", n_iter=10_000, n_jobs=2), "features"),
    "DistilledFM": (DistilledFM(n_jobs=2), "features"),
}


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(0)
    n, users, items = 300_000, 3000, 1000
    rows = rng.integers(users, size=n), rng.integers(items, size=n)
    tables = {"id": sp.identity(items)}, {"id": sp.identity(items), "words": sp.random(items, 40, 0.5, random_state=1)}
    given = [Blocks(user=Block(rows[0], {"id": sp.identity(users)}), item=Block(rows[1], own)) for own in tables]
    return dict(zip(("ids", "features"), given, strict=True)), rng.normal(size=n)


@pytest.mark.parametrize("name", LONG)
@pytest.mark.timeout(60, method="thread")  # a fit that hears no signal does not hear that of the time limit either
def test_an_interrupt_ends_a_long_fit(many, name):
    model, columns = LONG[name]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    sent = []

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.4, interrupt)  # deep in the first iterations
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            clone(model).fit(many[0][columns], many[1])
        assert time.monotonic() - sent[0] < 5
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)


# By a validation error


def test_early_stopping_keeps_the_best_parameters(shop):
    X, y = shop
    for solver in ("als", "sgd"):
        model = FM(
            rank=16,
            solver=solver,
            n_iter=300,
            regularization=0.0,
            linear_regularization=0.0,
            tol=0,
            learning_rate=0.05,
            early_stopping=True,
            patience=4,
        )
        model.fit(X, y)
        errors = [item.validation for item in model.fit_log_]
        best = int(np.argmin(errors))
        assert len(errors) == best + 1 + 4 < 300
        again = clone(model).set_params(n_iter=best + 1).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), again.predict(X))
        np.testing.assert_array_equal(model.factors_, again.factors_)


def test_the_validation_error_is_that_of_interactions_left_out(shop):
    X, y = shop
    model = FM(rank=4, n_iter=5, tol=0, early_stopping=True, validation_fraction=0.3)
    one, other = clone(model).fit(X, y), clone(model).fit(X, y, np.ones(len(y)))
    assert [h.validation for h in one.fit_log_] == [h.validation for h in other.fit_log_]
    assert np.isfinite([h.validation for h in one.fit_log_]).all()
    full = clone(model).set_params(early_stopping=False).fit(X, y)
    assert full.fit_log_[-1].loss > one.fit_log_[-1].loss


def test_early_stopping_works_on_a_plain_matrix_of_ids(shop):
    users = shop[0].blocks["user"].rows
    X = sp.csr_matrix(np.hstack([np.eye(30)[users], np.eye(20)[shop[0].blocks["item"].rows]]))
    for given in (X, X.toarray()):
        model = FM(rank=3, n_iter=5, early_stopping=True).fit(given, shop[1])
        assert np.isfinite(model.predict(X)).all()


def test_early_stopping_needs_something_to_hold_out(shop):
    X, y = shop
    with pytest.raises(ValueError, match=r"early_stopping.*1 interaction"):
        FM(early_stopping=True).fit(X[:1], y[:1])


def test_patience_without_early_stopping_changes_nothing(shop):
    X, y = shop
    assert FM(rank=2, n_iter=9, tol=0, patience=1).fit(X, y).n_iter_ == 9


# Going on


@pytest.mark.parametrize("solver", ["als", "sgd"])
def test_warm_start_continues_where_the_last_fit_ended(shop, solver):
    X, y = shop
    model = FM(rank=4, solver=solver, n_iter=4, tol=0, warm_start=True)
    first = model.fit(X, y).fit_log_[-1].objective
    second = model.fit(X, y).fit_log_
    assert len(second) == 4
    assert second[0].objective < first
    assert second[-1].objective < first
    cold = FM(rank=4, solver=solver, n_iter=4, tol=0).fit(X, y)
    assert cold.fit(X, y).fit_log_[-1].objective == first


def test_two_warm_fits_are_one_long_fit(shop):
    X, y = shop
    warm = FM(rank=4, n_iter=5, tol=0, warm_start=True).fit(X, y).fit(X, y)
    np.testing.assert_allclose(warm.predict(X), FM(rank=4, n_iter=10, tol=0).fit(X, y).predict(X), atol=1e-8)


def test_warm_start_needs_the_layout_and_the_rank_of_the_last_fit(shop):
    X, y = shop
    model = FM(rank=4, n_iter=2, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match=r"64 features.*63 features"):
        model.fit(sp.hstack([X.to_csr(), np.ones((len(y), 1))]), y)
    with pytest.raises(ValueError, match=r"rank.*8.*4"):
        model.set_params(rank=8).fit(X, y)


@pytest.mark.parametrize("solver", ["als", "sgd"])
def test_partial_fits_add_up(shop, solver):
    X, y = shop
    model = FM(rank=4, solver=solver)
    errors = []
    for _ in range(8):
        model.partial_fit(X, y)
        errors.append(((model.predict(X) - y) ** 2).mean())
    assert model.n_iter_ == len(model.fit_log_) == 8
    assert errors[-1] < errors[0] < y.var()


def test_partial_fits_are_one_fit(shop):
    X, y = shop
    model = FM(rank=4, tol=0, n_iter=3)
    parts = clone(model).partial_fit(X, y)
    start = clone(model).set_params(n_iter=1, warm_start=True)
    start.factors_, start.weights_, start.bias_ = parts.factors_.copy(), parts.weights_.copy(), parts.bias_
    start.fields_, start.n_features_in_ = parts.fields_, parts.n_features_in_
    np.testing.assert_array_equal(parts.partial_fit(X, y).predict(X), start.fit(X, y).predict(X))


@pytest.mark.parametrize("pairs", ["all", "across"])
@pytest.mark.parametrize("how", ["partial_fit", "warm_start"])
def test_a_fit_may_go_on_with_the_expanded_matrix(shop, pairs, how):
    X, y = shop
    penalty = {"item.words": 30.0, "user": 3.0, "default": 1.0}
    model = FM(rank=4, n_iter=3, tol=0, pairs=pairs, regularization=penalty, warm_start=True).fit(X, y)
    predictions = []
    for given in (X, X.to_csr(), X.to_csr().toarray()):
        other = clone(model)
        other.__dict__.update({k: v for k, v in vars(model).items() if k.endswith("_")})
        (other.partial_fit if how == "partial_fit" else other.fit)(given, y)
        predictions.append(other.predict(X))
    np.testing.assert_allclose(predictions[1], predictions[0], atol=1e-6)
    np.testing.assert_allclose(predictions[2], predictions[0], atol=1e-6)


def test_partial_fit_keeps_to_the_columns_it_began_with(shop):
    X, y = shop
    model = FM(rank=3).partial_fit(X, y)
    with pytest.raises(ValueError, match="63 features"):
        model.partial_fit(X.to_csr()[:, :10], y)
    swapped = Blocks(item=X.blocks["item"], user=X.blocks["user"])
    with pytest.raises(ValueError, match="same fields"):
        model.partial_fit(swapped, y)
    one = Block(np.zeros(1, int), {"id": sp.identity(30), "age": np.ones((30, 1))})
    model.partial_fit(Blocks(user=one, item=X[:1].blocks["item"]), y[:1])
    assert model.n_iter_ == 2
