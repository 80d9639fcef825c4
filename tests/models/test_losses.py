"""Losses: the quadratic that a sweep lowers is never below the loss, touches it, and has its slope there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from bitfm.models.losses import LOSSES, register_loss

numbers = st.floats(-50, 50)
probabilities = st.floats(0, 1)


@pytest.fixture(params=LOSSES, scope="module")
def loss(request):
    return LOSSES[request.param]


@given(y=probabilities, score=numbers, step=numbers)
def test_the_quadratic_is_never_below_the_loss(loss, y, score, step):
    y, score = np.array([y]), np.array([score])
    residual, curvature = loss.working(y, score)
    bound = loss.value(y, score) + curvature * ((residual - step) ** 2 - residual**2)
    assert (curvature > 0).all()
    assert loss.value(y, score + step) <= bound + 1e-9 * (1 + abs(bound))


@given(y=probabilities, score=st.floats(-20, 20))
def test_the_quadratic_has_the_slope_of_the_loss(loss, y, score):
    y, score, step = np.array([y]), np.array([score]), 1e-5
    residual, curvature = loss.working(y, score)
    slope = (loss.value(y, score + step) - loss.value(y, score - step)) / (2 * step)
    np.testing.assert_allclose(-2 * curvature * residual, slope, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_start_is_the_best_constant(loss, weighted):
    rng = np.random.default_rng(0)
    y, weight = (rng.random(200) < 0.3).astype(float), rng.random(200) if weighted else np.ones(200)
    best = minimize_scalar(lambda c: (weight * loss.value(y, np.full(200, c))).sum()).x
    assert loss.start(y, weight if weighted else None) == pytest.approx(best, abs=1e-5)
    assert loss.inverse_link(np.array([best])) == pytest.approx(np.average(y, weights=weight), abs=1e-5)


@given(a=numbers, b=numbers)
def test_the_inverse_link_keeps_the_order_of_scores(loss, a, b):
    low, high = loss.inverse_link(np.sort([a, b]))
    assert low <= high


def test_the_logistic_loss_takes_probabilities_only():
    logistic = LOSSES["logistic"]
    logistic.check(np.array([0.0, 0.3, 1.0]))
    for wrong in (-1.0, 1.5, 5.0):
        with pytest.raises(ValueError, match=f"from 0 to 1, got {wrong:g}"):
            logistic.check(np.array([0.0, wrong]))
    for alike in (0.0, 1.0):
        assert np.isfinite(logistic.start(np.full(3, alike), None))
    assert (logistic.inverse_link(np.array([-800.0, 0.0, 800.0])) == [0, 0.5, 1]).all()


def test_a_name_is_taken_once():
    with pytest.raises(ValueError, match="'squared' is registered already"):
        register_loss("squared", LOSSES["logistic"])
