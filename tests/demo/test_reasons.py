"""Reasons in words."""

from __future__ import annotations

import polars as pl

from bitfm.demo.reasons import reasons
from bitfm.parameters import Explanation, FeatureShare, PairShare


def feature(name, contribution):
    return FeatureShare(0, name, 1.0, contribution)


def pair(of_user, of_item, contribution):
    return PairShare((0, 1), (of_user, of_item), contribution)


def test_fields_are_summed_and_named_by_their_strongest_feature():
    why = Explanation(
        bias=3.5,
        features=[
            feature("user.id: Ann", 0.9),  # the same for all books
            feature("item.author: Mei Iwasaki", 0.2),
            feature("item.id: Dune: a tale", 0.1),
            feature("item.raters: Bob", 0.15),
            feature("item.genre: Crime", -0.3),
        ],
        pairs=[
            pair("user.history: Dune: a tale", "item.id: Ubik", 0.04),
            pair("user.history: Dune: a tale", "item.author: Mei Iwasaki", 0.04),
            pair("user.history: Emma", "item.id: Ubik", 0.06),
            pair("user.favourite_genres: Humour", "item.genre: Crime", -0.5),
        ],
    )
    expected = ["liked by those who have read it (+0.25)", "by Mei Iwasaki (+0.20)", "rated Dune: a tale 5 (+0.14)"]
    assert reasons(why, {"Dune: a tale": 5}) == expected
    assert reasons(why, {"Dune: a tale": 5}, n=2) == [expected[0], expected[2]]


def test_nothing_speaks_for_a_book():
    assert reasons(Explanation(3.5, [feature("item.genre: Crime", 0.001)], []), {}) == []


def test_every_field_of_the_bookshop_has_words(small_shop, fitted):
    reader = small_shop.readers["reader"][0]
    rated = dict(small_shop.train.filter(pl.col("reader") == reader).select("title", "rating").iter_rows())
    for title in fitted.recommend(reader, n=5)["item"]:
        why = fitted.explain(reader, title)
        told = reasons(why, rated, n=100)
        assert told
        shares = sum(float(reason.rsplit("(", 1)[1].rstrip(")")) for reason in told)
        of_reader = sum(share.contribution for share in why.features if share.name.startswith("user."))
        assert shares > why.score - why.bias - of_reader - 0.06  # what speaks against it is left out
