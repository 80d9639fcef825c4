"""What a fit found out about formats is kept: what comes later, also to an opened file, is read alike."""

from __future__ import annotations

import numpy as np
import pytest

import bitfm
from bitfm import BitfmWarning, DiscreteFM, Recommender
from bitfm.data import Number

RATINGS = {
    "user_id": [user for user in "abcdef" for _ in range(6)],
    "item_id": [f"i{item}" for _ in range(6) for item in range(6)],
    "rating": [f"{(user * item) % 5},{item}" for user in range(6) for item in range(6)],
    "time": [f"{13 + item}/0{1 + user}/2018" for user in range(6) for item in range(6)],
    "paid": [f"{1 + item}.000,50" for _ in range(6) for item in range(6)],
}
ITEMS = {
    "item_id": [f"i{item}" for item in range(6)],
    "price": [f"{1 + item}.500" for item in range(5)] + ["17,94"],
    "seen": [f"0{1 + item}/0{2 + item}/2018" for item in range(5)] + ["27/11/2018"],
}


@pytest.fixture(scope="module")
def rec():
    model = DiscreteFM(bits=8, max_iter=2)
    kinds = {"price": Number(bins=50), "paid": "number", "seen": "date"}
    return Recommender(model=model, kinds=kinds).fit(RATINGS, items=ITEMS, time="time", context=["paid"])


def features(rec, item):
    """What an item's columns are, for people to read."""
    state = rec.state
    row = state.items.fields(state.items.indices_of([item]))
    return {name: [rec.feature_name(f"item.{name}", int(f)) for f in table.indices] for name, table in row.items()}


def test_columns_targets_times_and_contexts_are_read(rec):
    assert features(rec, "i0")["price"] == ["1500"]
    assert features(rec, "i5")["price"] == ["17.94"]
    assert features(rec, "i0")["seen"][0] == "month February"
    assert (rec.state.roles.decimal, rec.state.roles.dates) == (",", "dmy")
    assert rec.state.context[0].kind.decimal == ","


def test_later_values_are_read_alike(rec, tmp_path):
    rec.save(tmp_path / "m.bitfm")
    more = tmp_path / "more.csv"
    more.write_text("item_id,price,seen\nnew,1.500,01/02/2018\n")  # which alone would be 1.5 and in January
    later = tmp_path / "later.csv"
    later.write_text('user_id,item_id,rating,time,paid\na,i1,2.000,01/02/2018,"1.000,50"\n')
    for one in (rec, bitfm.load(tmp_path / "m.bitfm")):
        read = one.interactions(later)
        assert read.target.tolist() == [2000]
        assert read.times.tolist() == [np.datetime64("2018-02-01", "s").astype(int)]
        one = bitfm.load(tmp_path / "m.bitfm").add_items(more)
        assert features(one, "new") == features(one, "i0")
        as_frame = one.add_items({"item_id": ["newer"], "price": ["1.500"], "seen": ["01/02/2018"]})
        assert features(as_frame, "newer") == features(one, "i0")


def test_formats_that_are_given_count_in_all_tables():
    items = {
        "item_id": ITEMS["item_id"],
        "price": ["1.500"] * 3 + ["2.500"] * 3,
        "seen": ["03/04/2018"] * 5 + ["05/06/2018"],
    }
    ratings = {**RATINGS, "rating": ["1.000"] * 36, "time": ["03/04/2018"] * 36}
    model = DiscreteFM(bits=8, max_iter=2)
    kinds = {"price": Number(bins=50), "seen": "date"}
    fit = Recommender(model=model, kinds=kinds).fit(ratings, items=items, time="time", decimal=",", dates="dmy")
    assert features(fit, "i0") == {"price": ["1500"], "seen": ["month April"]}
    assert (fit.state.roles.decimal, fit.state.roles.dates) == (",", "dmy")
    for wrong in ({"decimal": ";"}, {"dates": "ymd"}, {"missing": "keep"}):
        with pytest.raises(ValueError, match="must be one of"):
            Recommender().fit(ratings, **wrong)


def test_ratings_that_are_missing_are_dropped_or_refused_as_at_the_fit(tmp_path):
    ratings = {**{name: RATINGS[name] for name in ("user_id", "item_id")}, "rating": [None, *range(35)]}
    with pytest.warns(bitfm.BitfmWarning, match="dropped 1 of 36 rows"):
        rec = Recommender(model=DiscreteFM(bits=8, max_iter=2)).fit(ratings)
    assert len(rec.interactions({"user_id": ["a"], "item_id": ["i1"], "rating": [1]})) == 1
    with pytest.warns(bitfm.BitfmWarning, match="ratings, column 'rating': dropped 1 of 2 rows"):
        rec.add_ratings({"user_id": ["a", "a"], "item_id": ["i1", "i2"], "rating": [1, None]})
    with pytest.raises(bitfm.ValueInTableError, match="row 1: the value is missing"):
        Recommender().fit(ratings, missing="error")
    whole = {**ratings, "rating": [1, *range(35)]}
    strict = Recommender(model=DiscreteFM(bits=8, max_iter=2)).fit(whole, missing="error")
    strict.save(tmp_path / "m.bitfm")
    with pytest.raises(bitfm.ValueInTableError, match="row 2: the value is missing"):
        bitfm.load(tmp_path / "m.bitfm").add_ratings(
            {"user_id": ["a", "a"], "item_id": ["i1", "i2"], "rating": [1, None]}
        )


def test_a_fit_says_how_it_has_read_targets_and_times(rec, tmp_path):
    """No value is quoted: it could not be removed."""
    rec.save(tmp_path / "m.bitfm")
    for one in (rec, bitfm.load(tmp_path / "m.bitfm")):
        told = [(r["side"], r["column"], r["why"]) for r in one.describe().to_dicts() if r["side"] == "interaction"]
        assert told == [
            ("interaction", "rating", "numbers with a decimal comma"),
            ("interaction", "time", "times, the day first"),
        ]


def test_a_fit_says_what_nothing_decides():
    open_times = {**RATINGS, "time": ["03/04/2018"] * 36}
    with pytest.warns(BitfmWarning, match="'time': the month first, as nothing decides"):
        rec = Recommender(model=DiscreteFM(bits=8, max_iter=2)).fit(open_times, time="time")
    told = {row["column"]: row["why"] for row in rec.describe().to_dicts()}
    assert told["time"] == "times, the month first, as nothing decides"
