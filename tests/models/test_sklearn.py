"""The models are ordinary scikit-learn estimators."""

from __future__ import annotations

import io
import pickle

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from bitfm import FM, BiasModel, Block, Blocks, DiscreteFM, DistilledFM

GIBBS = FM(rank=4, solver="gibbs", n_iter=5)
MODELS = [
    BiasModel(), FM(rank=4), GIBBS, DiscreteFM(bits=8), DistilledFM(bits=8, teacher=GIBBS)
]  # fmt: skip


@parametrize_with_checks([BiasModel(), FM(), DiscreteFM(bits=8), DistilledFM(bits=8, teacher=FM(rank=4, n_iter=5))])
def test_common_checks(estimator, check):
    check(estimator)


def ratings(n_users=30, n_items=20, n=400, seed=0):
    rng = np.random.default_rng(seed)
    u, i = rng.integers(n_users, size=n), rng.integers(n_items, size=n)
    X = Blocks(
        user=Block(u, {"id": sp.identity(n_users)}),
        item=Block(i, {"id": sp.identity(n_items), "word": sp.random(n_items, 15, 0.2, random_state=1)}),
    )
    return X, np.clip(np.rint(3 + rng.normal(size=n_users)[u] + rng.normal(size=n_items)[i]), 1, 5)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("keep", [pickle, joblib], ids=["pickle", "joblib"])
def test_a_fitted_model_survives_serialisation(model, keep):
    X, y = ratings()
    model = clone(model).fit(X, y)
    file = io.BytesIO()
    keep.dump(model, file)
    file.seek(0)
    np.testing.assert_array_equal(keep.load(file).predict(X), model.predict(X))


def test_grid_search_over_blocks():
    X, y = ratings()
    search = GridSearchCV(FM(rank=4, n_iter=5), {"regularization": [1.0, 1000.0]}, cv=3).fit(X, y)
    assert set(search.cv_results_["params"][0]) == {"regularization"}
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.predict(X).shape == y.shape


def test_cross_validation_over_blocks_equals_cross_validation_over_the_matrix():
    X, y = ratings()
    on_blocks = cross_val_score(BiasModel(), X, y, cv=4)
    on_matrix = cross_val_score(BiasModel(), X.to_csr(), y, cv=4)
    np.testing.assert_allclose(on_blocks, on_matrix, rtol=1e-3)
    assert on_blocks.mean() > 0.3
