"""Somebody new, something new, and whatever else is not known, is ordinary."""

from __future__ import annotations

import copy

import numpy as np
import polars as pl
import pytest

import bitfm
from bitfm import UnknownIdError
from bitfm.errors import MissingColumnError
from ratings_of_shop import quick

HISTORY = [(100, 5), (103, 1), (110, 4), (120, 5), (125, 2)]


def test_nobody_gets_what_is_best_for_anybody(rec, shop):
    best = rec.recommend("nobody", n=150)
    scores = rec.predict({"reader": ["nobody"] * 150, "book": shop.books["book"]})
    np.testing.assert_allclose(best["score"], np.sort(scores)[::-1], atol=1e-5)
    assert best["item"].to_list() == rec.recommend_new(n=150)["item"].to_list()
    by_weight = np.argsort(-rec._state.all_rows("item").constants, kind="stable")
    assert best["item"].to_list() == rec._state.items.ids_of(by_weight).to_list()


def test_features_alone_tell_people_apart(rec, shop):
    a, b = (rec.recommend_new(features={"favourite_genres": [genre]}, n=20) for genre in ("Fantasy", "Crime"))
    genre = dict(shop.books.select("book", "genre").iter_rows())
    liked = [[genre[book] for book in best["item"]] for best in (a, b)]
    assert liked[0].count("Fantasy") > liked[1].count("Fantasy")
    assert liked[1].count("Crime") > liked[0].count("Crime")


def test_features_of_somebody_new_are_those_of_a_user_who_was_added(rec):
    features = {"age_group": "35-49", "region": "Coast", "favourite_genres": ["Fantasy", "Nature"]}
    rec.add_users({"reader": ["late"], **{name: [value] for name, value in features.items()}})
    added, new = rec.recommend("late", n=150), rec.recommend_new(features=features, n=150)
    assert added["item"].to_list() == new["item"].to_list()
    np.testing.assert_allclose(added["score"], new["score"], atol=1e-5)


@pytest.mark.parametrize("features", [{}, {"age_group": "35-49", "favourite_genres": ["Fantasy"]}])
@pytest.mark.parametrize("n", [1, 5])
def test_somebody_new_is_answered_as_if_they_had_been_added(rec, features, n):
    new = rec.recommend_new(HISTORY[:n], features, n=150)
    rec.add_users({"reader": ["late"], **{name: [value] for name, value in features.items()}})
    books, ratings = zip(*HISTORY[:n], strict=True)
    rec.add_ratings({"reader": ["late"] * n, "book": books, "rating": ratings})
    added = rec.recommend("late", n=150)
    assert added["item"].to_list() == new["item"].to_list()
    np.testing.assert_allclose(added["score"], new["score"], atol=1e-5)


def test_somebody_new_with_events_is_answered_as_if_they_had_been_added(fitted_on_events):
    rec = copy.copy(fitted_on_events)
    new = rec.recommend_new(["t0", "t1", "t2"], n=40)
    rec.add_events({"person": ["late"] * 3, "thing": ["t0", "t1", "t2"]})
    added = rec.recommend("late", n=40)
    assert added["item"].to_list() == new["item"].to_list()
    np.testing.assert_allclose(added["score"], new["score"], atol=1e-5)


def test_a_history_may_have_any_form(rec):
    expected = rec.recommend_new(HISTORY)
    for history in (dict(HISTORY), [list(pair) for pair in HISTORY], iter(HISTORY), [(str(i), r) for i, r in HISTORY],
                    [(float(i), str(r)) for i, r in HISTORY], [(100, 1), *HISTORY]):  # fmt: skip
        assert rec.recommend_new(history).equals(expected)
    assert not set(expected["item"]) & {book for book, _ in HISTORY}


def test_unknown_items_of_a_history_are_passed_over(rec):
    with pytest.warns(bitfm.BitfmWarning, match="history: item 'atlantis', 7 not known, so passed over"):
        found = rec.recommend_new([*HISTORY, ("atlantis", 5), (7, 1)])
    assert found.equals(rec.recommend_new(HISTORY))
    with pytest.warns(bitfm.BitfmWarning, match="'atlantis'"):
        assert rec.recommend_new([("atlantis", 5)]).equals(rec.recommend_new())
    with pytest.warns(bitfm.BitfmWarning, match="'atlantis', None"):
        assert rec.recommend_new(["atlantis", None]).equals(rec.recommend_new())


def test_items_without_ratings_tell_a_little(rec):
    bare = rec.recommend_new([book for book, _ in HISTORY], n=150)
    assert len(bare) == 145
    assert bare["item"].to_list() != rec.recommend_new(n=150, deny=[book for book, _ in HISTORY])["item"].to_list()


@pytest.mark.parametrize("rating", ["good", float("nan"), float("inf"), [5]])
def test_a_rating_that_is_none_is_refused(rec, rating):
    with pytest.raises(ValueError, match="rating of item 100"):
        rec.recommend_new([(100, rating)])


def test_a_history_that_is_a_single_text_is_refused(rec):
    with pytest.raises(TypeError, match="history"):
        rec.recommend_new("100")


ODD = [
    None,
    "",
    "never heard of",
    3,
    2.5,
    float("nan"),
    [],
    ["Fantasy", None, "?"],
    [None],
    True,
    b"\xff",
    {"a": 1},
    "\ud800",
]


@pytest.mark.parametrize("value", ODD, ids=repr)
@pytest.mark.parametrize("column", ["age_group", "favourite_genres"])
def test_odd_values_say_nothing_but_do_no_harm(rec, column, value):
    best = rec.recommend_new(features={column: value}, n=5)
    assert len(best) == 5
    assert best["score"].is_finite().all()


def test_a_missing_value_is_as_good_as_none(rec):
    assert rec.recommend_new(features={"age_group": None}).equals(rec.recommend_new())
    assert rec.recommend_new(features={"age_group": "never heard of"}).equals(rec.recommend_new())


def test_columns_that_are_not_there_are_named(rec):
    with pytest.raises(MissingColumnError, match=r"'shoe_size'.*age_group"):
        rec.recommend_new(features={"shoe_size": 43})
    with pytest.raises(MissingColumnError, match="'weather'"):
        rec.recommend("nobody", context={"weather": "rain"})


def test_a_column_that_was_ignored_may_still_be_given(shop):
    readers = shop.readers.with_columns(planet=pl.lit("earth"))
    ratings = shop.ratings.with_columns(channel=pl.lit("web"))
    rec = quick()
    rec.fit(ratings, users=readers, user="reader", item="book", context=["channel"])
    assert "user.planet" not in rec.fields
    assert len(rec.recommend_new(features={"planet": "mars"}, context={"channel": "shop"})) == 10
    assert len(rec.recommend("nobody", context={"channel": "shop"})) == 10


def test_an_item_of_which_nothing_is_known_scores_as_the_user_alone(rec, shop):
    reader = shop.readers["reader"][0]
    rec.add_items({"book": [1], "genre": [None]})
    scores = rec.predict([(reader, 1), (reader, "never added")])
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-6)
    with pytest.raises(UnknownIdError, match="'never added'"):
        rec.similar_items("never added")
    with pytest.raises(UnknownIdError, match="7"):
        rec.explain(reader, 7)


def test_unknown_ids_may_stand_anywhere_in_pairs(rec, shop):
    reader = shop.readers["reader"][0]
    scores = rec.predict([(reader, 100), ("nobody", 100), (None, 100), (reader, None), (None, None)])
    assert np.isfinite(scores).all()
    assert scores[1] == scores[2]
    np.testing.assert_allclose(scores[4], rec.model_.bias_, atol=1e-5)
    assert rec.predict([]).shape == (0,)


def test_nobody_at_all_gets_an_empty_table(rec):
    assert rec.recommend([]).columns == ["user", "known", "rank", "item", "score", "title"]
    assert len(rec.recommend([])) == 0


def test_allow_and_deny_choose_and_unknown_ones_are_passed_over(rec, shop):
    reader = shop.readers["reader"][0]
    allowed = rec.recommend(reader, 50, allow=[100, "101", 102.0, "atlantis"], seen=True)
    assert set(allowed["item"]) == {100, 101, 102}
    denied = rec.recommend(reader, 200, deny=np.array([100, 101]), seen=True)
    assert set(denied["item"]) == set(shop.books["book"]) - {100, 101}
    assert len(rec.recommend(reader, allow=[])) == 0


def test_those_without_ratings_do_not_change_what_is_learnt(shop):
    """They have no part in the fit, and columns that say nothing in the model."""
    more = {name: [*shop.books[name].to_list(), value] for name, value in (("book", 999), ("genre", "Horror"))}
    tables = {"users": shop.readers, "user": "reader", "item": "book"}
    alone = quick().fit(shop.ratings, items=shop.books.select("book", "genre"), **tables)
    among = quick().fit(shop.ratings, items=more, **tables)
    pairs = shop.ratings.select("reader", "book")[:50]
    np.testing.assert_array_equal(among.predict(pairs), alone.predict(pairs))
    assert among.n_items == alone.n_items + 1
    assert 999 in among.recommend(shop.readers["reader"][0], n=among.n_items, seen=True)["item"].to_list()
    among.add_ratings({"reader": [shop.readers["reader"][0]], "book": [999], "rating": [5]})
    assert among.explain(shop.readers["reader"][0], 999).score == pytest.approx(
        among.predict({"reader": [shop.readers["reader"][0]], "book": [999]})[0], abs=1e-4
    )
