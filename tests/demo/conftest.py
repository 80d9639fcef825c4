"""A small bookshop and a recommender fitted to half of it."""

from __future__ import annotations

import contextlib
from copy import copy

import pytest

from bitfm.demo.comparison import fit_recommender
from bitfm.demo.shop import open_shop


@contextlib.contextmanager
def unwatched(_):
    yield lambda _: None


@pytest.fixture(scope="session")
def small_shop():
    return open_shop(200, 120, 5000, seed=2)


@pytest.fixture
def recommender(fitted):
    """A recommender that a test may add to."""
    return copy(fitted)


@pytest.fixture(scope="session")
def fitted(small_shop):
    return fit_recommender(small_shop, 0, unwatched)
