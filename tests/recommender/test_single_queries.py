"""One query, which takes a path of its own, is answered as it is among others."""

from __future__ import annotations

import polars as pl

import bitfm


def assert_alike(rec, users):
    among_others = rec.recommend(users, n=7)
    for user in users:
        expected = among_others.filter(pl.col("user") == user).drop("user", "known")
        assert rec.recommend(user, n=7).equals(expected)
        assert rec.state.one_row(int(rec.state.users.indices_of([user])[0])) is not None
        assert rec.recommend([user], n=7).drop("user", "known").equals(expected)


def test_one_query_is_answered_as_among_others(rec, shop, tmp_path):
    readers = shop.ratings["reader"].unique(maintain_order=True).to_list()[:15]
    assert_alike(rec, readers)
    rec.save(tmp_path / "shop.bitfm")
    assert_alike(bitfm.load(tmp_path / "shop.bitfm"), readers)


def test_a_user_who_came_after_the_fit_is_answered_alike(rec, shop):
    book = shop.ratings["book"][0]
    rec.add_ratings({"reader": ["somebody new"], "book": [book], "rating": [5.0]})
    assert_alike(rec, ["somebody new", shop.ratings["reader"][0]])
