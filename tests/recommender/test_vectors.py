"""Vectors for other search engines: a plain product ranks as the recommender does."""

from __future__ import annotations

import copy

import numpy as np
import polars as pl
import pytest

import bitfm
from bitfm import BitfmWarning, ImplicitFM, Recommender
from bitfm.errors import UnknownIdError

EVENTS = {"user": "person", "item": "thing", "target": None}


def check(rec, users, context=None, **how):
    items, vectors = rec.item_vectors(), rec.user_vectors(users, context=context)
    assert items.vectors.dtype == vectors.vectors.dtype == np.float32
    assert vectors.ids == users
    assert sorted(map(str, items.ids)) == sorted(rec.items[rec.items.columns[0]].cast(pl.String).to_list())
    scores = vectors.vectors @ items.vectors.T
    for user, row in zip(users, scores, strict=True):
        found = rec.recommend(user, n=len(items.ids), context=context, seen=True)
        places = [items.ids.index(item) for item in found["item"].to_list()]
        np.testing.assert_allclose(row[places], found["score"].to_numpy(), **how)
        assert len(places) == len(items.ids)


def test_products_are_scores_of_ratings(rec, shop):
    check(rec, shop.readers["reader"][:5].to_list(), rtol=1e-4)


def test_products_are_scores_in_a_context(fitted_on_contexts):
    people = [f"p{i}" for i in range(4)]
    model = fitted_on_contexts.model_.set_params(n_neighbors=0, tune=False)
    frame = pl.DataFrame(
        {"person": ["a", "a", "b", "c"], "thing": ["x", "y", "y", "z"], "daytime": ["am", "pm", "am", "pm"]}
    )
    rec = Recommender(model=model).fit(frame, **EVENTS, context=["daytime"])
    check(rec, ["a", "b"], {"daytime": "am"}, rtol=1e-3, atol=1e-4)
    assert len(people) == len(fitted_on_contexts.user_vectors(people).ids)


def test_products_are_scores_of_events_without_neighbors(events):
    rec = Recommender(model=ImplicitFM(32, n_neighbors=0, tune=False)).fit(events, **EVENTS)
    check(rec, rec.users["person"][:5].to_list(), rtol=1e-3, atol=1e-4)


def check_codes(rec, users, context=None, **how):
    items, queries = rec.item_codes(), rec.user_vectors(users, context=context, codes=True).vectors
    signs = 2.0 * np.unpackbits(items.codes, axis=1, bitorder="little") - 1
    scores = queries[:, :-2] @ signs.T * items.gains + queries[:, -2:-1] * items.biases + queries[:, -1:]
    np.testing.assert_allclose(queries @ items.vectors().T, scores, rtol=1e-4, atol=1e-4)
    for user, row in zip(users, scores, strict=True):
        found = rec.recommend(user, n=len(items.ids), context=context, seen=True)
        places = [items.ids.index(item) for item in found["item"].to_list()]
        assert sorted(places) == list(range(len(items.ids)))
        np.testing.assert_allclose(row[places], found["score"].to_numpy(), **how)


def test_codes_gains_and_biases_make_scores_of_ratings(shop):
    context = {"device": pl.Series(["phone", "desk", "desk"]).sample(len(shop.ratings), with_replacement=True, seed=1)}
    ratings = shop.ratings.with_columns(**context)
    columns = {"users": shop.readers, "user": "reader", "item": "book", "context": ["device"]}
    rec = Recommender(16, raters=False, n_jobs=1).fit(ratings, **columns)
    rec.add_items(pl.DataFrame({"book": [99_999]}))
    users = [*shop.readers["reader"][:5].to_list(), "nobody"]
    check_codes(rec, users[:5], {"device": "phone"}, rtol=1e-4)
    with pytest.warns(BitfmWarning, match="nobody"):
        check_codes(rec, users[5:], rtol=1e-4)
    assert rec.item_codes().codes.shape == (rec.n_items, 2)
    assert rec.item_codes().ids[-1] == 99_999
    assert rec.item_codes().gains[-1] == 0  # of which nothing is known


def test_items_of_several_features_have_no_codes(rec):
    with pytest.raises(ValueError, match=r"item_codes: items have several features.*raters=False"):
        rec.item_codes()


def test_codes_gains_and_biases_make_scores_of_events(events, tmp_path):
    model = ImplicitFM(32, n_neighbors=0, tune=False)
    rec = Recommender(model=model).fit(events, **EVENTS, context=["daytime"])
    users = rec.users["person"][:5].to_list()
    rec.save(tmp_path / "rec.bitfm")
    for one in (rec, bitfm.load(tmp_path / "rec.bitfm")):
        check_codes(one, users, {"daytime": "morning"}, rtol=1e-3, atol=1e-4)
        assert one.item_codes().codes.nbytes == 4 * rec.n_items
    check(rec, users, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("of", ["fitted", "fitted_on_events"])
def test_vectors_may_be_changed_in_place(of, request):
    rec = copy.copy(request.getfixturevalue(of))
    item = rec.items[rec.items.columns[0]][0]
    before, alike = rec.item_vectors().vectors.copy(), rec.similar_items(item)
    rec.item_vectors().vectors[:] = 1
    rec.user_vectors().vectors[:] = 1
    if of == "fitted_on_events":
        for part in rec.item_codes()[1:]:
            part[:] = 1
    np.testing.assert_array_equal(rec.item_vectors().vectors, before)
    assert rec.similar_items(item).equals(alike)


def test_all_users_by_default(rec, shop):
    found = rec.user_vectors()
    assert found.ids == rec.users["reader"].to_list()
    some = shop.readers["reader"][:3].to_list()
    rows = [found.ids.index(one) for one in some]
    np.testing.assert_allclose(found.vectors[rows], rec.user_vectors(some).vectors, rtol=1e-5)
    assert rec.user_vectors(some[0]).vectors.shape == (1, found.vectors.shape[1])


def test_without_users_there_are_no_vectors_of_them(events):
    rec = Recommender(model=ImplicitFM(32, tune=False), keep_interactions=False).fit(events, **EVENTS)
    assert len(rec.item_vectors().ids) == rec.n_items
    with pytest.raises(UnknownIdError, match="keeps no users"):
        rec.user_vectors()


def test_users_and_items_are_frames(rec, shop):
    items, users = rec.items, rec.users
    assert items.columns == ["book", "title", "interactions"]
    counts = shop.ratings.unique(["reader", "book"])["book"].value_counts()
    joined = items.join(counts, on="book", how="left").fill_null(0)
    assert joined["interactions"].to_list() == joined["count"].to_list()
    assert items["title"].to_list() == items.join(shop.books, on="book")["title"].to_list()
    assert users.columns == ["reader", "interactions"]
    assert len(users) == rec.n_users
