"""Factors of one length, and codes of their phases."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from bitfm.models.progress import Progress

from bitfm_research.baselines import PPH
from bitfm_research.baselines._ids import IdRatings
from bitfm_research.baselines.pph import length_column, phase_codes, sector_codes

# Factors


@pytest.mark.parametrize("weight", [1e-3, 1.0, 1e3])
def test_a_column_of_constant_length_is_the_minimum(weight):
    rng = np.random.default_rng(0)
    n = 300
    num, den, others = rng.normal(size=n) * 3, rng.exponential(size=n), rng.exponential(size=n)
    others[:100] = 0.1 * rng.random(100)  # several roots
    num[:20], den[:10] = 0, 0
    v = length_column(num, den, others, rng.normal(size=n), weight)

    def objective(x):
        return den * x * x - 2 * num * x + weight * (x * x + others - 1) ** 2

    reach = 1.5 * np.abs(v).max() + 2
    for x in np.linspace(-reach, reach, 4001):
        assert (objective(x) >= objective(v) - 1e-9 * (1 + np.abs(objective(v)))).all()
    gradient = den * v - num + 2 * weight * v * (v * v + others - 1)
    np.testing.assert_allclose(gradient / (den + weight + np.abs(num)), 0, atol=1e-8)


def test_what_is_not_told_keeps_its_side():
    zero, old = np.zeros(2), np.array([0.3, -0.3])
    np.testing.assert_allclose(length_column(zero, zero, zero, old, 1.0), [1, -1])
    np.testing.assert_array_equal(length_column(zero, zero, np.ones(2), old, 1.0), 0)


@pytest.mark.parametrize("length", [0.01, 1.0, 100.0])
def test_the_objective_never_rises(rated, length):
    values = [item.objective for item in PPH(32, length=length, n_iter=30, tol=0.0).fit(*rated).fit_log_]
    assert len(values) > 5
    assert all(after <= before * (1 + 1e-9) for before, after in itertools.pairwise(values))


def test_a_strong_pull_makes_all_factors_as_long(rated):
    X, y = rated
    factors = PPH(length=1e4, n_iter=30)._factors(
        IdRatings.of(X, y, "test"), 8, np.random.default_rng(0), Progress(0, None)
    )
    np.testing.assert_allclose(np.linalg.norm(factors, axis=1), 1, atol=0.01)


# Codes


@pytest.mark.parametrize("n_bits", [1, 2, 3, 7])
def test_codes_of_sectors_are_as_far_apart_as_the_sectors(n_bits):
    codes = sector_codes(n_bits)
    n = 2 * n_bits
    assert codes.shape == (n, n_bits)
    for a, b in itertools.product(range(n), repeat=2):
        around = min((a - b) % n, (b - a) % n)
        assert np.sum(codes[a] != codes[b]) == around


def test_points_are_coded_by_sector_and_magnitude():
    angles = np.deg2rad([10, 70, 130, 190, 250, 310, 359.999999])
    points = np.column_stack([np.cos(angles), np.sin(angles)]) * np.array([1, 2, 3, 4, 5, 6, 7])[:, None]
    factors = np.tile(points, 2)  # two pairs of factors fill a byte
    bits = np.unpackbits(phase_codes(factors, 3), axis=1, bitorder="little")
    expected = np.vstack([sector_codes(3), sector_codes(3)[5]])
    np.testing.assert_array_equal(bits[:, :3], expected)
    np.testing.assert_array_equal(bits[:, 3], [0, 0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(bits[:, 4:], bits[:, :4])


def test_points_at_the_origin_have_codes():
    np.testing.assert_array_equal(phase_codes(np.zeros((3, 4)), 3), 0)
    np.testing.assert_array_equal(
        phase_codes(np.full((3, 4), -0.0), 3), np.full((3, 1), phase_codes(np.full((1, 4), -0.0), 3))
    )


@pytest.mark.parametrize("phase_bits", [1, 3, 7])
@pytest.mark.parametrize("bits", [8, 24])
def test_phases_and_magnitudes_fill_the_code(rated, phase_bits, bits):
    model = PPH(bits, phase_bits=phase_bits).fit(*rated)
    assert model.codes_.shape == (90, bits // 8)


@pytest.mark.parametrize(("name", "value"), [("phase_bits", 2), ("phase_bits", 0), ("length", 0.0), ("n_iter", 0)])
def test_settings_are_checked(rated, name, value):
    with pytest.raises(ValueError, match=f"{name} must be"):
        PPH(8, **{name: value}).fit(*rated)
