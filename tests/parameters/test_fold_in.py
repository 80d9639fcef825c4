"""Fold-in solves the least squares that it names, and finds the code that is nearest to the solution."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bitfm.core import unpack_codes
from bitfm.parameters.fold_in import Prior, Ratings, nearest_codes, prior_variance, solve

PRIOR = Prior(noise=0.5, weight=0.3, factor=0.2)
CODES = np.array(list(itertools.product([-1.0, 1.0], repeat=8)))


def opposite_side(rng, n=40, bits=8):
    return rng.normal(size=n), rng.normal(size=(n, bits)).astype(np.float32)


def ridge_by_rows(rows, left, prior=PRIOR):
    """Solve in the plainest way: rows of the prior below those of the data."""
    spread = np.sqrt(np.array([prior.weight] + [prior.factor] * (rows.shape[1] - 1)))
    stacked = np.concatenate([rows / np.sqrt(prior.noise), np.diag(1 / spread)])
    return np.linalg.lstsq(stacked, np.concatenate([left / np.sqrt(prior.noise), np.zeros(len(spread))]))[0]


def with_one(vectors):
    return np.concatenate([np.ones((len(vectors), 1)), vectors], axis=1)


def fresh(n):
    return np.full(n, np.nan)


def solved(rated, own_constant, own_vector, prior):
    """Solve for a single id; `rated` are values, constants, vectors and values before."""
    values, constants, vectors, before = rated
    n = len(values)
    ratings = Ratings(np.array([0, n]), np.arange(n, dtype=np.int32), values, before, constants, vectors)
    weights, found = solve(ratings, np.array([own_constant]), own_vector[None], prior)
    return np.concatenate([weights, found[0]])


def nearest_code(vector, hessian):
    codes, gains = nearest_codes(vector[None], hessian)
    return codes[0], gains[0]


@pytest.mark.parametrize("n", [0, 1, 5, 30])
def test_ratings_give_the_ridge_solution(n):
    rng = np.random.default_rng(n)
    constants, vectors = opposite_side(rng)
    at = rng.permutation(40)[:n]
    own, y = rng.normal(size=8).astype(np.float32), rng.normal(size=n)
    found = solved(
        (y, constants[at], vectors[at], fresh(n)),
        0.7,
        own,
        PRIOR,
    )
    expected = ridge_by_rows(with_one(vectors[at]), y - 0.7 - constants[at] - vectors[at] @ own)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_ratings_one_after_the_other_amount_to_all_at_once():
    rng = np.random.default_rng(3)
    constants, vectors = opposite_side(rng)
    y, own = rng.normal(size=12), rng.normal(size=8).astype(np.float32)
    at_once = ridge_by_rows(with_one(vectors[:12]), y - 0.4 - constants[:12] - vectors[:12] @ own)
    weight, vector = 0.0, np.zeros(8)
    for n_known, n in ((0, 2), (2, 3), (3, 7), (7, 12)):
        known = np.where(np.arange(n) < n_known, y[:n], np.nan)
        step = solved(
            (y[:n], constants[:n], vectors[:n], known),
            0.4 + weight,
            (own + vector).astype(np.float32),
            PRIOR,
        )
        weight, vector = weight + step[0], vector + step[1:]
    np.testing.assert_allclose(np.concatenate([[weight], vector]), at_once, atol=1e-5)


def test_a_rating_that_was_changed_pulls_by_its_change():
    rng = np.random.default_rng(4)
    constants, vectors = opposite_side(rng)
    y, nothing = rng.normal(size=9), np.zeros(8, np.float32)
    first = solved((y, constants[:9], vectors[:9], fresh(9)), 0.0, nothing, PRIOR)
    changed = y + np.where(np.arange(9) == 4, 2.0, 0.0)
    second = solved((changed, constants[:9], vectors[:9], y), first[0], first[1:].astype(np.float32), PRIOR)
    expected = ridge_by_rows(with_one(vectors[:9]), changed - constants[:9])
    np.testing.assert_allclose(first + second, expected, atol=1e-6)
    again = solved((y, constants[:9], vectors[:9], y), 0.3, nothing, PRIOR)
    np.testing.assert_array_equal(again, np.zeros(9))


def test_a_side_that_never_varied_stays_at_0():
    rng = np.random.default_rng(5)
    constants, vectors = opposite_side(rng)
    rated = rng.normal(size=9), constants[:9], vectors[:9], fresh(9)
    nothing = np.zeros(8, np.float32)
    np.testing.assert_array_equal(solved(rated, 0.0, nothing, Prior(0.5, 0.0, 0.0)), np.zeros(9))
    assert np.isfinite(solved(rated, 0.0, nothing, Prior(0.0, 1.0, 1.0))).all()  # no noise does no harm


@pytest.mark.parametrize("variance", [0.01, 0.3, 2.0])
def test_the_variance_before_the_ratings_is_found_again(variance):
    """Draw weights and noisy means of ratings, shrink them as a fit does, and ask where they came from."""
    rng = np.random.default_rng(0)
    noises = 0.8 / rng.integers(1, 40, size=20_000)
    means = rng.normal(scale=np.sqrt(variance), size=20_000) + rng.normal(size=20_000) * np.sqrt(noises)
    held = means * variance / (variance + noises)
    assert np.mean(held**2) < variance
    np.testing.assert_allclose(prior_variance(float(np.mean(held**2)), noises), variance, rtol=0.05)


def test_many_ratings_leave_the_variance_as_it_is():
    np.testing.assert_allclose(prior_variance(0.3, np.full(5, 1e-9)), 0.3, rtol=1e-6)
    assert prior_variance(0.0, np.ones(5)) == 0


# Codes


def seen_error(code, gain, vector, hessian):
    apart = gain * code - vector
    return apart @ hessian @ apart


def best_gain(code, vector, hessian):
    return max(code @ hessian @ vector / (code @ hessian @ code), 0)


@pytest.mark.parametrize("bits", [8, 32, 64])
def test_the_code_is_never_worse_than_signs_and_mean_length(bits):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(200, bits)) * rng.exponential(size=bits)
        hessian = (rows.T @ rows / 200).astype(np.float32)
        vector = rng.normal(size=bits).astype(np.float32)
        code, gain = nearest_code(vector, hessian)
        found = seen_error(unpack_codes(code[None])[0], float(gain), vector, hessian)
        start = seen_error(np.where(vector < 0, -1, 1), np.sqrt(np.mean(vector**2)), vector, hessian)
        assert found <= start * (1 + 1e-5)


def test_the_code_is_nearly_always_the_best_of_all():
    ratios = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(60, 8))
        hessian = (rows.T @ rows / 60).astype(np.float32)
        vector = rng.normal(size=8).astype(np.float32)
        least = min(seen_error(code, best_gain(code, vector, hessian), vector, hessian) for code in CODES)
        code, gain = nearest_code(vector, hessian)
        ratios.append(seen_error(unpack_codes(code[None])[0], float(gain), vector, hessian) / least)
    assert np.mean(np.array(ratios) < 1.001) >= 0.9
    assert np.mean(ratios) < 1.02


def test_the_gain_is_the_best_for_its_code():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 8))
    hessian = (rows.T @ rows / 60).astype(np.float32)
    vector = rng.normal(size=8).astype(np.float32)
    code, gain = nearest_code(vector, hessian)
    np.testing.assert_allclose(gain, best_gain(unpack_codes(code[None])[0], vector, hessian), rtol=1e-3)


def test_nothing_has_no_gain():
    code, gain = nearest_code(np.zeros(16, np.float32), np.eye(16, dtype=np.float32))
    assert gain == 0
    assert code.shape == (2,)
