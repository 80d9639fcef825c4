"""Fits to events in the core: rows, level codes and neighbours, against the same computed the long way."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from bitfm import core
from bitfm.core import (
    encode_levels,
    event_scores,
    find_neighbors,
    improve_rows,
    level_magnitudes,
    solve_rows,
    vector_sums,
)

WIDTHS = (1, 7, 16, 37)


@pytest.fixture(params=core.available_isas())
def isa(request):
    before = core.isa()
    core.use_isa(request.param)
    yield request.param
    core.use_isa(before)


def events(rng, n_rows, n_others, density=0.3, dislikes=True):
    """Rows × others: weights, some below 0; the first row is empty and the second full."""
    matrix = rng.uniform(0.2, 3, (n_rows, n_others)) * (rng.random((n_rows, n_others)) < density)
    matrix[0], matrix[1] = 0, rng.uniform(0.2, 3, n_others)
    if dislikes:
        matrix *= np.where(rng.random(matrix.shape) < 0.2, -1, 1)
    return sp.csr_matrix(matrix.astype(np.float32))


def arrays(matrix):
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float32)


def problem(width, n_rows=9, n_others=50, seed=0):
    rng = np.random.default_rng(seed)
    X = events(rng, n_rows, n_others)
    other, unobserved = (
        rng.normal(size=(n_others, width)).astype(np.float32),
        rng.uniform(0, 2, width).astype(np.float32),
    )
    ridge, prior = rng.uniform(0.5, 2, n_rows).astype(np.float32), rng.normal(size=(n_rows, width)).astype(np.float32)
    return X, other, unobserved, ridge, prior


def solved_the_long_way(X, other, unobserved, ridge, prior):
    """Rows and leverages by dense equations in double precision."""
    rows, leverages = [], []
    for u in range(X.shape[0]):
        row = X[u]
        c, e, y = other[row.indices].astype(float), np.abs(row.data).astype(float), (row.data > 0).astype(float)
        A = np.diag(unobserved.astype(float) + ridge[u]) + c.T @ (e[:, None] * c)
        rows.append(np.linalg.solve(A, c.T @ (e * y) + ridge[u] * prior[u]) if len(c) else prior[u])
        leverages.append(e * np.einsum("ij,ij->i", c, np.linalg.solve(A, c.T).T))
    return np.array(rows), np.concatenate(leverages)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("with_prior", [True, False])
def test_rows_are_the_least_squares_solution(width, with_prior):
    X, other, unobserved, ridge, prior = problem(width)
    out, leverage = np.empty((9, width), np.float32), np.empty(X.nnz, np.float32)
    solve_rows(*arrays(X), other, unobserved, ridge, prior if with_prior else None, out, leverage, 1)
    expected, leverages = solved_the_long_way(X, other, unobserved, ridge, prior * with_prior)
    np.testing.assert_allclose(out, expected, atol=2e-4)
    np.testing.assert_allclose(leverage, leverages, atol=2e-4)


def test_a_leverage_tells_the_prediction_without_the_event():
    X, other, unobserved, ridge, prior = problem(16)
    out, leverage = np.empty((9, 16), np.float32), np.empty(X.nnz, np.float32)
    solve_rows(*arrays(X), other, unobserved, ridge, prior, out, leverage, 1)
    row = 2
    for s in range(X.indptr[row], X.indptr[row + 1]):
        rest = X.tolil(copy=True)
        rest[row, X.indices[s]] = 0
        without = np.empty_like(out)
        solve_rows(*arrays(rest.tocsr()), other, unobserved, ridge, prior, without, None, 1)
        plain, y = out[row] @ other[X.indices[s]], float(X.data[s] > 0)
        held_out = (plain - leverage[s] * y) / (1 - leverage[s])
        assert held_out == pytest.approx(without[row] @ other[X.indices[s]], abs=2e-3)


def test_a_row_without_events_is_its_prior():
    X, other, unobserved, ridge, prior = problem(16)
    out = np.empty((9, 16), np.float32)
    solve_rows(*arrays(X), other, unobserved, ridge, prior, out, None, 1)
    np.testing.assert_array_equal(out[0], prior[0])
    improve_rows(*arrays(X), other, unobserved, ridge, prior, 2, out, 1)
    np.testing.assert_array_equal(out[0], prior[0])


@pytest.mark.parametrize("width", WIDTHS)
def test_conjugate_gradients_reach_the_solution_and_every_step_lowers_the_objective(width):
    X, other, unobserved, ridge, prior = problem(width)
    exact, _ = solved_the_long_way(X, other, unobserved, ridge, prior)
    before = np.inf
    for steps in (0, 1, 2, 3, 60):
        out = np.zeros((9, width), np.float32)
        improve_rows(*arrays(X), other, unobserved, ridge, prior, steps, out, 1)
        dense, seen = X.toarray(), X.toarray() != 0
        errors = np.abs(dense) * ((dense > 0) - out @ other.T) ** 2 * seen
        objective = errors.sum() + (out[1:] ** 2 * unobserved).sum()
        objective += (ridge[1:, None] * (out[1:] - prior[1:]) ** 2).sum()
        assert objective <= before * (1 + 1e-5)
        before = objective
    np.testing.assert_allclose(out, exact, atol=2e-3)


def test_rows_are_the_same_everywhere(isa):
    X, other, unobserved, ridge, prior = problem(37, n_rows=60)
    results = []
    for threads in (1, 3):
        out, leverage = np.empty((60, 37), np.float32), np.empty(X.nnz, np.float32)
        solve_rows(*arrays(X), other, unobserved, ridge, prior, out, leverage, threads)
        close = np.zeros_like(out)
        improve_rows(*arrays(X), other, unobserved, ridge, prior, 3, close, threads)
        sums = vector_sums(*arrays(X), other, threads)
        results.append([out, leverage, close, sums, event_scores(*arrays(X), out, other, threads)])
    core.use_isa("portable")
    reference = [np.empty((60, 37), np.float32), np.empty(X.nnz, np.float32), np.zeros((60, 37), np.float32)]
    solve_rows(*arrays(X), other, unobserved, ridge, prior, *reference[:2], 1)
    improve_rows(*arrays(X), other, unobserved, ridge, prior, 3, reference[2], 1)
    reference += [vector_sums(*arrays(X), other), event_scores(*arrays(X), reference[0], other)]
    for result in results:
        for one, other_one in zip(result, reference, strict=True):
            np.testing.assert_array_equal(one, other_one)


def test_sums_and_scores_are_products():
    X, other, *_ = problem(16)
    rows = np.random.default_rng(1).normal(size=(9, 16)).astype(np.float32)
    np.testing.assert_allclose(vector_sums(*arrays(X), other), X @ other, rtol=1e-4, atol=1e-4)
    expected = np.einsum("ij,ij->i", rows[X.tocoo().row], other[X.indices])
    np.testing.assert_allclose(event_scores(*arrays(X), rows, other), expected, rtol=1e-4, atol=1e-4)


# Codes


def levels_of(bits):
    signs = itertools.product((-1, 1), repeat=bits)
    return np.sort([float(np.dot(each, level_magnitudes(bits))) for each in signs])


def encoding(n_dimensions, bits, seed=0, n_items=6, n_users=12, rank=5):
    """Return the arguments of encode_levels, and the metric and the teacher of each item in double precision."""
    rng = np.random.default_rng(seed)
    X = events(rng, n_items, n_users, dislikes=False)
    users, items = (
        rng.normal(size=(n_users, rank)).astype(np.float32),
        rng.normal(size=(n_items, rank)).astype(np.float32),
    )
    decoder, ridge = rng.normal(size=(n_dimensions + 1, rank)), rng.uniform(0.5, 1, n_items)
    unobserved = 0.1 * users.astype(float).T @ users
    single = [np.ascontiguousarray(each, np.float32) for each in (
        users, items, users @ decoder.T, items @ decoder.T, items @ unobserved @ decoder.T,
        decoder @ unobserved @ decoder.T, decoder @ decoder.T, ridge,
    )]  # fmt: skip
    metrics = [
        unobserved
        + users[X[j].indices].astype(float).T @ (X[j].data[:, None] * users[X[j].indices])
        + ridge[j] * np.eye(rank)
        for j in range(n_items)
    ]
    return [*arrays(X), *single, np.full(n_dimensions, bits, np.int32)], metrics, items.astype(float), decoder


def distances(levels, gains, weights, metrics, teacher, decoder):
    vectors = weights[:, None] * decoder[0] + gains[:, None] * (levels @ decoder[1:])
    return np.array([(c - v) @ A @ (c - v) for c, v, A in zip(vectors, teacher, metrics, strict=True)])


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_every_round_brings_codes_nearer_to_the_teacher(bits):
    given, metrics, teacher, decoder = encoding(8, bits)
    rng = np.random.default_rng(3)
    levels = rng.choice(levels_of(bits), size=(6, 8)).astype(np.float32)
    gains, weights = np.full(6, 0.3, np.float32), np.zeros(6, np.float32)
    before, objective = distances(levels, gains, weights, metrics, teacher, decoder), np.empty(6)
    constants = None
    for _ in range(6):
        encode_levels(*given, 1, levels, gains, weights, objective, 1)
        now = distances(levels.astype(float), gains.astype(float), weights.astype(float), metrics, teacher, decoder)
        assert (now <= before + 1e-4 * np.abs(before)).all()
        constants = now - objective if constants is None else constants
        np.testing.assert_allclose(now - objective, constants, atol=2e-3)  # what it says is the distance
        before = now
    assert np.isin(levels.round(4), levels_of(bits).astype(np.float32).round(4)).all()
    assert (gains >= 0).all()


def test_no_single_level_could_be_better():
    given, metrics, teacher, decoder = encoding(6, 2)
    levels = np.random.default_rng(3).choice(levels_of(2), size=(6, 6)).astype(np.float32)
    gains, weights, objective = np.full(6, 0.3, np.float32), np.zeros(6, np.float32), np.empty(6)
    encode_levels(*given, 50, levels, gains, weights, objective, 1)
    best = distances(levels, gains, weights, metrics, teacher, decoder)
    for dimension, level in itertools.product(range(6), levels_of(2)):
        other = levels.copy()
        other[:, dimension] = level
        assert (distances(other, gains, weights, metrics, teacher, decoder) >= best - 1e-4).all()


def test_codes_are_the_same_everywhere(isa):
    given, *_ = encoding(24, 2, n_items=40, n_users=30)
    start = np.random.default_rng(3).choice(levels_of(2), size=(40, 24)).astype(np.float32)

    def run(threads):
        levels, gains, weights = start.copy(), np.full(40, 0.3, np.float32), np.zeros(40, np.float32)
        encode_levels(*given, 3, levels, gains, weights, objective := np.empty(40), threads)
        return levels, gains, weights, objective

    one, three = run(1), run(3)
    core.use_isa("portable")
    for result in zip(one, three, run(1), strict=True):
        np.testing.assert_array_equal(result[0], result[1])
        np.testing.assert_array_equal(result[0], result[2])


# Neighbours


def neighbor_problem(n_users=40, n_items=12, seed=0, rank=4):
    rng = np.random.default_rng(seed)
    X = sp.csr_matrix((rng.random((n_users, n_items)) < 0.35).astype(np.float32))
    users, items = (rng.normal(0, 0.4, size=(n, rank)).astype(np.float32) for n in X.shape)
    plain = (users @ items.T).astype(np.float32)
    held_out = plain - np.float32(0.05)
    return X, users, items, plain, held_out


def found(X, users, items, plain, held_out, m, candidates=64, a=0.4, ridge=2.0, beta=0.7, threads=1):
    Xt = X.T.tocsr()
    entries = Xt.tocoo()
    sums = np.ascontiguousarray(Xt @ users, np.float32)
    out = np.empty((X.shape[1], m), np.int32), np.empty((X.shape[1], m), np.float32)
    lists = [plain_part[entries.col, entries.row] for plain_part in (held_out, plain)]
    find_neighbors(
        *arrays(Xt), *lists, *arrays(X)[:2], *arrays(Xt)[:2], items, sums, a, ridge, beta, candidates, *out, threads
    )
    return out


def test_neighbours_are_the_ridge_regression_over_all_users():
    X, users, items, plain, held_out = neighbor_problem()
    m = 11  # all others, so that nothing but those that are not above 0 is cut
    neighbors, values = found(X, users, items, plain, held_out, m)
    dense, a, ridge, beta = X.toarray().astype(float), 0.4, 2.0, 0.7
    assert (neighbors >= 0).any()
    for j in range(X.shape[1]):
        kept = neighbors[j][neighbors[j] >= 0]
        assert j not in kept
        if not len(kept):
            continue
        w = np.where(dense[:, j] > 0, 1, a)
        target = dense[:, j] - beta * np.where(dense[:, j] > 0, held_out[:, j], plain[:, j])
        x = dense[:, kept]
        expected = np.linalg.solve(x.T @ (w[:, None] * x) + ridge * np.eye(len(kept)), x.T @ (w * target))
        np.testing.assert_allclose(values[j][: len(kept)], expected, atol=2e-4)
        assert (expected > 0).all()


def test_there_are_no_more_than_asked_for_and_the_largest_come_first():
    neighbors, values = found(*neighbor_problem(n_users=80, n_items=20), 3)
    assert neighbors.shape == (20, 3)
    assert (np.diff(values, axis=1) <= 0).all()
    assert ((neighbors >= 0) == (values > 0)).all()


def test_neighbours_are_the_same_everywhere(isa):
    problem = neighbor_problem(n_users=100, n_items=70)
    one, three = found(*problem, 4), found(*problem, 4, threads=3)
    core.use_isa("portable")
    for result in zip(one, three, found(*problem, 4), strict=True):
        np.testing.assert_array_equal(result[0], result[1])
        np.testing.assert_array_equal(result[0], result[2])


# Whatever the caller passes


def test_what_does_not_fit_is_refused():
    X, other, unobserved, ridge, prior = problem(16)
    start, index, value = arrays(X)
    out = np.empty((9, 16), np.float32)
    bad = {
        "rows' starts": (start[:-1], index, value, other, unobserved, ridge, prior, out, None),
        "starts must rise": (start[::-1].copy(), index, value, other, unobserved, ridge, prior, out, None),
        "there is not": (start, index + 45, value, other, unobserved, ridge, prior, out, None),
        "one value per event": (start, index, value[1:], other, unobserved, ridge, prior, out, None),
        "other than 0": (start, index, value * 0, other, unobserved, ridge, prior, out, None),
        "finite numbers": (start, index, value * np.float32(np.nan), other, unobserved, ridge, prior, out, None),
        "as many dimensions": (start, index, value, other, unobserved[1:], ridge, prior, out, None),
        "ridges": (start, index, value, other, unobserved, ridge * 0, prior, out, None),
        "one prior": (start, index, value, other, unobserved, ridge, prior[1:], out, None),
        "one leverage": (start, index, value, other, unobserved, ridge, prior, out, np.empty(3, np.float32)),
        "from 0 up": (start, index, value, other, -unobserved - 1, ridge, prior, out, None),
    }
    for message, arguments in bad.items():
        with pytest.raises(ValueError, match=message):
            solve_rows(*arguments, 1)
    with pytest.raises(ValueError, match="one per row and one more"):
        solve_rows(start[:0], index, value, other, unobserved, ridge, prior, out, None, 1)


def test_codes_and_neighbours_that_do_not_fit_are_refused():
    given, *_ = encoding(6, 2)
    codes = [np.zeros((6, 6), np.float32), np.ones(6, np.float32), np.zeros(6, np.float32), np.empty(6)]
    for place, message in (
        (3, "fit together"),
        (4, "fit together"),
        (8, "fit together"),
        (10, "ridge"),
        (11, "one code"),
    ):
        broken = list(given)
        broken[place] = given[place][1:]
        with pytest.raises(ValueError, match=message):
            encode_levels(*broken, 1, *codes, 1)
    with pytest.raises(ValueError, match="1 to 4 bits"):
        encode_levels(*given[:-1], np.full(6, 9, np.int32), 1, *codes, 1)
    with pytest.raises(ValueError, match="1 to 4 bits"):
        level_magnitudes(0)
    X, users, items, plain, held_out = neighbor_problem()
    with pytest.raises(ValueError, match="candidates"):
        found(X, users, items, plain, held_out, 3, candidates=0)
    with pytest.raises(ValueError, match="above 0"):
        found(X, users, items, plain, held_out, 3, ridge=float("nan"))
    with pytest.raises(ValueError, match="one vector and one sum"):
        found(X, users, items[:, :2].copy(), plain, held_out, 3)


def test_numbers_that_overflow_give_no_numbers_and_no_crash():
    X, other, unobserved, ridge, prior = problem(16)
    out = np.empty((9, 16), np.float32)
    solve_rows(*arrays(X), other * np.float32(1e30), unobserved, ridge, prior, out, None, 1)
    assert np.isnan(out[1]).all()


def test_neighbours_whose_effects_are_not_numbers_come_last():
    """Of 40 candidates with effects of 1e20, every second varies by 1e20² × 0; a sort cannot place what that is."""
    n = 40
    histories = [[0, other] for other in range(1, n + 1)] + [[other] for other in range(2, n + 1, 2)]
    X = sp.csr_matrix([[float(item in history) for item in range(n + 1)] for history in histories], dtype=np.float32)
    start = np.full(n + 2, n, np.int64)
    start[0] = 0
    of_events = start, np.arange(n, dtype=np.int32), np.full(n, 1e-30, np.float32)
    plain, none = np.linspace(9e20, 1e20, n, dtype=np.float32), np.zeros((n + 1, 1), np.float32)
    neighbors, values = np.empty((n + 1, 3), np.int32), np.empty((n + 1, 3), np.float32)
    sets = *arrays(X)[:2], *arrays(X.T.tocsr())[:2]
    find_neighbors(*of_events, plain * 0, plain, *sets, none, none, 0.5, 1.0, 1.0, 4096, neighbors, values, 1)
    assert neighbors[0].tolist() == [2, 4, 6]
