"""The table of testing times compares ways that score alike."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from bitfm import FM, Block, Blocks, DiscreteFM

from bitfm_research.paper import testing_time  # not its function, which pytest would take for a test
from bitfm_research.paper._raw_features import WORDS_PER_ITEM, RawFeatures, random_fm, with_words
from bitfm_research.paper._ways_to_score import (
    best_scores,
    by_codes,
    by_float32,
    by_libfm_loop,
    by_product,
    by_product_and_selection,
    by_search,
    vectors_of,
)

N_USERS, N_ITEMS = 30, 20
PAIRS = ["FM; libFM loop", "FM; float32 pairs", "DFM, paper; pairs"]
ACROSS = ["DFM, paper; pairs across"]  # with words
BEST = ["FM; matrix product", "FM; product and best 10", "DFM, paper; retrieval"]


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    rows = rng.integers(N_USERS, size=400), rng.integers(N_ITEMS, size=400)
    X = Blocks(user=Block(rows[0], {"id": sp.identity(N_USERS)}), item=Block(rows[1], {"id": sp.identity(N_ITEMS)}))
    return DiscreteFM(16).fit(X, rng.integers(1, 6, 400))


@pytest.fixture(params=[False, True], ids=["ids", "ids and words"])
def features(request):
    return RawFeatures.of(N_USERS, N_ITEMS, words=request.param, seed=1)


def scores(way):
    return way.run(way.prepare())


def in_double(pairs):
    """Return the same pairs, to be scored in double precision."""
    return Blocks.from_matrix(pairs.to_csr().astype(np.float64))


@pytest.mark.parametrize("rank", [8, 64, 72])
def test_the_libfm_loop_is_the_machine(features, rank):
    fm, pairs = random_fm(features, rank, 2), features.pairs([7, 3])
    np.testing.assert_allclose(scores(by_libfm_loop(fm, pairs)), fm.predict(in_double(pairs)), rtol=0, atol=1e-9)


@pytest.mark.parametrize("rank", [8, 64, 72])
def test_float32_pairs_are_the_machine_across_sides(features, rank):
    fm, pairs = random_fm(features, rank, 2), features.pairs([7, 3])
    across = FM(rank, pairs="across")
    across.__dict__ |= {name: value for name, value in fm.__dict__.items() if name.endswith("_")}
    np.testing.assert_allclose(scores(by_float32(fm, pairs)), across.predict(pairs), rtol=0, atol=1e-5)
    if features.words is None:
        np.testing.assert_allclose(scores(by_float32(fm, pairs)), scores(by_libfm_loop(fm, pairs)), rtol=0, atol=1e-5)


def test_the_product_is_the_machine(features):
    fm, users = random_fm(features, 8, 2), np.array([3, 7])
    p, q = vectors_of(fm, features)
    product, loop = (p[users] @ q.T).ravel(), scores(by_libfm_loop(fm, features.pairs(users)))
    np.testing.assert_allclose(product, loop, rtol=0, atol=1e-5)
    assert by_product(fm, features, users).n_pairs == len(loop)


def test_the_best_of_the_product_are_those_of_a_full_sort(features):
    fm, users = random_fm(features, 8, 2), np.arange(N_USERS)
    table = scores(by_libfm_loop(fm, features.pairs(users))).reshape(N_USERS, N_ITEMS)
    positions, best = scores(by_product_and_selection(fm, features, users))
    np.testing.assert_allclose(best, np.sort(table)[:, ::-1][:, :10], rtol=0, atol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(table, positions, axis=1), best, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("n_items", "n"), [(16, 10), (160, 10), (176, 10), (1024, 3), (32, 1)])
def test_groups_do_not_change_what_is_best(n_items, n):
    table = np.random.default_rng(n_items).normal(size=(7, n_items)).astype(np.float32)
    positions, best = best_scores(table, n)
    np.testing.assert_array_equal(best, np.sort(table)[:, ::-1][:, :n])
    np.testing.assert_array_equal(np.take_along_axis(table, positions, axis=1), best)


def test_pairs_across_are_the_work_of_the_kernel_for_floats(features, model):
    if features.words is not None:
        model = with_words(model, features, 3)
    pairs = features.pairs([7, 3])
    real = model.to_float()
    np.testing.assert_allclose(
        scores(by_codes(model, pairs, across=True)), scores(by_float32(real, pairs)), rtol=0, atol=1e-4
    )


def test_codes_score_the_same_by_every_way(features, model):
    if features.words is not None:
        model = with_words(model, features, 3)
    users = np.array([3, 7])
    pairs = features.pairs(users)
    expected = model.predict(in_double(pairs))
    np.testing.assert_allclose(scores(by_codes(model, pairs)), expected, rtol=0, atol=1e-4)
    np.testing.assert_allclose(scores(by_libfm_loop(model.to_float(), pairs)), expected, rtol=0, atol=1e-4)
    positions, best = scores(by_search(model, features, users))
    table = expected.reshape(2, N_ITEMS)
    np.testing.assert_allclose(best, np.sort(table)[:, ::-1][:, :10], rtol=0, atol=1e-4)
    np.testing.assert_allclose(np.take_along_axis(table, positions, axis=1), best, rtol=0, atol=1e-4)


def test_pairs_are_user_by_user_and_words_are_as_tf_idf():
    features = RawFeatures.of(N_USERS, N_ITEMS, words=True, seed=1)
    rows = features.pairs([7, 3]).to_csr()
    assert rows.shape == (2 * N_ITEMS, features.n_features)
    assert (np.diff(rows.indptr) == 2 + WORDS_PER_ITEM).all()
    ids = rows.indices.reshape(2 * N_ITEMS, -1)[:, :2] - [0, N_USERS]
    assert ids.tolist() == [[user, item] for user in (7, 3) for item in range(N_ITEMS)]
    assert features.words.has_canonical_format
    assert features.words.data.min() > 0
    np.testing.assert_allclose(sp.linalg.norm(features.words, axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("variant", ["ids", "ids and words"])
def test_a_time_and_a_number_of_pairs_for_each_way(model, variant):
    measures = testing_time.testing_times("tiny", N_USERS, N_ITEMS, model, 4, words="words" in variant, quick=True)
    pairs = PAIRS + (ACROSS if "words" in variant else [])
    methods = pairs + BEST
    assert [m.method for m in measures] == [method for method in methods for _ in range(3)]
    assert {(m.dataset, m.bits, m.seed, m.k) for m in measures} == {("tiny", 16, 4, None)}
    metrics = [f"TTC, {variant}", f"pairs timed, {variant}", f"pairs, {variant}"]
    assert [m.metric for m in measures] == metrics * len(methods)
    assert all(m.value == N_USERS * N_ITEMS for m in measures[2::3])
    assert all(m.value > 0 for m in measures)
    sample = (25 if "words" in variant else 30) * N_ITEMS
    assert [m.value for m in measures[1::3]] == [sample] * len(pairs) + [N_USERS * N_ITEMS] * len(BEST)


def test_a_trained_fm_keeps_its_ids_and_its_words_are_drawn(features):
    trained = random_fm(RawFeatures.of(N_USERS, N_ITEMS, words=False, seed=1), 8, 9)
    fm, n = random_fm(features, 8, 2, trained), N_USERS + N_ITEMS
    assert fm.bias_ == trained.bias_
    np.testing.assert_array_equal(fm.factors_[:n], trained.factors_)
    np.testing.assert_array_equal(fm.weights_[:n], trained.weights_)
    assert fm.factors_.shape == (features.n_features, 8)


def test_a_model_of_other_sizes_is_refused(model):
    fm = random_fm(RawFeatures.of(N_USERS, N_ITEMS, words=False, seed=1), 8, 0)
    with pytest.raises(ValueError, match=r"factors of shape \(50, 8\); expected \(50, 16\)"):
        testing_time.testing_times("tiny", N_USERS, N_ITEMS, model, 0, words=False, fm=fm)
    with pytest.raises(ValueError, match=r"sizes \[30, 20\], but there are 20 users and 30 items"):
        testing_time.testing_times("tiny", N_ITEMS, N_USERS, model, 0, words=False)
