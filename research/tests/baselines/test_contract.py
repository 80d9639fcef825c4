"""What every method keeps that gives users and items a code."""

from __future__ import annotations

import pickle

import bitfm
import numpy as np
import pytest
import scipy.sparse as sp
from bitfm import Block, Blocks
from bitfm.core import unpack_codes
from bitfm.evaluation import ndcg
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bitfm_research.baselines import DCMF, RandomScores, SignRounding


def everything(X):
    """All pairs of users and items."""
    users, items = (part.ravel() for part in np.indices((X.blocks["user"].n_rows, X.blocks["item"].n_rows)))
    return Blocks(user=Block(users, X.blocks["user"].tables), item=Block(items, X.blocks["item"].tables))


def fitted_state(model):
    return {name: value for name, value in vars(model).items() if name.endswith("_") and name != "fit_log_"}


def assert_same(one, other):
    for name, value in fitted_state(one).items():
        np.testing.assert_array_equal(np.asarray(value, object), np.asarray(fitted_state(other)[name], object), name)


# What it learns


def test_it_ranks_the_checkerboard_right(method, checkerboard):
    X, y, unseen, truth = checkerboard
    method.fit(X, y)
    for given, ratings in ((X, y), (unseen, truth)):
        scores, users = method.predict(given), given.blocks["user"].rows
        for user in np.unique(users):
            mine = users == user
            liked, others = scores[mine & (ratings == 5)], scores[mine & (ratings == 1)]
            assert liked.min(initial=9) > others.max(initial=-9)


def test_it_ranks_better_than_chance(method, rated):
    X, y = rated
    users = X.blocks["user"].rows
    by_chance = ndcg(users, y, RandomScores().fit(X, y).predict(X), k=5)
    assert ndcg(users, y, method.fit(X, y).predict(X), k=5) > by_chance + 0.05


def test_a_score_is_a_rising_line_of_the_inner_product(method, rated):
    X, y = rated
    method.fit(X, y)
    B, D = unpack_codes(method.user_codes_), unpack_codes(method.item_codes_)
    assert (B.shape, D.shape) == ((50, 64), (40, 64))
    pairs = everything(X)
    products = (B @ D.T).ravel()
    slope = float(method.gains_[0]) * float(method.gains_[-1])
    assert slope > 0
    np.testing.assert_array_equal(method.predict(pairs), method.bias_ + slope * products)  # ties are ties
    np.testing.assert_array_equal(method.weights_, 0)


# Sizes and oddities


@pytest.mark.parametrize("bits", [8, 16, 512])
def test_it_takes_codes_of_any_length(method, rated, bits):
    X, y = rated
    method.set_params(bits=bits).fit(X, y)
    assert method.codes_.shape == (90, bits // 8)
    assert method.codes_.dtype == np.uint8
    scores = method.predict(everything(X))
    assert np.isfinite(scores).all()
    assert len(np.unique(scores)) > 1


@pytest.mark.parametrize("bits", [0, 12, 520, 8.0, "64"])
def test_other_lengths_are_refused(method, rated, bits):
    with pytest.raises(ValueError, match="bits must be"):
        method.set_params(bits=bits).fit(*rated)


ODD = {
    "one rating": ([1], [2], [4.0]),
    "one rating of nothing": ([0], [0], [0.0]),
    "constant": ([0, 1, 2, 3], [0, 1, 2, 0], [3.0] * 4),
    "two of one pair": ([0, 0, 1], [0, 0, 1], [1.0, 5.0, 3.0]),
    "one user": ([0, 0, 0], [0, 1, 2], [1.0, 2.0, 3.0]),
    "tiny": ([0, 1, 2, 3], [0, 1, 2, 0], [1e-30, 0.0, 3e-30, 1e-30]),
    "huge": ([0, 1, 2, 3], [0, 1, 2, 0], [1e30, -1e30, 3e29, 0.0]),
}


@pytest.mark.parametrize("case", ODD)
@pytest.mark.filterwarnings("error")
def test_odd_ratings_give_numbers(method, case):
    users, items, y = ODD[case]
    X = Blocks(user=Block(users, {"id": sp.identity(5)}), item=Block(items, {"id": sp.identity(4)}))
    if case == "huge" and hasattr(method, "fm"):  # an FM of single precision
        with pytest.raises(ValueError, match="diverged"):
            method.fit(X, y)
        return
    method.set_params(bits=8).fit(X, y)
    assert np.isfinite(method.predict(everything(X))).all()
    if case == "constant":
        np.testing.assert_allclose(method.predict(everything(X)), 3, atol=3e-3)


def test_a_block_of_items_may_come_first_and_have_other_fields(method, rated):
    X, y = rated
    words = sp.random(40, 7, 0.3, random_state=0)
    rows = {name: block.rows for name, block in X.blocks.items()}
    other = Blocks(
        item=Block(rows["item"], {"words": words, "id": sp.identity(40)}),
        user=Block(rows["user"], {"id": sp.identity(50), "age": np.ones((50, 1))}),
    )
    if isinstance(method, DCMF):  # which looks at other fields, unless told not to
        method.set_params(user_content=0, item_content=0)
    method.fit(X, y)
    same = clone(method).fit(other, y)
    np.testing.assert_array_equal(same.user_codes_, method.user_codes_)
    np.testing.assert_array_equal(same.item_codes_, method.item_codes_)
    np.testing.assert_allclose(same.predict(other), method.predict(X), rtol=1e-6)
    np.testing.assert_array_equal(same.gains_[:7], 0)


def test_a_plain_matrix_will_do_with_its_fields(method, rated):
    X, y = rated
    of_blocks = method.fit(X, y).predict(X)
    of_matrix = clone(method).fit(X.to_csr(), y, fields={"user": 50, "item": 40}).predict(X.to_csr())
    np.testing.assert_array_equal(of_matrix, of_blocks)


# The same again


def test_the_same_seed_gives_the_same_at_any_number_of_threads(method, rated):
    X, y = rated
    model = clone(method).set_params(n_jobs=1).fit(X, y)
    for n_jobs in (1, 2, 5):
        assert_same(clone(method).set_params(n_jobs=n_jobs).fit(X, y), model)
    assert_same(model.fit(X, y), clone(method).set_params(random_state=np.random.RandomState(0)).fit(X, y))


def test_another_seed_gives_other_codes(method, rated):
    X, y = rated
    codes = [clone(method).set_params(random_state=seed).fit(X, y).codes_ for seed in (0, 1)]
    assert (codes[0] != codes[1]).any()


# Errors


def test_other_input_is_refused(method, rated):
    X, y = rated
    user, item = X.blocks["user"], X.blocks["item"]
    age = np.ones((50, 1))
    wrong = {
        "has 1 block": Blocks(user=user),
        "has 3 block": Blocks(user=user, item=item, context=Block(user.rows, {"id": sp.identity(50)})),
        "0 of the fields of 'user'": Blocks(user=Block(user.rows, {"age": age}), item=item),
        "2 of the fields of 'user'": Blocks(
            user=Block(user.rows, {"a": sp.identity(50), "b": sp.identity(50)}), item=item
        ),
    }
    for message, given in wrong.items():
        with pytest.raises(ValueError, match=message):
            method.fit(given, y)
    with pytest.raises(ValueError, match="has 1 block"):
        method.fit(X.to_csr(), y)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        method.fit(X, y[:-1])
    with pytest.raises(ValueError, match="NaN"):
        method.fit(X, np.where(y > 4, np.nan, y))
    with pytest.raises(ValueError, match="n_jobs"):
        clone(method).set_params(n_jobs=0).fit(X, y)
    for ask in (method.predict, method.index, lambda _: method.user_codes_):
        with pytest.raises(NotFittedError):
            ask(X)


def test_what_prediction_takes_is_checked(method, rated):
    X, y = rated
    method.fit(X, y)
    with pytest.raises(ValueError, match="has 89 features"):
        method.predict(sp.csr_matrix((3, 89)))
    assert len(method.predict(X[:0])) == 0


# How a fit ends


def test_a_callback_sees_each_iteration_and_can_stop(method, rated):
    X, y = rated
    seen = []
    method.fit(X, y, callback=seen.append)
    assert seen == method.fit_log_
    assert method.n_iter_ == len(seen) >= 1
    early = clone(method).fit(X, y, callback=lambda item: True)
    stages = [item.stage for item in early.fit_log_]
    assert len(stages) == len(set(stages)) < len(seen) or len(seen) == 1
    assert np.isfinite(early.predict(X)).all()


def test_a_fit_is_all_or_nothing(method, rated):
    X, y = rated
    before = fitted_state(method.fit(X, y)) | {"scores": method.predict(X)}

    def fail(item):
        raise KeyboardInterrupt

    smaller = Blocks(user=Block([0, 1], {"id": sp.identity(2)}), item=Block([0, 1], {"id": sp.identity(2)}))
    with pytest.raises(KeyboardInterrupt):
        method.fit(smaller, [1.0, 5.0], callback=fail)
    for name, value in fitted_state(method).items():
        assert value is before[name]
    np.testing.assert_array_equal(method.predict(X), before["scores"])


def test_verbose_prints_a_line_per_iteration(method, rated, capsys):
    method.set_params(verbose=1).fit(*rated)
    assert len(capsys.readouterr().err.splitlines()) == method.n_iter_


# What the fitted model can do


def test_a_saved_model_comes_back(method, rated, tmp_path):
    X, y = rated
    method.fit(X, y).save(tmp_path / "model.bitfm", index=method.index())
    back = bitfm.load(tmp_path / "model.bitfm")
    assert type(back) is type(method)
    forgotten = {"fm": None} if hasattr(method, "fm") else {}
    assert back.get_params(deep=False) == method.get_params(deep=False) | forgotten
    for name in ("codes_", "gains_", "weights_", "user_codes_", "item_codes_"):
        np.testing.assert_array_equal(getattr(back, name), getattr(method, name))
    np.testing.assert_array_equal(back.predict(X), method.predict(X))
    assert [item.objective for item in back.fit_log_] == [item.objective for item in method.fit_log_]
    np.testing.assert_array_equal(back.index().search([0, 1], 5)[0], method.index().search([0, 1], 5)[0])


def test_a_file_without_ids_has_no_codes_of_users(rated, tmp_path):
    model = SignRounding(8).fit(*rated)
    model.gains_ = np.zeros_like(model.gains_)
    model.save(tmp_path / "model.bitfm")
    with pytest.raises(ValueError, match="0 fields of a side have gains"):
        _ = bitfm.load(tmp_path / "model.bitfm").user_codes_


def test_a_search_finds_what_sorting_all_scores_finds(method, rated):
    X, y = rated
    method.fit(X, y)
    scores = method.predict(everything(X)).reshape(50, 40)
    positions, found = method.index().search(np.arange(50), n=7)
    np.testing.assert_array_equal(positions, np.argsort(-scores, axis=1, kind="stable")[:, :7])
    np.testing.assert_allclose(found, np.take_along_axis(scores, positions, 1), rtol=1e-5)


def test_pairs_explanations_and_floats_agree_with_predict(method, rated):
    X, y = rated
    scores = method.fit(X, y).predict(X)
    pairs = method.predict_pairs(X.blocks["user"].rows, X.blocks["item"].rows)
    np.testing.assert_allclose(pairs, scores, rtol=1e-5)
    np.testing.assert_allclose(method.explain(X[3]).score, scores[3], rtol=1e-5)
    np.testing.assert_allclose(method.to_float().predict(X), scores, rtol=1e-5)


def test_it_is_an_estimator(method, rated):
    X, y = rated
    copy = clone(method)
    assert repr(copy.get_params()) == repr(method.get_params())
    assert method.set_params(bits=16).get_params()["bits"] == 16
    assert copy.fit(X, y) is copy
    assert not hasattr(clone(copy), "codes_")
    assert copy.score(X, y) > 0
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(copy)).predict(X), copy.predict(X))
