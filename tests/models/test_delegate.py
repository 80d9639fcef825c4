"""The D-subproblem."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitfm import _core
from bitfm.core import nearest_delegate, pack_signs, unpack_codes


def solve(values):
    found = nearest_delegate(values, np.random.default_rng(0))
    return found.matrix, found.trace


def constraints_hold(D, tolerance=1e-4):
    n, k = D.shape
    D = D.astype(np.float64)
    return np.abs(D.sum(axis=0)).max() < tolerance * n and np.abs(D.T @ D - n * np.eye(k)).max() < tolerance * n


def random_feasible(n, k, rng):
    Q, _ = np.linalg.qr(np.column_stack([np.ones(n), rng.normal(size=(n, k))]))
    rotation, _ = np.linalg.qr(rng.normal(size=(k, k)))
    return np.sqrt(n) * Q[:, 1:] @ rotation


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(10, 80), codes=st.booleans())
def test_it_is_feasible_and_beats_every_random_feasible_matrix(seed, n, codes):
    rng = np.random.default_rng(seed)
    B = rng.choice([-1.0, 1.0], (n, 8)) if codes else rng.normal(size=(n, 8)) + rng.normal(size=8)
    D, trace = solve(pack_signs(B) if codes else B)
    assert constraints_hold(D)
    assert trace == pytest.approx((B * D).sum(), rel=1e-4)
    for _ in range(20):
        assert (B * random_feasible(n, 8, rng)).sum() <= trace + 1e-3


@pytest.mark.parametrize("n_distinct", [0, 1, 3, 7])
def test_rank_deficient_codes_are_completed(n_distinct):
    rng = np.random.default_rng(1)
    n, k = 50, 8
    B = np.ones((n, k))
    B[:, :n_distinct] = rng.choice([-1.0, 1.0], (n, n_distinct))
    if n_distinct == 3:
        B[:, 5] = -B[:, 0]  # dependent columns, not just constant ones
    D, trace = solve(pack_signs(B))
    assert constraints_hold(D)
    assert trace == pytest.approx((B * D).sum(), rel=1e-4, abs=1e-2)
    for _ in range(50):
        assert (B * random_feasible(n, k, rng)).sum() <= trace + 1e-2


@pytest.mark.parametrize("n", [1, 2, 5, 8, 9])
def test_fewer_features_than_bits_give_what_can_be_had(n):
    D, trace = solve(np.random.default_rng(2).normal(size=(n, 8)))
    assert np.isfinite(D).all()
    assert np.isfinite(trace)
    assert np.abs(D.sum(axis=0)).max() < 1e-3
    singular = np.linalg.svd(D.astype(float), compute_uv=False)
    assert np.allclose(singular[: n - 1][:8], np.sqrt(n), atol=1e-3)


@pytest.mark.parametrize("n", [63, 64, 65, 4096, 9000])
@pytest.mark.parametrize("isa", _core.available_isas())
def test_the_passes_over_features_are_exact_at_any_size(n, isa):
    """Moments against NumPy, and the same bytes at any number of threads and on every instruction set."""
    values = np.random.default_rng(3).normal(size=(n, 13))
    used = _core.isa()
    results = []
    try:
        for name, threads in (("portable", 1), (isa, 1), (isa, 3)):
            _core.use_isa(name)
            mean, gram, D = np.empty(13), np.empty((13, 13)), np.empty((n, 13), np.float32)
            _core.moments(values, mean, gram, threads)
            _core.map_features(values, mean, gram, D, threads)
            results.append((mean.tobytes(), gram.tobytes(), D.tobytes()))
    finally:
        _core.use_isa(used)
    np.testing.assert_allclose(mean, values.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(gram, values.T @ values, atol=1e-9)
    np.testing.assert_allclose(D, (values - mean) @ gram, rtol=1e-5, atol=1e-3)
    assert results[0] == results[1] == results[2]


def test_packing_and_unpacking():
    values = np.array([[0.0, -1.0, 2.0, -3.0, 4.0, 5.0, -6.0, 7.0]])
    codes = pack_signs(values)
    assert codes.tolist() == [[0b10110101]]
    np.testing.assert_array_equal(unpack_codes(codes), [[1, -1, 1, -1, 1, 1, -1, 1]])
