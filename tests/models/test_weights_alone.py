"""Long texts of contexts: weights alone will do for them unless their pairs with other fields help to predict."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bitfm import Block, Blocks, DistilledFM
from bitfm.evaluation import rmse
from bitfm.models.solvers import weights_alone as module
from bitfm.models.solvers.weights_alone import WeightsAlone, costly_fields, weights_alone

USERS, ITEMS, WORDS, LENGTH = 60, 40, 80, 8


@pytest.fixture(autouse=True)
def few_entries_are_many(monkeypatch):
    monkeypatch.setattr(module, "_MANY_ENTRIES", 1000)


def reviews(n=4000, pairs=0.0, seed=0):
    """Ratings that follow user, item and the words of a review; and maybe what a word means for an item."""
    rng = np.random.default_rng(seed)
    users, items = rng.integers(USERS, size=n), rng.integers(ITEMS, size=n)
    words = sp.csr_matrix((np.full(n * LENGTH, LENGTH**-0.5), (np.repeat(np.arange(n), LENGTH),
                          rng.integers(WORDS, size=n * LENGTH))), (n, WORDS))  # fmt: skip
    day = sp.csr_matrix((np.ones(n), (np.arange(n), rng.integers(7, size=n))), (n, 7))
    y = rng.normal(size=USERS)[users] + rng.normal(size=ITEMS)[items] + words @ rng.normal(size=WORDS)
    left, right = words @ rng.normal(size=(WORDS, 3)), rng.normal(size=(ITEMS, 3))[items]
    y = y + pairs * np.sum(left * right, axis=1) + 0.3 * rng.normal(size=n)
    blocks = Blocks(
        user=Block(users, {"id": sp.identity(USERS)}),
        context=Block(np.arange(n), {"day": day, "review": words}),
        item=Block(items, {"id": sp.identity(ITEMS)}),
    )
    return blocks, y


def choose(blocks, y, n_threads=1, report=lambda *_: False):
    held_out = np.random.default_rng(1).random(len(y)) < 0.2
    return weights_alone(blocks, y - y.mean(), held_out, seed=0, n_threads=n_threads, report=report)


def test_costly_are_long_rows_that_are_hardly_shared(monkeypatch):
    blocks, _ = reviews(n=400)
    assert costly_fields(blocks).tolist() == [False, False, True, False]
    monkeypatch.setattr(module, "_MANY_ENTRIES", 400 * LENGTH)
    assert not costly_fields(blocks).any()
    monkeypatch.setattr(module, "_MANY_ENTRIES", 1000)
    rows = np.arange(400) % 100  # a text that four interactions share costs a quarter
    shared = Blocks(**{**blocks.blocks, "context": Block(rows, blocks.blocks["context"].take(np.arange(100)).tables)})
    assert not costly_fields(shared).any()
    dense = Block(np.arange(400), {"vector": np.random.default_rng(0).normal(size=(400, 50))})
    assert costly_fields(Blocks(**{**blocks.blocks, "context": dense})).tolist() == [False, True, False]


def test_words_that_add_up_need_no_pairs():
    blocks, y = reviews()
    found = choose(blocks, y)
    assert found.chosen.tolist() == [False, False, True, False]
    assert [(field.block, field.name) for field in found.others.fields] == [
        ("user", "id"), ("context", "day"), ("item", "id"),
    ]  # fmt: skip
    x = blocks.to_csr().toarray()
    own = np.repeat(found.chosen, [field.size for field in blocks.fields])
    for trial, weights in ((False, found.weights), (True, found.trial_weights)):
        np.testing.assert_allclose(found.scores(trial=trial), x[:, own] @ weights[own], atol=1e-4)
    assert np.corrcoef(found.scores(), y)[0, 1] > 0.4
    assert not np.array_equal(found.weights, found.trial_weights)


def test_words_that_mean_something_else_for_every_item_keep_their_pairs():
    assert choose(*reviews(pairs=1.0)) is None


def test_two_blocks_are_the_least_that_pairs_can_be_of():
    blocks, y = reviews()
    text = Block(np.arange(len(y)), {"review": blocks.blocks["context"].tables["review"]})
    assert choose(Blocks(context=text, item=blocks.blocks["item"]), y) is None


def test_it_is_the_same_at_any_number_of_threads():
    blocks, y = reviews(n=1500)
    one, three = (choose(blocks, y, n_threads=threads) for threads in (1, 3))
    np.testing.assert_array_equal(one.weights, three.weights)
    np.testing.assert_array_equal(one.trial_weights, three.trial_weights)


def test_a_look_may_be_stopped():
    seen = []
    found = choose(*reviews(n=1500), report=lambda *step: seen.append(step) or len(seen) == 2)
    assert [number for number, *_ in seen] == [1, 2]
    assert isinstance(found, WeightsAlone)


@pytest.mark.true_teacher
@pytest.mark.parametrize("pairs", [0.0, 1.0])
def test_a_fit_is_as_good_as_one_with_codes_for_all_words(monkeypatch, pairs):
    blocks, y = reviews(n=6000, pairs=pairs)
    learn, test = np.arange(6000) < 5000, np.arange(6000) >= 5000
    stages = []
    model = DistilledFM(bits=32).fit(blocks[learn], y[learn], callback=lambda step: stages.append(step.stage))
    assert stages.count("pairs") == 20
    review = slice(blocks.fields[2].start, blocks.fields[2].stop)
    assert (model.gains_[review] > 0).any() == bool(pairs)
    assert (model.weights_[review] != 0).all()
    monkeypatch.setattr(module, "_MANY_ENTRIES", 10**9)
    everything = DistilledFM(bits=32).fit(blocks[learn], y[learn])
    ours, theirs = (rmse(y[test], each.predict(blocks[test])) for each in (model, everything))
    assert ours < 1.02 * theirs
    assert ours < 0.8 * np.std(y[test])
