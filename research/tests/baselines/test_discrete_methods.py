"""DCF is the paper's model on bare ids, DCMF is DCF with features, and neither raises its objective."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from bitfm import Block, Blocks, DiscreteFM
from bitfm.core import unpack_codes
from bitfm.datasets import make_bookshop
from bitfm.models.progress import Progress
from bitfm.models.solvers.paper import PaperFit

from bitfm_research.baselines import DCF, DCMF
from bitfm_research.baselines._ids import IdRatings
from bitfm_research.baselines._sides import Content

SHOP = make_bookshop(150, 90, 3000)
Y = np.asarray(SHOP.ratings["rating"], float)
RICH = SHOP.blocks()
IDS = Blocks(
    reader=Block(SHOP.reader_rows, {"id": sp.identity(150)}), book=Block(SHOP.book_rows, {"id": sp.identity(90)})
)


@pytest.mark.parametrize("bits", [8, 64])
@pytest.mark.parametrize("beta", [0.0, 3.0, 100.0])
@pytest.mark.parametrize("init", ["relaxed", "random"])
def test_dcf_is_the_papers_model_without_linear_terms(bits, beta, init):
    model = DiscreteFM(bits, linear=False, beta=beta, init=init).fit(IDS, Y)
    together = DCF(bits, beta=beta, balance="all", init=init).fit(IDS, Y)
    np.testing.assert_array_equal(together.codes_, model.codes_)
    np.testing.assert_allclose(together.predict(IDS), model.predict(IDS), rtol=1e-5)
    assert model.bias_ == 3.0
    assert not model.weights_.any()
    if beta == 0:
        np.testing.assert_array_equal(DCF(bits, alpha=0, beta=0, init=init).fit(IDS, Y).codes_, model.codes_)


def test_without_features_dcmf_is_dcf():
    np.testing.assert_array_equal(DCMF(16, interaction=0).fit(IDS, Y).codes_, DCF(16).fit(IDS, Y).codes_)
    loose = DCMF(16, user_content=0, item_content=0, interaction=0).fit(RICH, Y)
    np.testing.assert_array_equal(loose.user_codes_, DCF(16).fit(IDS, Y).user_codes_)


def test_features_shape_the_codes_of_items_that_nobody_has_rated():
    """Two kinds of items, told by a feature: a code that no rating shapes goes where its kind's are."""
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 60, 1500), rng.integers(0, 38, 1500)  # items 38 and 39 have no rating
    taste, kind = np.arange(60) % 2, np.arange(40) % 2
    y = np.where(taste[users] == kind[items], 5.0, 1.0)
    X = Blocks(
        user=Block(users, {"id": sp.identity(60)}),
        item=Block(items, {"kind": sp.csr_matrix(np.eye(2)[kind]), "id": sp.identity(40)}),
    )
    cold = Blocks(
        user=Block(np.repeat(np.arange(60), 2), X.blocks["user"].tables),
        item=Block(np.tile([38, 39], 60), X.blocks["item"].tables),
    )
    scores = DCMF(16, item_content=1000.0).fit(X, y).predict(cold).reshape(60, 2)
    np.testing.assert_array_equal(scores.argmax(axis=1), taste)


@pytest.mark.parametrize(
    "make",
    [
        DCF,
        DCMF,
        lambda bits: DCF(bits, balance="all"),
        lambda bits: DCMF(bits, interaction=0),
        lambda bits: DCMF(bits, ridge=1e-3),
    ],
)
@pytest.mark.parametrize("bits", [8, 64])
def test_the_objective_never_rises(make, bits):
    history = make(bits).fit(RICH, Y).fit_log_
    assert {iteration.stage for iteration in history} == {"relaxed", "codes"}
    for before, after in pairwise(history):
        if before.stage == after.stage:
            assert after.objective <= before.objective + 1e-5 * abs(before.objective)


@pytest.mark.parametrize("model", [DCF(8, alpha=5.0, beta=2.0, max_iter=100), DCMF(8, interaction=0, max_iter=100)])
def test_no_bit_can_be_turned_for_the_better(model):
    """Of codes that have settled, with the delegates and what the features say as they are."""
    ratings = IdRatings.of(RICH, Y, "test")
    pull = model._pull(ratings)
    fit = PaperFit(
        ratings.bare(),
        model._scale(Y).to_codes(Y),
        pull,
        np.random.default_rng(0),
        Progress(0, None),
        **model._settings(),
    )
    fit.run()
    for _ in range(30):
        matrix = pull.matrix.copy()
        if not fit.trainer.sweep_codes(fit.codes, matrix, pull.strength, 5, 1):
            break
    codes = unpack_codes(fit.codes).astype(float)
    targets = model._scale(Y).to_codes(Y)

    def objective(codes):
        products = np.sum(codes[ratings.users] * codes[150 + ratings.items], axis=1)
        return np.sum((targets - products) ** 2) - 2 * np.sum(codes * matrix)

    settled = objective(codes)
    for row in range(0, len(codes), 7):
        for bit in range(8):
            codes[row, bit] *= -1
            assert objective(codes) >= settled - 1e-3
            codes[row, bit] *= -1


def test_the_map_of_features_is_the_ridge_solution():
    rng = np.random.default_rng(1)
    features = sp.random(60, 12, 0.3, "csr", np.float32, rng)
    codes = rng.choice([-1.0, 1.0], (60, 8)).astype(np.float32)
    content = Content(features, 3.0, 2.0, 8)
    costs = [content.follow(codes)[1] for _ in range(20)]
    assert all(after <= before * (1 + 1e-6) for before, after in pairwise(costs))
    X = features.toarray().astype(float)
    exact = np.linalg.solve(3 * X.T @ X + 2 * np.eye(12), 3 * X.T @ codes)
    np.testing.assert_allclose(content.map, exact, atol=1e-4)
    fitted, cost = content.follow(codes)
    np.testing.assert_allclose(fitted, X @ exact, atol=1e-4)
    np.testing.assert_allclose(cost, 3 * np.sum((codes - X @ exact) ** 2) + 2 * np.sum(exact**2), rtol=1e-5)


def test_bad_settings_are_named():
    for settings, match in (
        ({"alpha": -1}, "alpha"),
        ({"spread": 0}, "spread"),
        ({"balance": "both"}, "balance"),
        ({"init": "svd"}, "init"),
    ):
        with pytest.raises(ValueError, match=match):
            DCF(8, **settings).fit(IDS, Y)
    for settings, match in (({"user_content": -1}, "user_content"), ({"ridge": 0}, "ridge")):
        with pytest.raises(ValueError, match=match):
            DCMF(8, **settings).fit(IDS, Y)
    with pytest.raises(ValueError, match="True or False"):
        DiscreteFM(8, linear="no").fit(IDS, Y)
