"""A small bookshop, and recommenders fitted on it once; each test gets a copy that it may change."""

from __future__ import annotations

import copy

import numpy as np
import polars as pl
import pytest

from bitfm import Recommender
from ratings_of_shop import Shop, make_shop


@pytest.fixture(scope="session")
def shop() -> Shop:
    return make_shop(300, 150, 6000)


@pytest.fixture(scope="session")
def fitted(shop: Shop) -> Recommender:
    return Recommender(bits=32, n_jobs=1).fit(**shop.tables)


@pytest.fixture
def rec(fitted: Recommender) -> Recommender:
    return copy.copy(fitted)


@pytest.fixture(scope="session")
def events() -> pl.DataFrame:
    """Return purchases: people of two tastes, who buy by the time of day."""
    rng = np.random.default_rng(5)
    n = 4000
    person, daytime = rng.integers(120, size=n), rng.integers(2, size=n)
    shelf = 2 * (person % 2) + daytime  # four shelves of ten things each, one for each taste and time of day
    strange = rng.random(n) < 0.1
    thing = np.where(strange, rng.integers(40, size=n), 10 * shelf + np.minimum(rng.geometric(0.25, size=n) - 1, 9))
    return pl.DataFrame(
        {
            "person": [f"p{one}" for one in person],
            "thing": [f"t{one}" for one in thing],
            "daytime": np.array(["morning", "evening"])[daytime],
        }
    )


@pytest.fixture(scope="session")
def fitted_on_events(events: pl.DataFrame) -> Recommender:
    return Recommender(bits=32, n_jobs=1).fit(events, user="person", item="thing", target=None)


@pytest.fixture(scope="session")
def fitted_on_contexts(events: pl.DataFrame) -> Recommender:
    return Recommender(bits=32, n_jobs=1).fit(events, user="person", item="thing", target=None, context=["daytime"])
