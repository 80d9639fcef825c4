"""`predict_pairs`: the scores of `predict`, from the features of users and items given apart."""

from __future__ import annotations

import gc
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from bitfm import Block, Blocks, DiscreteFM, DistilledFM
from bitfm.retrieval import pairs as scoring
from problems import KINDS, float64, random_blocks


def fitted(X, seed=0, model=None, **settings):
    y = np.random.default_rng(seed).normal(3, 1, len(X))
    return (model or DiscreteFM(bits=24, max_iter=3, init_iter=3, **settings)).fit(X, y)


def apart(X):
    *users, item = X.blocks
    return Blocks(**{name: X.blocks[name] for name in users}), X.blocks[item]


@pytest.mark.parametrize("pairs", ["all", "across"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "plain"])
def test_scores_are_those_of_predict(kind, pairs):
    for X in (random_blocks(kind), float64(random_blocks(kind))):
        model = fitted(X, pairs=pairs)
        block = list(X.blocks)[-1]
        scores = model.predict(X)
        tolerance = 1e-5 * np.abs(scores).max()
        np.testing.assert_allclose(model.predict_pairs(*apart(X), block=block), scores, rtol=0, atol=tolerance)


def test_items_may_be_a_block_in_the_middle():
    X = random_blocks("mixed")
    model = fitted(X)
    users = Blocks(user=X.blocks["user"], item=X.blocks["item"])
    pairs = model.predict_pairs(users, X.blocks["event"], block="event")
    np.testing.assert_allclose(pairs, model.predict(X), rtol=0, atol=1e-5 * np.abs(pairs).max())


def test_records_give_the_same_scores_and_are_made_in_time():
    X = random_blocks("shared", n=400)
    model = fitted(X)
    few, all_of_them = model.predict_pairs(*apart(X[:1])), model.predict_pairs(*apart(X))
    assert scoring._scorers[model.parameters_]._records is not None
    np.testing.assert_array_equal(few, all_of_them[:1])
    np.testing.assert_array_equal(few, model.predict_pairs(*apart(X[:1])))
    with pytest.raises(ValueError, match="read-only"):
        model.weights_[0] = 1


def test_one_score_makes_no_records():
    model = fitted(random_blocks("bare", n=400))
    model.predict_pairs([1], [2])
    assert scoring._scorers[model.parameters_]._records is None


def test_other_parameters_are_noticed():
    X = random_blocks("bare", n=400)
    model = fitted(X)
    before = model.predict_pairs(*apart(X))
    model.weights_ = model.weights_ + np.float32(1)
    np.testing.assert_allclose(model.predict_pairs(*apart(X)), before + 2, rtol=0, atol=1e-5)
    model.fit(X, -np.arange(len(X)))
    np.testing.assert_allclose(model.predict_pairs(*apart(X)), model.predict(X), rtol=0, atol=1e-3)


def test_records_are_neither_saved_nor_kept_for_long():
    X = random_blocks("bare", n=400)
    model = fitted(X)
    size = len(pickle.dumps(model))
    model.predict_pairs(*apart(X))
    assert len(pickle.dumps(model)) == size
    kept = len(scoring._scorers)
    del model
    gc.collect()
    assert len(scoring._scorers) == kept - 1


def test_weights_are_single_precision_whatever_x_is():
    rng = np.random.default_rng(0)
    for model in (None, DistilledFM(24, max_iter=3)):
        X = Blocks(user=Block(rng.integers(6, size=50), {"x": rng.normal(size=(6, 3))}),
                   item=Block(rng.integers(5, size=50), {"id": sp.identity(5)}))  # fmt: skip
        assert X.dtype == np.float64
        model = fitted(X, model=model)
        assert model.weights_.dtype == np.float32
        assert len(model.predict(X)) == 50


def test_weights_of_any_kind_will_do():
    X = random_blocks("shared")
    model = fitted(X)
    scores, pairs = model.predict(X), model.predict_pairs(*apart(X))
    for weights in (model.weights_.astype(np.float64), np.repeat(model.weights_, 2)[::2], model.weights_.astype(">f4")):
        model.weights_ = weights
        np.testing.assert_allclose(model.predict(X), scores, rtol=1e-6)
        np.testing.assert_array_equal(model.predict_pairs(*apart(X)), pairs)
        with pytest.raises(ValueError, match="read-only"):
            model.weights_[0] = 1
    model.weights_ = np.round(scores.mean()) * np.ones(X.n_features, int)
    assert len(model.predict(X)) == len(X)
