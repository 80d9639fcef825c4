"""Procrustes and iterative quantization do what they promise."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from bitfm.models.progress import Progress

from bitfm_research.baselines._rotation import nearest_orthogonal, quantizing_rotation, random_rotation, signs_of


@pytest.mark.parametrize(("n", "k"), [(8, 8), (50, 8), (300, 24)])
def test_the_nearest_orthogonal_matrix_is_orthonormal_and_the_best(n, k):
    rng = np.random.default_rng(n)
    M = rng.normal(size=(n, k)) * rng.exponential(size=k)
    W = nearest_orthogonal(M)
    np.testing.assert_allclose(W.T @ W, np.eye(k), atol=1e-10)
    singular = np.linalg.svd(M, compute_uv=False)
    np.testing.assert_allclose(np.sum(W * M), singular.sum())  # the most there can be
    for _ in range(50):
        other, _ = np.linalg.qr(rng.normal(size=(n, k)))
        assert np.sum(other * M) < np.sum(W * M)
        nearby, _ = np.linalg.qr(W + 0.01 * rng.normal(size=(n, k)))
        assert np.sum(nearby * M) < np.sum(W * M)


def test_of_a_lower_rank_it_is_orthonormal_within():
    rng = np.random.default_rng(0)
    M = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 6))
    singular = np.linalg.svd(nearest_orthogonal(M), compute_uv=False)
    np.testing.assert_allclose(singular, [1, 1, 0, 0, 0, 0], atol=1e-6)
    np.testing.assert_array_equal(nearest_orthogonal(np.zeros((4, 3))), 0)


def test_a_random_rotation_is_orthogonal():
    Q = random_rotation(16, np.random.default_rng(0))
    np.testing.assert_allclose(Q @ Q.T, np.eye(16), atol=1e-12)


def test_each_iteration_of_the_rotation_lowers_the_error_and_keeps_all_products():
    rng = np.random.default_rng(3)
    V = rng.normal(size=(200, 16)) * np.linspace(2, 0.1, 16)
    progress = Progress(0, None)
    turned = quantizing_rotation(V, rng, 40, progress)
    errors = [item.objective for item in progress.history]
    assert len(errors) > 3
    assert all(after <= before * (1 + 1e-6) for before, after in itertools.pairwise(errors))
    scaled = V / np.sqrt(np.mean(V * V))
    np.testing.assert_allclose(turned @ turned.T, scaled @ scaled.T, atol=1e-3)
    np.testing.assert_allclose(errors[-1], np.sum((turned - signs_of(turned)) ** 2), rtol=1e-5)
    for seed in range(20):
        other = scaled @ random_rotation(16, np.random.default_rng(seed))
        assert np.sum((other - signs_of(other)) ** 2) > errors[-1]


def test_factors_that_are_turned_codes_are_found_again():
    rng = np.random.default_rng(5)
    codes = signs_of(rng.normal(size=(400, 8)))
    turned = quantizing_rotation(codes @ random_rotation(8, rng), rng, 200, Progress(0, None))
    np.testing.assert_allclose(np.abs(signs_of(turned).T @ codes).max(axis=0), 400)  # up to the order and the signs
