"""A book that nobody has rated, and a reader whom nobody has seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bitfm.demo.shop import ITEM, USER

if TYPE_CHECKING:
    import polars as pl

    from bitfm.demo.shop import Shop
    from bitfm.recommender import Recommender

__all__ = ["Ranked", "Stranger", "new_book", "rank_new_book", "stranger"]

_BOOK = {
    ITEM: "Nine Bells for a Borrowed Dragon",
    "genre": "Fantasy",
    "year": 2017,
    "blurb": "A runaway apprentice steals a spellbook and wakes an elderly dragon beneath the keep. A tale of magic, "
    "friendship and animals.",
}


@dataclass(frozen=True)
class Ranked:
    """Where a new book comes for a reader."""

    reader: str
    likes: list[str]
    rank: int
    among: int


@dataclass(frozen=True)
class Stranger:
    """What somebody new tells of themselves."""

    features: dict[str, Any]
    history: list[tuple[str, int]]


def new_book(shop: Shop) -> dict[str, Any]:
    """Return a book that is not in the shop, by the best liked author of its genre."""
    import polars as pl

    of_genre = shop.train.join(shop.books.filter(pl.col("genre") == _BOOK["genre"]), on=ITEM)
    authors = of_genre.group_by("author").agg(pl.col("rating").mean(), pl.len())
    often = authors.filter(pl.col("len") >= authors["len"].median())
    return {**_BOOK, "author": often.sort(["rating", "author"], descending=[True, False])["author"][0]}


def rank_new_book(recommender: Recommender, shop: Shop, book: dict[str, Any]) -> tuple[Ranked, Ranked]:
    """Add a book, and return its rank for a reader who loves its genre alone, and the reader for whom it is highest."""
    import polars as pl

    recommender.add_items({name: [value] for name, value in book.items()})
    readers = shop.readers[USER]
    found = recommender.recommend(readers.to_list(), n=recommender.n_items)
    ranks = found.filter(pl.col("item") == book[ITEM]).join(shop.readers, left_on="user", right_on=USER)
    ranks = ranks.join(shop.train.group_by(USER).len("ratings"), left_on="user", right_on=USER)
    loyal = ranks.filter(
        (pl.col("favourite_genres").list.len() == 1) & (pl.col("favourite_genres").list.first() == book["genre"])
    )
    fitting = (loyal if len(loyal) else ranks).sort(["ratings", "user"], descending=[True, False])
    best = ranks.sort(["rank", "score", "user"], descending=[False, True, False])
    return _ranked(fitting, recommender), _ranked(best, recommender)


def _ranked(ranks: pl.DataFrame, recommender: Recommender) -> Ranked:
    first = ranks.row(0, named=True)
    return Ranked(first["user"], first["favourite_genres"], first["rank"], recommender.n_items - first["ratings"])


def stranger(shop: Shop) -> Stranger:
    """Return somebody new, who has read the most read books of three genres."""
    import polars as pl

    read = shop.train.join(shop.books, on=ITEM).group_by("genre", ITEM).len("times")
    most = read.sort(["times", ITEM], descending=[True, False]).unique("genre", maintain_order=True)["genre", ITEM]
    genres = most.head(3)["genre"].to_list()
    titles = [most.filter(pl.col("genre") == genre)[ITEM][0] for genre in genres]
    features = {"age_group": "25-34", "favourite_genres": genres[:2]}
    return Stranger(features, list(zip(titles, (5, 4, 1), strict=False)))
