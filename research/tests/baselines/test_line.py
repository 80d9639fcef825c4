"""From inner products to scores."""

from __future__ import annotations

import numpy as np
import pytest

from bitfm_research.baselines.id_codes import _exact, least_squares_line


def test_the_line_is_that_of_least_squares():
    rng = np.random.default_rng(0)
    products = 2.0 * rng.integers(-8, 9, 100)
    y = 3 + 0.1 * products + rng.normal(size=100)
    slope, bias = np.polyfit(products, y, 1)
    np.testing.assert_allclose(least_squares_line(y, products), (bias, slope))


@pytest.mark.parametrize("case", ["falling", "constant products", "constant targets", "nothing"])
def test_a_line_that_does_not_rise_is_faint(case):
    products, y = np.array([-2.0, 0.0, 2.0]), np.array([5.0, 3.0, 1.0])
    if case == "constant products":
        products = np.full(3, 4.0)
    if case in ("constant targets", "nothing"):
        y = np.full(3, 3.0 if case == "constant targets" else 0.0)
    bias, slope = least_squares_line(y, products)
    assert 0 < slope < 1e-3
    np.testing.assert_allclose(np.mean(bias + slope * products), np.mean(y), atol=1e-12)


@pytest.mark.parametrize("bits", [8, 64, 512])
@pytest.mark.parametrize("slope", [1e-30, 3e-7, 0.0123456789, 0.7, 1e20])
@pytest.mark.parametrize("bias", [0.0, 3.3333, -1e-3])
def test_sums_in_single_precision_are_exact(bits, slope, bias):
    bias, user, item = _exact(bias, slope, bits)
    assert user > 0 < item
    single = np.float32(user) * np.float32(item)
    assert float(single) == user * item
    steps = np.random.default_rng(0).choice([-1, 1], bits)
    total = np.float32(bias)
    for step in steps:
        total += np.float32(step) * single
    assert float(total) == bias + user * item * steps.sum()


def test_rounding_changes_little():
    bias, user, item = _exact(3.3333, 0.0123456789, 64)
    np.testing.assert_allclose([bias, user * item], [3.3333, 0.0123456789], rtol=1e-4)
    assert 0.5 < user / item < 2


@pytest.mark.parametrize("slope", [1e-90, 1e90])
def test_slopes_beyond_single_precision_are_refused(slope):
    with pytest.raises(ValueError, match="scale it"):
        _exact(0.0, slope, 8)
