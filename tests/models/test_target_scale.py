"""The units of the targets do not matter: y × 100 + 7 gives the same predictions × 100 + 7."""

import copy

import numpy as np
import pytest
from sklearn.base import clone

import bitfm
from bitfm import FM, BiasModel, Block, Blocks, DiscreteFM, DistilledFM, Recommender
from bitfm.models.targets import TargetMoments

MODELS = {
    "bias": BiasModel(),
    "als": FM(8),
    "als, early": FM(8, early_stopping=True, random_state=1),
    "sgd": FM(8, solver="sgd"),
    "gibbs": FM(4, solver="gibbs", n_iter=10, n_samples=8),
    "discrete": DiscreteFM(16, max_iter=5),
    "distilled": DistilledFM(16, teacher=FM(8)),
    "distilled, gibbs": DistilledFM(16, teacher=FM(4, solver="gibbs", n_iter=10, n_samples=8)),
}


def planted(n_users=60, n_items=40, n=4000, noise=0.3, seed=0):
    """Return ids in double precision, and a score of factors and biases with a standard deviation of about 1."""
    rng = np.random.default_rng(seed)
    users, items = rng.integers(n_users, size=n), rng.integers(n_items, size=n)
    of_users, of_items = rng.normal(size=(n_users, 4)) / 2, rng.normal(size=(n_items, 4))
    y = np.sum(of_users[users] * of_items[items], axis=1) + 0.3 * rng.normal(size=n_users)[users]
    X = Blocks(user=Block(users, {"id": np.eye(n_users)}), item=Block(items, {"id": np.eye(n_items)}))
    return X, y + rng.normal(0, noise, n)


def r2(y, scores):
    return 1 - np.var(y - scores) / np.var(y)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("scale", "shift"), [(100.0, 0.0), (1e-6, 0.0), (1e6, 0.0), (1.0, 50.0), (0.01, 7.0)])
def test_predictions_follow_the_targets(name, scale, shift):
    X, y = planted(n=1500)
    expected = clone(MODELS[name]).fit(X, y).predict(X)
    found = (clone(MODELS[name]).fit(X, scale * y + shift).predict(X) - shift) / scale
    # A bit that might as well be the other one is decided by rounding.
    close = np.isclose(found, expected, rtol=1e-4, atol=1e-4 * np.std(y))
    assert close.all() if name in ("bias", "als", "als, early", "sgd") else close.mean() > 0.97
    assert r2(y, found) == pytest.approx(r2(y, expected), abs=0.002)


@pytest.mark.parametrize("solver", ["als", "sgd"])
def test_defaults_learn_at_every_scale(solver):
    X, y = planted()
    train = np.arange(len(y)) < 3200
    models = {scale: FM(solver=solver).fit(X[train], scale * y[train]) for scale in (0.01, 1.0, 10.0)}
    found = [r2(scale * y[~train], model.predict(X[~train])) for scale, model in models.items()]
    assert found == pytest.approx([found[0]] * 3, abs=1e-4)
    assert found[0] > 0.5


@pytest.mark.parametrize("weights", [False, True])
def test_the_objective_is_in_the_units_of_the_targets(weights):
    X, y = planted(n=800)
    y = 5 * y + 3
    c = np.random.default_rng(1).random(len(y)) if weights else np.ones(len(y))
    model = FM(3, regularization=2.0, linear_regularization=0.7, tol=0, n_iter=12).fit(X, y, c if weights else None)
    loss = float(np.sum(c * (y - model.predict(X)) ** 2))
    deviation = np.sqrt(np.average((y - np.average(y, weights=c)) ** 2, weights=c))
    penalty = 0.7 * np.sum(model.weights_**2) + 2.0 * deviation * np.sum(model.factors_**2)
    assert model.fit_log_[-1].loss == pytest.approx(loss)
    assert model.fit_log_[-1].objective == pytest.approx(loss + penalty)
    values = np.array([step.objective for step in model.fit_log_])
    assert (np.diff(values) <= 1e-9 * values[:-1]).all()
    early, plain = (FM(3, early_stopping=True, n_iter=3).fit(X, of) for of in (y, (y - 3) / 5))
    assert early.fit_log_[0].validation == pytest.approx(5 * plain.fit_log_[0].validation)


def test_settings_can_be_in_the_units_of_the_targets():
    X, y = planted(n=800)
    deviation = float(np.std(y))
    ours = FM(3, regularization=2.0, n_iter=2000, tol=1e-12).fit(X, y)
    theirs = FM(3, regularization=2.0 * deviation, n_iter=2000, tol=1e-12, scale_targets=False).fit(X, y)
    assert theirs.fit_log_[-1].objective == pytest.approx(ours.fit_log_[-1].objective, rel=1e-3)
    small = FM(3, regularization=2.0, scale_targets=False).fit(X, y / 100)
    assert not np.allclose(small.factors_, ours.factors_ / 10, atol=0.01)  # there λ is a hundred times as large


def test_the_logistic_loss_is_not_scaled():
    X, y = planted(n=800)
    liked = (y > 0.5).astype(float)
    scaled, plain = (FM(3, loss="logistic", scale_targets=s, n_iter=5).fit(X, liked) for s in (True, False))
    np.testing.assert_array_equal(scaled.predict(X), plain.predict(X))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("constant", [0.0, 3.0, 1e6 + 0.1, -1e-6])
def test_constant_targets_are_predicted(name, constant):
    X, y = planted(n=300)
    found = clone(MODELS[name]).fit(X, np.full(len(y), constant)).predict(X)
    np.testing.assert_allclose(found, constant, rtol=1e-6, atol=1e-8)


def test_targets_far_from_zero_keep_their_digits():
    X, y = planted(n=1500)
    X = Blocks(**{n: Block(b.rows, {"id": np.eye(b.n_rows, dtype=np.float32)}) for n, b in X.blocks.items()})
    for model in (BiasModel(), FM(8), FM(8, solver="sgd"), DistilledFM(16, teacher=FM(8))):
        near, far = (clone(model).fit(X, y + shift).predict(X) - shift for shift in (0, 1e6))
        assert r2(y, far) == pytest.approx(r2(y, near), abs=0.01)


@pytest.mark.parametrize("solver", ["als", "sgd"])
def test_partial_fit_goes_on_in_the_units_of_all_parts(solver, tmp_path):
    X, y = planted(n=2000)
    models = {scale: FM(4, solver=solver) for scale in (1.0, 1000.0)}
    for scale, model in models.items():
        for begin in range(0, 1000, 100):
            model.partial_fit(X[begin : begin + 100], scale * y[begin : begin + 100])
        kept = model.targets_
        assert kept == pytest.approx((1000, scale * y[:1000].mean(), scale * y[:1000].std()))
        model.save(tmp_path / "m.bitfm")
        loaded = bitfm.load(tmp_path / "m.bitfm")
        assert loaded.targets_ == kept
        for one in range(1000, 1020):  # single ones have no spread of their own
            for it in (model, loaded):
                it.partial_fit(X[one : one + 1], scale * y[one : one + 1])
        np.testing.assert_array_equal(model.predict(X), loaded.predict(X))
    np.testing.assert_allclose(models[1000.0].predict(X), 1000 * models[1.0].predict(X), rtol=1e-4, atol=1.0)


def test_the_first_part_may_be_a_single_interaction():
    X, y = planted(n=2000)
    model = FM(4, solver="sgd")
    for one in range(50):
        model.partial_fit(X[one : one + 1], 100 * y[one : one + 1])
    for _ in range(30):
        model.partial_fit(X, 100 * y)
    assert r2(100 * y, model.predict(X)) > 0.5


@pytest.mark.parametrize("solver", ["als", "sgd", "gibbs"])
def test_warm_starts_go_on_at_another_scale(solver):
    X, y = planted(n=1500)
    λ = {"als": 5.0}.get(solver)
    model = FM(4, solver=solver, n_iter=20, regularization=λ, warm_start=True).fit(X, y)
    before = model.fit_log_[0].loss
    assert model.fit(X, y).fit_log_[0].loss < before
    later = copy.deepcopy(model).fit(X, 100 * y + 5)
    assert r2(y, (later.predict(X) - 5) / 100) == pytest.approx(r2(y, model.predict(X)), abs=0.1)
    assert r2(y, model.predict(X)) > 0.7


def test_what_a_recommender_learns_later_follows_the_targets(tmp_path):
    rng = np.random.default_rng(0)
    users, items = rng.integers(40, size=1500), rng.integers(30, size=1500)
    y = rng.normal(size=40)[users] + rng.normal(size=30)[items] + rng.normal(size=(40, 30))[users, items]
    later = [{"user_id": [7, 99], "item_id": [3, 4], "rating": [scale * 2.0, scale]} for scale in (1.0, 100.0)]
    found = []
    for scale, more in zip((1.0, 100.0), later, strict=True):
        model = DistilledFM(16, teacher=FM(4))
        Recommender(model=model).fit({"user_id": users, "item_id": items, "rating": scale * y}).save(tmp_path / "r")
        rec = Recommender.load(tmp_path / "r").add_ratings(more)
        found.append(rec.predict({"user_id": [7, 99, 99], "item_id": [3, 4, 5]}) / scale)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-3)


def test_moments_of_parts_are_those_of_all():
    y, c = np.random.default_rng(0).normal(5, 2, 50), np.random.default_rng(1).random(50)
    parts = TargetMoments.of(y[:20], c[:20]).joined(TargetMoments.of(y[20:], c[20:]))
    assert parts == pytest.approx(TargetMoments.of(y, c))
    with pytest.raises(ValueError, match="too large; scale the targets"):
        FM(2).fit([[0, 1], [1, 0]], [1e200, -1e200])
