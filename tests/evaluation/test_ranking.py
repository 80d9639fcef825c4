"""Rank metrics against brute force and scikit-learn; a catalogue's, against the order of all scores."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score

from bitfm import Block, Blocks, DiscreteFM, _core
from bitfm.evaluation import rank_catalogue, rank_metrics
from bitfm.evaluation import ranking as ranking_module
from problems import random_blocks

N_USERS, N_ITEMS = 12, 15


def by_hand(found, relevant, k):
    """Every measure of one user's list, as it is defined."""
    hits = [item in relevant for item in found[:k]]
    ranks = [rank for rank, hit in enumerate(hits, 1) if hit]
    most = min(len(relevant), k)
    worth = [1 / np.log2(rank + 1) for rank in range(1, k + 1)]
    return {
        "precision": len(ranks) / k,
        "recall": len(ranks) / len(relevant),
        "average_precision": sum(sum(hits[:rank]) / rank for rank in ranks) / most,
        "reciprocal_rank": 1 / ranks[0] if ranks else 0,
        "hit": float(bool(ranks)),
        "ndcg": sum(worth[rank - 1] for rank in ranks) / sum(worth[:most]),
    }


def problem(seed, n=N_ITEMS):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(N_USERS, N_ITEMS))
    relevant = rng.random((N_USERS, N_ITEMS)) < 0.2
    return scores, np.argsort(-scores, axis=1)[:, :n], relevant


@given(seed=st.integers(0, 10**6), ks=st.lists(st.integers(1, 8), min_size=1, max_size=4), short=st.booleans())
def test_they_are_what_they_are_defined_to_be(seed, ks, short):
    _, found, relevant = problem(seed, 8)
    if short:
        found[np.random.default_rng(seed).random(found.shape) < 0.3] = -1
    metrics = rank_metrics(found, sp.csr_matrix(relevant), ks)
    counted = np.flatnonzero(relevant.any(axis=1))
    for name in metrics.means():
        each = getattr(metrics, name)
        assert each.users.tolist() == counted.tolist()
        expected = [[by_hand(found[u], np.flatnonzero(relevant[u]), k)[name] for k in ks] for u in counted]
        np.testing.assert_allclose(each.values.reshape(-1, len(ks)), np.reshape(expected, (-1, len(ks))), rtol=1e-12)
        assert each.ks == tuple(ks)


@pytest.mark.parametrize("seed", range(5))
def test_they_equal_scikit_learns_where_it_has_them(seed):
    scores, found, relevant = problem(seed)
    users = np.flatnonzero(relevant.any(axis=1))
    whole = rank_metrics(found, sp.csr_matrix(relevant), N_ITEMS)
    expected = [average_precision_score(relevant[u], scores[u]) for u in users]
    np.testing.assert_allclose(whole.average_precision.values, expected)
    for k in (1, 4, N_ITEMS):
        expected = [ndcg_score([relevant[u]], [scores[u]], k=k) for u in users]
        np.testing.assert_allclose(rank_metrics(found, sp.csr_matrix(relevant), k).ndcg.values, expected)


def test_zeros_are_not_relevant_and_users_have_names():
    relevant = sp.csr_matrix((np.array([0, 1, 0]), (np.array([0, 1, 1]), np.array([0, 0, 1]))), (2, 2))
    metrics = rank_metrics([[0, 1], [1, 0]], relevant, 2, users=["Ann", "Bob"])
    assert metrics.reciprocal_rank.users.tolist() == ["Bob"]
    assert metrics.reciprocal_rank.values.tolist() == [0.5]
    assert relevant.nnz == 3


def test_the_number_of_threads_does_not_matter():
    rng = np.random.default_rng(0)
    relevant = sp.random(900, 50, 0.1, "csr", random_state=0)
    found = np.argsort(rng.random((900, 50)), axis=1)[:, :20].copy()
    arrays = found, relevant.indptr.astype(np.int64), relevant.indices.astype(np.int32), 50, np.array([1, 20])
    one = _core.rank_metrics(*arrays, 1)
    for n_threads in (2, 5):
        np.testing.assert_array_equal(_core.rank_metrics(*arrays, n_threads), one)


def fitted(X):
    rng = np.random.default_rng(1)
    model = DiscreteFM(16, max_iter=2, init_iter=2).fit(X, rng.normal(size=len(X)))
    model.gains_ = rng.uniform(0.2, 2, X.n_features).astype(np.float32)
    return model


@pytest.mark.parametrize("kind", ["bare", "shared", "context"])
@pytest.mark.parametrize("excluding", [False, True])
def test_a_catalogues_are_those_of_all_scores_sorted(kind, excluding, monkeypatch):
    monkeypatch.setattr(ranking_module, "_QUERIES_AT_ONCE", 4)
    X = random_blocks(kind)
    model = fitted(X)
    items = X.blocks["item"]
    rng = np.random.default_rng(2)
    names = [name for name in X.blocks if name != "item"]
    queries = {name: Block(X.blocks[name].rows[:6], X.blocks[name].tables) for name in names}
    if kind != "context":
        queries["user"] = Block(range(6), X.blocks["user"].tables)
    pairs = {name: Block(np.repeat(block.rows, 5), block.tables) for name, block in queries.items()}
    pairs["item"] = Block(np.tile(np.arange(5), 6), items.tables)
    scores = model.predict(Blocks(**{name: pairs[name] for name in X.blocks})).reshape(6, 5)
    relevant, exclude = rng.random((6, 5)) < 0.5, rng.random((6, 5)) < 0.3
    index = model.index(Block(range(5), items.tables), block="item")
    users = range(6) if kind == "bare" else Blocks(**queries) if kind == "context" else queries["user"]
    left_out = sp.csr_matrix(exclude) if excluding else None
    metrics = rank_catalogue(index, users, sp.csr_matrix(relevant), left_out, k=[1, 3, 8])
    if excluding:
        scores, relevant = np.where(exclude, -np.inf, scores), relevant & ~exclude
    found = np.full((6, 8), -1)
    found[:, :5] = np.argsort(-scores, axis=1, kind="stable")
    found[:, :5][np.isneginf(np.take_along_axis(scores, found[:, :5], axis=1))] = -1
    expected = rank_metrics(found, sp.csr_matrix(relevant), [1, 3, 8])
    assert len(expected.ndcg) > 2
    for name, mean in expected.means().items():
        np.testing.assert_array_equal(getattr(metrics, name).users, getattr(expected, name).users)
        np.testing.assert_allclose(metrics.means()[name], mean)


def test_numbers_of_users_are_their_names():
    model = fitted(random_blocks("bare"))
    metrics = rank_catalogue(model.index(), [4, 2], sp.csr_matrix(np.ones((2, 5))), k=2)
    assert metrics.precision.users.tolist() == [4, 2]
    assert metrics.precision.values.tolist() == [1, 1]
    with pytest.raises(ValueError, match="expected 2 different users, one per row, got 2"):
        rank_catalogue(model.index(), [4, 4], sp.csr_matrix(np.ones((2, 5))))
    with pytest.raises(ValueError, match="rank_catalogue: 3 users and 2 rows of relevant"):
        rank_catalogue(model.index(), [1, 2, 3], sp.csr_matrix(np.ones((2, 5))))
    with pytest.raises(ValueError, match="a column for each position of the index, got 3 columns, but position 4"):
        rank_catalogue(model.index(), [1, 2], sp.csr_matrix(np.ones((2, 3))))


def test_without_a_relevant_item_nobody_counts():
    metrics = rank_metrics([[0, 1]], sp.csr_matrix((1, 3)), [1, 2])
    assert len(metrics.hit) == 0
    assert np.isnan(metrics.means()["hit"]).tolist() == [True, True]


def test_what_cannot_be_measured_is_refused():
    relevant = sp.csr_matrix([[1, 0, 1]])
    for found in ([0, 1], [[0, 1], [1, 0]], [[0.0, 1.0]]):
        with pytest.raises(ValueError, match="found: expected whole numbers, a row for each of the 1 users"):
            rank_metrics(found, relevant, 1)
    with pytest.raises(ValueError, match="first 10 are asked for, but only 2 per user were found"):
        rank_metrics([[0, 1]], relevant)
    for wrong in (3, -2):
        with pytest.raises(ValueError, match="items must be from 0 to 2, the columns of relevant, or -1"):
            rank_metrics([[0, wrong]], relevant, 2)
    with pytest.raises(ValueError, match="row 0 has item 2 twice"):
        rank_metrics([[2, 1, 2]], relevant, 3)
    with pytest.raises(TypeError, match="relevant: expected a sparse matrix"):
        rank_metrics([[0]], [[1]], 1)
    with pytest.raises(ValueError, match="k must be"):
        rank_metrics([[0]], relevant, 0)
