"""Quick models of every kind, and a small shop to fit them on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from bitfm import FM, BiasModel, Blocks, DiscreteFM, DistilledFM
from bitfm.testing import small_shop

MODELS = {
    "BiasModel": BiasModel(max_iter=20),
    "FM-als": FM(rank=5, n_iter=6),
    "FM-sgd": FM(rank=5, solver="sgd", n_iter=6),
    "FM-gibbs": FM(rank=5, solver="gibbs", n_iter=8, n_samples=3),
    "DiscreteFM": DiscreteFM(bits=16, max_iter=6),
    "DistilledFM": DistilledFM(bits=16, teacher=FM(rank=4, solver="gibbs", n_iter=4, n_samples=2)),
}


@pytest.fixture(params=MODELS.values(), ids=MODELS)
def model(request: pytest.FixtureRequest) -> Any:
    """Return each model in turn, not fitted."""
    return clone(request.param)


@pytest.fixture
def shop() -> tuple[Blocks, np.ndarray]:
    """Return ratings by ids and features of both sides, with something to learn in them."""
    return small_shop()
