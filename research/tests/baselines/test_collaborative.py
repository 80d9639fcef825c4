"""Collaborative hashing: each step is the one it is said to be."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from bitfm import Block, Blocks
from scipy.linalg import hadamard

from bitfm_research.baselines import CollaborativeHashing
from bitfm_research.baselines._ids import IdRatings
from bitfm_research.baselines._rotation import nearest_orthogonal, signs_of
from bitfm_research.baselines.collaborative import best_codes, better_hash, start


@pytest.fixture
def state():
    rng = np.random.default_rng(0)
    R = sp.random(16, 12, 0.5, random_state=rng, data_rvs=rng.standard_normal, format="csr")
    return start(R, 8, rng)


def brute_force(B, state, weight):
    R = state.R.toarray()
    rebuilt = state.scale * B @ state.D.T
    far = np.sum((R @ state.W - B) ** 2) + np.sum((R.T @ state.Z - state.D) ** 2)
    return np.sum((R - rebuilt) ** 2) + weight * far


def test_the_objective_is_computed_without_the_whole_matrix(state):
    for weight in (0.0, 0.1, 5.0):
        np.testing.assert_allclose(state.objective(weight), brute_force(state.B, state, weight))
        state = state.next(weight)


def test_the_scale_is_the_minimum(state):
    R, rebuilt = state.R.toarray(), state.B @ state.D.T
    np.testing.assert_allclose(state.loss(), np.sum((R - state.scale * rebuilt) ** 2))
    for factor in (0.9, 0.99, 1.01, 1.1):
        assert np.sum((R - factor * state.scale * rebuilt) ** 2) > state.loss()


def test_signs_are_the_best_codes_where_the_other_side_is_decorrelated():
    rng = np.random.default_rng(1)
    k, n_items, weight, scale = 8, 16, 0.3, 0.2
    D = hadamard(n_items)[:, 1 : k + 1].astype(float)
    np.testing.assert_array_equal(D.T @ D, n_items * np.eye(k))
    R, W = rng.normal(size=(5, n_items)), nearest_orthogonal(rng.normal(size=(n_items, k)))

    def objective(b, row):
        return np.sum((row - scale * D @ b) ** 2) + weight * np.sum((row @ W - b) ** 2)

    linear = scale * (R @ D) + weight * (R @ W)
    found = best_codes(np.ones((5, k)), linear, scale, D)
    np.testing.assert_array_equal(found, signs_of(linear))
    for row, code in zip(R, found, strict=True):
        best = min(itertools.product((-1.0, 1.0), repeat=k), key=lambda b: objective(np.array(b), row))
        np.testing.assert_array_equal(code, best)


def test_the_start_is_nearly_the_singular_vectors(state):
    np.testing.assert_allclose(state.W.T @ state.W, np.eye(8), atol=1e-6)
    values = np.linalg.svd(state.R.toarray(), compute_uv=False)
    np.testing.assert_allclose(np.sum((state.R @ state.W) ** 2), np.sum(values[:8] ** 2), rtol=1e-6)
    np.testing.assert_allclose(np.sum(values[:8] ** 2), 8 * np.sqrt(16 * 12), rtol=1e-6)  # the size of the codes


def test_a_bit_is_the_best_given_the_others(state):
    weight = 0.3
    linear = state.scale * (state.R @ state.D) + weight * (state.R @ state.W)
    found = best_codes(state.B, linear, state.scale, state.D)
    codes = state.B.copy()
    for t in range(8):
        tried = {}
        for sign in (-1.0, 1.0):
            for row in range(16):
                other = codes.copy()
                other[row, t] = sign
                tried[row, sign] = brute_force(other, state, weight)
        codes[:, t] = [1.0 if tried[row, 1.0] <= tried[row, -1.0] else -1.0 for row in range(16)]
    np.testing.assert_array_equal(found, codes)


def test_a_better_hash_is_no_worse_and_orthonormal(state):
    W = nearest_orthogonal(np.random.default_rng(2).normal(size=(12, 8)))
    for _ in range(20):
        before, W = W, better_hash(W, state.R.T @ state.B, state.R.T @ (state.R @ W), state.most)
        np.testing.assert_allclose(W.T @ W, np.eye(8), atol=1e-8)
        assert np.sum((state.R @ W - state.B) ** 2) <= np.sum((state.R @ before - state.B) ** 2) + 1e-9


@pytest.mark.parametrize("weight", [1e-3, 0.1, 1.0, 100.0])
def test_the_objective_never_rises(rated, weight):
    values = [item.objective for item in CollaborativeHashing(32, hash_weight=weight, tol=0.0).fit(*rated).fit_log_]
    assert len(values) > 2
    assert all(after <= before * (1 + 1e-9) for before, after in itertools.pairwise(values))


def test_several_ratings_of_a_pair_count_as_their_mean():
    users, items, y = [0, 1, 0, 1, 0], [0, 0, 1, 1, 0], np.array([1.0, 5.0, 2.0, 4.0, 3.0])
    X = Blocks(user=Block(users, {"id": sp.identity(2)}), item=Block(items, {"id": sp.identity(3)}))
    matrix = IdRatings.of(X, y, "test").matrix(y)
    np.testing.assert_array_equal(matrix.toarray(), [[2, 2, 0], [5, 4, 0]])


@pytest.mark.parametrize(("name", "value"), [("hash_weight", 0.0), ("hash_weight", -1), ("max_iter", 0), ("tol", -1)])
def test_settings_are_checked(rated, name, value):
    with pytest.raises(ValueError, match=f"{name} must be"):
        CollaborativeHashing(8, **{name: value}).fit(*rated)
