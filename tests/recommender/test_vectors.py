"""Vectors for other search engines: a plain product ranks as the recommender does."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from bitfm import ImplicitFM, Recommender
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
