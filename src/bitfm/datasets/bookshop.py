"""A generated bookshop: readers, books and ratings whose true tastes are known.

It needs no download, has features on both sides and a planted low-rank structure that features explain in part, so cold
start and warm start can both be shown and checked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bitfm.data.blocks import Block, Blocks
from bitfm.data.feature_table import FeatureTable
from bitfm.data.one_hot import many_hot, one_hot
from bitfm.datasets._tables import Columns, Floats, choose_books, make_books, make_readers, spread
from bitfm.validation import check_integer

__all__ = ["Bookshop", "Truth", "make_bookshop"]

_GLOBAL_MEAN, _NOISE_SD = 3.42, 0.85
_FEW_RATINGS = 5
_OPENED = 1_514_764_800  # 2018-01-01, in seconds since the epoch
_DAY = 86_400


@dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """What the ratings were drawn from.

    A rating is ``global_mean`` plus the biases of the reader and of the book plus the inner product of their tastes,
    plus Gaussian noise; it is rounded and clipped to 1–5.
    """

    global_mean: float
    reader_bias: Floats
    book_bias: Floats
    reader_taste: Floats  # readers × dimensions
    book_taste: Floats
    noise: float  # standard deviation

    def expected(self, reader_rows: ArrayLike, book_rows: ArrayLike) -> Floats:
        """Return the noise-free scores, before rounding and clipping; the rows broadcast against each other."""
        readers, books = np.asarray(reader_rows), np.asarray(book_rows)
        bias: Floats = self.global_mean + self.reader_bias[readers] + self.book_bias[books]
        return bias + self.affinity(readers, books)

    def affinity(self, readers: NDArray[Any], books: NDArray[Any]) -> Floats:
        """Return the inner products of tastes, one dimension at a time: millions of pairs without their taste rows."""
        total: Floats = np.zeros(np.broadcast_shapes(readers.shape, books.shape))
        for p, q in zip(self.reader_taste.T, self.book_taste.T, strict=True):
            total += p[readers] * q[books]
        return total


@dataclass(frozen=True, eq=False, repr=False)
class Bookshop:
    """Readers, books and ratings, each a dictionary of columns that any data frame library accepts.

    Attributes
    ----------
    readers : dict
        ``reader`` (name, unique), ``age_group``, ``region`` and ``favourite_genres`` (a list of 1 to 3).
    books : dict
        ``title`` (unique), ``author``, ``genre``, ``year`` and ``blurb``.
    ratings : dict
        ``reader``, ``title``, ``rating`` (1 to 5) and ``time`` (seconds since the epoch), in order of time.
    reader_rows, book_rows : ndarray of int32
        The row of each rating in ``readers`` and in ``books``.

    Examples
    --------
    >>> make_bookshop(n_readers=30, n_books=20, n_ratings=100)
    Bookshop(30 readers, 20 books, 100 ratings)
    """

    readers: Columns
    books: Columns
    ratings: Columns
    reader_rows: NDArray[np.int32]
    book_rows: NDArray[np.int32]
    truth: Truth

    def blocks(self) -> Blocks:
        """Return the ratings as blocks: readers and books with all their features.

        Fields: ``age_group``, ``region``, ``favourite_genres`` and ``id`` of a reader; ``author``, ``genre``,
        ``decade``, ``words`` (TF-IDF of the blurb) and ``id`` of a book. The ids come last, so that weights without a
        penalty go to what many share before they go to one.
        """
        from sklearn.feature_extraction.text import TfidfVectorizer

        readers, books = self.readers, self.books
        of_readers = {name: one_hot(readers[name]) for name in ("age_group", "region")} | {
            "favourite_genres": many_hot(readers["favourite_genres"]),
            "id": FeatureTable.eye(len(readers["reader"])),
        }
        of_books = {name: one_hot(books[name]) for name in ("author", "genre")} | {
            "decade": one_hot(np.asarray(books["year"]) // 10),
            "words": TfidfVectorizer(stop_words="english", dtype=np.float32).fit_transform(books["blurb"]),
            "id": FeatureTable.eye(len(books["title"])),
        }
        return Blocks(reader=Block(self.reader_rows, of_readers), book=Block(self.book_rows, of_books))

    def true_stars(self, readers: Iterable[str], titles: Iterable[str]) -> Floats:
        """Return what readers would think of books, by name: `Truth.expected` of each reader and title.

        Examples
        --------
        >>> shop = make_bookshop(n_readers=30, n_books=20, n_ratings=100)
        >>> stars = shop.true_stars(shop.readers["reader"][:2], shop.books["title"][5:7])
        >>> bool((stars == shop.truth.expected([0, 1], [5, 6])).all())
        True
        """
        return self.truth.expected(_rows_of(self.readers["reader"], readers), _rows_of(self.books["title"], titles))

    def __repr__(self) -> str:
        sizes = len(self.readers["reader"]), len(self.books["title"]), len(self.reader_rows)
        return "Bookshop({} readers, {} books, {} ratings)".format(*sizes)


def _rows_of(names: Iterable[str], wanted: Iterable[str]) -> NDArray[np.int64]:
    row_of = {name: row for row, name in enumerate(names)}
    try:
        return np.array([row_of[name] for name in wanted], np.int64)
    except KeyError as error:
        raise ValueError(f"true_stars: {error.args[0]!r} is not in this bookshop; give names of it.") from None


def make_bookshop(n_readers: int = 2000, n_books: int = 1000, n_ratings: int = 60_000, seed: int = 0) -> Bookshop:
    """Generate a bookshop.

    A reader's taste comes from favourite genres, age group and a personal part; a book's from genre, author, the themes
    of its blurb and a part of its own. Region and year mean nothing. Popular books are read more, and readers choose
    what they like a little more often.

    Parameters
    ----------
    n_readers, n_books : int
        Sizes of the tables, at least 1.
    n_ratings : int
        Number of ratings, at most ``n_readers * n_books``; no reader rates a book twice.
    seed : int
        The same seed gives the same shop; books do not depend on `n_readers`, nor readers on `n_books`.

    Examples
    --------
    >>> shop = make_bookshop(n_readers=300, n_books=200, n_ratings=5000, seed=1)
    >>> shop.books["title"][:3]
    ['Pickles for Two', 'The Emerald Covenant of the Glass Mountains', 'The Quantum Stowaway of Titan']
    """
    n_readers, n_books = check_integer("n_readers", n_readers, 1), check_integer("n_books", n_books, 1)
    n_ratings = check_integer("n_ratings", n_ratings, 0)
    if n_ratings > n_readers * n_books:
        raise ValueError(
            f"n_ratings is {n_ratings}, but {n_readers} readers and {n_books} books make only "
            f"{n_readers * n_books} pairs and a reader rates a book once: ask for fewer ratings or more books"
        )
    reader_rng, book_rng, rating_rng = np.random.default_rng(check_integer("seed", seed, 0)).spawn(3)
    readers, reader_bias, reader_taste = make_readers(reader_rng, n_readers)
    books, book_bias, book_taste = make_books(book_rng, n_books)
    truth = Truth(_GLOBAL_MEAN, reader_bias, book_bias, reader_taste, book_taste, _NOISE_SD)
    reader_rows, book_rows, stars, times = _make_ratings(rating_rng, n_ratings, truth)
    names = [readers["reader"][i] for i in reader_rows.tolist()]
    titles = [books["title"][i] for i in book_rows.tolist()]
    ratings: Columns = {"reader": names, "title": titles, "rating": stars, "time": times}
    return Bookshop(readers, books, ratings, reader_rows, book_rows, truth)


def _make_ratings(rng: np.random.Generator, n: int, truth: Truth) -> tuple[NDArray[Any], ...]:
    """Return the rows of readers and of books, the stars and the times, in order of time."""
    n_readers, n_books = len(truth.reader_bias), len(truth.book_bias)
    activity = np.exp(rng.normal(0, 0.9, size=n_readers))
    counts = spread(n, activity, low=min(_FEW_RATINGS, n // n_readers), high=n_books)
    popularity = np.exp(rng.normal(0, 1.1, size=n_books) + truth.book_bias)
    readers, books = choose_books(rng, counts, popularity, truth.affinity)
    stars = np.clip(np.rint(truth.expected(readers, books) + rng.normal(0, _NOISE_SD, size=n)), 1, 5)
    joined = _OPENED + rng.integers(4 * 365 * _DAY, size=n_readers)
    stays = rng.integers(30 * _DAY, 3 * 365 * _DAY, size=n_readers)
    times = joined[readers] + (stays[readers] * rng.random(n)).astype(np.int64)
    order = np.lexsort((times, readers))
    rank = np.arange(n) - np.repeat(np.cumsum(counts) - counts, counts)
    times = times[order] + rank  # one second apart at least, so a reader's ratings have one order
    order, times = order[by_time := np.argsort(times, kind="stable")], times[by_time]
    return readers[order].astype(np.int32), books[order].astype(np.int32), stars[order].astype(np.int64), times
