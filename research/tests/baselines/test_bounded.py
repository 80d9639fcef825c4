"""DCMF's two losses and its interaction regularisation: bounds, steps and sums against their definitions."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
import scipy.sparse as sp
from bitfm import Block, Blocks
from bitfm.core import make_trainer, pack_signs, unpack_codes
from bitfm.datasets import make_bookshop
from bitfm.models.progress import Progress

from bitfm_research.baselines import DCF, DCMF
from bitfm_research.baselines._bounded import BoundedFit, Ratings, interaction, sweep_bits, sweep_factors
from bitfm_research.baselines._ids import IdRatings
from bitfm_research.baselines._losses import Logit, Squared

SHOP = make_bookshop(150, 90, 3000)
Y = np.asarray(SHOP.ratings["rating"], float)
RICH = SHOP.blocks()
IDS = Blocks(
    reader=Block(SHOP.reader_rows, {"id": sp.identity(150)}), book=Block(SHOP.book_rows, {"id": sp.identity(90)})
)


def signs(rng, *shape):
    return rng.choice([-1.0, 1.0], shape).astype(np.float32)


# Losses


@pytest.mark.parametrize("unit", [0.3, 2.0, 128.0])
def test_the_square_is_above_the_logit_loss_and_touches_it(unit):
    """At a product z, of both labels, over all other products: above it everywhere, equal at z and at −z."""
    far = np.linspace(-8, 8, 161) * unit / 2
    for z, label in product((-7.0, -1.0, -1e-5, 0.0, 3e-4, 0.5, 6.0), (-1.0, 1.0)):
        at = z * unit / 2
        loss = Logit(np.array([label]), unit)
        weights, residuals = (part.astype(float)[0] for part in loss.bound(np.array([at])))
        here = loss.value(np.array([at]))

        def square(p, at=at, weights=weights, residuals=residuals, here=here):
            return here + weights * (p - at) ** 2 - 2 * residuals * (p - at)

        gaps = np.array([square(p) - loss.value(np.array([p])) for p in far])
        assert gaps.min() >= -1e-5 * unit**2
        np.testing.assert_allclose(square(-at), loss.value(np.array([-at])), rtol=1e-5, atol=1e-5 * unit**2)
        step = 1e-3 * unit
        slope = (loss.value(np.array([at + step])) - loss.value(np.array([at - step]))) / (2 * step)
        np.testing.assert_allclose(-2 * residuals, slope, rtol=1e-4, atol=1e-4 * unit)


def test_the_logit_loss_begins_as_the_squared_one():
    """At products of 0 both squares are the same, with the targets ±unit."""
    labels = np.array([1.0, -1.0, 1.0])
    for one, other in zip(Logit(labels, 64.0).bound(np.zeros(3)), Squared(64 * labels).bound(np.zeros(3)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_weights_are_those_of_jaakkola_and_jordan():
    x = np.array([-30.0, -2.0, -1e-4, 1e-4, 0.7, 9.0])
    weights, residuals = Logit(np.ones(6), 10.0).bound(x * 5)
    np.testing.assert_allclose(weights, 8 * np.tanh(x / 2) / (4 * x), rtol=1e-6)
    np.testing.assert_allclose(residuals, 10 * (1 - np.tanh(x / 2)), rtol=1e-5, atol=1e-6)
    assert np.isfinite(Logit(np.ones(2), 1.0).value(np.array([-1e4, 1e4])))


# The interaction regularisation


def test_the_interaction_is_the_sum_over_all_pairs():
    rng = np.random.default_rng(0)
    for users, items in ((signs(rng, 7, 16), signs(rng, 5, 16)), (rng.normal(size=(7, 3)), rng.normal(size=(5, 3)))):
        every = sum(float(np.dot(u, i)) ** 2 for u in users for i in items)
        np.testing.assert_allclose(interaction(users.astype(np.float32), items.astype(np.float32)), every, rtol=1e-5)


def test_the_reported_objective_is_its_definition():
    """With the loss over the ratings and the products of all pairs, the rated ones among them."""
    for loss in ("squared", "logit"):
        model = DCMF(8, loss=loss, interaction=0.7, alpha=0, beta=0, max_iter=4).fit(IDS, Y)
        B, D = (unpack_codes(codes).astype(float) for codes in (model.user_codes_, model.item_codes_))
        every = B @ D.T
        products = every[SHOP.reader_rows, SHOP.book_rows]
        if loss == "squared":
            expected = np.sum(((Y - 3) / 2 * 16 - products) ** 2)
        else:
            expected = 2 * 16**2 * np.sum(np.log1p(np.exp(-np.where(Y > 3, 1, -1) * products / 8)))
        strength = 0.7 * len(Y) / every.size
        np.testing.assert_allclose(model.fit_log_[-1].loss, expected, rtol=1e-5)
        np.testing.assert_allclose(model.fit_log_[-1].objective, expected + strength * np.sum(every**2), rtol=1e-5)


def test_interaction_holds_the_scores_of_all_pairs_back():
    sizes = []
    for strength in (0.0, 0.3, 3.0):
        model = DCMF(16, loss="logit", spread=0.25, interaction=strength).fit(IDS, np.ones(len(Y)))
        B, D = (unpack_codes(codes) for codes in (model.user_codes_, model.item_codes_))
        sizes.append(interaction(B, D))
    assert sizes[0] > 1.5 * sizes[1] > 1.5 * sizes[2]


# Steps


def problem(rng, n_rows=5, n_others=6, bits=3):
    rated = np.argwhere(rng.random((n_rows, n_others)) < 0.6).astype(np.int32)
    ratings = Ratings.of(rated[:, 0].copy(), rated[:, 1].copy(), n_rows, n_others)
    rows = np.repeat(np.arange(n_rows), ratings.counts)
    weights, targets = rng.random(len(rows)).astype(np.float32), rng.normal(0, 2, len(rows))
    linear = rng.normal(size=(n_rows, bits)).astype(np.float32)

    def objective(codes, others, strength, ridge=0.0):
        products = np.sum(codes[rows] * others[ratings.others], axis=1)
        value = np.sum(weights * (targets - products) ** 2) - 2 * np.sum(codes * linear) + ridge * np.sum(codes**2)
        return value + strength * np.sum((codes @ others.T) ** 2)

    def residuals(codes, others):
        products = np.sum(codes[rows] * others[ratings.others], axis=1)
        return (weights * (targets - products)).astype(np.float32)

    return ratings, weights, linear, objective, residuals


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("strength", [0.0, 0.4])
def test_one_bit_at_a_time_equals_brute_force(seed, strength):
    """A pass over the bits ends where trying both signs of each, in the same order, ends."""
    rng = np.random.default_rng(seed)
    ratings, weights, linear, objective, residuals = problem(rng)
    codes, others = signs(rng, 5, 3), signs(rng, 6, 3)
    expected = codes.copy()
    for t in range(3):
        for row in range(5):
            tried = [expected.copy(), expected.copy()]
            tried[0][row, t], tried[1][row, t] = -1, 1
            expected = min(tried, key=lambda each: objective(each, others, strength))
    flips = int(np.sum(codes != expected))
    turned = sweep_bits(codes, others, ratings, weights, residuals(codes, others), linear, strength, 1)
    np.testing.assert_array_equal(codes, expected)
    assert turned == flips


@pytest.mark.parametrize("strength", [0.0, 0.4])
def test_passes_end_where_no_bit_can_be_turned_for_the_better(strength):
    rng = np.random.default_rng(9)
    ratings, weights, linear, objective, residuals = problem(rng, 20, 15, 8)
    codes, others = signs(rng, 20, 8), signs(rng, 15, 8)
    before = objective(codes, others, strength)
    sweep_bits(codes, others, ratings, weights, residuals(codes, others), linear, strength, 50)
    settled = objective(codes, others, strength)
    assert settled < before
    for row, t in product(range(20), range(8)):
        other = codes.copy()
        other[row, t] *= -1
        assert objective(other, others, strength) >= settled - 1e-4
    assert sweep_bits(codes, others, ratings, weights, residuals(codes, others), linear, strength, 5) == 0


def test_factors_reach_the_minimum_of_each_row():
    rng = np.random.default_rng(2)
    ratings, weights, linear, objective, residuals = problem(rng)
    factors, others = rng.normal(size=(5, 3)).astype(np.float32), rng.normal(size=(6, 3)).astype(np.float32)
    values = [objective(factors, others, 0.4, 0.1)]
    for _ in range(8):
        sweep_factors(factors, others, ratings, weights, residuals(factors, others), linear, 0.4, 0.1, 1)
        values.append(objective(factors, others, 0.4, 0.1))
    assert all(after <= before + 1e-5 * abs(before) for before, after in pairwise(values))
    for _ in range(100):
        moved = factors + rng.normal(0, 0.05, factors.shape)
        assert objective(moved, others, 0.4, 0.1) > values[-1]


@pytest.mark.parametrize("bits", [8, 64])
@pytest.mark.parametrize("init", ["relaxed", "random"])
@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "logit", "interaction": 0.0},
        {"loss": "logit", "spread": 0.05, "interaction": 0.5},
        {"loss": "squared", "interaction": 2.0},
        {"loss": "logit", "interaction": 5.0, "user_content": 0, "item_content": 3000.0, "alpha": 50.0},
    ],
)
def test_the_objective_never_rises(bits, init, settings):
    history = DCMF(bits, init=init, tol=0.0, **settings).fit(RICH, Y).fit_log_
    for before, after in pairwise(history):
        if before.stage == after.stage:
            assert after.objective <= before.objective + 1e-5 * abs(before.objective)


# Beside the core's solver


def test_without_interaction_it_ends_where_the_cores_solver_does():
    """The same codes to start from, the squared loss and no pull: bit for bit the same codes after each sweep."""
    bits = 16
    model, rng = DCMF(bits, alpha=0, beta=0, init="random", max_iter=6), np.random.default_rng(3)
    ratings = IdRatings.of(IDS, Y, "test")
    known = model._settings()
    settings = {name: known[name] for name in ("bits", "relaxed", "init_iter", "max_iter", "inner_iter", "threads")}
    loss = Squared(model._scale(Y).to_codes(Y))
    fit = BoundedFit(ratings, loss, 0.0, model._pull(ratings), rng, Progress(0, None), **settings, tol=0.0)
    start = signs(np.random.default_rng(3), 240, bits)
    values, packed = start.copy(), pack_signs(start)
    fit.proximal.follow(packed, rng, 1)
    fit._alternate("codes", values, 6)
    trainer = make_trainer(ratings.bare().design(), loss.targets, None, across=True)
    nothing = np.zeros(240, np.float32)
    trainer.reset_codes(0.0, nothing, packed, None, 1)
    for _ in range(6):
        trainer.sweep_codes(packed, np.zeros((240, bits), np.float32), 0.0, known["inner_iter"], 1)
    np.testing.assert_array_equal(pack_signs(values), packed)


# Classes and events


def test_likes_are_what_is_above_the_middle():
    for y in (Y > 3, np.where(Y > 3, 1.0, -1.0), 10 + 3.0 * (Y > 3)):
        np.testing.assert_array_equal(
            DCMF(16, loss="logit").fit(IDS, y).codes_, DCMF(16, loss="logit").fit(IDS, Y).codes_
        )


def test_events_of_two_tastes_are_told_apart():
    """Nothing but events, all alike: the interaction regularisation is what tells other pairs from them."""
    rng = np.random.default_rng(0)
    alike = np.add.outer(np.arange(40), np.arange(30)) % 2 == 0
    users, items = np.nonzero(alike & (rng.random(alike.shape) < 0.5))
    X = Blocks(user=Block(users, {"id": sp.identity(40)}), item=Block(items, {"id": sp.identity(30)}))
    model = DCMF(16, loss="logit", interaction=1.0).fit(X, np.ones(len(users)))
    products = unpack_codes(model.user_codes_) @ unpack_codes(model.item_codes_).T
    new = np.ones_like(alike)
    new[users, items] = False
    assert products[alike & new].mean() > 8 + products[~alike].mean()


def test_features_shape_the_codes_of_items_that_nobody_has():
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 60, 1500), rng.integers(0, 38, 1500)  # items 38 and 39 have no rating
    taste, kind = np.arange(60) % 2, np.arange(40) % 2
    X = Blocks(
        user=Block(users, {"id": sp.identity(60)}),
        item=Block(items, {"kind": sp.csr_matrix(np.eye(2)[kind]), "id": sp.identity(40)}),
    )
    cold = Blocks(
        user=Block(np.repeat(np.arange(60), 2), X.blocks["user"].tables),
        item=Block(np.tile([38, 39], 60), X.blocks["item"].tables),
    )
    model = DCMF(16, loss="logit", item_content=1000.0).fit(X, taste[users] == kind[items])
    np.testing.assert_array_equal(model.predict(cold).reshape(60, 2).argmax(axis=1), taste)


def test_threads_do_not_matter():
    for loss in ("squared", "logit"):
        models = [DCMF(32, loss=loss, interaction=0.3, n_jobs=n).fit(RICH, Y) for n in (1, 2, 5)]
        for model in models[1:]:
            np.testing.assert_array_equal(model.codes_, models[0].codes_)
            assert model.fit_log_[-1].objective == models[0].fit_log_[-1].objective


def test_bad_settings_are_named():
    for settings, match in (({"interaction": -1}, "interaction"), ({"loss": "hinge"}, "loss")):
        with pytest.raises(ValueError, match=match):
            DCMF(8, **settings).fit(IDS, Y)
    assert DCF(8).fit(IDS, Y).codes_.shape == (240, 1)
