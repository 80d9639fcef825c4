"""MinHash codes agree as often as sets overlap, and those who share buckets are heard."""

from __future__ import annotations

import bitfm
import numpy as np
import pytest
import scipy.sparse as sp
from bitfm import Block, Blocks
from bitfm.errors import ModelFileError
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bitfm_research.baselines import LSH
from bitfm_research.baselines._minhash import buckets_of, minhash_codes

BUCKETS = [1, 2, 4, 8]


def pairs_of(X, users, items):
    return Blocks(user=Block(users, X.blocks["user"].tables), item=Block(items, X.blocks["item"].tables))


def everything(X):
    users, items = (part.ravel() for part in np.indices((X.blocks["user"].n_rows, X.blocks["item"].n_rows)))
    return pairs_of(X, users, items)


def bits_of(codes):
    return np.unpackbits(codes, axis=1, bitorder="little")


# Codes


@pytest.mark.parametrize("bucket_bits", BUCKETS)
@pytest.mark.parametrize("shared", [0, 3, 10, 20])
def test_bits_and_buckets_agree_as_often_as_jaccard_says(bucket_bits, shared):
    """Of two sets of 20 of which so many are shared, over many hash functions: within 5 standard errors."""
    sets = np.append(np.arange(20), np.arange(20) + 20 - shared)
    jaccard, rng = shared / (40 - shared), np.random.default_rng(0)
    hashes = [minhash_codes(np.array([0, 20, 40]), sets, 60, 512, bucket_bits, rng) for _ in range(16)]
    codes = np.concatenate(hashes, axis=1)
    n = 16 * 512 // bucket_bits
    for found, chance in ((bits_of(codes), 0.5), (buckets_of(codes, bucket_bits), 0.5**bucket_bits)):
        expected = jaccard + (1 - jaccard) * chance
        error = np.sqrt(expected * (1 - expected) / n)  # bits of one hash function are not independent
        assert abs(np.mean(found[0] == found[1]) - expected) <= 5 * error


def test_the_share_of_equal_bits_tells_jaccard_in_expectation():
    rng = np.random.default_rng(1)
    sets = sp.csr_matrix(rng.random((30, 50)) < rng.uniform(0.1, 0.8, (30, 1)))
    codes = np.concatenate([minhash_codes(sets.indptr, sets.indices, 50, 512, 1, rng) for _ in range(20)], axis=1)
    signs = 2.0 * bits_of(codes) - 1
    told = signs @ signs.T / signs.shape[1]  # 2 (1 + J) / 2 − 1
    both = (sets.astype(int) @ sets.astype(int).T).toarray()
    sizes = np.diff(sets.indptr)
    np.testing.assert_allclose(told, both / (sizes[:, None] + sizes - both), atol=0.05)


@pytest.mark.parametrize("bucket_bits", BUCKETS)
def test_bits_are_balanced(bucket_bits):
    rng = np.random.default_rng(2)
    sets = sp.csr_matrix(rng.random((400, 300)) < 0.02)
    bits = bits_of(minhash_codes(sets.indptr, sets.indices, 300, 512, bucket_bits, rng))[np.diff(sets.indptr) > 0]
    assert abs(bits.mean() - 0.5) < 0.02
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 0.3
    correlation = np.corrcoef(bits.T)[np.triu_indices(512, 1)]
    assert abs(correlation.mean()) < 0.01


def test_equal_sets_have_equal_codes_and_the_order_of_elements_does_not_matter():
    indptr = np.array([0, 3, 6, 6, 7])
    elements = np.array([4, 1, 2, 2, 4, 1, 0])
    codes = minhash_codes(indptr, elements, 5, 64, 4, np.random.default_rng(0))
    np.testing.assert_array_equal(codes[0], codes[1])
    assert (codes[0] != codes[3]).any()
    assert not codes[2].any()
    empty = minhash_codes(np.zeros(4, int), np.zeros(0, int), 5, 16, 1, np.random.default_rng(0))
    np.testing.assert_array_equal(empty, np.zeros((3, 2)))


# Scores


def votes(model, X, y, side):
    """Σ w (r − m) and Σ w of every pair, by its definition: each rater one by one."""
    users, items = X.blocks["user"].rows, X.blocks["item"].rows
    n_users, n_items = X.blocks["user"].n_rows, X.blocks["item"].n_rows
    codes = model.user_codes_ if side == "users" else model.item_codes_
    buckets = buckets_of(codes, model.bucket_bits).astype(int)
    rated = np.isin(np.arange(len(codes)), users if side == "users" else items)
    out = np.zeros((2, n_users, n_items))
    for user, item, rating in zip(users, items, y - y.mean(), strict=True):
        own = user if side == "users" else item
        for other in np.flatnonzero(rated):
            shared = np.sum(buckets[own] == buckets[other])
            weight = shared * 2.0**model.bucket_bits / buckets.shape[1]
            at = (other, item) if side == "users" else (user, other)
            out[(slice(None), *at)] += weight * (rating), weight
    return out


@pytest.mark.parametrize("bucket_bits", [1, 4, 8])
@pytest.mark.parametrize("by", ["users", "items", "both"])
def test_a_score_is_what_those_who_share_buckets_thought(rated, by, bucket_bits):
    X, y = rated
    model = LSH(32, bucket_bits=bucket_bits, by=by, shrink=2.0).fit(X, y)
    total, weight = sum(votes(model, X, y, side) for side in ("users", "items") if by in (side, "both"))
    expected = y.mean() + total / (weight + 2.0)
    np.testing.assert_allclose(model.predict(everything(X)), expected.ravel(), rtol=1e-9)


def test_planted_clusters_are_found():
    """Four groups that rate the same items and disagree with the other groups on all of them."""
    rng = np.random.default_rng(0)
    group, likes = np.arange(80) % 4, rng.choice([1.0, 5.0], (4, 60))
    shelf = np.array([rng.permutation(60)[:20] for _ in range(4)])  # what each group reads
    users = np.repeat(np.arange(80), 16)
    items = np.concatenate([rng.permutation(shelf[g])[:16] for g in group])
    stray = np.flatnonzero(rng.random(len(users)) < 0.1)  # some read elsewhere, with their own group's tastes
    items[stray] = rng.integers(60, size=len(stray))
    y = likes[group[users], items]
    X = Blocks(user=Block(users, {"id": sp.identity(80)}), item=Block(items, {"id": sp.identity(60)}))
    model = LSH(512, bucket_bits=8).fit(X, y)
    same = np.mean(model.user_codes_[:, None] == model.user_codes_[None], axis=2)  # buckets shared, one byte each
    inside = group[:, None] == group[None]
    np.fill_diagonal(inside, False)
    assert same[inside].mean() > 2 * same[group[:, None] != group[None]].mean()
    unseen = np.ones((80, 60), bool)
    unseen[users, items] = False
    on_shelf = np.zeros((80, 60), bool)
    on_shelf[np.arange(80)[:, None], shelf[group]] = True
    asked = np.argwhere(unseen & on_shelf)
    scores = model.predict(pairs_of(X, asked[:, 0], asked[:, 1]))
    liked = likes[group[asked[:, 0]], asked[:, 1]] == 5
    # What all thought, whoever asks.
    means = np.bincount(items, y, minlength=60) / np.maximum(np.bincount(items, minlength=60), 1)
    assert np.mean((scores > 3) == liked) > 0.95 > np.mean((means[asked[:, 1]] > 3) == liked)


def test_users_and_items_without_ratings_get_the_mean(rated):
    X, y = rated  # the last three users and the first item have no ratings
    for by in ("users", "items", "both"):
        scores = LSH(64, by=by).fit(X, y).predict(everything(X)).reshape(50, 40)
        np.testing.assert_array_equal(scores[-3:], y.mean())
        np.testing.assert_array_equal(scores[:, 0], y.mean())
        assert len(np.unique(scores)) > 100


def test_a_row_without_an_id_gets_the_mean_and_one_with_two_is_refused(rated):
    X, y = rated
    model = LSH(16).fit(X, y)
    row = X[:2].to_csr().toarray()
    row[0, :50] = 0
    np.testing.assert_array_equal(model.predict(row)[0], y.mean())
    row[1, :2] = 1
    with pytest.raises(ValueError, match="ids of 'user'"):
        model.predict(row)


# The contract


@pytest.mark.parametrize("by", ["users", "both"])
def test_it_keeps_the_contract_of_models(rated, by, tmp_path):
    X, y = rated
    model = LSH(16, bucket_bits=4, by=by).fit(X, y)
    scores = model.predict(X)
    assert (model.user_codes_.shape, model.item_codes_.shape) == ((50, 2), (40, 2))
    np.testing.assert_array_equal(model.predict(X.to_csr()), scores)
    of_matrix = clone(model).fit(X.to_csr(), y, fields={"user": 50, "item": 40})
    np.testing.assert_array_equal(of_matrix.predict(X.to_csr()), scores)
    for n_jobs in (1, 2, 5):
        np.testing.assert_array_equal(clone(model).set_params(n_jobs=n_jobs).fit(X, y).predict(X), scores)
    assert (clone(model).set_params(random_state=1).fit(X, y).user_codes_ != model.user_codes_).any()
    assert len(model.predict(X[:0])) == 0
    model.save(tmp_path / "model.bitfm")
    back = bitfm.load(tmp_path / "model.bitfm")
    assert type(back) is LSH
    assert back.get_params() == model.get_params()
    np.testing.assert_array_equal(back.predict(X), scores)


def test_other_fields_are_not_looked_at(shop, rated):
    X, y = rated
    other = Blocks(
        item=Block(X.blocks["item"].rows, {"words": np.ones((40, 7)), "id": sp.identity(40)}),
        user=Block(X.blocks["user"].rows, {"id": sp.identity(50), "age": np.ones((50, 1))}),
    )
    np.testing.assert_array_equal(LSH(16).fit(other, y).predict(other), LSH(16).fit(X, y).predict(X))
    rich, ratings = shop
    assert np.isfinite(LSH(8).fit(rich, ratings).predict(rich)).all()


@pytest.mark.parametrize("y", [[3.0, 3.0, 3.0], [1e30, -1e30, 0.0], [1e-30, 0.0, 3e-30]])
def test_odd_ratings_give_numbers(y):
    X = Blocks(user=Block([0, 1, 0], {"id": sp.identity(4)}), item=Block([0, 1, 1], {"id": sp.identity(3)}))
    assert np.isfinite(LSH(8).fit(X, y).predict(everything(X))).all()


def test_wrong_input_is_refused_and_leaves_the_model_as_it_was(rated):
    X, y = rated
    model = LSH(16)
    with pytest.raises(NotFittedError):
        model.predict(X)
    before = model.fit(X, y).predict(X)
    for settings, match in (
        ({"bits": 12}, "bits must be"),
        ({"bucket_bits": 3}, "bucket_bits must be"),
        ({"by": "all"}, "by must be"),
        ({"shrink": -1}, "shrink must be"),
        ({"n_jobs": 0}, "n_jobs"),
    ):
        with pytest.raises(ValueError, match=match):
            clone(model).set_params(**settings).fit(X, y)
    for wrong in (y[:-1], np.where(y > 4, np.nan, y)):
        with pytest.raises(ValueError, match=r"inconsistent|NaN"):
            model.fit(X, wrong)
        np.testing.assert_array_equal(model.predict(X), before)


def test_a_damaged_file_is_refused(rated, tmp_path):
    X, y = rated
    for change, match in (
        ({"users_": np.full(700, 60, np.int32)}, "ratings of row 60"),
        ({"id_columns_": np.array([[0, 50], [50, 91]])}, "columns? 50 to 91"),
    ):
        model = LSH(16).fit(X, y)
        for name, value in change.items():
            setattr(model, name, value)
        model.save(tmp_path / "model.bitfm")
        with pytest.raises(ModelFileError, match=match):
            bitfm.load(tmp_path / "model.bitfm")
