"""ImplicitFM on blocks: features of users and items, contexts, repeats, and what comes after the fit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import bitfm
from bitfm import Block, Blocks, ImplicitFM
from bitfm.data.feature_table import FeatureTable
from bitfm.models.implicit.context import Contexts
from bitfm.models.implicit.data import EventData, EventList
from bitfm.models.implicit.features import SideFeatures
from bitfm.models.implicit.teacher import own_axes
from bitfm.parameters import EventWeights, FeatureVectors, Neighbors, Steps, explain_event, with_event_items

N_USERS, N_ITEMS, N_KINDS = 60, 40, 4
ONE = Block([0], {"id": sp.identity(1)})


def table_of(matrix):
    return FeatureTable.of("x", np.asarray(matrix, np.float32))


def events(seed=0, n=2500):
    """Return users, items and contexts of events: a user likes two kinds of items, one in each context."""
    rng = np.random.default_rng(seed)
    users, context = rng.integers(N_USERS, size=n), rng.integers(2, size=n)
    kind = 2 * (users % 2) + context
    strange = rng.random(n) < 0.1
    items = np.where(strange, rng.integers(N_ITEMS, size=n), rng.integers(N_ITEMS // N_KINDS, size=n) * N_KINDS + kind)
    return users, items, context


def blocks_of(users, items, context=None, *, features=True):
    kinds = sp.csr_matrix(np.eye(N_KINDS)[np.arange(N_ITEMS) % N_KINDS])
    clubs = sp.csr_matrix(np.eye(2)[np.arange(N_USERS) % 2])
    of_users = {"id": sp.identity(N_USERS), **({"club": clubs} if features else {})}
    of_items = {"id": sp.identity(N_ITEMS), **({"kind": kinds} if features else {})}
    blocks = {"user": Block(users, of_users)}
    if context is not None:
        blocks["at"] = Block(context, {"daytime": sp.csr_matrix(np.eye(2))})
    return Blocks(**blocks, item=Block(items, of_items))


@pytest.fixture(scope="module")
def fitted():
    users, items, context = events()
    return ImplicitFM(16, n_jobs=1).fit(blocks_of(users, items, context))


def history_of(items):
    row = np.zeros((1, N_ITEMS), np.float32)
    row[0, items] = 1
    return FeatureTable.of("h", row)


def test_fields_are_those_of_the_blocks(fitted):
    parameters = fitted.parameters_
    assert [(field.block, field.name, field.size) for field in parameters.fields] == [
        ("user", "club", 2), ("user", "history", 40), ("at", "daytime", 2), ("item", "kind", 4), ("item", "id", 40),
    ]  # fmt: skip
    assert len(parameters.features) == 8


def test_a_context_tells_the_kinds_apart(fitted):
    parameters, taste = fitted.parameters_, history_of([0, 1, 4, 5])
    vectors = parameters.items.vectors()
    for context in (0, 1):
        said = parameters.said("at", {"daytime": table_of(np.eye(2)[[context]])})
        scores = ((parameters.fold_in(taste) + said) @ vectors.T)[0]
        by_kind = scores.reshape(-1, N_KINDS).mean(axis=0)
        assert by_kind.argmax() == context


def test_users_and_items_without_events_are_known_by_their_features(fitted):
    parameters = fitted.parameters_
    priors = parameters.priors({"club": table_of(np.eye(2))})
    nobody = FeatureTable.empty(2, N_ITEMS)
    users = parameters.fold_in(nobody, priors)
    np.testing.assert_allclose(users, priors, atol=1e-5)
    by_kind = (users @ parameters.items.vectors().T).reshape(2, -1, N_KINDS).mean(axis=1)
    assert by_kind[0, :2].mean() > by_kind[0, 2:].mean()
    assert by_kind[1, 2:].mean() > by_kind[1, :2].mean()
    kinds, nothing = table_of(np.eye(4)[[0, 2]]), np.zeros((0, 16), np.float32)
    grown = with_event_items(parameters, np.array([40, 41]), {"kind": kinds}, FeatureTable.empty(2, 0), nothing)
    assert len(grown.items) == 42
    assert grown.fields[-1].size == grown.sizes["user", "history"] == 42
    new = users @ grown.items.vectors(np.array([40, 41])).T
    assert new[0, 0] > new[0, 1]
    assert new[1, 1] > new[1, 0]


def test_an_item_of_first_events_solves_its_equations(fitted):
    parameters = fitted.parameters_
    users = parameters.fold_in(table_of(np.random.default_rng(1).random((6, N_ITEMS)) < 0.2))
    table = table_of([[1, 0, 2, 0, -1, 0]])
    grown = with_event_items(parameters, np.array([40]), {}, table, users)
    e, y = np.array([1, 2, 1.0]), np.array([1, 1, 0.0])
    p = users[[0, 2, 4]].astype(np.float64)
    weights, side = parameters.weights, parameters.users
    ridge = weights.regularization * (4 + weights.unobserved * side.n)
    matrix = weights.unobserved * side.gram + (p * e[:, None]).T @ p + ridge * np.eye(p.shape[1])
    exact = np.linalg.solve(matrix, p.T @ (e * y))
    decoded = grown.items.vectors(np.array([40]))[0]
    error, size = decoded - exact, exact
    assert error @ matrix @ error < 0.6 * size @ matrix @ size  # 16 bits
    np.testing.assert_array_equal(grown.items.codes[:40], parameters.items.codes)


def test_an_explanation_adds_up(fitted):
    parameters = fitted.parameters_
    history, club, at = history_of([0, 1, 4]), table_of([[1, 0]]), table_of([[0, 1]])
    users = parameters.fold_in(history, parameters.priors({"club": club})) + parameters.said("at", {"daytime": at})
    wanted = FeatureTable.of("w", np.eye(N_ITEMS, dtype=np.float32)[[7]])
    score = parameters.scores(users, history, wanted)[0]
    why = explain_event(parameters, history, 7, {"user": {"club": club}, "at": {"daytime": at}})
    assert why.score == pytest.approx(score, abs=1e-5)
    assert {share.name.split("[")[0] for share in why.features} == {"user.history", "user.club", "at.daytime"}


def test_a_file_holds_it_all(fitted, tmp_path):
    fitted.save(tmp_path / "m.bitfm")
    opened = bitfm.load(tmp_path / "m.bitfm")
    histories = sp.csr_matrix(np.random.default_rng(0).random((9, N_ITEMS)) < 0.2).astype(np.float32)
    for one, two in zip(fitted.recommend(histories), opened.recommend(histories), strict=True):
        np.testing.assert_array_equal(one, two)
    assert opened.get_params() == fitted.get_params()
    opened.save(tmp_path / "n.bitfm")
    assert (tmp_path / "n.bitfm").read_bytes() == (tmp_path / "m.bitfm").read_bytes()


def test_threads_do_not_matter():
    X = blocks_of(*events(n=900))
    one, two = (ImplicitFM(16, n_jobs=n).fit(X).parameters_ for n in (1, 2))
    np.testing.assert_array_equal(one.items.codes, two.items.codes)
    np.testing.assert_array_equal(one.features.values, two.features.values)
    np.testing.assert_array_equal(one.users.gram, two.users.gram)


def test_fields_can_be_left_out(fitted):
    parameters = fitted.parameters_.without(["at", "user.club"])
    assert not parameters.said("at", {"daytime": table_of(np.eye(2))}).any()
    assert not parameters.said("user", {"club": table_of(np.eye(2))}).any()
    assert parameters.said("item", {"kind": table_of(np.eye(4))}).any()
    with pytest.raises(ValueError, match=r"'item\.kind' cannot be left out, only user\.club, at\.daytime"):
        fitted.parameters_.without(["item.kind"])


# Its parts


def test_vectors_of_contexts_solve_their_equations():
    rng = np.random.default_rng(2)
    users, items = rng.normal(size=(8, 5)).astype(np.float32), rng.normal(size=(12, 5)).astype(np.float32)
    gram, axes = own_axes(items, 1)
    items = items @ axes
    n, table = 60, np.array([[1, 0, 0.5], [0, 1, 0], [1, 1, -1]])
    values = np.where(rng.random(n) < 0.2, -1, 1) * rng.integers(1, 4, n)
    each = EventList(*(rng.integers(size, size=n).astype(np.int32) for size in (8, 12)), values.astype(np.float32),
                     rng.integers(3, size=n).astype(np.int32))  # fmt: skip
    each.items[:12] = np.arange(12)
    weights = EventWeights(0.3, 0.05)
    found = Contexts(each, table_of(table), (8, 12), 2.0).fit(users, items, gram, weights, None, 1, steps=60)
    e, y = np.abs(values).astype(float), (values > 0).astype(float)
    share = e / np.bincount(each.users, e, 8)[each.users]
    x, p, c = table[each.contexts], users[each.users].astype(float), items[each.items].astype(float)
    left, right = np.zeros((15, 15)), np.zeros(15)
    for k in range(n):
        z = np.kron(x[k], c[k])
        left += e[k] * np.outer(z, z)
        right += e[k] * (y[k] - p[k] @ c[k]) * z
        left += 0.3 * share[k] * np.kron(np.outer(x[k], x[k]), np.diag(gram))
        right -= 0.3 * share[k] * np.kron(x[k], gram * p[k])
    observed, asked = (np.einsum("i,ij->j", each_, x**2) for each_ in (e, share))
    left += np.kron(np.diag(2.0 * 0.05 * (observed + 0.3 * 12 * asked)), np.eye(5))
    np.testing.assert_allclose(found.ravel(), np.linalg.solve(left, right), atol=2e-4)


def test_an_intercept_is_one_more_feature():
    features = SideFeatures.with_intercept((table_of([[0, 2], [0, 0], [3, 1]]),))
    vectors = np.array([[1, 0], [0, 10], [100, 1000]], np.float32)
    np.testing.assert_array_equal(features.sums(vectors, 1), [[100, 1020], [100, 1000], [103, 1010]])


def test_events_of_a_pair_count_together_but_not_without_end():
    users, items = np.array([0] * 500 + [0, 1, 2]), np.array([0] * 500 + [1, 1, 0])
    data = EventData.of(blocks_of(users, items, features=False))
    assert data.events.by_user.toarray()[0, 0] == 100  # 100 times the median
    assert data.each is not None
    assert EventData.of(blocks_of(*events(n=1)[:2], features=False)).each is None


def test_repeats_are_learnt():
    rng = np.random.default_rng(3)
    favourites = rng.integers(N_ITEMS, size=(N_USERS, 3))
    users = np.repeat(np.arange(N_USERS), 20)
    items = np.where(
        rng.random(len(users)) < 0.8,
        favourites[users, rng.integers(3, size=len(users))],
        rng.integers(N_ITEMS, size=len(users)),
    )
    model = ImplicitFM(16, n_jobs=1).fit(blocks_of(users, items, features=False))
    assert model.settings_.repeat > 0
    assert model.parameters_.repeat > 0
    counts = sp.csr_matrix((np.ones(len(users), np.float32), (users, items)), shape=(N_USERS, N_ITEMS))
    found, _ = model.recommend(counts, 3, seen=True)
    assert (
        np.mean([len(set(a) & set(b)) / len(set(b)) for a, b in zip(found.tolist(), favourites.tolist(), strict=True)])
        > 0.8
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((Blocks(item=ONE), None), "expected Blocks with a block of users and one of items"),
        ((blocks_of([0], [0]), [np.nan]), "NaN or infinitely much"),
        ((blocks_of([0], [0]), [1, 2]), "how much each of the 1 events counts"),
        ((blocks_of([0], [0]), [-1]), "at least one event that counts for its item"),
        ((sp.identity(3), [1, 1, 1]), "give y with Blocks only"),
        ((Blocks(user=Block([0], {"history": [[0.5]]}), item=ONE), None), "a name that is taken"),
    ],
)  # fmt: skip
def test_what_cannot_be_fitted_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        ImplicitFM(8, n_jobs=1).fit(*given)


def test_too_many_targets_of_a_source_are_refused():
    dense = FeatureTable.of("S", np.ones((300, 300)) - np.eye(300))
    with pytest.raises(ValueError, match="a source has 299 targets; at most 255"):
        Neighbors.of(dense, 1.0)


def test_neighbours_outside_the_items_are_refused():
    neighbors = Neighbors.of(table_of([[0, 1, 0], [0, 0, 1], [0, 0, 0]]), 1.0)
    for targets, counts in (([[1], [3]], [1, 1, 0]), ([[1], [2]], [1, 1, 1])):
        damaged = Neighbors(np.array(counts, np.uint8), np.array(targets, np.uint8), neighbors.steps, 1.0)
        with pytest.raises(ValueError, match="neighbours do not lie within its items"):
            damaged.sums(table_of([[1, 0, 0]]))


def test_steps_of_others_are_kept_to():
    steps = Steps.of(np.array([4.0, 1.0]))
    more = steps.with_values(np.array([1, 2]), np.array([9.0, 2.0]), 3)
    np.testing.assert_allclose(more.values, [4, 4, 2])
    signed = Steps.of(np.array([-2.0, 1.0]))
    np.testing.assert_allclose(signed.values, [-2, 1])
    np.testing.assert_allclose(Steps.of(np.array([-1.0]), steps).values, [0])
    assert len(FeatureVectors.of(np.zeros((3, 2)))) == 3
