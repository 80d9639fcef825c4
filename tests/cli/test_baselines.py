"""The models that codes are compared with get settings that suit the data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bitfm import FM, BiasModel, Evaluation
from bitfm.cli._accuracy import Measured, remark_on
from bitfm.cli._baselines import fit_als, fit_bias
from bitfm.data import Block, Blocks
from bitfm.datasets import make_bookshop
from bitfm.evaluation import PerUser, rmse, split_per_user


@pytest.fixture(scope="module")
def problem():
    shop = make_bookshop(300, 150, 12_000, seed=2)
    X, y = shop.blocks(), np.asarray(shop.ratings["rating"], np.float64)
    train = split_per_user(shop.reader_rows)
    return X[train], y[train], X[~train], y[~train]


def test_baselines_are_about_as_good_as_those_with_settings_as_they_come_or_better(problem):
    X, y, unseen, truth = problem
    for fit, plain in ((fit_bias, BiasModel()), (fit_als, FM(pairs="across"))):
        chosen = rmse(truth, fit(X, y, 0).predict(unseen))
        assert chosen < 1.01 * rmse(truth, plain.fit(X, y).predict(unseen))
    assert chosen < rmse(truth, fit_bias(X, y, 0).predict(unseen))  # factors help on this data


def test_few_ratings_of_two_clear_factors_are_learnt():
    """A penalty that suits a million ratings would leave nothing of the factors, and a baseline that is none."""
    rng = np.random.default_rng(0)
    users, items = (rng.normal(size=(n, 2)) for n in (60, 40))
    pairs = np.argwhere(rng.random((60, 40)) < 0.5)
    y = 3 + (users[pairs[:, 0]] * items[pairs[:, 1]]).sum(axis=1) + 0.1 * rng.normal(size=len(pairs))
    X = Blocks(user=Block(pairs[:, 0], {"id": sp.identity(60)}), item=Block(pairs[:, 1], {"id": sp.identity(40)}))
    unseen = rng.random(len(y)) < 0.3
    model = fit_als(X[~unseen], y[~unseen], 0)
    assert rmse(y[unseen], model.predict(X[unseen])) < 0.3 * y.std()


@pytest.mark.parametrize("fit", [fit_bias, fit_als])
def test_the_same_seed_gives_the_same_baseline(problem, fit):
    X, y, unseen, _ = problem
    assert (fit(X, y, 3).predict(unseen) == fit(X, y, 3).predict(unseen)).all()


@pytest.mark.parametrize("fit", [fit_bias, fit_als])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_handful_of_ratings_is_enough(problem, fit, n):
    X, y, unseen, _ = problem
    assert np.isfinite(fit(X[:n], y[:n], 0).predict(unseen)).all()


def measured(name, values):
    each = PerUser(np.arange(len(values)), np.asarray(values), (10,))
    return Measured(name, Evaluation(float(each.mean()), 10, len(each), len(each), measures={"ndcg": each}))


def test_a_simpler_model_is_told_of_if_it_ranks_better_by_more_than_chance():
    rng = np.random.default_rng(0)
    ours = rng.random(200)
    noise = rng.normal(0, 0.3, 200)
    clear, unsure, worse = ours + 0.1, ours + noise - noise.mean() + 0.001, ours - 0.1
    found = remark_on([measured("FM (ALS)", clear), measured("bias only", worse), measured("ours", ours)])
    assert found.startswith("NDCG@10 is better for FM (ALS) by 0.1000 (95 % interval 0.1000 to 0.1000)")
    assert "seed" not in found
    assert remark_on([measured("FM (ALS)", unsure), measured("ours", ours)]) is None
