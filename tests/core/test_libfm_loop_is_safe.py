"""libFM's loop checks the rows it is given."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitfm import _core
from spoilt import each_spoilt

N_FEATURES = 3


def arguments():
    """Return two rows of three features, and two factors."""
    return {
        "indptr": np.array([0, 1, 4]),
        "indices": np.array([0, 2, 0, 1], np.int32),
        "values": np.array([1, 2, 3, 4], np.float32),
        "bias": 0.5,
        "weights": np.array([1.0, 2.0, 3.0]),
        "factors": np.array([[1.0, 2.0, 3.0], [-1.0, 1.0, 0.0]]),
    }


def test_scores_by_hand():
    # Row 2 is x = (3, 4, 2): 0.5 + 3 + 8 + 6, and of the factors 3·8 + 3·6 + 8·6 and (−3)·4.
    assert _core.libfm_scores(**arguments()).tolist() == [1.5, 17.5 + 90 - 12]


def test_no_rows_no_features_no_factors():
    none = {"indices": np.zeros(0, np.int32), "values": np.zeros(0, np.float32)}
    assert len(_core.libfm_scores(**arguments() | none | {"indptr": np.array([0])})) == 0
    nothing = none | {"indptr": np.array([0, 0]), "weights": np.zeros(0), "factors": np.zeros((2, 0))}
    assert _core.libfm_scores(**arguments() | nothing).tolist() == [0.5]
    assert _core.libfm_scores(**arguments() | {"factors": np.zeros((0, 3))}).tolist() == [1.5, 17.5]


def test_other_arrays_are_refused():
    each_spoilt(_core.libfm_scores, arguments(), ["indices", "values", "weights"])
    for wrong in (
        None,
        np.zeros(3),
        np.zeros((2, 4)),
        np.zeros((2, 2)),
        np.zeros((2, 3), np.float32),
        np.ones((3, 2)).T,
    ):
        with pytest.raises((TypeError, ValueError)):
            _core.libfm_scores(**arguments() | {"factors": wrong})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indptr": []}, "indptr must rise"),
        ({"indptr": [0, 1, 5]}, "indptr must rise"),
        ({"indptr": [1, 1, 4]}, "indptr must rise"),
        ({"indptr": [0, 2, 1, 4]}, "indptr must rise"),
        ({"indptr": [0, -1, 4]}, "indptr must rise"),
        ({"indptr": [0, 2**62, 4]}, "indptr must rise"),
        ({"indices": [0, 2, 0, 3]}, "below the number of weights, 3"),
        ({"indices": [0, 2, 0, -1]}, "below the number of weights, 3"),
        ({"indices": [0, 2, 0, -(2**31)]}, "below the number of weights, 3"),
        ({"values": [1, 2, 3]}, "one value per index"),
        ({"weights": [1, 2]}, "a column for each weight"),
    ],
)
def test_rows_that_do_not_fit_are_refused(change, message):
    good = arguments()
    ((name, value),) = change.items()
    with pytest.raises(ValueError, match=message):
        _core.libfm_scores(**good | {name: np.array(value, good[name].dtype)})


@settings(deadline=None, max_examples=200)
@given(indptr=st.lists(st.integers(-1, 5), max_size=4), indices=st.lists(st.integers(-1, 3), max_size=5))
def test_random_rows_are_refused_or_scored(indptr, indices):
    rows = {"indptr": np.array(indptr, np.int64), "indices": np.array(indices, np.int32)}
    with contextlib.suppress(ValueError):
        scores = _core.libfm_scores(**arguments() | rows | {"values": np.ones(len(indices), np.float32)})
        assert len(scores) == len(indptr) - 1
        assert np.isfinite(scores).all()
