"""A small bookshop as files, and a model fitted to them."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest

from bitfm.datasets import make_bookshop
from cli_process import call

TABLES = ("--interactions", "ratings.csv", "--users", "readers.jsonl", "--items", "books.parquet")
COLUMNS = ("--user", "reader", "--item", "title", "--context", "daytime")


@pytest.fixture(autouse=True)
def no_lines_of_progress(monkeypatch):
    """Let no command say how far it is: on a busy computer any may take some seconds."""
    monkeypatch.setattr("bitfm.cli.progress.PERIOD", 3600.0)


@pytest.fixture(scope="session")
def bookshop(tmp_path_factory):
    """A folder with ratings.csv, readers.jsonl and books.parquet; half of the ratings are of an evening."""
    folder = tmp_path_factory.mktemp("bookshop")
    shop = make_bookshop(n_readers=120, n_books=60, n_ratings=3000, seed=3)
    ratings = pl.DataFrame(shop.ratings).with_row_index("row")
    daytime = pl.when(pl.col("row") % 2 == 0).then(pl.lit("evening")).otherwise(pl.lit("morning"))
    ratings.with_columns(daytime=daytime).drop("row").write_csv(folder / "ratings.csv")
    pl.DataFrame(shop.readers).write_ndjson(folder / "readers.jsonl")
    pl.DataFrame(shop.books).write_parquet(folder / "books.parquet")
    return SimpleNamespace(folder=folder, shop=shop, reader=shop.readers["reader"][0], book=shop.books["title"][0])


@pytest.fixture(scope="session")
def model(bookshop):
    """shop.bitfm in the same folder, fitted to half of each reader's ratings; and what was printed of it."""
    done = call(
        "fit",
        *TABLES,
        *COLUMNS,
        "--bits",
        16,
        "--seed",
        1,
        "--test",
        0.5,
        "--baselines",
        "-o",
        "shop.bitfm",
        cwd=bookshop.folder,
    )
    assert done.returncode == 0, done.stderr
    return SimpleNamespace(path=bookshop.folder / "shop.bitfm", printed=done.stdout)
