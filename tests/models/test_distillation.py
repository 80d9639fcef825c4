"""Codes distilled from a teacher, end to end: what it predicts, from what it learns, and what it does not need."""

from __future__ import annotations

import copy
import gc
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from bitfm import FM, BiasModel, Block, Blocks, DistilledFM
from bitfm.core import unpack_codes
from bitfm.datasets import make_bookshop
from bitfm.evaluation import ndcg, split_per_user
from problems import KINDS, float64, random_blocks, scores

TEACHER = FM(rank=4, solver="gibbs", n_iter=10, n_samples=4, n_chains=1)


def quick(bits=16, **more):
    return DistilledFM(bits, teacher=clone(TEACHER), **more)


def rmse(y, p):
    return float(np.sqrt(np.mean((y - p) ** 2)))


def by_hand(model, X, cross):
    V = unpack_codes(model.codes_).astype(float) * model.gains_[:, None]
    return scores(X, model.bias_, model.weights_.astype(float), V, cross)


@pytest.fixture(scope="module")
def bookshop():
    """Return blocks, ratings, whose they are, and which are for training."""
    shop = make_bookshop(500, 250, 14_000, seed=1)
    y = np.asarray(shop.ratings["rating"], float)
    return shop.blocks(), y, shop.reader_rows, split_per_user(shop.reader_rows, 0.5, 0)


@pytest.fixture(scope="module")
def taught(bookshop):
    """Return a Bayesian teacher of the bookshop."""
    X, y, _, train = bookshop
    return FM(rank=8, solver="gibbs", n_iter=60, n_samples=20, pairs="across").fit(X[train], y[train])


# What it predicts


@pytest.mark.parametrize("pairs", ["auto", "all", "across"])
@pytest.mark.parametrize("kind", KINDS)
def test_predictions_follow_from_codes_gains_weights_and_bias(kind, pairs):
    X = random_blocks(kind, n=70)
    y = np.random.default_rng(0).normal(size=70)
    if kind == "plain" and pairs == "across":
        pairs = "all"
    for data in (X, float64(X)):
        model = quick(pairs=pairs).fit(data, y)
        cross = model.pairs_ == "across"
        assert cross == (pairs == "across" or (pairs == "auto" and kind != "plain"))
        expected = by_hand(model, data, cross)
        np.testing.assert_allclose(model.predict(data), expected, atol=1e-4)
        np.testing.assert_allclose(model.predict(data.to_csr()), expected, atol=1e-4)
        np.testing.assert_allclose(model.to_float().predict(data), expected, atol=1e-4)
        assert model.explain(data[3]).score == pytest.approx(expected[3], abs=1e-4)
        assert (model.gains_ >= 0).all()
        assert (model.codes_.shape, model.gains_.dtype) == ((data.n_features, 2), np.float32)


def test_ids_may_come_as_blocks_or_as_a_plain_matrix():
    X = random_blocks("context", n=200)
    y = np.random.default_rng(0).normal(size=200)
    expected = quick().fit(X, y)
    for given in (X.to_csr(), X.to_csr().toarray()):
        model = quick().fit(given, y)
        np.testing.assert_array_equal(model.codes_, expected.codes_)
        np.testing.assert_array_equal(model.predict(X), expected.predict(X))
        np.testing.assert_allclose(model.predict(given), expected.predict(X), atol=1e-5)
        np.testing.assert_array_equal(quick().fit(given, y, fields=[6, 5, 3]).predict(X), expected.predict(X))


def test_a_dense_matrix_of_real_features_will_do():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 4))
    y = X[:, 0] + 2 * X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=800)
    teacher = FM(rank=4, solver="gibbs", n_iter=40, n_samples=10).fit(X[:600], y[:600])
    linear = BiasModel().fit(X[:600], y[:600])
    model = DistilledFM(64, teacher=clone(teacher)).fit(X[:600], y[:600])
    assert rmse(y[600:], model.predict(X[600:])) < 0.5 * rmse(y[600:], linear.predict(X[600:]))


# From whom it learns


def bytes_of(fm):
    return [np.ascontiguousarray(a).tobytes() for a in (fm.weights_, fm.factors_, *getattr(fm, "samples_", ()))]


@pytest.mark.parametrize("solver", ["als", "gibbs"])
def test_a_fitted_teacher_is_taken_as_it_is_and_not_kept(shop, solver):
    X, y = shop
    teacher = FM(rank=4, solver=solver, n_iter=10).fit(X, y)
    before, settings = bytes_of(teacher), teacher.get_params()
    model = DistilledFM(32, teacher=teacher).fit(X, y)
    assert (bytes_of(teacher), teacher.get_params()) == (before, settings)
    assert {item.stage for item in model.fit_log_} == {"distillation"}
    arrays = [v for name, v in vars(model).items() if isinstance(v, np.ndarray)]
    assert len(arrays) == 3
    for array in arrays:
        for other in (teacher.weights_, teacher.factors_, *getattr(teacher, "samples_", ())):
            assert not np.shares_memory(array, other)
    expected = model.predict(X)
    for array in (teacher.weights_, teacher.factors_):
        array[...] = np.nan
    model.set_params(teacher=None)
    del teacher
    gc.collect()
    for same in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(same.predict(X), expected)


def test_a_teacher_that_is_not_fitted_gives_the_settings(shop):
    X, y = shop
    teacher = FM(rank=3, solver="als", n_iter=7, tol=0, n_jobs=1, random_state=5)
    model = DistilledFM(16, teacher=teacher).fit(X, y)
    assert not hasattr(teacher, "weights_")
    for stage in ("trial", "teacher"):
        assert [item.total for item in model.fit_log_ if item.stage == stage] == [7] * 7
    without = quick(validation_fraction=0).fit(X, y)
    assert {item.stage for item in without.fit_log_} == {"teacher", "distillation"}


def test_more_bits_say_more_exactly_what_the_teacher_says(bookshop, taught):
    X, y, _, train = bookshop
    errors = [DistilledFM(b, teacher=taught).fit(X[train], y[train]).fit_log_[-1].objective for b in (8, 32, 128)]
    assert errors[0] > 2 * errors[1] > 4 * errors[2] > 0


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"teacher": BiasModel()}, "teacher must be an FM"),
        ({"teacher": FM(rank=2, n_iter=1).fit(np.eye(3), [1, 2, 3])}, r"sizes \[3\].*\[30, 1, 20, 12\]"),
        ({"anchor_strength": -1}, "anchor_strength must be 'auto', inf or a number"),
        ({"anchor_strength": 2.0, "pairs": "all"}, "anchor_strength 2.0 needs pairs across blocks"),
    ],
)
def test_what_cannot_be_is_a_clear_error(shop, params, told):
    with pytest.raises(ValueError, match=told):
        DistilledFM(8, **params).fit(*shop)


def test_a_finite_anchor_strength_needs_several_blocks():
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match="across blocks"):
        quick(anchor_strength=1.0).fit(X, X[:, 0])
    assert np.isfinite(quick(anchor_strength=np.inf).fit(X, X[:, 0]).predict(X)).all()


# How good it is


def test_codes_are_as_good_as_their_teacher_and_better_than_none(bookshop, taught):
    X, y, readers, train = bookshop
    test = ~train

    def quality(model):
        return ndcg(readers[test], y[test], model.predict(X[test]))

    bias, best = quality(BiasModel().fit(X[train], y[train])), quality(taught)
    assert best > bias + 0.005
    for bits in (8, 64):
        reached = quality(DistilledFM(bits, teacher=clone(taught)).fit(X[train], y[train]))
        assert reached >= bias
    assert reached >= 0.99 * best


def test_the_teacher_may_be_weighed_against_the_data(bookshop, taught):
    X, y, _, train = bookshop
    models = {
        strength: DistilledFM(16, teacher=taught, anchor_strength=strength).fit(X[train], y[train])
        for strength in (0, 10, np.inf)
    }
    losses = {strength: rmse(y[train], m.predict(X[train])) for strength, m in models.items()}
    assert losses[0] < losses[10] < losses[np.inf]  # the closer to the data, the less to the teacher
    held_out = {strength: rmse(y[~train], m.predict(X[~train])) for strength, m in models.items()}
    assert held_out[np.inf] < held_out[0]


@pytest.mark.parametrize("seed", range(3))
def test_codes_that_have_nothing_to_say_say_nothing(seed):
    rng = np.random.default_rng(seed)
    n, users, items = 3000, 60, 40
    u, i = rng.integers(users, size=n), rng.integers(items, size=n)
    X = Blocks(user=Block(u, {"id": sp.identity(users)}), item=Block(i, {"id": sp.identity(items)}))
    y = rng.normal(size=n)
    model = quick(32).fit(X[:2000], y[:2000])
    linear = copy.deepcopy(model)
    linear.gains_ = np.zeros_like(model.gains_)
    scores = model.predict(X[2000:])
    assert np.std(scores - linear.predict(X[2000:])) < 0.15
    assert rmse(y[2000:], scores) < rmse(y[2000:], BiasModel().fit(X[:2000], y[:2000]).predict(X[2000:])) + 0.005


def test_gains_may_be_one_a_field(bookshop):
    X, y, _, train = bookshop
    scores = {}
    for gains in ("feature", "field"):
        model = quick(32, gains=gains).fit(X[train], y[train])
        scores[gains] = rmse(y[~train], model.predict(X[~train]))
        for field in model.fields_:
            values = model.gains_[field.start : field.stop]
            assert (len(np.unique(values[values > 0])) <= 1) == (gains == "field" or field.size == 1)
    assert scores["field"] < rmse(y[~train], BiasModel().fit(X[train], y[train]).predict(X[~train]))
    with pytest.raises(ValueError, match=r"gains 'field' needs pairs across blocks"):
        quick(32, gains="field").fit(X.to_csr(), y)
    with pytest.raises(ValueError, match=r"gains.*'word'"):
        quick(32, gains="word").fit(X, y)


def test_a_field_of_noise_does_little_harm(bookshop):
    X, y, _, train = bookshop
    rng = np.random.default_rng(0)
    book = X.blocks["book"]
    noise = sp.random(book.n_rows, 200, 0.05, random_state=rng, dtype=np.float32, format="csr")
    more = Blocks(reader=X.blocks["reader"], book=Block(book.rows, dict(book.tables) | {"noise": noise}))
    model = DistilledFM(32, teacher=FM(rank=8, solver="gibbs", n_iter=40, n_samples=15))
    without, with_noise = (rmse(y[~train], clone(model).fit(Z[train], y[train]).predict(Z[~train])) for Z in (X, more))
    assert with_noise < without + 0.01


# Rows it has not seen


def test_unknown_rows_score_by_what_is_known_of_them(bookshop, taught):
    X, y, _, train = bookshop
    model = DistilledFM(32, teacher=taught).fit(X[train], y[train])
    tables = {name: dict(block.tables) for name, block in X.blocks.items()}
    no_id = sp.csr_matrix((2, tables["reader"]["id"].n_columns))
    features = {name: t.to_csr()[:2] for name, t in tables["reader"].items() if name != "id"}
    book = Block([3, 7], tables["book"])
    known = Blocks(reader=Block([0, 1], features | {"id": no_id}), book=book)
    np.testing.assert_allclose(model.predict(known), by_hand(model, known, cross=True), atol=1e-4)
    stranger = {name: t * 0 for name, t in features.items()} | {"id": no_id}
    unknown = Blocks(reader=Block([0, 1], stranger), book=book)
    np.testing.assert_allclose(model.predict(unknown), model.bias_ + unknown.to_csr() @ model.weights_, atol=1e-5)
    nothing = {name: sp.csr_matrix((1, t.n_columns)) for name, t in tables["book"].items()}
    row = Blocks(reader=Block([0], {name: t[:1] for name, t in stranger.items()}), book=Block([0], nothing))
    assert model.predict(row)[0] == model.bias_


@pytest.mark.parametrize("max_iter", [0, 5])
@pytest.mark.parametrize("pairs", ["across", "all"])
def test_features_that_never_occur_have_no_say(shop, pairs, max_iter):
    X, y = shop
    some = (X.blocks["user"].rows < 25) & (X.blocks["item"].rows != 3)
    model = quick(pairs=pairs, max_iter=max_iter).fit(X[some], y[some])
    unseen = ~X[some].occurring()
    assert unseen[[25, 29, 34]].all()
    assert not model.gains_[unseen].any()
    assert not model.weights_[unseen].any()
    if max_iter:
        assert model.gains_[~unseen].any() or not model.gains_.any()


# Anything at all


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_few_interactions_are_enough(kind, n):
    X, y = random_blocks(kind, n=40)[:n], np.array([1.0, 5.0, 3.0])[:n]
    for fraction in (0, 0.1, 0.6):
        model = quick(8, validation_fraction=fraction).fit(X, y)
        assert np.isfinite(model.predict(X)).all()
        assert np.abs(model.predict(X) - 3).max() < 6


@pytest.mark.parametrize("pairs", ["across", "all"])
def test_fields_and_blocks_without_columns_are_no_trouble(shop, pairs):
    X, y = shop
    user, item = X.blocks["user"], X.blocks["item"]
    empty = {"none": np.zeros((20, 0), np.float32)}
    with_none = Blocks(user=user, item=Block(item.rows, dict(item.tables) | empty))
    for strength in ("auto", np.inf) + ((2.0,) if pairs == "across" else ()):
        model = quick(pairs=pairs, anchor_strength=strength)
        np.testing.assert_array_equal(model.fit(with_none, y).predict(with_none), model.fit(X, y).predict(X))
    nobody = Blocks(user=Block(np.zeros(len(y), int), {"none": np.zeros((1, 0))}), item=item)
    model = quick(pairs=pairs).fit(nobody, y)
    np.testing.assert_allclose(model.predict(nobody), by_hand(model, nobody, pairs == "across"), atol=1e-5)


def test_numbers_beyond_single_precision_are_refused_or_fitted(shop):
    X, y = shop
    for scale in (1e-100, 1e-30, 1e30, 1e60, 1e100):
        if scale >= 1e60:
            with pytest.raises(ValueError, match=r"overflow.*scale"):
                quick().fit(X, y * scale)
        else:
            assert rmse(y, quick().fit(X, y * scale).predict(X) / scale) < y.std()


@pytest.mark.parametrize("size", [1e-8, 1e3, 1e8])
@pytest.mark.parametrize("pairs", ["across", "all"])
def test_features_of_another_size_do_not_spoil_the_weights(shop, size, pairs):
    X, y = shop
    item = X.blocks["item"]
    tables = {name: t if t.identity else t.to_csr() * size for name, t in item.tables.items()}
    X = Blocks(user=X.blocks["user"], item=Block(item.rows, tables))
    assert rmse(y, quick(pairs=pairs).fit(X, y).predict(X)) < y.std()
