"""The bookshop of the demo: its tables as frames, a split, and files to go on with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bitfm.atomic import atomic_write
from bitfm.datasets import make_bookshop
from bitfm.evaluation import split_per_user

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ITEM", "USER", "Shop", "open_shop", "write_tables"]

USER, ITEM = "reader", "title"
_BETWEEN = "|"  # what a CSV file has between the values of a list


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
    """Generate a bookshop, and split half of each reader's ratings off to test on."""
    import polars as pl

    made = make_bookshop(n_readers, n_books, n_ratings, seed)
    ratings = pl.DataFrame(made.ratings)
    train = split_per_user(made.reader_rows, 0.5, seed)
    return Shop(
        pl.DataFrame(made.readers), pl.DataFrame(made.books), ratings, ratings.filter(train), ratings.filter(~train)
    )


def write_tables(shop: Shop, folder: Path) -> list[Path]:
    """Write the three tables as CSV, and return their paths: ratings, readers, books."""
    import polars as pl

    readers = shop.readers.with_columns(pl.col("favourite_genres").list.join(_BETWEEN))
    paths = []
    for name, frame in {"ratings": shop.ratings, "readers": readers, "books": shop.books}.items():
        paths.append(folder / f"{name}.csv")
        with atomic_write(paths[-1]) as file:
            frame.write_csv(file)
    return paths
