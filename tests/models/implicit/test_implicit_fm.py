"""ImplicitFM: it ranks what was held out, its search is exact, and it is the same at any number of threads."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from bitfm import core
from bitfm.data import FeatureTable
from bitfm.models.implicit import ImplicitFM
from bitfm.models.implicit.choice import choose_settings
from bitfm.models.implicit.data import EventData
from bitfm.models.implicit.encoder import encode_items
from bitfm.models.implicit.events import Events, hold_out
from bitfm.models.implicit.fit import EventFit
from bitfm.models.implicit.neighbors import NeighborSettings, learn_neighbors
from bitfm.models.implicit.teacher import fit_teacher, own_axes
from bitfm.models.implicit.trial import ndcg
from bitfm.models.progress import Progress
from bitfm.parameters import EventWeights, ItemCodes, Steps, bits_of_dimensions, nearest_levels


def taste(n_users=120, n_items=90, seed=0, per_user=14):
    """Users of three tastes, who choose items of their taste more often, popular ones most."""
    rng = np.random.default_rng(seed)
    of_users, of_items = rng.integers(3, size=n_users), rng.integers(3, size=n_items)
    popularity = rng.gamma(1.0, size=n_items)
    matrix = sp.lil_matrix((n_users, n_items))
    for user in range(n_users):
        p = popularity * np.where(of_items == of_users[user], 6, 0.5)
        matrix[user, rng.choice(n_items, per_user, replace=False, p=p / p.sum())] = 1
    return matrix.tocsr()


@pytest.fixture(scope="module")
def parts():
    kept, held_out = hold_out(Events.of(taste()), 0.3, np.random.default_rng(1))
    return kept.by_user.to_csr(), held_out.by_user.to_csr()


@pytest.fixture(scope="module")
def model(parts):
    return ImplicitFM(bits=32, n_neighbors=4).fit(parts[0])


def quality(found, held_out):
    return float(ndcg(found, held_out.indptr.astype(np.int64), held_out.indices, held_out.shape[1]).mean())


def dense_scores(model, histories):
    parameters = model.parameters_
    users = parameters.fold_in(FeatureTable.of("histories", histories)).astype(np.float64)
    vectors = parameters.items.vectors().astype(np.float64)
    table = parameters.neighbors.table.toarray() if parameters.neighbors.table.n_entries else 0
    liked = (histories.toarray() > 0).astype(np.float64)
    return parameters.neighbors.scale * users @ vectors.T + (liked @ table if np.ndim(table) else 0)


def test_it_ranks_what_was_held_out_better_than_popularity(model, parts):
    kept, held_out = parts
    found, _ = model.recommend(kept, n=10)
    popular = np.asarray(kept.sum(0)).ravel() - 1e3 * kept.toarray()
    by_popularity = np.argsort(-popular, axis=1, kind="stable")[:, :10]
    assert quality(found, held_out) > 1.15 * quality(by_popularity, held_out)


def test_a_search_finds_what_scoring_everything_finds(model, parts):
    kept = parts[0]
    found, scores = model.recommend(kept, n=12)
    expected = dense_scores(model, kept)
    expected[kept.nonzero()] = -np.inf
    np.testing.assert_allclose(scores, -np.sort(-expected, axis=1)[:, :12], atol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(expected, found, 1), scores, atol=1e-5)
    found, scores = model.recommend(kept, n=90, seen=True)
    np.testing.assert_allclose(scores, -np.sort(-dense_scores(model, kept), axis=1), atol=1e-5)


def test_a_search_is_exact_where_the_weights_count_against_items(model, parts):
    index, kept = model.index(), parts[0]
    rows = model.parameters_.rows(FeatureTable.of("histories", kept))
    scales = np.where(np.arange(len(rows)) % 3 == 0, -rows.scales, rows.scales)
    rows = replace(rows, constants=rows.constants + 2, scales=scales)
    items = model.parameters_.items
    signs = core.unpack_codes(items.codes).astype(np.float64)
    expected = 2 + scales[:, None] * items.weights + (rows.vectors.astype(np.float64) @ signs.T) * items.gains
    expected[rows.scored.toarray() != 0] = 2 + rows.scored.values
    positions = np.arange(0, 90, 2)
    found, scores = index.search_rows(rows, 8, allow=positions)
    np.testing.assert_allclose(scores, -np.sort(-expected[:, positions], axis=1)[:, :8], atol=1e-4)
    assert (found % 2 == 0).all()


def test_items_that_are_removed_are_not_found_though_neighbours_name_them(model, parts):
    index = model.index()
    gone = np.arange(0, 90, 3)
    index.remove(gone)
    found, scores = index.search(parts[0], 20)
    expected = dense_scores(model, parts[0])
    expected[:, gone] = -np.inf
    np.testing.assert_allclose(scores, -np.sort(-expected, axis=1)[:, :20], atol=1e-5)
    assert not np.isin(found, gone).any()


def test_the_result_is_the_same_at_any_number_of_threads(parts):
    one, three = (ImplicitFM(bits=24, n_neighbors=3, n_jobs=n).fit(parts[0]).parameters_ for n in (1, 3))
    np.testing.assert_array_equal(one.items.codes, three.items.codes)
    for name in ("gains", "weights", "decoder"):
        np.testing.assert_array_equal(getattr(one.items, name), getattr(three.items, name))
    np.testing.assert_array_equal(one.neighbors.table.toarray(), three.neighbors.table.toarray())
    assert one.neighbors.scale == three.neighbors.scale
    np.testing.assert_array_equal(one.users.mean, three.users.mean)


def test_a_user_without_events_gets_the_ranking_of_the_mean_user(model):
    found, _ = model.recommend(sp.csr_matrix((1, 90)), n=90)
    parameters = model.parameters_
    by_mean = parameters.items.vectors() @ parameters.users.mean
    np.testing.assert_array_equal(found[0], np.lexsort((np.arange(90), -by_mean.astype(np.float64)))[:90])


def test_without_neighbours_there_is_nothing_but_codes(parts):
    model = ImplicitFM(bits=16, n_neighbors=0, tune=False).fit(parts[0])
    assert model.parameters_.neighbors.table.n_entries == 0
    assert model.recommend(parts[0], n=3)[0].shape == (120, 3)


def test_a_dislike_counts_against_the_item_and_those_like_it():
    X = taste().tolil()
    user, item = 5, int(X.rows[5][0])
    plain = ImplicitFM(bits=64, tune=False).fit(X.tocsr())
    X[user, item] = -3
    disliked = ImplicitFM(bits=64, tune=False).fit(X.tocsr())
    history = X.tocsr()[user]
    before = dense_scores(plain, taste()[user])[0]
    after = dense_scores(disliked, history)[0]
    assert after[item] < before[item]
    assert item not in disliked.recommend(history, n=20)[0]


def test_weights_decide_what_a_history_says(model, parts):
    history = parts[0][:1].copy()
    heavy = history.copy()
    heavy.data[0] = 50.0
    first = heavy.indices[0]
    assert dense_scores(model, heavy)[0, first] > dense_scores(model, history)[0, first]


def test_settings_are_those_of_scikit_learn(parts):
    model = ImplicitFM(bits=16, n_neighbors=2, tune=False)
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (sp.csr_matrix((3, 4)), "at least one event"),
        (-sp.identity(3), "at least one event"),
        (sp.csr_matrix(np.array([[1.0, np.nan]])), "finite"),
        (sp.csr_matrix(np.array([[1.0, 1e300]])), "single precision"),
    ],
)
def test_events_that_cannot_be_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        ImplicitFM().fit(X)


def test_histories_of_other_items_are_refused(model):
    with pytest.raises(ValueError, match="expected histories of 90 items, got 7"):
        model.recommend(sp.csr_matrix((1, 7)))


def test_a_few_events_are_enough():
    for X in (sp.identity(3), sp.csr_matrix(np.ones((1, 1))), sp.csr_matrix(np.eye(5)[:, :2])):
        model = ImplicitFM(bits=8).fit(X)
        found, scores = model.recommend(X, n=2, seen=True)
        assert found.shape[0] == X.shape[0]
        assert np.isfinite(scores[found >= 0]).all()


def test_one_user_with_very_many_events_takes_a_part_of_their_pairs_only():
    rng = np.random.default_rng(0)
    X = sp.vstack([sp.csr_matrix(np.ones((1, 6000))), sp.random(200, 6000, 0.003, "csr", data_rvs=np.ones, rng=rng)])
    model = ImplicitFM(bits=16, tune=False, n_iter=2).fit(X)
    assert np.isfinite(model.parameters_.items.gains).all()
    assert np.diff(model.parameters_.neighbors.table.indptr).max() <= 32


# The parts


def test_every_sweep_of_the_teacher_lowers_the_objective(parts):
    events = Events.of(parts[0])
    weights = EventWeights(10 * events.density, 0.02)
    dense = parts[0].toarray()
    before = np.inf
    for n_iter in range(1, 7):
        teacher = fit_teacher(events, weights, 8, n_iter, 0, 1)
        scores = teacher.users @ teacher.items.T
        objective = (dense * (1 - scores) ** 2).sum() + weights.unobserved * (scores**2).sum()
        n_items, n_users = ((sizes > 0).sum() for sizes in (events.item_sizes, events.user_sizes))
        objective += (weights.ridge(events.user_sizes, n_items) * (teacher.users**2).sum(1)).sum()
        objective += (weights.ridge(events.item_sizes, n_users) * (teacher.items**2).sum(1)).sum()
        assert objective <= before * (1 + 1e-5)
        before = objective


def test_conjugate_gradients_reach_about_the_same_teacher(parts):
    events = Events.of(parts[0])
    weights = EventWeights(10 * events.density, 0.02)
    exact, close = (fit_teacher(events, weights, 8, 15, 0, 1, cg_steps=steps) for steps in (0, 3))
    np.testing.assert_allclose(exact.users @ exact.items.T, close.users @ close.items.T, atol=0.02)


@pytest.mark.parametrize(("bits", "rank"), [(8, 8), (16, 8), (24, 8), (32, 8), (24, 16), (40, 16)])
def test_bits_hold_the_levels_that_were_found(bits, rank):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(50, min(bits, rank)))
    levels = nearest_levels(values, bits_of_dimensions(bits, rank))
    decoder = rng.normal(size=(1 + levels.shape[1], 6)).astype(np.float32)
    gains, weights = rng.uniform(1, 2, 50).astype(np.float32), rng.normal(size=50).astype(np.float32)
    codes = ItemCodes.of_levels(levels, gains, weights, decoder, bits)
    assert codes.bits == bits
    expected = codes.weights[:, None] * decoder[0] + codes.gains[:, None] * (levels @ decoder[1:])
    np.testing.assert_allclose(codes.vectors(), expected, atol=1e-5)
    users = rng.normal(size=(3, 6)).astype(np.float32)
    scales, vectors = codes.queries(users)
    scores = scales[:, None] * codes.weights + (vectors @ core.unpack_codes(codes.codes).T) * codes.gains
    np.testing.assert_allclose(scores, users @ expected.T, atol=1e-4)


def encoded(events, teacher, weights, bits):
    gram = teacher.users.astype(np.float64).T @ teacher.users
    ridge = weights.ridge(events.item_sizes, int((events.user_sizes > 0).sum()))
    return encode_items(events.by_item, teacher.users, gram, teacher.items, ridge, weights.unobserved, bits, 0, 1)


def test_more_bits_are_nearer_to_the_teacher(parts):
    events = Events.of(parts[0])
    weights = EventWeights(10 * events.density, 0.02)
    teacher = fit_teacher(events, weights, 16, 6, 0, 1)
    errors = []
    for bits in (16, 32, 64):
        codes = encoded(events, teacher, weights, bits)
        scores, exact = teacher.users @ codes.vectors().T, teacher.users @ teacher.items.T
        errors.append(float(((scores - exact) ** 2).sum() / (exact**2).sum()))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.02


def test_steps_are_sixteenths_of_an_octave():
    values = np.array([8.0, 4.0, 8 * 2 ** (-1 / 16), 7.9, 1e-9, 0.0], np.float32)
    np.testing.assert_allclose(Steps.of(values).values, [8, 4, 8 * 2 ** (-1 / 16), 8, 0, 0], rtol=1e-6)
    rng = np.random.default_rng(0)
    some = rng.normal(size=1000).astype(np.float32)
    rounded = Steps.of(some).values
    assert len(np.unique(rounded)) <= 255
    large = np.abs(some) > 0.05
    np.testing.assert_allclose(rounded[large], some[large], rtol=2 ** (1 / 32) - 1 + 1e-6)
    assert (Steps.of(np.zeros(3, np.float32)).values == 0).all()


def test_a_source_has_no_more_than_32_targets():
    rng = np.random.default_rng(0)
    X = sp.csr_matrix((rng.random((80, 120)) < 0.05).astype(np.float32)).tolil()
    X[:, 0] = 1  # everybody's
    events = Events.of(X.tocsr())
    weights = EventWeights(10 * events.density, 0.02)
    items = fit_teacher(events, weights, 8, 3, 0, 1).items
    gram, axes = own_axes(items, 1)
    neighbors, _ = learn_neighbors(events, core.multiply(items, axes), gram, weights, 8, NeighborSettings(), None, 1)
    assert np.diff(neighbors.table.indptr).max() <= 32


def test_a_fifth_of_what_each_user_likes_is_held_out():
    X = taste().tolil()
    X[3, :5] = -1
    events = Events.of(X.tocsr())
    kept, held_out = hold_out(events, 0.2, np.random.default_rng(0))
    assert (held_out.by_user.values > 0).all()
    liked = np.asarray((events.by_user.to_csr() > 0).sum(1)).ravel()
    np.testing.assert_array_equal(np.diff(held_out.by_user.indptr), np.rint(0.2 * liked))
    np.testing.assert_array_equal((kept.by_user.to_csr() + held_out.by_user.to_csr()).toarray(), X.toarray())


def test_a_choice_can_be_stopped(parts):
    seen = []
    fit = EventFit(EventData.of(parts[0]), 16, 2, 16, 2, 0, 1)
    settings = choose_settings(fit, Progress(0, lambda trial: bool(seen.append(trial.stage)) or len(seen) == 2))
    assert seen == ["regularization"] * 2
    assert settings.regularization in (0.08, 0.12)


def test_ndcg_is_that_of_the_formula():
    found = np.array([[3, 1, 2], [0, -1, -1]])
    start, relevant = np.array([0, 2, 3]), np.array([1, 4, 2], np.int32)
    ideal = 1 + 1 / np.log2(3)
    np.testing.assert_allclose(ndcg(found, start, relevant, 5), [1 / np.log2(3) / ideal, 0])
