"""One contract for all methods of the paper, real-valued and coded: same input, same output, same manners."""

from __future__ import annotations

import bitfm
import numpy as np
import pytest
from bitfm.datasets import make_bookshop
from bitfm.evaluation import ndcg, split_per_user
from sklearn.base import clone

from bitfm_research.bench.datasets import Split
from bitfm_research.paper.methods import METHODS
from bitfm_research.paper.names import BITS

SHOP = make_bookshop(120, 60, 2400)
TRAIN = split_per_user(SHOP.reader_rows, 0.5, 0)
RATINGS = np.asarray(SHOP.ratings["rating"], float)


def part(mask):
    return SHOP.reader_rows[mask].astype(np.int32), SHOP.book_rows[mask].astype(np.int32), RATINGS[mask]


SPLIT = Split("shop", 120, 60, part(TRAIN), part(~TRAIN))
Y = SPLIT.train[2]


@pytest.fixture(params=METHODS.items(), ids=METHODS)
def method(request):
    return request.param


def made(method, bits=8, seed=0):
    return method[1].make(SPLIT, bits, seed)


def fitted(method, **settings):
    return made(method, **settings).fit(SPLIT.blocks("train", method[1].fields), Y)


@pytest.mark.parametrize("bits", BITS)
def test_it_scores_what_was_held_out_at_every_length(method, bits):
    if not method[1].by_bits and bits != BITS[0]:
        pytest.skip("has no length")
    scores = fitted(method, bits=bits).predict(SPLIT.blocks("test", method[1].fields))
    assert scores.shape == SPLIT.test[2].shape
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()


def test_the_same_seed_gives_the_same(method):
    X = SPLIT.blocks("test", method[1].fields)
    one = fitted(method)
    np.testing.assert_array_equal(one.predict(X), fitted(method).predict(X))
    again = clone(one).fit(SPLIT.blocks("train", method[1].fields), Y)
    np.testing.assert_array_equal(one.predict(X), again.predict(X))


def test_another_seed_gives_another_result_where_it_is_said_to(method):
    X = SPLIT.blocks("test", method[1].fields)
    one, other = (fitted(method, bits=16, seed=seed).predict(X) for seed in (0, 1))
    assert (not np.array_equal(one, other)) is method[1].random


def test_threads_do_not_matter(method):
    X = SPLIT.blocks("test", method[1].fields)
    model = made(method)
    if "n_jobs" not in model.get_params():
        pytest.skip("has no threads")
    scores = [
        clone(model).set_params(n_jobs=n).fit(SPLIT.blocks("train", method[1].fields), Y).predict(X) for n in (1, 2)
    ]
    np.testing.assert_array_equal(*scores)


def test_a_file_brings_the_same_scores_back(method, tmp_path):
    model = fitted(method)
    if method[0] == "random":
        pytest.skip("keeps nothing but its seed")
    model.save(tmp_path / "model.bitfm")
    X = SPLIT.blocks("test", method[1].fields)
    np.testing.assert_array_equal(bitfm.load(tmp_path / "model.bitfm").predict(X), model.predict(X))


def test_bad_ratings_are_refused_and_leave_the_model_as_it_was(method):
    X = SPLIT.blocks("train", method[1].fields)
    model = fitted(method)
    before = model.predict(X)
    for wrong in (Y[:-1], np.where(np.arange(len(Y)) == 3, np.nan, Y), None):
        with pytest.raises((ValueError, TypeError)):
            model.fit(X, wrong)
        np.testing.assert_array_equal(model.predict(X), before)


def test_other_blocks_are_refused(method):
    model = fitted(method)
    with pytest.raises(ValueError, match="features"):
        model.predict(make_bookshop(30, 20, 200).blocks())


def test_what_has_learned_ranks_better_than_chance(method):
    if method[0] in ("random", "popularity"):
        pytest.skip("has not learned from ratings")
    X = SPLIT.blocks("train", method[1].fields)
    by_chance = ndcg(SPLIT.train[0], Y, METHODS["random"].make(SPLIT, 8, 0).fit(X, Y).predict(X), 5)
    assert ndcg(SPLIT.train[0], Y, fitted(method, bits=16).predict(X), 5) > by_chance
