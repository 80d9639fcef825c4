"""Popularity and random scores."""

from __future__ import annotations

import bitfm
import numpy as np
import pytest
import scipy.sparse as sp
from bitfm import Block, Blocks
from sklearn.base import clone

from bitfm_research.baselines import Popularity, RandomScores

BASELINES = [Popularity(), RandomScores()]


@pytest.fixture
def every(shop):
    """All pairs of the shop's users and items."""
    X, _ = shop
    users, items = (part.ravel() for part in np.indices((30, 20)))
    return Blocks(user=Block(users, X.blocks["user"].tables), item=Block(items, X.blocks["item"].tables))


def test_popularity_is_the_number_of_ratings(shop, every):
    X, y = shop
    scores = Popularity().fit(X, y).predict(every).reshape(30, 20)
    np.testing.assert_array_equal(scores, np.tile(np.bincount(X.blocks["item"].rows, minlength=20), (30, 1)))


def test_random_scores_are_even_and_know_neither_user_nor_item(shop, every):
    scores = RandomScores().fit(*shop).predict(every).reshape(30, 20)
    assert len(np.unique(scores)) == 600
    assert 0 <= scores.min() < 0.02 < 0.98 < scores.max() < 1
    assert abs(scores.mean() - 0.5) < 0.05
    for means in (scores.mean(axis=0), scores.mean(axis=1)):  # no user or item is better than others
        assert means.std() < 0.1
    corr = np.corrcoef(scores)[np.triu_indices(30, 1)]
    assert abs(corr.mean()) < 0.05


def test_random_scores_depend_on_the_seed_alone(shop, every):
    X, y = shop
    scores = RandomScores().fit(X, y).predict(every)
    np.testing.assert_array_equal(RandomScores().fit(X[:5], y[:5]).predict(every), scores)
    np.testing.assert_array_equal(RandomScores().fit(X, y).predict(every[::-1]), scores[::-1])
    assert (RandomScores(random_state=1).fit(X, y).predict(every) != scores).all()


@pytest.mark.parametrize("model", BASELINES, ids=str)
def test_they_keep_the_contract_of_models(model, shop, tmp_path):
    X, y = shop
    model = clone(model).fit(X, y)
    scores = model.predict(X)
    np.testing.assert_allclose(model.predict(X.to_csr()), scores)
    model.save(tmp_path / "model.bitfm")
    back = bitfm.load(tmp_path / "model.bitfm")
    assert type(back) is type(model)
    assert back.get_params() == model.get_params()
    np.testing.assert_array_equal(back.predict(X), scores)
    assert len(model.predict(X[:0])) == 0
    with pytest.raises(ValueError, match="has 1 block"):
        model.fit(X.to_csr(), y)
    np.testing.assert_array_equal(model.predict(X), scores)  # as before
    with pytest.raises(ValueError, match="of the fields of 'user'"):
        model.fit(Blocks(user=Block([0], {"age": [[1.5]]}), item=Block([0], {"id": sp.identity(3)})), [1.0])


@pytest.mark.parametrize("model", BASELINES, ids=str)
def test_a_second_fit_may_have_other_blocks(model, shop):
    model = clone(model).fit(*shop)
    small = Blocks(user=Block([0, 1], {"id": sp.identity(2)}), item=Block([0, 1], {"id": sp.identity(2)}))
    assert model.fit(small, [1, 2]).predict(small).shape == (2,)
