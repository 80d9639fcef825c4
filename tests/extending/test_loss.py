"""A third party's loss, in one file and outside the package."""

from __future__ import annotations

import importlib
import itertools
import sys

import numpy as np
import pytest

from bitfm import FM, load
from bitfm.datasets import make_bookshop
from bitfm.models.losses import LOSSES


@pytest.fixture(autouse=True)
def huber():
    importlib.import_module("extending.pseudo_huber")  # it registers itself
    yield
    del LOSSES["pseudo-huber"], sys.modules["extending.pseudo_huber"]


def test_it_is_a_loss_like_any_other(tmp_path):
    shop = make_bookshop(60, 40, 1500)
    X, y = shop.blocks(), np.asarray(shop.ratings["rating"], float)
    spoilt = np.where(np.random.default_rng(0).random(len(y)) < 0.05, 100.0, y)
    robust, squared = (FM(rank=4, loss=loss).fit(X, spoilt) for loss in ("pseudo-huber", "squared"))
    values = [step.objective for step in robust.fit_log_]
    assert all(after <= before * (1 + 1e-6) for before, after in itertools.pairwise(values))
    errors = [np.mean(np.abs(y - model.predict(X))) for model in (robust, squared)]
    assert errors[0] < np.mean(np.abs(y - y.mean())) < errors[1]
    robust.save(tmp_path / "robust.bitfm")
    np.testing.assert_array_equal(load(tmp_path / "robust.bitfm").predict(X), robust.predict(X))
