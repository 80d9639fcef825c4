"""The Bayesian factorization machine: its draws, what it predicts from them, and how sure it is."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from bitfm import FM, Block, Blocks
from bitfm.core import make_trainer
from bitfm.models.solvers.gibbs import _Prior
from problems import float64, scores


def ratings(n=3000, n_users=60, n_items=50, noise=0.5, seed=0):
    """Ratings of rank 3 by bare ids, the truth with noise."""
    rng = np.random.default_rng(seed)
    u, i = rng.integers(n_users, size=n), rng.integers(n_items, size=n)
    p, q = 0.8 * rng.normal(size=(n_users, 3)), 0.8 * rng.normal(size=(n_items, 3))
    truth = 3 + 0.5 * rng.normal(size=n_users)[u] + 0.5 * rng.normal(size=n_items)[i] + (p[u] * q[i]).sum(axis=1)
    X = Blocks(user=Block(u, {"id": sp.identity(n_users)}), item=Block(i, {"id": sp.identity(n_items)}))
    return X, truth + noise * rng.normal(size=n), truth


def rmse(a, b):
    return np.sqrt(np.mean((a - b) ** 2))


# Units


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_units_of_the_targets_do_not_matter(shop, dtype):
    X, y = shop[0].to_csr().astype(dtype), shop[1]
    model = FM(rank=4, solver="gibbs", n_iter=15, n_samples=5)
    expected, spread = model.fit(X, y).predict(X, return_std=True)
    for scale, shift in ((1e-9, 0.0), (1e-3, 5.0), (-1.0, 0.0), (1e4, -1e4), (1e9, 0.0)):
        got, std = model.fit(X, y * scale + shift).predict(X, return_std=True)
        tolerance = 1e-3 if dtype == np.float32 else 1e-6
        if scale > 0:  # the same chain; a mirrored one is another
            np.testing.assert_allclose((got - shift) / scale, expected, atol=tolerance)
            np.testing.assert_allclose(std / scale, spread, rtol=tolerance)
        assert rmse((got - shift) / scale, y) < 1.1 * rmse(expected, y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [0.0, 0.1, -3.5, 1e6])
def test_constant_targets_are_predicted_for_sure(shop, value, dtype):
    X, y = shop[0].to_csr().astype(dtype), np.full(500, value)
    got, std = FM(rank=3, solver="gibbs", n_iter=5).fit(X, y).predict(X, return_std=True)
    np.testing.assert_allclose(got, value, rtol=1e-6, atol=1e-12)
    assert (std <= 1e-6 * abs(value) + 1e-12).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_that_overflow_are_refused(shop, dtype):
    X, y = shop[0].to_csr().astype(dtype), shop[1]
    model = FM(rank=3, solver="gibbs", n_iter=1)
    for scale in (1e25, 1e130, 1e200, 1e300):
        if scale < 1e100 and dtype == np.float64:
            continue
        with pytest.raises(ValueError, match=r"standard deviation.*scale the targets"):
            model.fit(X, y * scale)
    huge = X * dtype(1e30 if dtype == np.float32 else 1e250)
    with pytest.raises(ValueError, match="overflow"), np.errstate(all="ignore"):
        model.set_params(init_scale=1.0).fit(huge, y)
    assert not hasattr(model, "samples_")


# What occurs, and what does not


def test_a_weight_is_the_interaction_so_many_times(shop):
    X, y = shop
    weight = np.random.default_rng(0).integers(0, 4, 500)
    weight[X.blocks["user"].rows == 3] = 0  # as if the user were not there
    repeated = np.repeat(np.arange(500), weight)
    for pairs in ("all", "across"):
        model = FM(rank=3, solver="gibbs", n_iter=12, n_samples=4, pairs=pairs)
        expected = model.fit(X[repeated], y[repeated]).predict(X, return_std=True)
        got, std = model.fit(X, np.where(weight, y, 1e6), weight).predict(X, return_std=True)
        np.testing.assert_allclose(got, expected[0], atol=1e-6)
        np.testing.assert_allclose(std, expected[1], atol=1e-6)


def test_features_that_never_occur_stay_at_the_mean_of_their_field(shop):
    X, y = shop
    absent = X.blocks["user"].rows == 3
    model = FM(rank=3, solver="gibbs", n_iter=20, n_samples=10).fit(X[~absent], y[~absent])
    other = np.delete(np.arange(30), 3)
    assert np.abs(model.weights_[3] - model.weights_[other].mean()) < 0.5 * model.weights_[other].std()
    spread = model.samples_.factors.std(axis=0)
    assert (spread[3] < np.median(spread[other], axis=0)).all()


def test_a_field_that_never_occurs_has_no_say(shop):
    X, y = shop
    item = X.blocks["item"]
    tags = Block(item.rows, dict(item.tables) | {"tags": np.zeros((20, 3))})
    model = FM(rank=3, solver="gibbs", n_iter=5).fit(Blocks(user=X.blocks["user"], item=tags), y)
    np.testing.assert_array_equal(model.samples_.weights[:, -3:], 0)
    np.testing.assert_array_equal(model.samples_.factors[:, -3:], 0)
    tagged = Block(item.rows, dict(item.tables) | {"tags": np.ones((20, 3))})
    given = Blocks(user=X.blocks["user"], item=tagged)
    np.testing.assert_array_equal(model.predict(given), model.predict(Blocks(user=X.blocks["user"], item=tags)))


# The draws


def test_the_draws_lie_side_by_side_and_predict_copies_none(shop):
    X, y = shop
    model = FM(rank=3, solver="gibbs", n_iter=9, n_samples=4).fit(X, y)
    stopped = FM(rank=3, solver="gibbs", n_iter=9, n_samples=9, thin=1, n_chains=1)
    stopped.fit(X, y, callback=lambda i: i.number == 4)
    for one in (model, stopped, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert one.samples_.factors.shape == (4, X.n_features, 3)
        assert np.shares_memory(one.parameters_.factors, one.samples_.factors)
        np.testing.assert_array_equal(one.factors_, one.samples_.factors[-1])
        expected = (model if one is not stopped else stopped).predict(X)
        np.testing.assert_array_equal(one.predict(X), expected)
    assert np.shares_memory(model.factors_, model.samples_.factors)


def test_more_numbers_than_the_core_takes_are_refused(shop):
    model = FM(rank=4096, solver="gibbs", n_iter=600, n_samples=300)
    with pytest.raises(ValueError, match=r"n_samples: 300 draws of rank 4096 are 1228800.*keep fewer"):
        model.fit(*shop)


@pytest.mark.parametrize("pairs", ["all", "across"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_predictions_are_the_mean_over_the_draws_and_spread_with_them(shop, pairs, dtype):
    X, y = shop
    X = Blocks.from_matrix(X.to_csr().astype(dtype), {"user": 31, "item": 32})
    model = FM(rank=3, solver="gibbs", n_iter=9, n_samples=4, pairs=pairs).fit(X, y)
    draws = model.samples_
    assert (draws.biases.dtype, draws.weights.dtype, draws.factors.dtype) == (np.float64, dtype, dtype)
    each = [scores(X, b, w, V, pairs == "across") for b, w, V in zip(*draws[:3], strict=True)]
    got, std = model.predict(X, return_std=True)
    atol = 1e-4 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(model.predict(X), np.mean(each, axis=0), atol=atol)
    np.testing.assert_allclose(got, np.mean(each, axis=0), atol=atol)
    np.testing.assert_allclose(std**2, np.var(each, axis=0) + np.mean(1 / draws.noise_precisions), rtol=100 * atol)
    np.testing.assert_allclose(model.weights_, draws.weights.mean(axis=0), atol=atol)
    assert model.bias_ == pytest.approx(draws.biases.mean())
    for none in (X[:0], X.to_csr()[:0]):
        assert [a.shape for a in model.predict(none, return_std=True)] == [(0,), (0,)]


def same(a, b):
    return all((x == y).all() for x, y in zip(a, b, strict=True))


def test_the_draws_kept_are_the_last_of_the_chain_some_sweeps_apart(shop):
    X, y = shop
    model = FM(rank=3, solver="gibbs", thin=1, n_samples=100, n_chains=1)
    whole = model.set_params(n_iter=20).fit(X, y).samples_
    assert len(whole.biases) == 20
    for n_iter, n_samples, thin, kept in (
        (20, 3, 1, [17, 18, 19]),
        (12, 3, 2, [7, 9, 11]),
        (12, 100, 5, [1, 6, 11]),
        (12, 2, 5, [6, 11]),
        (3, 2, 3, [2]),
        (1, 30, 2, [0]),
    ):
        draws = model.set_params(n_iter=n_iter, n_samples=n_samples, thin=thin).fit(X, y).samples_
        assert same(draws, [array[kept] for array in whole])
    assert not same(whole, model.set_params(n_iter=20, n_samples=20, thin=1, random_state=1).fit(X, y).samples_)
    assert len(FM(rank=2, solver="gibbs").fit(X, y).samples_.biases) == 64


def test_a_fit_that_is_stopped_keeps_what_it_has_drawn(shop):
    X, y = shop
    model = FM(rank=3, solver="gibbs", n_iter=20, thin=1, n_samples=20, n_chains=1)
    whole = model.fit(X, y).samples_
    model.set_params(n_samples=5, thin=2)  # the draws after sweeps 12, 14, ...
    for stop, kept in ((1, [0]), (7, [6]), (12, [11]), (13, [11]), (15, [11, 13]), (20, [11, 13, 15, 17, 19])):
        model.fit(X, y, callback=lambda step, stop=stop: step.number == stop)
        assert model.n_iter_ == stop
        assert same(model.samples_, [array[kept] for array in whole])


def test_chains_are_independent_and_their_draws_come_in_turns(shop):
    X, y = shop
    model = FM(rank=3, solver="gibbs", n_iter=6, thin=1, n_samples=100)
    four = model.fit(X, y).samples_
    assert len(four.biases) == 4 * 6
    one = model.set_params(n_chains=1).fit(X, y).samples_
    assert same(one, [array[::4] for array in four])  # a chain is the same however many others there are
    for a, b in itertools.combinations(four.factors[-4:], 2):
        assert np.abs(a - b).max() > 0.01
    model.set_params(n_chains=4)
    for n_samples, thin, kept in (
        (4, 1, [20, 21, 22, 23]),
        (6, 1, [18, 19, 20, 21, 22, 23]),
        (5, 2, [15, 20, 21, 22, 23]),
        (100, 5, [0, 1, 2, 3, 20, 21, 22, 23]),
    ):
        assert same(model.set_params(n_samples=n_samples, thin=thin).fit(X, y).samples_, [a[kept] for a in four])
    few = model.set_params(n_samples=2, thin=1).fit(X, y).samples_  # a chain whose draws nobody wants is not run
    assert same(few, [a[[20, 21]] for a in four])


def test_the_loss_of_several_chains_is_their_mean(shop):
    X, y = shop
    model = FM(rank=3, solver="gibbs", n_iter=5, n_samples=15, n_chains=3, thin=1).fit(X, y)
    for step, *draws in zip(
        model.fit_log_, *(zip(*(a[c::3] for a in model.samples_[:3]), strict=True) for c in range(3)), strict=True
    ):
        losses = [np.sum((y - scores(X, b, w, V)) ** 2) for b, w, V in draws]
        assert step.loss == pytest.approx(np.mean(losses), rel=1e-6)


@pytest.mark.parametrize("thin", [1, 2])
def test_stopping_several_chains_keeps_a_draw_of_each(shop, thin):
    X, y = shop
    model = FM(rank=3, solver="gibbs", n_iter=9, n_samples=4, n_chains=3, thin=thin)
    for end in range(1, 9):
        stopped = model.set_params(n_iter=9).fit(X, y, callback=lambda step, end=end: step.number == end).samples_
        last = model.set_params(n_iter=end).fit(X, y).samples_
        assert same([a[-3:] for a in stopped], [a[-3:] for a in last])


def test_numbers_of_any_kind_count(shop):
    X, y = shop
    model = FM(rank=3, solver="gibbs", n_iter=5)
    expected = model.set_params(n_samples=6, n_chains=4, thin=1).fit(X, y).samples_
    for kind in (np.uint8, np.int8, np.uint64):
        model.set_params(n_samples=kind(6), n_chains=kind(4), thin=kind(1))
        assert same(model.fit(X, y).samples_, expected)


# Going on


def test_each_chain_goes_on_from_its_last_draw(shop):
    X, y = shop
    model = FM(rank=3, solver="gibbs", n_iter=30, n_samples=9, n_chains=3, warm_start=True).fit(X, y)
    last = model.samples_.factors[-3:].copy()
    model.set_params(n_iter=1, n_samples=3).fit(X, y)
    near = [[np.corrcoef(a.ravel(), b.ravel())[0, 1] for b in last] for a in model.samples_.factors]
    assert np.argmax(near, axis=1).tolist() == [0, 1, 2]
    model.set_params(n_samples=30, n_chains=5).fit(X, y)  # some begin where another does, and part from it
    assert len(np.unique(model.samples_.biases)) == 5


def test_a_warm_start_goes_on_from_the_last_draw(shop):
    X, y = shop
    model = FM(rank=3, solver="gibbs", n_iter=30, n_samples=10, warm_start=True)
    losses = [step.loss for step in model.fit(X, y).fit_log_]
    last = model.samples_.factors[-1].copy()
    settled = np.mean(losses[-10:])
    model.set_params(n_iter=1, n_samples=1).fit(X, y)
    assert 0.7 * settled < model.fit_log_[0].loss < 1.3 * settled < 0.8 * losses[0]
    assert np.corrcoef(model.samples_.factors.ravel(), last.ravel())[0, 1] > 0.5
    cold = FM(rank=3, solver="gibbs", n_iter=1).fit(X, y)
    assert cold.fit_log_[0].loss == losses[0]


def test_a_chain_may_go_on_from_another_solver_and_another_from_a_chain(shop):
    X, y = shop
    model = FM(rank=3, n_iter=20, warm_start=True).fit(X, y)
    best = model.fit_log_[-1].loss
    model.set_params(solver="gibbs", n_iter=1).fit(X, y)
    assert model.fit_log_[0].loss < 2 * best
    bias, weights, factors, _ = (array[-1].copy() for array in model.samples_)
    begin = np.sum((y - scores(X, bias, weights, factors)) ** 2) + 30 * np.sum(factors**2) + 5 * np.sum(weights**2)
    model.set_params(solver="als").fit(X, y)
    assert model.fit_log_[0].objective < begin
    np.testing.assert_allclose(model.predict(X), scores(X, model.bias_, model.weights_, model.factors_), atol=1e-6)


def test_another_solver_drops_the_draws(shop):
    X, y = shop
    for solver, again in (("als", FM.fit), ("sgd", FM.fit), ("als", FM.partial_fit), ("sgd", FM.partial_fit)):
        model = FM(rank=3, solver="gibbs", n_iter=3).fit(X, y)
        again(model.set_params(solver=solver), X, y)
        assert not hasattr(model, "samples_")
        with pytest.raises(ValueError, match=rf"return_std needs draws.*gibbs.*'{solver}'"):
            model.predict(X, return_std=True)


def test_what_sampling_cannot_do_is_refused_and_says_so(shop):
    X, y = shop
    model = FM(rank=3, solver="gibbs", n_iter=3)
    with pytest.raises(AttributeError, match="partial_fit") as refused:
        model.partial_fit(X, y)
    assert "warm_start=True" in str(refused.value.__cause__)
    with pytest.raises(ValueError, match=r"early_stopping: gibbs.*turn it off"):
        model.set_params(early_stopping=True).fit(X, y)
    assert not hasattr(model, "factors_")
    with pytest.raises(NotFittedError):
        model.predict(X, return_std=True)


# The posterior


def test_priors_are_drawn_from_their_posterior():
    """Given values v, λ is Gamma((1 + n) / 2, rate / 2) and μ a t-distribution around Σ v / (n + 1)."""
    rng = np.random.default_rng(0)
    v, draws = np.array([[0.5, 3.0], [1.5, -1.0], [0.7, 2.0], [9.0, 9.0]]), 10_000
    prior, seen = _Prior((1, 2)), []
    for _ in range(draws):
        prior.draw(v, [np.arange(3)], rng)
        seen.append((prior.precision[0].copy(), prior.mean[0].copy()))
    precision, mean = np.array(seen).transpose(1, 0, 2)
    n, average, total = 3, v[:3].mean(axis=0), v[:3].sum(axis=0)
    rate = 1 + ((v[:3] - average) ** 2).sum(axis=0) + n * average**2 / (n + 1)
    np.testing.assert_allclose(precision.mean(axis=0), (1 + n) / rate, rtol=0.03)
    np.testing.assert_allclose(precision.std(axis=0), np.sqrt(2 * (1 + n)) / rate, rtol=0.05)
    np.testing.assert_allclose(mean.mean(axis=0), total / (n + 1), atol=0.03)
    np.testing.assert_allclose(mean.var(axis=0), rate / (n - 1) / (n + 1), rtol=0.15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_recovers_the_truth_better_than_als_and_knows_how_well(dtype):
    X, y, truth = ratings()
    X = X if dtype == np.float32 else float64(X)
    train = np.random.default_rng(1).random(len(y)) < 0.7
    model = FM(rank=3, solver="gibbs").fit(X[train], y[train])
    assert model.factors_.dtype == dtype
    got, std = model.predict(X[~train], return_std=True)
    error = y[~train] - got
    als = FM(rank=3).fit(X[train], y[train]).predict(X[~train])
    assert rmse(got, truth[~train]) < 0.6 * rmse(als, truth[~train])
    assert rmse(got, truth[~train]) < 0.35 < 0.8 < truth.std()
    assert np.mean(1 / model.samples_.noise_precisions) == pytest.approx(0.5**2, rel=0.1)
    assert np.mean(np.abs(error) < std) == pytest.approx(0.683, abs=0.04)
    assert np.mean(np.abs(error) < 2 * std) == pytest.approx(0.954, abs=0.02)


def test_it_is_less_sure_where_it_has_seen_less():
    X, y, _ = ratings(n=1500)
    rare = np.flatnonzero(X.blocks["user"].rows == 7)[3:]
    kept = np.delete(np.arange(1500), rare)
    _, std = FM(rank=4, solver="gibbs").fit(X[kept], y[kept]).predict(X, return_std=True)
    assert np.median(std[rare]) > 1.2 * np.median(std[kept])


# Rows of many interactions


def test_a_history_of_many_items_that_are_alike_does_not_diverge():
    n, rng, one = 60_000, np.random.default_rng(1), np.float32(1)
    history, ids = sp.csr_matrix(np.full((1, n), one / np.sqrt(n), np.float32)), sp.identity(n, np.float32)
    user = Block(np.zeros(n, np.int32), {"history": history, "id": sp.identity(1, np.float32)})
    X = Blocks(user=user, item=Block(np.arange(n), {"raters": np.full((n, 1), one), "id": ids}))
    y = rng.normal(size=n).astype(np.float32)
    assert X.dtype == np.float32
    factors = rng.normal(0, 1e-3, (X.n_features, 8)).astype(np.float32)
    factors[n + 1] = 3.3 * rng.normal(size=8)  # items' Σ o o' is nearly singular: less than 0 if single sums round
    weights, prior = np.zeros(X.n_features, np.float32), np.ones((4, 8))
    trainer = make_trainer(X.design(), y, None, across=True)
    trainer.reset_reals(0.0, weights, factors, 1)
    before = trainer.loss(1)
    trainer.draw_factors(factors, 1e4 * prior, 0 * prior, float(n), 5, 1)
    assert np.abs(factors).max() < 10
    assert trainer.loss(1) < before
