"""``bitfm demo``: from tables to recommendations on generated data, in less than a minute."""

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

from bitfm.cli import _options as option
from bitfm.cli._progress import fit_progress
from bitfm.cli.screen import line, note, show

if TYPE_CHECKING:
    from bitfm.demo.comparison import Result
    from bitfm.demo.shop import Shop
    from bitfm.models.progress import Callback
    from bitfm.recommender import Recommender

_READERS, _BOOKS, _RATINGS = 2000, 1000, 60_000
_SHOWN = 5  # books per reader


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the model, the tables and the picture.")] = Path("demo"),
    seed: option.Seed = 0,
) -> None:
    """Generate a bookshop, compare five models on it, recommend books and say why."""
    begin = time.perf_counter()
    note("generating a bookshop")
    from bitfm.demo.comparison import CAPTION, compare, fit_recommender
    from bitfm.demo.shop import open_shop, write_tables

    shop = open_shop(_READERS, _BOOKS, _RATINGS, seed)
    out.mkdir(parents=True, exist_ok=True)
    tables = write_tables(shop, out)
    line(f"A generated bookshop: {shop} (seed {seed}). Half of each reader's ratings are held out to test on.\n")
    rec, model = fit_recommender(shop, seed, _watch), out / "bookshop.bitfm"
    rec.notes["data"] = f"bitfm demo: half of the ratings of a generated bookshop, {shop}, seed {seed}"
    rec.save(model)
    results = compare(rec, shop, seed, _watch)
    show("Five models, one split", [result.row() for result in results], caption=CAPTION)
    pictures = _draw(rec, shop, results, out / "bookshop")
    for reader in shop.readers["reader"].head(2):
        _recommend(rec, shop, reader)
    _add_a_book(rec, shop)
    _serve_a_new_reader(rec, shop)
    line(f"\n{time.perf_counter() - begin:.0f} s in all. Written: {', '.join(map(str, [model, *pictures, *tables]))}")
    _tell_next_steps(model, tables, shop.readers["reader"][0])


@contextlib.contextmanager
def _watch(what: str) -> Iterator[Callback]:
    note(what)
    with fit_progress() as callback:
        yield callback


def _draw(rec: Recommender, shop: Shop, results: Sequence[Result], base: Path) -> list[Path]:
    from bitfm import plotting
    from bitfm.demo.picture import book_map, draw

    if not plotting.available():
        line(f"\nNo picture was drawn: {plotting.MISSING}")
        return []
    note("drawing a picture")
    draw(results, book_map(rec, shop), shop.books["genre"].to_list(), base)
    return [base.with_suffix(".png"), base.with_suffix(".svg")]


def _recommend(rec: Recommender, shop: Shop, reader: str) -> None:
    from bitfm.demo.reasons import reasons

    about = shop.readers.filter(reader=reader).row(0, named=True)
    rated = dict(shop.train.filter(reader=reader).select("title", "rating").iter_rows())
    best = rec.recommend(reader, n=_SHOWN)
    because = ["; ".join(reasons(rec.explain(reader, title), rated)) for title in best["item"]]
    rows = [{**row, "because": why} for row, why in zip(_rows(best, shop), because, strict=True)]
    likes = " and ".join(about["favourite_genres"])
    line("")
    show(f"For {reader}, {about['age_group']}, who likes {likes} and has rated {len(rated)} books", rows)


def _add_a_book(rec: Recommender, shop: Shop) -> None:
    from bitfm.demo.shop import new_book, ranks_of_book

    book = new_book(shop)
    busiest, highest = ranks_of_book(rec, shop, book)
    genre, likes = book["genre"], " and ".join(highest["favourite_genres"])
    line(f"\nA book that nobody has rated: {book['title']} by {book['author']} ({genre}). Nothing is fitted again.")
    for who, row in (
        (f"{busiest['user']}, the busiest reader of {genre} alone", busiest),
        (f"{highest['user']}, who likes {likes}, it ranks highest", highest),
    ):
        line(f"  For {who}: number {row['rank']:,} of {row['among']:,}.")


def _serve_a_new_reader(rec: Recommender, shop: Shop) -> None:
    from bitfm.demo.shop import new_reader

    features, history = new_reader(shop)
    likes = " and ".join(features["favourite_genres"])
    rates = ", ".join(f"{title} {rating}" for title, rating in history)
    line(f"\nA new reader: {features['age_group']}, likes {likes}. Rates {rates}.")
    show("For this reader", _rows(rec.recommend_new(history, features, n=_SHOWN), shop))


def _rows(found: Any, shop: Shop) -> list[dict[str, Any]]:
    """Return recommendations with what the shop says of the books."""
    rows = found.join(shop.books, left_on="item", right_on="title", how="left", maintain_order="left")
    return [
        {"rank": row["rank"], "book": f"{row['item']} by {row['author']} ({row['genre']})",
         "prediction": f"{row['score']:.2f}"}
        for row in rows.iter_rows(named=True)
    ]  # fmt: skip


def _tell_next_steps(model: Path, tables: Sequence[Path], reader: str) -> None:
    file, mine, ratings, readers, books, who = (
        shlex.quote(str(it)) for it in (model, model.with_name("mine.bitfm"), *tables, reader)
    )
    bitfm = "bitfm" if shutil.which("bitfm") else shlex.quote(os.path.relpath(sys.argv[0]))  # of a virtual environment
    line("\nTry next:")
    for step in (
        f"recommend {file} {who}",
        f"inspect {file}",
        f"fit --interactions {ratings} --users {readers} --items {books} --user reader --item title -o {mine}",
        "fit --help",
    ):
        line(f"  {bitfm} {step}")
