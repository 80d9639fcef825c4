"""Metrics of the core check what they are given: wrong arguments raise, and no number makes them crash."""

from __future__ import annotations

import numpy as np
import pytest

from bitfm import _core
from spoilt import REFUSED, each_spoilt, spoilt

RNG = np.random.default_rng(0)
RATED = {
    "users": np.array([0, 2, 1, 1, 0, 2], np.int32),
    "ratings": np.array([1.0, 2, 3, 4, 5, 0]),
    "scores": RNG.normal(size=6),
}
KS = np.array([1, 3])
LISTS = {"start": np.array([0, 2, 2, 4]), "relevant": np.array([1, 4, 0, 4], np.int32)}
FOUND = {"found": np.array([[4, 0, 1], [2, -1, -1], [3, 4, 0]]), **LISTS}
EXCLUDED = {"exclude_start": np.array([0, 1, 1, 3]), "excluded": np.array([3, 1, 2], np.int32)}
SCORES = {"scores": RNG.normal(size=(3, 5)), **LISTS, **EXCLUDED}
VALUES = RNG.normal(size=(7, 3))


def test_rated_items_are_checked():
    each_spoilt(lambda **a: _core.ndcg(**a, n_users=3, ks=KS, n_threads=1), RATED, RATED)
    for n_users in (-(2**62), -1, 0, 2, 7, 2**62):
        with pytest.raises(ValueError, match="user"):
            _core.ndcg(**RATED, n_users=n_users, ks=KS, n_threads=1)
    for name, wrong in (("users", -1), ("users", 3), ("ratings", np.nan), ("ratings", 1e9), ("scores", np.nan)):
        with pytest.raises(ValueError, match=name):
            _core.ndcg(**RATED | {name: np.full_like(RATED[name], wrong)}, n_users=3, ks=KS, n_threads=1)
    for ks in (np.zeros(0, np.int64), np.array([0]), np.array([1, -(2**63)])):
        with pytest.raises(ValueError, match="k must be"):
            _core.ndcg(**RATED, n_users=3, ks=ks, n_threads=1)


def test_extreme_rated_items_have_values():
    largest = np.array([1, 2**63 - 1])
    values = _core.ndcg(**RATED | {"ratings": np.full(6, 1000.0)}, n_users=3, ks=largest, n_threads=2)
    np.testing.assert_allclose(values, 1)
    nothing = _core.ndcg(**RATED | {"ratings": np.full(6, -1e300)}, n_users=3, ks=largest, n_threads=2)
    assert np.isnan(nothing).all()
    absent = _core.ndcg(**RATED | {"users": np.zeros(6, np.int32)}, n_users=3, ks=KS, n_threads=1)
    assert np.isnan(absent.reshape(3, 2)[1:]).all()
    empty = {name: array[:0] for name, array in RATED.items()}
    assert len(_core.ndcg(**empty, n_users=0, ks=KS, n_threads=1)) == 0


def test_found_items_are_checked():
    each_spoilt(lambda **a: _core.rank_metrics(**a, n_items=5, ks=KS, n_threads=1), FOUND, FOUND)
    for n_items in (-(2**63), -1, 0, 4):
        with pytest.raises(ValueError, match="relevant"):
            _core.rank_metrics(**FOUND, n_items=n_items, ks=KS, n_threads=1)
    for wrong in (-2, 5, 2**62, -(2**63)):
        with pytest.raises(ValueError, match="found: items must be"):
            _core.rank_metrics(**FOUND | {"found": np.full((3, 3), wrong)}, n_items=5, ks=KS, n_threads=1)
    with pytest.raises(ValueError, match="row 0 has item 4 twice"):
        _core.rank_metrics(**FOUND | {"found": np.full((3, 3), 4)}, n_items=5, ks=KS, n_threads=1)
    for ks in ([], [0], [4], [2**62], [-1]):
        with pytest.raises(ValueError, match="k must be"):
            _core.rank_metrics(**FOUND, n_items=5, ks=np.array(ks, np.int64), n_threads=1)


@pytest.mark.parametrize("start", [[0, 5, 2, 4], [1, 2, 2, 4], [0, 2, 2, 5], [0, -1, 2, 4], [0, 2, 4], []])
def test_starts_are_checked(start):
    start = np.array(start, np.int64)
    with pytest.raises(ValueError, match="relevant: starts must"):
        _core.rank_metrics(**FOUND | {"start": start}, n_items=5, ks=KS, n_threads=1)
    with pytest.raises(ValueError, match="relevant: starts must"):
        _core.auc(**SCORES | {"start": start}, n_threads=1)
    with pytest.raises(ValueError, match="exclude: starts must"):
        _core.auc(**SCORES | {"exclude_start": start}, n_threads=1)


@pytest.mark.parametrize("items", [[4, 1, 0, 4], [1, 1, 0, 4], [-1, 4, 0, 4], [1, 5, 0, 4], [1, 2**31 - 1, 0, 4]])
def test_items_of_a_user_must_rise(items):
    with pytest.raises(ValueError, match="a user's items must rise, from 0 to 4"):
        _core.rank_metrics(**FOUND | {"relevant": np.array(items, np.int32)}, n_items=5, ks=KS, n_threads=1)
    with pytest.raises(ValueError, match="a user's items must rise, from 0 to 4"):
        _core.auc(**SCORES | {"relevant": np.array(items, np.int32)}, n_threads=1)


def test_rows_of_scores_are_checked():
    each_spoilt(lambda **a: _core.auc(**a, n_threads=1), SCORES, [*LISTS, *EXCLUDED])
    for wrong in spoilt(SCORES["scores"]):
        if not isinstance(wrong, np.ndarray) or wrong.dtype != np.float32:  # which will do as well
            with pytest.raises(REFUSED):
                _core.auc(**SCORES | {"scores": wrong}, n_threads=1)
    with pytest.raises(ValueError, match="scores must not be NaN"):
        _core.auc(**SCORES | {"scores": np.full((3, 5), np.nan)}, n_threads=1)
    with pytest.raises((ValueError, MemoryError)):
        _core.auc(**SCORES | {"scores": np.zeros((2**60, 0))}, n_threads=1)


@pytest.mark.parametrize("resample", [_core.bootstrap_means, _core.count_far_flips])
def test_values_of_users_are_checked(resample):
    for wrong in spoilt(VALUES):
        fits = isinstance(wrong, np.ndarray) and wrong.ndim == 2 and wrong.dtype == VALUES.dtype and wrong.size
        if not fits or not wrong.flags.c_contiguous:  # other users or columns will do as well
            with pytest.raises(REFUSED):
                resample(wrong, 0, 5, 1)
    for wrong in (np.zeros((3, 0)), np.zeros((0, 3)), np.full((2, 2), np.nan), np.full((2, 2), np.inf)):
        with pytest.raises(ValueError, match="values"):
            resample(wrong, 0, 5, 1)
    for n in (-1, -(2**63)):
        with pytest.raises(ValueError, match=r"number of draws|room for a count"):
            resample(VALUES, 0, n, 1)
    assert len(resample(VALUES, 2**64 - 1, 0, 2)) in (0, 3)
    huge = resample(np.full((3, 2), 1e308), 7, 5, 2)
    assert len(huge) in (10, 2)
