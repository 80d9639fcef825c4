"""Where factors come from: an FM of its own, or one that is given."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from bitfm import FM, Block, Blocks
from bitfm.core import unpack_codes

from bitfm_research.baselines import RandomProjection, RotatedRounding, SignRounding

METHODS = [SignRounding, RotatedRounding, RandomProjection]


def small_fm(rank=16):
    return FM(rank=rank, n_iter=5, regularization=1.0, pairs="across")


def test_codes_are_the_signs_of_a_fitted_machine(rated):
    X, y = rated
    fm = small_fm().fit(X, y)
    model = SignRounding(16, fm=fm).fit(X, y)
    np.testing.assert_array_equal(unpack_codes(model.codes_) > 0, fm.factors_ >= 0)
    assert model.fit_log_ == []


def test_a_machine_with_more_features_gives_those_of_the_ids(rated):
    X, y = rated
    rows = {name: block.rows for name, block in X.blocks.items()}
    words = sp.random(40, 7, 0.3, random_state=0)
    wide = Blocks(
        user=Block(rows["user"], {"id": sp.identity(50)}),
        item=Block(rows["item"], {"words": words, "id": sp.identity(40)}),
    )
    fm = small_fm().fit(wide, y)
    model = SignRounding(16, fm=fm).fit(wide, y)
    np.testing.assert_array_equal(unpack_codes(model.item_codes_) > 0, fm.factors_[57:] >= 0)
    np.testing.assert_array_equal(unpack_codes(model.user_codes_) > 0, fm.factors_[:50] >= 0)


@pytest.mark.parametrize("method", METHODS)
def test_a_machine_that_is_not_fitted_gives_the_settings_and_stays_as_it_is(method, rated):
    X, y = rated
    fm = small_fm()
    model = method(16, fm=fm).fit(X, y)
    assert not hasattr(fm, "factors_")
    assert [item.stage for item in model.fit_log_][:5] == ["als"] * 5
    np.testing.assert_array_equal(model.codes_, method(16, fm=small_fm().fit(X, y)).fit(X, y).codes_)


def test_bits_of_a_random_projection_agree_as_often_as_the_angle_says(rated):
    X, y = rated
    fm = small_fm(4).fit(X, y)
    model = RandomProjection(512, fm=fm).fit(X, y)
    told = X.occurring()  # others have no factors
    unit = fm.factors_[told] / np.linalg.norm(fm.factors_[told], axis=1, keepdims=True)
    signs = unpack_codes(model.codes_[told])
    agree = (signs @ signs.T / 512 + 1) / 2
    expected = 1 - np.arccos(np.clip(unit @ unit.T, -1, 1)) / np.pi
    assert np.abs(agree - expected).max() < 0.12  # five standard deviations of 512 throws
    assert np.abs(agree - expected).mean() < 0.03


@pytest.mark.parametrize("method", METHODS)
def test_a_machine_that_cannot_give_factors_is_refused(method, rated):
    X, y = rated
    with pytest.raises(ValueError, match="fm must be an FM"):
        method(16, fm="als").fit(X, y)
    smaller = Blocks(user=Block([0, 1], {"id": sp.identity(2)}), item=Block([0, 1], {"id": sp.identity(2)}))
    with pytest.raises(ValueError, match="fm was fitted on fields of sizes"):
        method(16, fm=small_fm().fit(smaller, [1, 5])).fit(X, y)
    if method is not RandomProjection:
        with pytest.raises(ValueError, match="fm has rank 8"):
            method(16, fm=small_fm(8)).fit(X, y)
