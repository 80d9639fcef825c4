"""The generated bookshop: sizes and uniqueness, determinism, and the structure it promises to plant."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import Ridge
from sklearn.preprocessing import MultiLabelBinarizer, OneHotEncoder

from bitfm.datasets import Bookshop, make_bookshop


@pytest.fixture(scope="module")
def shop() -> Bookshop:
    return make_bookshop()


def same_columns(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a.keys() == b.keys() and all(list(a[name]) == list(b[name]) for name in a)


def rmse(error: np.ndarray) -> float:
    return float(np.sqrt(np.mean(error**2)))


def explained(features: np.ndarray, taste: np.ndarray) -> float:
    """R² of ridge regression of taste on features, fitted on even rows and scored on odd ones."""
    return float(Ridge(alpha=3.0).fit(features[::2], taste[::2]).score(features[1::2], taste[1::2]))


def one_hot(*columns: list[str]) -> np.ndarray:
    return OneHotEncoder(sparse_output=False).fit_transform(np.column_stack(columns))


def assert_consistent(shop: Bookshop, n_readers: int, n_books: int, n_ratings: int) -> None:
    """Assert what holds for any shop: exact counts, unique names and pairs, ranges, rows that match names."""
    readers, books, ratings = shop.readers, shop.books, shop.ratings
    assert list(readers) == ["reader", "age_group", "region", "favourite_genres"]
    assert list(books) == ["title", "author", "genre", "year", "blurb"]
    assert list(ratings) == ["reader", "title", "rating", "time"]
    for table, n in ((readers, n_readers), (books, n_books), (ratings, n_ratings)):
        assert {len(column) for column in table.values()} == {n}
    assert len(set(readers["reader"])) == n_readers
    assert len(set(books["title"])) == n_books
    assert all(1 <= len(set(genres)) == len(genres) <= 3 for genres in readers["favourite_genres"])

    assert shop.reader_rows.dtype == shop.book_rows.dtype == np.int32
    assert [readers["reader"][i] for i in shop.reader_rows] == ratings["reader"]
    assert [books["title"][i] for i in shop.book_rows] == ratings["title"]
    assert len(set(zip(ratings["reader"], ratings["title"], strict=True))) == n_ratings
    assert np.isin(ratings["rating"], [1, 2, 3, 4, 5]).all()
    assert ratings["rating"].dtype == ratings["time"].dtype == np.int64
    if n_ratings:
        assert np.bincount(shop.reader_rows, minlength=n_readers).min() >= min(5, n_ratings // n_readers)

    assert shop.truth.reader_bias.shape == (n_readers,)
    assert shop.truth.book_bias.shape == (n_books,)
    assert shop.truth.reader_taste.shape == (n_readers, shop.truth.book_taste.shape[1])
    assert len(shop.truth.book_taste) == n_books


def test_default_shop_is_consistent(shop: Bookshop) -> None:
    assert_consistent(shop, 2000, 1000, 60_000)


@settings(max_examples=25, deadline=None)
@given(n_readers=st.integers(1, 40), n_books=st.integers(1, 40), filled=st.floats(0, 1), seed=st.integers(0, 99))
def test_any_size_is_met_exactly(n_readers: int, n_books: int, filled: float, seed: int) -> None:
    n_ratings = int(filled * n_readers * n_books)
    assert_consistent(make_bookshop(n_readers, n_books, n_ratings, seed), n_readers, n_books, n_ratings)


@pytest.mark.parametrize(
    "sizes", [(1, 1, 1), (1, 1, 0), (60, 40, 0), (60, 40, 2400), (60, 40, 2399), (1, 300, 290), (300, 1, 150)]
)
def test_extreme_shops_are_consistent(sizes: tuple[int, int, int]) -> None:
    assert_consistent(make_bookshop(*sizes), *sizes)


def test_names_stay_unique_when_plain_ones_run_out() -> None:
    assert_consistent(make_bookshop(60_000, 20_000, 1000), 60_000, 20_000, 1000)


def test_same_seed_same_shop_other_seed_other_shop(shop: Bookshop) -> None:
    again, other = make_bookshop(seed=0), make_bookshop(seed=1)
    for table in ("readers", "books", "ratings"):
        assert same_columns(getattr(shop, table), getattr(again, table))
        assert not same_columns(getattr(shop, table), getattr(other, table))
    np.testing.assert_array_equal(shop.truth.reader_taste, again.truth.reader_taste)
    np.testing.assert_array_equal(shop.truth.book_taste, again.truth.book_taste)


def test_books_do_not_depend_on_readers_nor_readers_on_books(shop: Bookshop) -> None:
    assert same_columns(make_bookshop(n_readers=10, n_ratings=20).books, shop.books)
    assert same_columns(make_bookshop(n_books=10, n_ratings=20).readers, shop.readers)


def test_ratings_look_like_ratings(shop: Bookshop) -> None:
    rating = shop.ratings["rating"]
    shares = np.bincount(rating, minlength=6)[1:] / len(rating)
    assert 3.5 < rating.mean() < 3.7
    assert shares.min() > 0.01
    assert shares.argmax() == 3


def test_activity_and_popularity_are_skewed(shop: Bookshop) -> None:
    for rows, n in ((shop.reader_rows, 2000), (shop.book_rows, 1000)):
        counts = np.sort(np.bincount(rows, minlength=n))
        assert counts[-n // 10 :].sum() > 0.25 * counts.sum()
        assert counts.mean() > 1.2 * np.median(counts)


def test_times_rise_with_every_rating_of_a_reader(shop: Bookshop) -> None:
    time = shop.ratings["time"]
    assert (np.diff(time) >= 0).all()
    order = np.argsort(shop.reader_rows, kind="stable")
    same_reader = np.diff(shop.reader_rows[order]) == 0
    assert (np.diff(time[order])[same_reader] > 0).all()
    years = time.astype("datetime64[s]").astype("datetime64[Y]").astype(int) + 1970
    assert set(years) <= set(range(2018, 2026))
    assert shop.books["year"].max() <= years.min()


def test_authors_write_mostly_one_genre_and_a_skewed_number_of_books(shop: Bookshop) -> None:
    by_author: dict[str, Counter[str]] = {}
    for author, genre in zip(shop.books["author"], shop.books["genre"], strict=True):
        by_author.setdefault(author, Counter())[genre] += 1
    in_main_genre = sum(genres.most_common(1)[0][1] for genres in by_author.values())
    assert 0.85 < in_main_genre / 1000 < 1
    written = sorted(sum(genres.values()) for genres in by_author.values())
    assert written[-1] > 4 * np.median(written)


def test_titles_and_blurbs_read_well(shop: Bookshop) -> None:
    for text in [*shop.books["title"], *shop.books["blurb"]]:
        assert text[0].isupper()
        assert not set(text) & set("{}_")
        assert not re.search(r"\b[Aa] (?!one)[AEIOUaeiou]", text)
        assert "  " not in text
        assert "The the" not in text
    assert all(1 <= blurb.count(".") <= 2 and len(blurb) < 250 for blurb in shop.books["blurb"])


def test_expected_is_bias_plus_inner_product_and_broadcasts(shop: Bookshop) -> None:
    truth = shop.truth
    table = truth.global_mean + truth.reader_bias[:, None] + truth.book_bias
    table = table + truth.reader_taste @ truth.book_taste.T
    np.testing.assert_allclose(truth.expected(np.arange(2000)[:, None], np.arange(1000)), table)
    np.testing.assert_allclose(truth.expected([3, 5], [7, 7]), table[[3, 5], [7, 7]])
    names = [shop.readers["reader"][3], shop.readers["reader"][5]]
    np.testing.assert_array_equal(shop.true_stars(names, shop.books["title"][7:9]), truth.expected([3, 5], [7, 8]))
    with pytest.raises(ValueError, match="'Nobody' is not in this bookshop"):
        shop.true_stars(["Nobody"], shop.books["title"][:1])


def test_reader_features_explain_part_of_the_taste(shop: Bookshop) -> None:
    readers, taste = shop.readers, shop.truth.reader_taste
    genres = MultiLabelBinarizer().fit_transform(readers["favourite_genres"])
    both = explained(np.hstack([genres, one_hot(readers["age_group"])]), taste)
    assert 0.3 < explained(genres, taste) < both - 0.05
    assert both < 0.8
    assert abs(explained(one_hot(readers["region"]), taste)) < 0.02


def test_genre_author_and_blurb_each_explain_part_of_the_taste() -> None:
    shop = make_bookshop(n_readers=1, n_books=4000, n_ratings=0)
    books, taste = shop.books, shop.truth.book_taste
    genre, author = one_hot(books["genre"]), one_hot(books["author"])
    words = CountVectorizer(binary=True).fit_transform(books["blurb"]).toarray()
    by_genre = explained(genre, taste)
    assert by_genre > 0.3
    assert explained(np.hstack([genre, author]), taste) > by_genre + 0.05
    assert explained(np.hstack([genre, words]), taste) > by_genre + 0.05
    assert explained(np.hstack([genre, author, words]), taste) < 0.8


def test_favourite_genres_score_higher(shop: Bookshop) -> None:
    genres = shop.books["genre"]
    favourite = np.array(
        [
            genres[i] in shop.readers["favourite_genres"][u]
            for u, i in zip(shop.reader_rows, shop.book_rows, strict=True)
        ]
    )
    rating = shop.ratings["rating"]
    assert rating[favourite].mean() > rating[~favourite].mean() + 0.2


def test_readers_choose_what_they_like_a_little_more_often(shop: Bookshop) -> None:
    truth = shop.truth
    taste = np.sum(truth.reader_taste[shop.reader_rows] * truth.book_taste[shop.book_rows], axis=1)
    everything = truth.reader_taste @ truth.book_taste.mean(axis=0)
    assert 0.02 < taste.mean() - everything.mean() < 0.3


def test_bias_alone_is_clearly_worse_than_the_truth(shop: Bookshop) -> None:
    users, items, y = shop.reader_rows, shop.book_rows, shop.ratings["rating"].astype(float)
    order = np.lexsort((np.random.default_rng(0).random(len(y)), users))
    train = np.zeros(len(y), dtype=bool)
    train[order[::2]] = True  # every other one of a reader's shuffled ratings

    mean, reader_bias, book_bias = y[train].mean(), np.zeros(2000), np.zeros(1000)
    for _ in range(15):
        for bias, rows in ((book_bias, items), (reader_bias, users)):
            rest = (y - mean - reader_bias[users] - book_bias[items] + bias[rows])[train]
            n = np.bincount(rows[train], minlength=len(bias))
            bias[:] = np.bincount(rows[train], rest, minlength=len(bias)) / (n + 7)

    bias_only = rmse((y - mean - reader_bias[users] - book_bias[items])[~train])
    truth = rmse((y - shop.truth.expected(users, items))[~train])
    assert 1.10 < bias_only / truth < 1.15


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_tables_become_data_frames(library: str) -> None:
    frames = pytest.importorskip(library)
    shop = make_bookshop(30, 20, 100)
    for table, n in ((shop.readers, 30), (shop.books, 20), (shop.ratings, 100)):
        assert frames.DataFrame(table).shape == (n, len(table))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_readers": 0}, "n_readers must be a whole number from 1 up, got 0"),
        ({"n_books": -3}, "n_books must be a whole number from 1 up, got -3"),
        ({"n_ratings": -1}, "n_ratings must be a whole number from 0 up, got -1"),
        ({"n_readers": 2.5}, "n_readers must be a whole number from 1 up, got 2.5"),
        ({"n_books": "many"}, "n_books must be a whole number from 1 up, got 'many'"),
        ({"n_ratings": None}, "n_ratings must be a whole number from 0 up, got None"),
        ({"n_readers": True}, "n_readers must be a whole number from 1 up, got True"),
        ({"seed": -1}, "seed must be a whole number from 0 up, got -1"),
        (
            {"n_readers": 3, "n_books": 4, "n_ratings": 13},
            "n_ratings is 13, but 3 readers and 4 books make only 12 pairs",
        ),
    ],
)
def test_bad_arguments_say_what_was_given_and_expected(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_bookshop(**arguments)


def test_numpy_integers_are_integers() -> None:
    assert_consistent(make_bookshop(np.int32(5), np.int64(4), np.uint8(9)), 5, 4, 9)
