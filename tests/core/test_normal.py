"""Random numbers by counter: normal, independent, and the same however they are asked for."""

from __future__ import annotations

import numpy as np
import pytest

from bitfm import _core

N = 400_000
SEEDS = [0, 1, 2**63 - 1, 2**64 - 1]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_numbers_have_the_moments_of_a_standard_normal(seed):
    x = _core.normal(seed, 0, N).astype(np.float64)
    for power, moment in ((1, 0), (2, 1), (3, 0), (4, 3), (6, 15)):
        error = np.std(x**power) / np.sqrt(N)
        assert abs(np.mean(x**power) - moment) < 5 * error
    assert np.abs(x).max() < 7
    for threshold, share in ((1, 0.3173105), (2, 0.0455003), (3, 0.0026998)):
        assert np.mean(np.abs(x) > threshold) == pytest.approx(share, abs=5 * np.sqrt(share / N))


def correlation(a, b):
    return np.mean(a.astype(np.float64) * b)


@pytest.mark.parametrize("seed", SEEDS)
def test_neighbouring_places_and_seeds_are_not_correlated(seed):
    x = _core.normal(seed, 0, N)
    limit = 5 / np.sqrt(N)
    for lag in (1, 2, 3, 8, 16, 1024):
        assert abs(correlation(x[:-lag], x[lag:])) < limit
        assert abs(correlation(x[:-lag] ** 2 - 1, x[lag:] ** 2 - 1)) < 2 * limit  # of variance 2 each
    for other in ((seed + 1) % 2**64, seed ^ 2**32):
        assert abs(correlation(x, _core.normal(other, 0, N))) < limit
    assert abs(correlation(x[::2], x[1::2])) < 2 * limit  # the two of a pair


@pytest.mark.parametrize("sizes", [[2] * 500, [1000], [334, 332, 334], [998, 2], [0, 1000]], ids=str)
def test_the_numbers_do_not_depend_on_the_chunks(sizes):
    first = 2**40
    edges = first + np.cumsum([0, *sizes])
    parts = [_core.normal(7, int(start), size) for start, size in zip(edges, sizes, strict=False)]
    np.testing.assert_array_equal(np.concatenate(parts), _core.normal(7, first, 1000))


def test_an_odd_number_of_places_ends_early():
    np.testing.assert_array_equal(_core.normal(7, 10, 5), _core.normal(7, 10, 6)[:5])
    assert _core.normal(7, 10, 0).shape == (0,)


@pytest.mark.parametrize("arguments", [(0, 1, 4), (0, -2, 4), (0, 0, -1), (-1, 0, 4), (2**64, 0, 4), (0, 0, 2**62)])
def test_places_that_are_none_are_refused(arguments):
    with pytest.raises((ValueError, TypeError, MemoryError)):
        _core.normal(*arguments)


def mix(x):
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pair_is_a_radius_and_an_angle(seed):
    """As far as float32 tells radius and angle apart from those of exact functions."""
    key = mix(mix(np.array([seed], np.uint64)))
    bits = mix(key ^ mix(np.arange(0, N, 2, dtype=np.uint64)))
    length, turn = (bits >> np.uint64(33)).astype(float), (bits & np.uint64(0x7FFFFFFF)).astype(float)
    radius = np.sqrt(-2 * np.log((length + 0.5) / 2**31))
    angle = 2 * np.pi * ((turn + 0.5) / 2**31 - 1 / 8)
    expected = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    got = _core.normal(seed, 0, N).reshape(-1, 2)
    # Close to radius 0 the logarithm of a float near 1 is coarse; such pairs are rare, and small anyway.
    np.testing.assert_allclose(got, expected, atol=3e-4)
    assert np.mean(np.abs(got - expected)) < 1e-6


def test_every_instruction_set_gives_the_same_numbers():
    used = _core.isa()
    try:
        found = {}
        for name in _core.available_isas():
            _core.use_isa(name)
            found[name] = [_core.normal(seed, 2 * seed % 1000, 4097).tobytes() for seed in range(50)]
    finally:
        _core.use_isa(used)
    assert all(numbers == found["portable"] for numbers in found.values())
