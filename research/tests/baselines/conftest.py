"""The methods that keep one contract, and ratings to fit them on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from bitfm import Block, Blocks
from bitfm.testing import small_shop
from sklearn.base import clone

from bitfm_research import baselines
from bitfm_research.baselines import IdCodes

SETTINGS: dict[str, dict[str, Any]] = {  # where a method's defaults do not suit small problems
    # 64 bits can hold all of a small matrix, with the zeros of what is not rated, unless they have to be hashes, too.
    "CollaborativeHashing": {"hash_weight": 1.0},
}
METHODS = {
    name: kind(bits=64, **SETTINGS.get(name, {}))
    for name in baselines.__all__
    if issubclass(kind := getattr(baselines, name), IdCodes) and kind is not IdCodes
} | {"DCMF, logit": baselines.DCMF(64, loss="logit")}


@pytest.fixture(params=METHODS.values(), ids=METHODS)
def method(request: pytest.FixtureRequest) -> Any:
    """Return each method in turn, not fitted."""
    return clone(request.param)


def id_blocks(users, items, n_users, n_items):
    return Blocks(user=Block(users, {"id": sp.identity(n_users)}), item=Block(items, {"id": sp.identity(n_items)}))


def groups(n_users=24, n_items=20):
    """The group of each user and of each item of the checkerboard."""
    return np.arange(n_users) % 2, np.arange(n_items) % 2


@pytest.fixture
def checkerboard() -> tuple[Blocks, np.ndarray, Blocks, np.ndarray]:
    """Return ratings of 5 within a group and 1 across, two thirds of them to fit on and the rest to test."""
    of_users, of_items = groups()
    users, items = (part.ravel() for part in np.indices((len(of_users), len(of_items))))
    y = np.where(of_users[users] == of_items[items], 5.0, 1.0)
    X = id_blocks(users, items, len(of_users), len(of_items))
    train = np.random.default_rng(0).random(len(y)) < 2 / 3
    return X[train], y[train], X[~train], y[~train]


@pytest.fixture
def rated() -> tuple[Blocks, np.ndarray]:
    """Return ratings of 1 to 5 by two hidden tastes, some of the users and items without any."""
    rng = np.random.default_rng(1)
    n_users, n_items, n = 50, 40, 700
    users, items = rng.integers(n_users - 3, size=n), rng.integers(1, n_items, size=n)
    tastes = rng.normal(size=(n_users, 2)), rng.normal(size=(n_items, 2))
    y = np.clip(np.rint(3 + np.sum(tastes[0][users] * tastes[1][items], axis=1)), 1, 5)
    return id_blocks(users, items, n_users, n_items), y


@pytest.fixture
def shop() -> tuple[Blocks, np.ndarray]:
    """Return ratings by ids and features of both sides."""
    return small_shop()
