"""Errors of predictions, against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mean_absolute_error, root_mean_squared_error

from bitfm.evaluation import mae, mae_per_user, rmse, rmse_per_user


@given(seed=st.integers(0, 10**6), n=st.integers(1, 40))
def test_they_equal_scikit_learns_over_all_and_for_each_user(seed, n):
    rng = np.random.default_rng(seed)
    users, targets, predictions = rng.integers(0, 5, n), rng.normal(size=n), rng.normal(size=n)
    assert rmse(targets, predictions) == pytest.approx(root_mean_squared_error(targets, predictions))
    assert mae(targets, predictions) == pytest.approx(mean_absolute_error(targets, predictions))
    for ours, theirs in ((rmse_per_user, root_mean_squared_error), (mae_per_user, mean_absolute_error)):
        each = ours(users, targets, predictions)
        expected = [theirs(targets[users == user], predictions[users == user]) for user in np.unique(users)]
        np.testing.assert_array_equal(each.users, np.unique(users))
        np.testing.assert_allclose(each.values, expected)


@pytest.mark.parametrize("metric", [rmse, mae])
def test_what_has_no_error_is_refused(metric):
    name = metric.__name__
    with pytest.raises(ValueError, match=f"{name}: 2 targets and 1 predictions"):
        metric([1, 2], [1])
    with pytest.raises(ValueError, match=f"{name}: predictions must be finite"):
        metric([1, 2], [1, np.nan])
    with pytest.raises(ValueError, match=f"{name}: targets must be one-dimensional"):
        metric([[1, 2]], [1, 2])
    with pytest.raises(ValueError, match=f"{name}: there are no ratings"):
        metric([], [])


@pytest.mark.parametrize("metric", [rmse_per_user, mae_per_user])
def test_every_rating_needs_a_user(metric):
    with pytest.raises(ValueError, match=f"{metric.__name__}: 1 users and 2 ratings"):
        metric([0], [1, 2], [1, 2])
