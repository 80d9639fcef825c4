"""``bitfm demo``: the whole way on generated data, in less than a minute."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bitfm.cli._progress import fit_progress
from bitfm.cli.screen import line, note, show

if TYPE_CHECKING:
    from bitfm.demo.contest import Judged
    from bitfm.demo.shop import Shop
    from bitfm.models.progress import Callback
    from bitfm.recommender import Recommender

_READERS, _BOOKS, _RATINGS = 2000, 1000, 60_000
_SHOWN = 5  # books a reader


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the model, the tables and the picture.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Of the generated bookshop and of every fit.", min=0)] = 0,
) -> None:
    """Generate a bookshop, compare five models on it, recommend books and say why."""
    begin = time.perf_counter()
    note("generating a bookshop")
    from bitfm.demo.contest import CAPTION, fit_recommender, judge_all
    from bitfm.demo.shop import open_shop, write_tables

    shop = open_shop(_READERS, _BOOKS, _RATINGS, seed)
    out.mkdir(parents=True, exist_ok=True)
    tables = write_tables(shop, out)
    line(f"A generated bookshop: {shop} (seed {seed}). Half of each reader's ratings are held out to test on.\n")
    recommender = fit_recommender(shop, seed, _watch)
    recommender.notes["data"] = f"bitfm demo: half of the ratings of a generated bookshop, {shop}, seed {seed}"
    model = out / "bookshop.bitfm"
    recommender.save(model)
    judged = judge_all(recommender, shop, seed, _watch, note)
    show("Five models, one split", [entry.row() for entry in judged], caption=CAPTION)
    pictures = _draw(recommender, shop, judged, out / "bookshop")
    for reader in shop.readers["reader"].head(2):
        _recommend(recommender, shop, reader)
    _add_a_book(recommender, shop)
    _serve_a_stranger(recommender, shop)
    line(f"\n{time.perf_counter() - begin:.0f} s in all. Written: {', '.join(map(str, [model, *pictures, *tables]))}")
    _tell_next_steps(model, tables, shop.readers["reader"][0])


@contextlib.contextmanager
def _watch(what: str) -> Iterator[Callback]:
    note(what)
    with fit_progress() as callback:
        yield callback


def _draw(recommender: Recommender, shop: Shop, judged: Sequence[Judged], base: Path) -> list[Path]:
    from bitfm import plotting
    from bitfm.demo.picture import book_map, draw

    if not plotting.available():
        line(f"\nNo picture was drawn: {plotting.MISSING}")
        return []
    note("drawing a picture")
    draw(judged, book_map(recommender, shop), shop.books["genre"].to_list(), base)
    return [base.with_suffix(".png"), base.with_suffix(".svg")]


def _recommend(recommender: Recommender, shop: Shop, reader: str) -> None:
    import polars as pl

    from bitfm.demo.reasons import reasons

    about = shop.readers.filter(pl.col("reader") == reader).row(0, named=True)
    rated = dict(shop.train.filter(pl.col("reader") == reader).select("title", "rating").iter_rows())
    best = recommender.recommend(reader, n=_SHOWN)
    because = ["; ".join(reasons(recommender.explain(reader, title), rated)) for title in best["item"]]
    rows = [{**row, "because": why} for row, why in zip(_rows(best, shop), because, strict=True)]
    likes = " and ".join(about["favourite_genres"])
    line("")
    show(f"For {reader}, {about['age_group']}, who likes {likes} and has rated {len(rated)} books", rows)


def _add_a_book(recommender: Recommender, shop: Shop) -> None:
    from bitfm.demo.newcomers import new_book, rank_new_book

    note("adding a book that nobody has rated")
    book = new_book(shop)
    fitting, highest = rank_new_book(recommender, shop, book)
    genre = book["genre"]
    line(f"\nA book that nobody has rated: {book['title']} by {book['author']} ({genre}). Nothing is fitted again.")
    line(f"  For {fitting.reader}, the busiest reader of {genre} alone: number {fitting.rank:,} of {fitting.among:,}.")
    likes = " and ".join(highest.likes)
    line(f"  For {highest.reader}, who likes {likes}, it ranks highest: number {highest.rank:,} of {highest.among:,}.")


def _serve_a_stranger(recommender: Recommender, shop: Shop) -> None:
    from bitfm.demo.newcomers import stranger

    somebody = stranger(shop)
    found = recommender.recommend_new(somebody.history, somebody.features, n=_SHOWN)
    likes = " and ".join(somebody.features["favourite_genres"])
    told = ", ".join(f"{title} {rating}" for title, rating in somebody.history)
    line(f"\nA reader whom nobody has seen: {somebody.features['age_group']}, likes {likes}. Rates {told}.")
    show("For this reader", _rows(found, shop))


def _rows(found: Any, shop: Shop) -> list[dict[str, Any]]:
    """Return recommendations with what the shop says of the books."""
    rows = found.join(shop.books, left_on="item", right_on="title", how="left", maintain_order="left")
    return [
        {
            "rank": row["rank"],
            "book": f"{row['item']} by {row['author']} ({row['genre']})",
            "prediction": f"{row['score']:.2f}",
        }
        for row in rows.iter_rows(named=True)
    ]


def _tell_next_steps(model: Path, tables: Sequence[Path], reader: str) -> None:
    file, mine = (shlex.quote(str(path)) for path in (model, model.with_name("mine.bitfm")))
    ratings, readers, books = (shlex.quote(str(path)) for path in tables)
    bitfm = "bitfm" if shutil.which("bitfm") else shlex.quote(os.path.relpath(sys.argv[0]))  # of a virtual environment
    line("\nTry next:")
    line(f"  {bitfm} recommend {file} {shlex.quote(reader)}")
    line(f"  {bitfm} inspect {file}")
    line(
        f"  {bitfm} fit --interactions {ratings} --users {readers} --items {books} --user reader --item title -o {mine}"
    )
    line(f"  {bitfm} fit --help")
