"""The demo's bookshop and its files."""

from __future__ import annotations

import polars as pl

from bitfm import DiscreteFM, Recommender
from bitfm.data import read_table
from bitfm.demo.shop import write_tables


def test_half_of_each_readers_ratings_are_held_out(small_shop):
    assert len(small_shop.train) + len(small_shop.test) == len(small_shop.ratings) == 5000
    train, test = (part.group_by("reader").len() for part in (small_shop.train, small_shop.test))
    counts = train.join(test, on="reader", suffix="_test")
    assert len(counts) == len(small_shop.readers)
    assert (counts["len"] - counts["len_test"]).abs().max() <= 1
    assert small_shop.train.join(small_shop.test, on=["reader", "title"]).is_empty()


def test_the_files_tell_what_the_tables_tell(small_shop, tmp_path):
    ratings, readers, books = (read_table(path) for path in write_tables(small_shop, tmp_path))
    assert ratings.equals(small_shop.ratings)
    assert books.equals(small_shop.books)
    assert readers["favourite_genres"].str.split("|").equals(small_shop.readers["favourite_genres"])
    columns = {"user": "reader", "item": "title"}
    of_files, of_tables = (
        Recommender(model=DiscreteFM(8), history=False, raters=False).fit(r, users=u, items=i, **columns)
        for r, u, i in (
            (ratings, readers, books),
            (small_shop.ratings, small_shop.readers, small_shop.books),
        )
    )
    pairs = small_shop.test.select("reader", "title")
    assert of_files.fields == of_tables.fields
    assert (of_files.predict(pairs) == of_tables.predict(pairs)).all()
    assert pl.DataFrame(of_files.describe()).filter(column="favourite_genres")["kind"][0] == "multi-category"
