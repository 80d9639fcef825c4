"""Exponentials and logarithms of the core, against extended precision."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfm import _core

REALS = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=50)


def assert_close(found, exact, units=3):
    finite = np.isfinite(exact.astype(np.float64))
    error = np.abs(found[finite] - exact[finite]) / np.spacing(np.abs(exact[finite]).astype(np.float64))
    assert error.max(initial=0) <= units
    assert (found[~finite] == exact[~finite]).all()


@given(REALS)
def test_logistic_and_softplus_are_right(numbers):
    x = np.array([*numbers, *(number % 40 - 20 for number in numbers), 0.0, -0.0, np.inf, -np.inf])
    wide = x.astype(np.longdouble)
    with np.errstate(over="ignore", under="ignore"):
        assert_close(_core.logistic(x), 1 / (1 + np.exp(-wide)))
        assert_close(_core.softplus(x), np.logaddexp(np.longdouble(0), wide))


@given(st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=50))
def test_logarithms_are_right(numbers):
    x = np.array(numbers)
    assert_close(_core.logarithm(x), np.log(x.astype(np.longdouble)))


@pytest.mark.parametrize("function", [_core.logistic, _core.softplus])
def test_nan_stays_nan(function):
    assert np.isnan(function(np.array([np.nan]))).all()
