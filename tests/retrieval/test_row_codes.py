"""Row codes find nearly all of the best, and what they find has its exact score."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bitfm import Block, Blocks, DiscreteFM
from bitfm.core import unpack_codes
from bitfm.retrieval import index as index_module
from bitfm.retrieval._row_codes import learn_row_codes

N_USERS, N_ITEMS = 60, 3000


@pytest.fixture(scope="module")
def shop():
    """A model whose items have an id and some tags, with what `fit` would find set by hand: few tastes, many items."""
    rng = np.random.default_rng(0)
    tags = sp.random(N_ITEMS, 200, 0.05, random_state=1, format="csr")
    tags.data[:] = 0.3
    users, items = rng.integers(N_USERS, size=500), rng.integers(N_ITEMS, size=500)
    of_users, of_items = {"id": sp.identity(N_USERS)}, {"id": sp.identity(N_ITEMS), "tags": tags}
    X = Blocks(user=Block(users, of_users), item=Block(items, of_items))
    model = DiscreteFM(64, max_iter=0, init_iter=1, pairs="across")
    model.fit(X, rng.normal(size=500))
    tastes = rng.normal(size=(8, 64))
    model.codes_ = np.packbits(rng.normal(size=(X.n_features, 8)) @ tastes > 0, axis=1, bitorder="little")
    model.gains_ = rng.uniform(0.1, 0.3, X.n_features).astype(np.float32)
    model.weights_ = rng.normal(0, 0.5, X.n_features).astype(np.float32)
    return model, Block(np.arange(N_ITEMS), of_items)


def test_the_basis_and_codes_come_close():
    rng = np.random.default_rng(1)
    vectors = (rng.normal(size=(2000, 10)) @ rng.normal(size=(10, 32))).astype(np.float32)
    shares = []
    for bits in (16, 64, 128):
        learned = learn_row_codes(vectors, bits, 1)
        rounded = unpack_codes(learned.codes) * learned.gains[:, None] @ learned.basis.T
        shares.append(((vectors - rounded) ** 2).sum() / (vectors**2).sum())
    assert shares[0] > shares[1] > shares[2]
    assert shares[1] < 0.05


def test_codes_are_the_same_at_any_number_of_threads():
    vectors = np.random.default_rng(2).normal(size=(3000, 16)).astype(np.float32)
    one, three = (learn_row_codes(vectors, 32, n_threads) for n_threads in (1, 3))
    np.testing.assert_array_equal(one.codes, three.codes)
    np.testing.assert_array_equal(one.gains, three.gains)
    np.testing.assert_array_equal(one.basis, three.basis)


def test_many_vectors_are_encoded_in_the_basis_of_a_sample(monkeypatch):
    from bitfm.retrieval import _row_codes

    monkeypatch.setattr(_row_codes, "_SAMPLE", 500)
    monkeypatch.setattr(_row_codes, "_BATCH", 300)
    rng = np.random.default_rng(3)
    vectors = (rng.normal(size=(2000, 6)) @ rng.normal(size=(6, 24))).astype(np.float32)
    learned = learn_row_codes(vectors, 64, 1)
    rounded = unpack_codes(learned.codes) * learned.gains[:, None] @ learned.basis.T
    assert len(learned.codes) == 2000
    assert ((vectors - rounded) ** 2).sum() / (vectors**2).sum() < 0.05


@pytest.mark.parametrize("vectors", [np.zeros((70, 16)), np.zeros((0, 16)), np.ones((1, 8)), np.eye(8)])
def test_vectors_that_say_little_do_no_harm(vectors):
    learned = learn_row_codes(vectors.astype(np.float32), 16, 1)
    assert learned.codes.shape == (len(vectors), 2)
    assert np.isfinite(learned.gains).all()
    assert (learned.gains >= 0).all()


@pytest.mark.parametrize("bits", [64, 128])
def test_nearly_all_of_the_best_are_found(shop, bits):
    model, items = shop
    users = np.arange(N_USERS)
    positions, scores = model.index(items).search(users)
    index = model.index(items, mode="codes", bits=bits)
    found, found_scores = index.search(users)
    recall = np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(positions, found, strict=True)])
    assert recall >= 0.97
    for u in users:
        both, at, at_found = np.intersect1d(positions[u], found[u], return_indices=True)
        assert len(both) > 0
        np.testing.assert_array_equal(scores[u, at], found_scores[u, at_found])


def test_with_enough_candidates_nothing_is_missed(shop):
    model, items = shop
    seen = sp.random(N_USERS, 2 * N_ITEMS, 0.2, random_state=4, format="csr")
    exact, by_codes = model.index(items), model.index(items, mode="codes", rescore=2 * N_ITEMS)
    for index in (exact, by_codes):
        index.remove(np.arange(0, 500, 7))
        index.change([3, 4], Block([8, 9], items.tables))
        index.add(items)  # so many that segments become one
    for n in (0, 1, 30, 2 * N_ITEMS):
        options = {"n": n, "exclude": seen, "deny": np.arange(1000, 1100)}
        for a, b in zip(
            exact.search(np.arange(N_USERS), **options), by_codes.search(np.arange(N_USERS), **options), strict=True
        ):
            np.testing.assert_array_equal(a, b)


def test_auto_says_what_it_has_chosen(shop, monkeypatch):
    model, items = shop
    assert model.index(items, mode="auto").mode == "exact"
    monkeypatch.setattr(index_module, "_MANY", 1000)
    index = model.index(items, mode="auto")
    assert index.mode == "codes"
    assert "row codes of 64 bits" in repr(index)
    assert "exact" in repr(model.index(items))


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"mode": "fast"}, "mode must be one of"), ({"bits": 12}, "multiple of 8"), ({"rescore": 0}, "rescore must be")],
)
def test_wrong_settings_are_refused(shop, settings, message):
    with pytest.raises(ValueError, match=message):
        shop[0].index(shop[1], **settings)


def test_some_of_the_items_keep_their_scores(shop):
    model, items = shop
    index = model.index(items, mode="codes", bits=64)
    for kept in (np.arange(N_ITEMS), np.arange(0, N_ITEMS, 2)):
        less = index.only(kept, index.parameters)
        positions, scores = less.search(np.arange(20), n=10)
        expected = index.search(np.arange(20), n=N_ITEMS)
        for found, values, among, of_all in zip(positions, scores, *expected, strict=True):
            place = np.argsort(among)
            np.testing.assert_array_equal(of_all[place[kept[found]]], values)
