"""What the demo shows: its bookshop and files, the models side by side, the picture, reasons, newcomers."""

from __future__ import annotations

from copy import copy

import numpy as np
import polars as pl
import pytest

from bitfm import DiscreteFM, Recommender
from bitfm.cli._demo import Shop, add_book, book_map, draw, new_reader, queries_per_second, reasons
from bitfm.data import Block, Blocks, read_table
from bitfm.datasets import make_bookshop
from bitfm.models import FM, BiasModel
from bitfm.parameters import Explanation, FeatureShare, PairShare
from bitfm.retrieval import Index

pytestmark = pytest.mark.true_teacher  # the quick one is too rough to be of use to so small a shop


@pytest.fixture(scope="module")
def small_shop():
    return Shop.of(make_bookshop(200, 120, 5000, seed=2), seed=2)


@pytest.fixture(scope="module")
def fitted(small_shop):
    return small_shop.fit(seed=0)


def test_half_of_each_readers_ratings_are_held_out(small_shop):
    assert len(small_shop.train) + len(small_shop.test) == len(small_shop.ratings) == 5000
    train, test = (part.group_by("reader").len() for part in (small_shop.train, small_shop.test))
    counts = train.join(test, on="reader", suffix="_test")
    assert len(counts) == len(small_shop.readers)
    assert (counts["len"] - counts["len_test"]).abs().max() <= 1
    assert small_shop.train.join(small_shop.test, on=["reader", "title"]).is_empty()


def test_the_files_tell_what_the_tables_tell(small_shop, tmp_path):
    ratings, readers, books = (read_table(path) for path in small_shop.write(tmp_path))
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


@pytest.mark.parametrize(
    "model",
    [
        BiasModel(),
        FM(4, pairs="across", n_iter=5),
        FM(4, pairs="across", solver="gibbs", n_iter=6, n_samples=5, n_chains=1),
        DiscreteFM(16, pairs="across", max_iter=2),
    ],
    ids=["bias", "als", "gibbs", "codes"],
)
def test_a_search_finds_what_the_model_predicts_to_be_best(small_shop, fitted, model):
    X, y = fitted.training_data(small_shop.train)
    model.fit(X, y)
    tables = {name: block.tables for name, block in X.blocks.items()}
    users, items = Block(np.arange(30), tables["user"]), Block(np.arange(120), tables["item"])
    pairs = Blocks(
        user=Block(np.repeat(users.rows, 120), tables["user"]), item=Block(np.tile(items.rows, 30), tables["item"])
    )
    scores = model.predict(pairs).reshape(30, 120)
    found, _ = Index(model.parameters_, items, "item").search(users, 10)
    best = -np.sort(-scores, axis=1)[:, :10]
    assert np.take_along_axis(scores, found, axis=1) == pytest.approx(best, abs=1e-4)
    assert queries_per_second(model, users, items) > 0


def test_books_of_a_genre_are_near_each_other_on_the_map(small_shop, fitted):
    places = book_map(fitted, small_shop)
    genres = small_shop.books["genre"].to_numpy()
    assert places.shape == (120, 2)
    within = [np.var(places[genres == genre], axis=0).sum() * (genres == genre).sum() for genre in np.unique(genres)]
    assert sum(within) / len(places) < 0.7 * np.var(places, axis=0).sum()


def test_the_picture_names_models_and_genres(small_shop, fitted, tmp_path):
    pytest.importorskip("matplotlib")
    rows = [
        {"model": "bias only", "NDCG@10": 0.8, "kB": 40},
        {"model": "DistilledFM, 64 bits", "NDCG@10": 0.85, "kB": 120},
    ]
    draw(rows, fitted, small_shop, tmp_path / "picture")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    drawing = (tmp_path / "picture.svg").read_text()
    names = [row["model"] for row in rows] + small_shop.books["genre"].to_list()
    assert all(f"<!-- {name} -->" in drawing for name in names)


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


def test_a_new_book_gets_the_rank_that_sorting_gives_it(small_shop, fitted):
    recommender = copy(fitted)  # which a book may be added to
    book, busiest, highest = add_book(recommender, small_shop)
    assert book["title"] not in small_shop.books["title"]
    assert book["author"] in small_shop.books.filter(genre=book["genre"])["author"]
    assert busiest["favourite_genres"] == [book["genre"]]
    assert highest["rank"] <= busiest["rank"]
    for ranked in (busiest, highest):
        seen = small_shop.train.filter(reader=ranked["user"])["title"].to_list()
        titles = [title for title in [*small_shop.books["title"], book["title"]] if title not in seen]
        scores = dict(zip(titles, recommender.predict([(ranked["user"], title) for title in titles]), strict=True))
        assert ranked["among"] == len(titles)
        assert ranked["rank"] == 1 + sum(score > scores[book["title"]] + 1e-5 for score in scores.values())


def test_a_new_reader_tells_what_the_recommender_knows(small_shop, fitted):
    features, history = new_reader(small_shop)
    titles = [title for title, _ in history]
    assert len(set(titles)) == 3
    found = fitted.recommend_new(history, features, n=5)["item"].to_list()
    assert not set(found) & set(titles)
    assert found != fitted.recommend_new((), {}, n=5)["item"].to_list()
