"""What a fitted model says is what its parameters say."""

from __future__ import annotations

import numpy as np
import pytest

from bitfm import FM, BiasModel, Block, Blocks, DiscreteFM
from bitfm.core import unpack_codes
from bitfm.datasets import make_bookshop
from problems import KINDS, random_blocks, scores


@pytest.mark.parametrize("pairs", ["all", "across"])
@pytest.mark.parametrize("kind", KINDS)
def test_discrete_predictions_follow_from_codes_gains_weights_and_bias(kind, pairs):
    X = random_blocks(kind, n=60)
    y = np.random.default_rng(0).uniform(1, 5, 60)
    model = DiscreteFM(objective="paper", bits=16, max_iter=5, pairs=pairs)
    if kind == "plain" and pairs == "across":
        with pytest.raises(ValueError, match="only one"):
            model.fit(X, y)
        return
    model.fit(X, y)
    V = unpack_codes(model.codes_) * model.gains_[:, None]
    expected = scores(X, model.bias_, model.weights_, V, pairs == "across")
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(model.predict(X.to_csr()), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(model.to_float().predict(X), model.predict(X), rtol=1e-4, atol=1e-4)
    why = model.explain(X[4])
    assert why.score == pytest.approx(expected[4], rel=1e-4, abs=1e-4)
    assert abs(why.pairs[0].contribution) == max(abs(pair.contribution) for pair in why.pairs) if why.pairs else True


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_and_the_expanded_matrix_give_the_same_model(kind):
    X = random_blocks(kind, "integer", n=60)
    y = np.random.default_rng(0).integers(1, 6, 60).astype(float)
    on_blocks, on_matrix = (DiscreteFM(objective="paper", bits=16).fit(M, y) for M in (X, X.to_csr()))
    if kind in ("bare", "context"):  # the matrix is recognised as one-hot fields and kept as ids
        np.testing.assert_array_equal(on_blocks.codes_, on_matrix.codes_)
    np.testing.assert_allclose(on_blocks.predict(X), on_matrix.predict(X), atol=2e-3)
    fm, expanded = (FM(rank=4, n_iter=10, tol=0).fit(M, y) for M in (X, X.to_csr()))
    np.testing.assert_allclose(fm.predict(X), expanded.predict(X), atol=2e-3)


def test_the_pairs_of_an_explanation_name_their_features():
    shop = make_bookshop(100, 60, 2000)
    X = shop.blocks()
    model = DiscreteFM(objective="paper", bits=32).fit(X, shop.ratings["rating"])
    why = model.explain(X[0])
    names = {feature.name for feature in why.features}
    assert f"reader.id[{shop.reader_rows[0]}]" in names
    assert all(set(pair.names) <= names for pair in why.pairs)
    assert len(why.pairs) == len(names) * (len(names) - 1) // 2
    assert "bias" in str(why)


def test_sample_weights_count_as_repetitions():
    rng = np.random.default_rng(1)
    X = random_blocks("shared", n=50)
    y, weight = rng.normal(size=50), rng.integers(0, 4, 50)
    repeated = np.repeat(np.arange(50), weight)
    for model in (BiasModel(max_iter=500, tol=0), FM(rank=3, n_iter=30, tol=0)):
        a = model.fit(X, y, sample_weight=weight).predict(X)
        b = model.fit(X[repeated], y[repeated]).predict(X)
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_factors_beat_biases_where_there_is_taste_and_truth_beats_all():
    shop = make_bookshop(1000, 400, 40_000, seed=3)
    X, y = shop.blocks(), shop.ratings["rating"]
    train = np.random.default_rng(0).random(len(y)) < 0.8

    def rmse(scores):
        return np.sqrt(np.mean((y[~train] - scores) ** 2))

    bias = rmse(BiasModel().fit(X[train], y[train]).predict(X[~train]))
    fm = rmse(FM(rank=8, early_stopping=True).fit(X[train], y[train]).predict(X[~train]))
    truth = rmse(shop.truth.expected(shop.reader_rows[~train], shop.book_rows[~train]))
    assert truth < fm < bias


def test_regularization_can_be_given_per_field():
    shop = make_bookshop(100, 60, 2000)
    X, y = shop.blocks(), shop.ratings["rating"]
    model = FM(rank=4, regularization={"reader": 5.0, "words": 1e9, "default": 2.0}).fit(X, y)
    words = next(f for f in model.fields_ if f.name == "words")
    ids = next(f for f in model.fields_ if f.name == "id")
    assert np.abs(model.factors_[words.start : words.stop]).max() < 1e-5
    assert np.abs(model.factors_[ids.start : ids.stop]).max() > 1e-3


def test_weights_go_first_to_the_fields_that_come_first():
    """With α = 0 and ids last, a genre explains what it can, so that it can speak for a book that nobody has rated."""
    shop = make_bookshop(300, 100, 8000)
    model = DiscreteFM(objective="paper", bits=16).fit(shop.blocks(), shop.ratings["rating"])
    genre = next(f for f in model.fields_ if f.name == "genre")
    assert np.abs(model.weights_[genre.start : genre.stop]).mean() > 0.01


def test_a_row_an_interaction_may_come_in_any_order():
    rng = np.random.default_rng(0)
    X = random_blocks("mixed", n=60)
    y = rng.uniform(1, 5, 60)
    shuffled = rng.permutation(60)
    event = X.blocks["event"]
    table = event.tables["x"].to_csr()
    moved = Blocks(
        user=X.blocks["user"], event=Block(np.argsort(shuffled), {"x": table[shuffled]}), item=X.blocks["item"]
    )
    np.testing.assert_array_equal(moved.to_csr().toarray(), X.to_csr().toarray())
    for model in (FM(rank=5, n_iter=5), DiscreteFM(objective="paper", bits=16)):
        np.testing.assert_allclose(model.fit(X, y).predict(X), model.fit(moved, y).predict(moved), rtol=1e-6)
