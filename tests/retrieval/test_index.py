"""The index returns what `predict` would rank first, whatever the model and whatever is left out."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

from bitfm import Block, Blocks, DiscreteFM
from problems import random_blocks


def fitted(X, bits=16, **settings):
    rng = np.random.default_rng(1)
    model = DiscreteFM(bits, max_iter=3, init_iter=3, **settings).fit(X, rng.normal(size=len(X)))
    model.gains_ = rng.uniform(0.2, 2, X.n_features).astype(np.float32)
    return model


def everything(X, model, item_block):
    """Queries, items and all their scores, by `predict`."""
    names = [name for name in X.blocks if name != item_block]
    items = X.blocks[item_block]
    n_items = items.n_rows
    queries = {name: Block(X.blocks[name].rows[:8], X.blocks[name].tables) for name in names}
    n = len(next(iter(queries.values())))
    pairs = {name: Block(np.repeat(block.rows, n_items), block.tables) for name, block in queries.items()}
    pairs[item_block] = Block(np.tile(np.arange(n_items), n), items.tables)
    scores = model.predict(Blocks(**{name: pairs[name] for name in X.blocks})).reshape(n, n_items)
    return Blocks(**queries), Block(np.arange(n_items), items.tables), scores


@pytest.mark.parametrize("pairs", ["all", "across"])
@pytest.mark.parametrize("bits", [8, 64, 72])
@pytest.mark.parametrize(
    ("kind", "block"), [("bare", "item"), ("bare", "user"), ("context", "item"), ("shared", "item"), ("mixed", "event")]
)
def test_the_order_is_that_of_predict(kind, block, bits, pairs):
    X = random_blocks(kind)
    model = fitted(X, bits, pairs=pairs)
    users, items, scores = everything(X, model, block)
    index = model.index(items, block=block)
    positions, found = index.search(users, n=items.n_rows)
    np.testing.assert_allclose(found, -np.sort(-scores, axis=1), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(scores, positions, 1), found, rtol=1e-5, atol=1e-5)
    assert (np.sort(positions, axis=1) == np.arange(items.n_rows)).all()


def test_positions_run_out_in_a_sentence():
    model = fitted(random_blocks("bare"))
    index = model.index([0, 1])
    index.n_positions = 2**31 - 4  # as if so many had come and gone
    assert index.add([2, 3]).tolist() == [2**31 - 4, 2**31 - 3]
    assert set(index.search([0])[0][0]) == {0, 1, 2**31 - 4, 2**31 - 3}
    with pytest.raises(ValueError, match=r"an index has 2,147,483,647 positions.*at most 2,147,483,646"):
        index.add([4])
    index.change([2**31 - 3], [4])
    index.remove([2**31 - 4])
    assert set(index.search([0])[0][0]) == {0, 1, 2**31 - 3}


def test_a_query_alone_is_as_in_a_batch():
    X = random_blocks("mixed")
    model = fitted(X)
    users, items, _ = everything(X, model, "item")
    index = model.index(items)
    positions, scores = index.search(users, n=3)
    for q in range(len(users)):
        alone = index.search(users[q], n=3)
        np.testing.assert_array_equal(alone[0][0], positions[q])
        np.testing.assert_array_equal(alone[1][0], scores[q])


def ids_model(n_users=30, n_items=200, bits=64):
    rng = np.random.default_rng(0)
    users, items = rng.integers(n_users, size=3000), rng.integers(n_items, size=3000)
    X = Blocks(user=Block(users, {"id": sp.identity(n_users)}), item=Block(items, {"id": sp.identity(n_items)}))
    return fitted(X, bits)


@pytest.fixture(scope="module")
def ids():
    return ids_model()


def scores_of(model, users, n_items=200):
    users = np.asarray(users)
    pairs = np.repeat(users, n_items), np.tile(np.arange(n_items), len(users))
    return model.predict_pairs(*pairs).reshape(len(users), n_items)


def test_numbers_stand_for_bare_ids(ids):
    index = ids.index()
    positions, scores = index.search([3, 5], n=4)
    as_block = index.search(Block([3, 5], {"id": sp.identity(30)}), n=4)
    np.testing.assert_array_equal(positions, as_block[0])
    np.testing.assert_array_equal(scores, as_block[1])
    full = scores_of(ids, [3, 5])
    np.testing.assert_allclose(scores, -np.sort(-full)[:, :4], rtol=1e-5)
    np.testing.assert_array_equal(index.search(3, n=4)[0], positions[:1])


def test_exclude_allow_and_deny(ids):
    index = ids.index()
    rng = np.random.default_rng(2)
    seen = sp.csr_matrix(rng.random((30, 200)) < 0.4)
    allow, deny = rng.random(200) < 0.5, np.array([7, 9, 11])
    positions, scores = index.search(np.arange(30), n=20, exclude=seen, allow=allow, deny=deny)
    full = scores_of(ids, np.arange(30))
    full[seen.toarray()] = -np.inf
    full[:, ~allow] = -np.inf
    full[:, deny] = -np.inf
    np.testing.assert_allclose(scores, -np.sort(-full)[:, :20], rtol=1e-5)
    assert not seen.toarray()[np.arange(30)[:, None], positions].any()
    assert allow[positions].all()
    assert not np.isin(positions, deny).any()
    by_number = index.search(np.arange(30), n=20, exclude=seen, allow=np.flatnonzero(allow), deny=deny)
    np.testing.assert_array_equal(by_number[0], positions)


def test_who_has_seen_all_gets_nothing(ids):
    positions, scores = ids.index().search([0, 1], n=3, exclude=sp.csr_matrix(np.array([[1] * 200, [0] * 200])))
    assert (positions[0] == -1).all()
    assert np.isneginf(scores[0]).all()
    assert (positions[1] >= 0).all()


@pytest.mark.parametrize(
    ("users", "n", "options", "shape"),
    [
        ([0, 1], 0, {}, (2, 0)),
        ([], 5, {}, (0, 5)),
        ([0], 10**12, {}, (1, 200)),
        ([0], 5, {"allow": []}, (1, 0)),
        ([0], 5, {"allow": np.zeros(200, bool)}, (1, 0)),
        ([0], 500, {"deny": np.arange(190)}, (1, 10)),
    ],
)
def test_nothing_to_find_is_no_error(ids, users, n, options, shape):
    positions, scores = ids.index().search(users, n, **options)
    assert positions.shape == scores.shape == shape


def test_an_index_of_nothing(ids):
    index = ids.index([])
    assert len(index) == 0
    assert index.search([1, 2])[0].shape == (2, 0)
    index.add([4, 5])
    np.testing.assert_array_equal(np.sort(index.search([1])[0]), [[0, 1]])


# Change


def same_as_new(index, model, ids_of_positions, users):
    """Whether the index gives what a new one gives of the items at its positions; None: nothing there."""
    there = np.array([p for p, item in enumerate(ids_of_positions) if item is not None])
    fresh = model.index([ids_of_positions[p] for p in there])
    positions, scores = index.search(users, n=len(there))
    new_positions, new_scores = fresh.search(users, n=len(there))
    np.testing.assert_array_equal(scores, new_scores)
    np.testing.assert_array_equal(positions, there[new_positions])
    assert len(index) == len(there)


def test_items_come_and_go_and_change(ids):
    rng = np.random.default_rng(3)
    index = ids.index(np.arange(50))
    held = list(range(50))
    for _ in range(40):
        what = rng.integers(3)
        if what == 0:
            new = rng.integers(200, size=rng.integers(0, 9))
            positions = index.add(new)
            np.testing.assert_array_equal(positions, np.arange(len(held), len(held) + len(new)))
            held += new.tolist()
        else:
            where = rng.choice(len(held), rng.integers(0, 6), replace=False)
            new = rng.integers(200, size=len(where))
            if what == 1:
                index.remove(where)
            else:
                index.change(where, new)
            for p, item in zip(where, new, strict=True):
                held[p] = None if what == 1 else int(item)
        same_as_new(index, ids, held, np.arange(30))
    assert len(index.segments) < 8


def test_items_with_and_without_features_share_an_index():
    X = random_blocks("shared")
    model = fitted(X)
    items = X.blocks["item"]
    bare = Block(
        [0, 1], {"id": sp.csr_matrix(np.eye(5)[:2]), "words": sp.csr_matrix((2, 7)), "genre": sp.csr_matrix((2, 2))}
    )
    index = model.index(Block([0, 1, 2, 3, 4], items.tables))
    index.add(bare)
    _, scores = index.search([0, 1, 2], n=7)
    rich = model.predict_pairs(np.repeat([0, 1, 2], 5), Block(np.tile(np.arange(5), 3), items.tables)).reshape(3, 5)
    plain = model.predict_pairs(np.repeat([0, 1, 2], 2), Block(np.tile([0, 1], 3), bare.tables)).reshape(3, 2)
    np.testing.assert_allclose(scores, -np.sort(-np.hstack([rich, plain])), rtol=1e-5, atol=1e-6)


def test_searches_and_changes_at_once(ids):
    """Searches in many threads see the catalogue of some moment: all of its items or none of the new."""
    index = ids.index(np.arange(100))
    expected = {n: ids.index(np.arange(n)).search([1], n=n)[1][0] for n in range(100, 160, 10)}
    failures, searches, done = [], [], threading.Event()

    def search():
        while not done.is_set():
            positions, scores = index.search([1], n=1000)
            searches.append(len(positions[0]))
            if not np.array_equal(scores[0], expected[len(positions[0])]):
                failures.append(positions)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for first in range(100, 150, 10):
        index.add(np.arange(first, first + 10))
    while len(searches) < 50:
        time.sleep(0.001)
    done.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert set(searches) <= set(expected)


# What is refused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"users": [30]}, "users must be from 0 to 29"),
        ({"users": [0.5]}, "whole numbers"),
        ({"users": "abc"}, "whole numbers"),
        ({"users": Block([0], {"id": sp.identity(31)})}, r"fields of user have \[31\] columns"),
        ({"users": [0], "n": -1}, "n must be a whole number"),
        ({"users": [0], "n": 1.5}, "n must be a whole number"),
        ({"users": [0], "exclude": sp.csr_matrix((2, 200))}, "expected 1 queries × 200 positions"),
        ({"users": [0], "exclude": sp.csr_matrix((1, 201))}, "expected 1 queries × 200 positions"),
        ({"users": [0], "allow": [200]}, "allow must be from 0 to 199"),
        ({"users": [0], "deny": np.ones(3, bool)}, "200 booleans"),
        ({"users": [0], "n_jobs": 0}, "n_jobs"),
    ],
)
def test_wrong_arguments_are_refused(ids, arguments, message):
    with pytest.raises(ValueError, match=message):
        ids.index().search(**arguments)


def test_wrong_kinds_are_refused(ids):
    with pytest.raises(TypeError, match="sparse matrix"):
        ids.index().search([0], exclude=[[1, 2]])
    with pytest.raises(ValueError, match="no block 'shop'"):
        ids.index(block="shop")
    with pytest.raises(ValueError, match="expected the blocks user, got item"):
        ids.index().search(Blocks(item=Block([0], {"id": sp.identity(200)})))
    with pytest.raises(ValueError, match="each position once"):
        ids.index().change([1, 1], [2, 3])
    with pytest.raises(ValueError, match="single block"):
        fitted(random_blocks("plain")).index()
    rich = fitted(random_blocks("shared"))
    with pytest.raises(TypeError, match="item with 3 fields"):
        rich.index()
    damaged = sp.csr_matrix((1, 200))
    damaged.indices, damaged.data = np.array([500], np.int32), np.array([1.0])
    damaged.indptr = np.array([0, 1], np.int32)
    with pytest.raises(ValueError, match="column indices"):
        ids.index().search([0], exclude=damaged)


@pytest.mark.parametrize("kind", ["bare", "context", "shared"])
@pytest.mark.parametrize("changed", [False, True])
def test_an_index_of_some_items_is_one_that_never_had_the_others(kind, changed):
    X = random_blocks(kind)
    model = fitted(X, pairs="across")
    users, items, _ = everything(X, model, "item")
    n = items.n_rows
    index = model.index(items, block="item")
    if changed:  # what they were before is left in a segment
        index.change([1, 2], Block([2, 1], items.tables))
    for kept in (np.arange(n), np.arange(1, n, 2), np.array([n - 1]), np.array([], int)):
        less = index.only(kept, index.parameters)
        assert len(less) == less.n_positions == len(kept)
        assert sum(int((segment.arrays["position"] >= 0).sum()) for segment in less.segments) == len(kept)
        positions, scores = less.search(users, n=n)
        allowed = np.isin(np.arange(n), kept)
        expected, of_expected = index.search(users, n=n, allow=allowed)
        np.testing.assert_array_equal(kept[positions], expected)
        np.testing.assert_array_equal(scores, of_expected)
    assert len(index) == n
    again = index.only(np.arange(0, n, 3), index.parameters)
    added = again.add(Block([1], items.tables))
    assert added.tolist() == [len(range(0, n, 3))]
    assert len(again) == again.n_positions
