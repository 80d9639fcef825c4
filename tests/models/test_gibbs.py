"""The Bayesian factorization machine: its draws, what it predicts from them, and how sure it is."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from bitfm import FM, Block, Blocks
from bitfm.models._gibbs import side_by_side


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
        scores, std = model.fit(X, y * scale + shift).predict(X, return_std=True)
        tolerance = 1e-3 if dtype == np.float32 else 1e-6
        if scale > 0:  # the same chain; a mirrored one is another
            np.testing.assert_allclose((scores - shift) / scale, expected, atol=tolerance)
            np.testing.assert_allclose(std / scale, spread, rtol=tolerance)
        assert rmse((scores - shift) / scale, y) < 1.1 * rmse(expected, y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [0.0, 0.1, -3.5, 1e6])
def test_constant_targets_are_predicted_for_sure(shop, value, dtype):
    X, y = shop[0].to_csr().astype(dtype), np.full(500, value)
    scores, std = FM(rank=3, solver="gibbs", n_iter=5).fit(X, y).predict(X, return_std=True)
    np.testing.assert_allclose(scores, value, rtol=1e-6, atol=1e-12)
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
    for interactions in ("all", "cross"):
        model = FM(rank=3, solver="gibbs", n_iter=12, n_samples=4, interactions=interactions)
        expected = model.fit(X[repeated], y[repeated]).predict(X, return_std=True)
        scores, std = model.fit(X, np.where(weight, y, 1e6), weight).predict(X, return_std=True)
        np.testing.assert_allclose(scores, expected[0], atol=1e-6)
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
    stopped = FM(rank=3, solver="gibbs", n_iter=9, n_samples=9, thin=1).fit(X, y, callback=lambda i: i.number == 4)
    for one in (model, stopped, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert one.samples_.factors.shape == (4, X.n_features, 3)
        assert np.shares_memory(side_by_side(one.samples_), one.samples_.factors)
        np.testing.assert_array_equal(one.factors_, one.samples_.factors[-1])
        expected = (model if one is not stopped else stopped).predict(X)
        np.testing.assert_array_equal(one.predict(X), expected)
    assert np.shares_memory(model.factors_, model.samples_.factors)


def test_more_numbers_than_the_core_takes_are_refused(shop):
    model = FM(rank=4096, solver="gibbs", n_iter=600, n_samples=300)
    with pytest.raises(ValueError, match=r"n_samples: 300 draws of rank 4096 are 1228800.*keep fewer"):
        model.fit(*shop)
