"""An explanation adds up to the score, and names what people know; an evaluation can do without fields."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from bitfm import FM, BiasModel, Recommender, UnknownIdError
from bitfm.evaluation import mae, ndcg, rmse


def test_contributions_add_up_to_the_score(rec, shop):
    pairs = [*shop.ratings.sample(20, seed=0).select("reader", "book").iter_rows(), ("nobody", 100)]
    for (reader, book), score in zip(pairs, rec.predict(pairs), strict=True):
        told = rec.explain(reader, book)
        np.testing.assert_allclose(told.score, score, atol=1e-4)
        np.testing.assert_allclose(told.bias + sum(told.by_field().values()), score, atol=1e-4)


def test_a_context_is_explained_too(fitted_on_contexts):
    told = fitted_on_contexts.explain("p1", "t3", context={"daytime": "evening"})
    score = fitted_on_contexts.predict({"person": ["p1"], "thing": ["t3"], "daytime": ["evening"]})[0]
    np.testing.assert_allclose(told.score, score, atol=1e-4)
    assert "context.daytime: evening" in {share.name for share in told.features}


def test_names_are_those_that_people_know(rec, shop):
    reader, book = shop.ratings.row(0)[:2]
    of_reader = shop.readers.row(by_predicate=pl.col("reader") == reader, named=True)
    of_book = shop.books.row(by_predicate=pl.col("book") == book, named=True)
    told = rec.explain(reader, book)
    names = {share.name for share in told.features}
    assert f"user.id: {reader}" in names
    assert f"user.age_group: {of_reader['age_group']}" in names
    assert {f"user.favourite_genres: {genre}" for genre in of_reader["favourite_genres"]} <= names
    assert f"item.genre: {of_book['genre']}" in names
    assert f"item.id: {of_book['title']}" in names  # a title tells more than a number
    assert f"item.raters: {reader}" in names
    assert any(
        name.startswith("user.history: ") and name.split(": ", 1)[1] in set(shop.books["title"]) for name in names
    )
    for pair in told.pairs:
        assert {name.split(".")[0] for name in pair.names} == {"user", "item"}
    assert str(told).startswith(f"score {told.score:.4f} = bias")


def test_nobody_is_explained_by_the_item_alone(rec):
    told = rec.explain(None, 100)
    assert {share.name.split(".")[0] for share in told.features} == {"item"}
    assert not told.pairs


def test_similar_items_correlate_over_users(rec, shop):
    best = rec.similar_items(100, n=5)
    assert 100 not in set(best["item"])
    readers = shop.ratings["reader"]
    of_any = rec.predict([(reader, None) for reader in readers])
    first = rec.predict({"reader": readers, "book": [100] * len(readers)}) - of_any
    for book, score in best.select("item", "score").iter_rows():
        other = rec.predict({"reader": readers, "book": [book] * len(readers)}) - of_any
        np.testing.assert_allclose(np.corrcoef(first, other)[0, 1], score, atol=1e-3)
    genre = dict(shop.books.select("book", "genre").iter_rows())
    hits = [genre[book] == genre[item] for book in genre for item in rec.similar_items(book, n=3)["item"]]
    assert np.mean(hits) > 2 / shop.books["genre"].n_unique()


# Evaluation


def test_an_evaluation_is_what_the_measures_say(rec, shop):
    found = rec.evaluate(shop.ratings, k=5)
    scores, y = rec.predict(shop.ratings), shop.ratings["rating"].to_numpy()
    readers = np.unique(shop.ratings["reader"].to_numpy(), return_inverse=True)[1]
    assert (found.users, found.interactions, found.k) == (300, 6000, 5)
    np.testing.assert_allclose(found.rmse, rmse(y, scores), rtol=1e-6)
    np.testing.assert_allclose(found.mae, mae(y, scores), rtol=1e-6)
    np.testing.assert_allclose(found.ndcg, ndcg(readers, y, scores, k=5), rtol=1e-6)


def test_without_a_field_is_without_its_contribution(rec, shop):
    whole = rec.evaluate(shop.ratings)
    for without in ("user.history", ["user.id", "item.id"], "user"):
        assert rec.evaluate(shop.ratings, without=without).rmse > whole.rmse
    everything = rec.evaluate(shop.ratings, without=["user", "item"])
    y = shop.ratings["rating"].to_numpy()
    np.testing.assert_allclose(everything.rmse, rmse(y, np.full(len(y), rec.model_.bias_)), rtol=1e-5)
    assert rec.evaluate(shop.ratings) == whole  # the recommender has not changed
    with pytest.raises(ValueError, match=r"'user\.shoe'.*user\.age_group"):
        rec.evaluate(shop.ratings, without=["user.shoe"])


def test_unknown_users_and_items_are_evaluated_too(rec):
    found = rec.evaluate({"reader": ["x", "x", "y"], "book": [100, 7, 101], "rating": [5, 1, 3]})
    assert (found.users, found.interactions) == (2, 3)


def test_another_model_fits_the_same_data(rec, shop):
    blocks, y = rec.training_data(shop.ratings)
    assert [f"{field.block}.{field.name}" for field in blocks.fields] == rec.fields
    np.testing.assert_array_equal(y, shop.ratings["rating"].to_numpy())
    np.testing.assert_allclose(rec.model_.predict(blocks), rec.predict(shop.ratings), atol=1e-5)
    bare = Recommender(bits=8, n_jobs=1).fit(shop.ratings, user="reader", item="book")  # so everybody has ratings
    refitted = clone(bare.model_).fit(*bare.training_data(shop.ratings))
    np.testing.assert_array_equal(refitted.codes_, bare.model_.codes_)
    np.testing.assert_array_equal(refitted.weights_, bare.model_.weights_)
    for model in (BiasModel(n_jobs=1), FM(8, n_iter=5, pairs="across", n_jobs=1)):
        judged = rec.evaluate(shop.ratings, model=model.fit(blocks, y))
        np.testing.assert_allclose(judged.rmse, rmse(y, model.predict(blocks)), rtol=1e-5)


def test_training_data_needs_known_ids(rec):
    with pytest.raises(UnknownIdError, match="user 'late' is not known"):
        rec.training_data({"reader": ["late"], "book": [100], "rating": [5]})
