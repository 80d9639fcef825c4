"""Users and items that come after the fit are served nearly as well as if the model had been fitted on them."""

from __future__ import annotations

import polars as pl
import pytest

from bitfm import Recommender
from ratings_of_shop import COLUMNS, make_shop

pytestmark = pytest.mark.true_teacher


@pytest.fixture(scope="module")
def fitted(shop):
    return Recommender(bits=32, n_jobs=1).fit(**shop.tables)


@pytest.mark.parametrize(("column", "table"), [("reader", "readers"), ("book", "books")])
def test_fold_in_is_nearly_as_good_as_a_new_fit(column, table):
    shop = make_shop(500, 250, 12_000)
    ids = getattr(shop, table)[column].sample(fraction=0.2, seed=1).to_list()
    rest, theirs = shop.split(column, ids)
    theirs = theirs.sample(fraction=1, shuffle=True, seed=2).with_columns(turn=pl.int_range(pl.len()).over(column) % 2)
    given, test = (theirs.filter(pl.col("turn") == turn).drop("turn") for turn in (0, 1))
    tables = {"users": shop.readers, "items": shop.books, **COLUMNS}
    rec = Recommender(bits=32, n_jobs=1).fit(rest, **tables)
    without = rec.evaluate(test)
    folded = rec.add_ratings(given).evaluate(test)
    refitted = Recommender(bits=32, n_jobs=1).fit(pl.concat([rest, given]), **tables).evaluate(test)
    assert folded.ndcg >= 0.98 * refitted.ndcg
    assert refitted.rmse < without.rmse
    assert without.rmse - folded.rmse >= 0.65 * (without.rmse - refitted.rmse)


def test_what_somebody_new_says_counts(rec, shop):
    """Two who say the opposite of the same books are recommended others."""
    chosen = shop.books["book"].sample(20, seed=0).to_list()
    one, other = (
        rec.recommend_new([(book, 5 if (n < 10) == first else 1) for n, book in enumerate(chosen)], n=150)
        for first in (True, False)
    )
    nobody = rec.recommend_new(n=150)
    away = [
        one.join(nobody, on="item").select(pl.col("score") - pl.col("score_right"))["score"] for one in (one, other)
    ]
    moved = one.join(other, on="item").select(pl.col("score") - pl.col("score_right"))["score"]
    assert moved.std() > 0.1  # from 0.15 to 0.45 by the seed
    assert min(part.std() for part in away) > 0.05


def test_a_new_item_is_found_by_its_features(rec, shop):
    genre = shop.books["genre"][0]
    liked = shop.books.filter(pl.col("genre") == genre)["book"][:5].to_list()
    other = shop.books.filter(pl.col("genre") != genre)["genre"][0]
    rec.add_items({"book": [1, 2], "genre": [genre, other], "title": ["One", "Two"]})
    best = rec.recommend_new([(book, 5) for book in liked], {"favourite_genres": [genre]}, n=2, allow=[1, 2])
    assert best["title"].to_list() == ["One", "Two"]
