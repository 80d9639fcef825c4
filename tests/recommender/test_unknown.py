"""What is not known, or cannot be meant, is named: by an error, or by a warning and in the result."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import polars as pl
import pytest

from bitfm import BitfmWarning
from bitfm.errors import MissingColumnError


@pytest.fixture
def reader(shop):
    return shop.readers["reader"][0]


def test_several_users_are_told_apart_by_whether_they_are_known(rec, reader):
    with pytest.warns(BitfmWarning, match="recommend: user 'zed' not known, so given the non-personalised ranking"):
        found = rec.recommend([reader, "zed"], n=2)
    assert found["user"].to_list() == [reader, reader, "zed", "zed"]
    assert found["known"].to_list() == [True, True, False, False]


def test_a_warning_points_at_the_call(rec):
    with pytest.warns(BitfmWarning) as caught:
        rec.recommend("zed")
    assert [warning.filename for warning in caught] == [__file__]


def test_known_users_and_items_warn_of_nothing(rec, shop, reader):
    book = shop.books["book"][0]
    with warnings.catch_warnings(action="error"):
        rec.recommend(reader, allow=[book])
        rec.recommend([reader], deny=book)
        rec.recommend_new([(book, 5)])


def test_of_many_the_first_are_named(rec):
    with pytest.warns(BitfmWarning, match=r"user 'u0', 'u1', 'u2' and 97 more not known"):
        rec.recommend([f"u{i}" for i in range(100)], n=1)


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, pl.Series([None])[0]])
def test_a_missing_user_is_an_error(rec, reader, missing):
    with pytest.raises(ValueError, match=r"the user is missing .*recommend_new\(\)"):
        rec.recommend(missing)
    with pytest.raises(ValueError, match="user 2 of 3 is missing"):
        rec.recommend([reader, missing, reader])


def test_unknown_users_and_items_of_pairs_are_named(rec, shop, reader):
    book = shop.books["book"][0]
    for pairs in ([("zed", book), (reader, -7)], {"reader": ["zed", reader], "book": [book, -7]}):
        with pytest.warns(BitfmWarning) as caught:
            rec.predict(pairs)
        told = [str(warning.message).replace("'-7'", "-7") for warning in caught]  # tables have texts
        assert told == [
            "predict: user 'zed' not known, so scored by what is known.",
            "predict: item -7 not known, so scored by what is known.",
        ]
    with warnings.catch_warnings(action="error"):
        assert rec.predict([(None, book), (reader, None)]).shape == (2,)
    for pairs, place in (([(reader, book), (np.nan, book)], "user of pair 2"), ([(reader, np.nan)], "item of pair 1")):
        with pytest.raises(ValueError, match=f"predict: the {place} is missing"):
            rec.predict(pairs)


def test_an_unknown_user_of_an_explanation_is_named(rec, shop):
    book = shop.books["book"][0]
    with pytest.warns(BitfmWarning, match="explain: user 'zed' not known"):
        found = rec.explain("zed", book)
    with warnings.catch_warnings(action="error"):
        assert rec.explain(None, book).score == found.score
    with pytest.raises(ValueError, match=r"the user of pair 1 is missing \(nan\)"):
        rec.explain(np.nan, book)


def test_a_missing_time_of_pandas_is_missing(rec):
    pd = pytest.importorskip("pandas")
    for missing in (pd.NaT, pd.NA):
        with pytest.raises(ValueError, match="the user is missing"):
            rec.recommend(missing)


@pytest.mark.parametrize("odd", [1.5, -1, b"x", True])
def test_what_is_no_user_is_named(rec, odd):
    with pytest.warns(BitfmWarning, match="not known"):
        rec.recommend(odd, n=1)


def test_users_may_be_a_frame_with_the_column_of_ids(rec, shop):
    some = shop.readers[:3]
    assert rec.recommend(some, n=2).equals(rec.recommend(some["reader"], n=2))
    with pytest.raises(MissingColumnError, match="reader"):
        rec.recommend(some.drop("reader"))
    with pytest.raises(TypeError, match="got a mapping; give a list of ids"):
        rec.recommend({"reader": some["reader"][0]})


@pytest.mark.parametrize("make", [list, np.array, pl.Series])
def test_masks_are_refused(rec, shop, reader, make):
    mask = make([True, False] * (rec.n_items // 2))
    for what in ("allow", "deny"):
        with pytest.raises(TypeError, match=rf"{what}: expected ids, got a mask of {rec.n_items} booleans"):
            rec.recommend(reader, **{what: mask})
    with pytest.raises(TypeError, match="users: expected ids"):
        rec.recommend(mask)


def test_items_to_choose_from_may_be_unknown(rec, shop, reader):
    book = shop.books["book"][0]
    with pytest.warns(BitfmWarning, match="allow: item 'atlantis' not known, so passed over"):
        found = rec.recommend(reader, allow=["atlantis", book], seen=True)
    assert found["item"].to_list() == [book]


def test_columns_that_the_fit_did_not_have_are_named(rec, shop):
    changed = copy.copy(rec)
    with pytest.warns(BitfmWarning, match="add_items: passed over 'colour', not among the fit's columns: .*genre"):
        changed.add_items({"book": [10**6], "genre": ["Fantasy"], "colour": ["red"]})
    with pytest.warns(BitfmWarning, match="add_users: passed over 'shoe'"):
        changed.add_users({"reader": ["zed"], "shoe": [44]})
    with warnings.catch_warnings(action="error"):
        changed.add_items(shop.books[:2])
        changed.add_users(shop.readers[:2])
