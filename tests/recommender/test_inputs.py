"""What people give: ids of any type, single things for several, columns left out, settings of any kind."""

from __future__ import annotations

import copy
import datetime
import decimal

import numpy as np
import polars as pl
import pytest

import bitfm
from bitfm import BiasModel, DiscreteFM, Recommender

DAYS = [
    datetime.datetime(2024, 1, 1),
    datetime.datetime(2024, 1, 2, 3, 4, 5),
    datetime.datetime(2024, 1, 3, 0, 0, 0, 7),
]


def quick(**more):
    return Recommender(model=DiscreteFM(8, max_iter=2), **more)


@pytest.fixture(scope="module")
def cafe():
    """Events in two contexts."""
    people = [f"p{i}" for i in range(30)]
    rows = [(p, drink, when) for p in people for drink, when in (("tea", "morning"), ("beer", "evening"))]
    return pl.DataFrame(rows, schema=["user_id", "item_id", "daytime"], orient="row")


@pytest.mark.parametrize(
    "ids", [DAYS, [d.date() for d in DAYS], [decimal.Decimal(7), decimal.Decimal(8), decimal.Decimal(9)]]
)
def test_ids_of_any_type_are_found_again(ids):
    rec = quick().fit({"user_id": ids, "item_id": ["a", "b", "c"], "rating": [1, 2, 3]})
    for one, had in zip(ids, "abc", strict=True):
        assert sorted(rec.recommend(one)["item"]) == sorted({"a", "b", "c"} - {had})
        assert sorted(rec.recommend([one])["item"]) == sorted({"a", "b", "c"} - {had})


def test_a_single_item_may_be_allowed_or_denied(fitted):
    best = fitted.recommend("nobody", n=3)["item"].to_list()
    assert best[0] not in fitted.recommend("nobody", n=3, deny=best[0])["item"].to_list()
    assert fitted.recommend("nobody", allow=best[1])["item"].to_list() == [best[1]]
    words = quick().fit({"user_id": ["u", "u"], "item_id": ["tea", "t"], "rating": [1, 2]})
    assert words.recommend("x", deny="tea")["item"].to_list() == ["t"]


def test_a_history_is_a_frame_an_array_a_mapping_or_a_list(fitted):
    pairs = [(100, 5), (103, 1)]
    expected = fitted.recommend_new(pairs)["score"].to_list()
    frame = pl.DataFrame({"book": [100, 103], "rating": [5, 1]})
    for given in (
        dict(pairs),
        np.array(pairs),
        frame,
        frame.to_dict(as_series=False)["book"] and list(map(list, pairs)),
    ):
        assert fitted.recommend_new(given)["score"].to_list() == expected
    for wrong in ((100, 5), "100", 7):
        with pytest.raises(TypeError, match="make it a list"):
            fitted.recommend_new(wrong)


def test_columns_of_the_context_may_be_left_out(cafe):
    rec = Recommender(bits=8).fit(cafe, target=None, context=["daytime"])
    assert rec.evaluate(cafe.drop("daytime")).interactions == len(cafe)
    rec.add_events({"user_id": ["new"], "item_id": ["tea"]})
    assert rec.recommend("new")["item"].to_list() == ["beer"]


def test_contexts_of_mixed_types_are_text():
    table = {"user_id": ["a", "b", "a"], "item_id": ["x", "x", "y"], "rating": [1, 2, 3], "c": ["p", 5, "p"]}
    rec = quick().fit(table, context=["c"])
    assert np.isfinite(rec.predict(table)).all()
    assert len(rec.recommend("a", context={"c": object()}, seen=True)) == 2
    lists = quick().fit({**table, "c": [["p", "q"], ["q"], []]}, context=["c"])
    assert np.isfinite(lists.recommend("a", context={"c": ["q"]}, seen=True)["score"].to_numpy()).all()
    with pytest.raises(ValueError, match="names a column twice"):
        quick().fit(table, context=["c", "c"])


def test_several_ratings_in_contexts_are_their_mean():
    table = {"user_id": ["a", "b"], "item_id": ["x", "x"], "rating": [1, 2], "c": ["p", "q"]}
    rec = quick(kinds={"c": "category"}).fit(table, context=["c"])
    rec.add_ratings({"user_id": ["n", "n"], "item_id": ["x", "x"], "rating": [1.0, 5.0], "c": [None, None]})
    number = rec._state.users.ids.find("n")
    np.testing.assert_allclose(rec._state.log.by_user.take(np.array([number])).values, [3.0])


def test_training_data_fits_the_model_after_additions(fitted, shop):
    rec = copy.deepcopy(fitted)
    more = {"reader": ["late"], "book": [7], "rating": [4]}
    rec.add_ratings(more)
    ratings = shop.ratings.select("reader", "book", "rating")
    X, y = rec.training_data(pl.concat([ratings, pl.DataFrame(more, schema=ratings.schema)]))
    assert X.n_features == rec.model_.n_features_in_
    assert rec.evaluate(more, model=BiasModel().fit(X, y)).interactions == 1
    with pytest.raises(ValueError, match="give no model="):
        rec.evaluate(more, model=BiasModel().fit(X, y), without=["user.id"])


def test_items_that_are_not_known_are_missed(cafe):
    rec = Recommender(bits=8).fit(cafe.filter(cafe["item_id"] == "tea"), target=None)
    rec.add_items({"item_id": ["beer"]})
    one = rec.evaluate({"user_id": ["p0"], "item_id": ["beer"]})
    assert (one.hit_rate, one.interactions) == (1.0, 1)
    two = rec.evaluate({"user_id": ["p0", "p1"], "item_id": ["beer", "wine"]})
    assert (two.hit_rate, two.interactions) == (0.5, 2)
    each = rec.evaluate({"user_id": ["p0", "p1"], "item_id": ["beer", "wine"]}, by="interaction")
    assert (each.hit_rate, each.users) == (0.5, 2)


def test_settings_of_any_kind_come_back(tmp_path):
    table = {"user_id": ["a", "b"], "item_id": ["x", "y"], "rating": [1, 2]}
    rec = quick(bits=np.int64(8), verbose=True, history=1, random_state=np.int32(3)).fit(table)
    rec.save(tmp_path / "a.bitfm")
    back = bitfm.load(tmp_path / "a.bitfm")
    assert (back.bits, back.verbose, back.history, back.random_state) == (8, 1, True, 3)
    rec.notes["rows"] = 5
    with pytest.raises(TypeError, match="notes must be texts"):
        rec.save(tmp_path / "b.bitfm")
    assert not (tmp_path / "b.bitfm").exists()


def test_a_title_needs_items():
    with pytest.raises(ValueError, match="there is no table of items"):
        quick().fit({"user_id": ["a"], "item_id": ["x"], "rating": [1]}, title="name")


def test_an_explanation_of_many_pairs_lists_the_largest_and_sums_all():
    n = 60
    table = {
        "user_id": ["u"] * n + [f"x{i}" for i in range(n)],
        "item_id": [f"i{i}" for i in range(n)] + ["i0"] * n,
        "rating": [1 + i % 5 for i in range(2 * n)],
    }
    rec = Recommender(bits=16).fit(table)
    why = rec.explain("u", "i0")
    assert len(why.pairs) == 1000
    assert why.n_other_pairs > 2000
    assert why.score == pytest.approx(rec.predict([("u", "i0")])[0], abs=1e-4)
    assert why.bias + sum(why.by_field().values()) == pytest.approx(why.score, abs=1e-6)
    shares = [abs(pair.contribution) for pair in why.pairs]
    assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize(("kind", "value"), [("date", "16.7.19"), ("number", "38 kg"), ("standard", "38 kg")])
def test_a_column_that_cannot_be_what_it_was_declared_is_refused(kind, value):
    items = {"item_id": ["x", "y"], "c": [value, f"{value}!"]}
    with pytest.raises(bitfm.ValueInTableError, match=f"items, column 'c'.*{value}"):
        quick(kinds={"c": kind}).fit({"user_id": ["a"], "item_id": ["x"], "rating": [1]}, items=items)
