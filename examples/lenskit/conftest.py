"""What LensKit's tests take from MovieLens, from the generated bookshop instead: no data set is needed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lenskit.data import Dataset
from lenskit.data.builder import DatasetBuilder

from bitfm.datasets import make_bookshop


@pytest.fixture(scope="module")
def ml_ratings() -> pd.DataFrame:
    shop = make_bookshop(n_readers=300, n_books=250, n_ratings=8000)
    ratings = pd.DataFrame({"user_id": shop.reader_rows, "item_id": shop.book_rows, "rating": shop.ratings["rating"]})
    ratings["timestamp"] = pd.to_datetime(np.arange(len(ratings)) * 3600, unit="s")
    return ratings


@pytest.fixture(scope="module")
def ml_ds(ml_ratings: pd.DataFrame) -> Dataset:
    shop = make_bookshop(n_readers=300, n_books=250, n_ratings=8000)
    builder = DatasetBuilder()
    for name, table, column in (("user", shop.readers, "age_group"), ("item", shop.books, "author")):
        ids = np.arange(len(table[column]))
        builder.add_entities(name, ids)
        builder.add_scalar_attribute(name, column, ids, list(table[column]))
    builder.add_interactions("rating", ml_ratings, entities=["user", "item"], default=True)
    return builder.build()


@pytest.fixture
def ml_100k() -> None:
    pytest.skip("no accuracy is expected of a bookshop")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(42)
