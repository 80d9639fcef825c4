"""The bookshop of the demo: its tables as frames, a split, files to go on with, and a new book and a new reader."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bitfm.atomic import atomic_write
from bitfm.datasets import make_bookshop
from bitfm.evaluation import split_per_user

if TYPE_CHECKING:
    import polars as pl

    from bitfm.recommender import Recommender

__all__ = ["ITEM", "USER", "Shop", "new_book", "new_reader", "open_shop", "ranks_of_book", "write_tables"]

USER, ITEM = "reader", "title"
_BOOK = {
    ITEM: "Nine Bells for a Borrowed Dragon",
    "genre": "Fantasy",
    "year": 2017,
    "blurb": "A runaway apprentice steals a spellbook and wakes an elderly dragon beneath the keep. A tale of magic, "
    "friendship and animals.",
}


@dataclass(frozen=True)
class Shop:
    """Tables of readers and books, and the ratings in two halves."""

    readers: pl.DataFrame
    books: pl.DataFrame
    ratings: pl.DataFrame
    train: pl.DataFrame
    test: pl.DataFrame

    def __str__(self) -> str:
        return f"{len(self.readers):,} readers, {len(self.books):,} books, {len(self.ratings):,} ratings"


def open_shop(n_readers: int, n_books: int, n_ratings: int, seed: int) -> Shop:
    """Generate a bookshop, and hold out half of each reader's ratings to test on."""
    import polars as pl

    made = make_bookshop(n_readers, n_books, n_ratings, seed)
    readers, books, ratings = map(pl.DataFrame, (made.readers, made.books, made.ratings))
    train = split_per_user(made.reader_rows, 0.5, seed)
    return Shop(readers, books, ratings, ratings.filter(train), ratings.filter(~train))


def write_tables(shop: Shop, folder: Path) -> list[Path]:
    """Write the three tables as CSV, and return their paths: ratings, readers, books."""
    import polars as pl

    readers = shop.readers.with_columns(pl.col("favourite_genres").list.join("|"))
    tables = {"ratings": shop.ratings, "readers": readers, "books": shop.books}
    for name, frame in tables.items():
        with atomic_write(folder / f"{name}.csv") as file:
            frame.write_csv(file)
    return [folder / f"{name}.csv" for name in tables]


def new_book(shop: Shop) -> dict[str, Any]:
    """Return a book that is not in the shop, by the best liked author of its genre."""
    import polars as pl

    of_genre = shop.train.join(shop.books.filter(genre=_BOOK["genre"]), on=ITEM)
    authors = of_genre.group_by("author").agg(pl.col("rating").mean(), pl.len())
    often = authors.filter(pl.col("len") >= authors["len"].median())
    return {**_BOOK, "author": often.sort(["rating", "author"], descending=[True, False])["author"][0]}


def ranks_of_book(rec: Recommender, shop: Shop, book: dict[str, Any]) -> list[dict[str, Any]]:
    """Add a book, and rank it: for the busiest reader of its genre alone, and for whom it ranks highest."""
    import polars as pl

    rec.add_items({name: [value] for name, value in book.items()})
    found = rec.recommend(shop.readers[USER].to_list(), n=rec.n_items).filter(item=book[ITEM])
    about = shop.readers.join(shop.train.group_by(USER).len("ratings"), on=USER)
    ranks = found.join(about, left_on="user", right_on=USER).with_columns(among=rec.n_items - pl.col("ratings"))
    loyal = ranks.filter(pl.col("favourite_genres") == [book["genre"]])
    busiest = (loyal if len(loyal) else ranks).sort(["ratings", "user"], descending=[True, False])
    highest = ranks.sort(["rank", "score", "user"], descending=[False, True, False])
    return [frame.row(0, named=True) for frame in (busiest, highest)]


def new_reader(shop: Shop) -> tuple[dict[str, Any], list[tuple[str, int]]]:
    """Return features and history of a new reader, who has read the most read books of three genres."""
    read = shop.train.join(shop.books, on=ITEM).group_by("genre", ITEM).len("times")
    most = read.sort(["times", ITEM], descending=[True, False]).unique("genre", keep="first", maintain_order=True)[:3]
    features = {"age_group": "25-34", "favourite_genres": most["genre"][:2].to_list()}
    return features, list(zip(most[ITEM], (5, 4, 1), strict=False))
