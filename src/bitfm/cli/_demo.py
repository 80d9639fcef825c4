"""What ``bitfm demo`` shows: five models, a picture, recommendations with reasons, a new book and a new reader."""

from __future__ import annotations

import itertools
import os
import shlex
import shutil
import sys
import tempfile
import time
import timeit
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from bitfm import plotting
from bitfm.atomic import atomic_write
from bitfm.cli.progress import fit_progress
from bitfm.cli.screen import line, note, show
from bitfm.data import Block
from bitfm.datasets import Bookshop, make_bookshop
from bitfm.evaluation import split_per_user
from bitfm.models import FM, BiasModel, DiscreteFM
from bitfm.parameters import Explanation
from bitfm.recommender import RatingState, Recommender
from bitfm.retrieval import Index

Row: TypeAlias = dict[str, Any]  # of a table
_CAPTION = (
    "NDCG@10, RMSE: on the held-out half. kB: the model file with all parameters, of all draws for Gibbs, but without "
    "the tables of readers and books. queries per second: the ten best of all books for every reader in one batch, "
    "from readers' features, by Index.search on one thread. "
    "The paper's codes share one gain; distilled codes have one each."
)
_DISTILLED = "DistilledFM, 64 bits"
_LINES = {  # of the models, in the style of pictures
    "bias only": "bias only",
    "FM, ALS, rank 16": "FM, ALS",
    "FM, Gibbs, rank 16": "FM, Gibbs",
    "DiscreteFM, 64 bits": "DFM, paper",
    _DISTILLED: "DFM, distilled",
}
_SHOWN = 5  # books per reader
_LEAST = 0.01  # of a star: less is no reason
_REASONS = {
    "user.favourite_genres": "likes {}",
    "user.history": "rated {}",
    "user.age_group": "is {} years old",
    "user.region": "lives in the region {}",
    "user.id": "suits a taste that shows in other ratings",
    "item.author": "by {}",
    "item.genre": "it is {}",
    "item.year": "from {}",
    "item.blurb": "the blurb says “{}”",
    "item.id": "liked by those who have read it",
}
_BOOK = {
    "title": "Nine Bells for a Borrowed Dragon",
    "genre": "Fantasy",
    "year": 2017,
    "blurb": "A runaway apprentice steals a spellbook and wakes an elderly dragon beneath the keep. A tale of magic, "
    "friendship and animals.",
}


class Shop(NamedTuple):
    """Tables of readers and books, and the ratings in two halves."""

    readers: pl.DataFrame
    books: pl.DataFrame
    ratings: pl.DataFrame
    train: pl.DataFrame
    test: pl.DataFrame

    @classmethod
    def of(cls, made: Bookshop, seed: int) -> Shop:
        """Hold out half of each reader's ratings to test on."""
        readers, books, ratings = map(pl.DataFrame, (made.readers, made.books, made.ratings))
        train = split_per_user(made.reader_rows, 0.5, seed)
        return cls(readers, books, ratings, ratings.filter(train), ratings.filter(~train))

    def write(self, folder: Path) -> list[Path]:
        """Write the three tables as CSV, and return their paths: ratings, readers, books."""
        readers = self.readers.with_columns(pl.col("favourite_genres").list.join("|"))
        tables = {"ratings": self.ratings, "readers": readers, "books": self.books}
        for name, frame in tables.items():
            with atomic_write(folder / f"{name}.csv") as file:
                file.write(frame.write_csv().encode())
        return [folder / f"{name}.csv" for name in tables]

    def fit(self, seed: int) -> Recommender:
        """Fit distilled codes of 64 bits to half of the ratings."""
        columns: dict[str, Any] = {"users": self.readers, "items": self.books, "user": "reader", "item": "title"}
        note(f"fitting {_DISTILLED}")
        with fit_progress() as callback:
            return Recommender(bits=64, random_state=seed).fit(self.train, **columns, callback=callback)


def show_all(out: Path, seed: int) -> None:
    """Print everything, and write the model, the tables and the picture into a folder."""
    begin = time.perf_counter()
    shop = Shop.of(make_bookshop(seed=seed), seed)
    out.mkdir(parents=True, exist_ok=True)
    model, tables, pictures = out / "bookshop.bitfm", shop.write(out), []
    sizes = f"{len(shop.readers):,} readers, {len(shop.books):,} books, {len(shop.ratings):,} ratings"
    line(f"A generated bookshop: {sizes} (seed {seed}). Half of each reader's ratings are held out to test on.\n")
    rec = shop.fit(seed)
    rec.notes["data"] = f"bitfm demo: half of the ratings of a generated bookshop, {sizes}, seed {seed}"
    rec.save(model)
    rows = compare(rec, shop, seed)
    show("Five models, one split", rows, caption=_CAPTION)
    if plotting.available():
        note("drawing a picture")
        draw(rows, rec, shop, out / "bookshop")
        pictures = [out / "bookshop.png", out / "bookshop.svg"]
    else:
        line(f"\nNo picture was drawn: {plotting.MISSING}")
    for reader in shop.readers.head(2).iter_rows(named=True):
        _recommend(rec, shop, reader)
    _tell_of_a_new_book(rec, shop)
    _serve_a_new_reader(rec, shop)
    line(f"\n{time.perf_counter() - begin:.0f} s in all. Written: {', '.join(map(str, [model, *pictures, *tables]))}")
    _tell_next_steps(model, tables, shop.readers["reader"][0])


def compare(rec: Recommender, shop: Shop, seed: int) -> list[Row]:
    """Fit baselines to what the recommender was fitted to, and measure all of them on the held-out half."""
    X, y = rec.training_data(shop.train)
    users, items = (Block(np.arange(X.blocks[name].n_rows), X.blocks[name].tables) for name in ("user", "item"))
    shared: dict[str, Any] = {"pairs": "across", "random_state": seed}
    als, gibbs = FM(16, early_stopping=True, **shared), FM(16, solver="gibbs", **shared)
    rows = []
    for name, model in zip(_LINES, (BiasModel(), als, gibbs, DiscreteFM(64, **shared), rec.model_), strict=True):
        if name != _DISTILLED:
            note(f"fitting {name}")
            with fit_progress() as callback:
                model.fit(X, y, callback=callback)
        found = rec.evaluate(shop.test, model=model)
        speed = float(f"{queries_per_second(model, users, items):.2g}")  # more digits would be noise
        with tempfile.TemporaryDirectory() as folder:
            model.save(file := Path(folder) / "model.bitfm")
            size = round(file.stat().st_size / 1e3)
        accuracy = {"NDCG@10": round(found.ndcg, 4), "RMSE": f"{found.rmse:.4f}"}
        rows.append({"model": name, **accuracy, "kB": size, "queries per second": int(speed)})
    return rows


def queries_per_second(model: Any, users: Block, items: Block) -> float:
    """Time a batch of all users on one thread, from their features to their ten best items; the best of some rounds."""
    index = Index(model.parameters_, items, "item")
    return len(users) / min(timeit.repeat(lambda: index.search(users, 10, n_jobs=1), number=1, repeat=7))


def draw(rows: list[Row], rec: Recommender, shop: Shop, base: Path) -> None:
    """Write the picture as ``base.png`` and ``base.svg``: what accuracy costs, and a map of the books."""
    import matplotlib

    with matplotlib.rc_context(plotting.STYLE):
        figure, (left, right) = plotting.grid_of_panels(2, columns=2, width=5.4, height=4.0)
        _accuracy_by_size(left, rows)
        _map_of_books(right, book_map(rec, shop), shop.books["genre"].to_numpy())
    plotting.save(figure, base)


def book_map(rec: Recommender, shop: Shop) -> npt.NDArray[np.float64]:
    """Return two coordinates per book of the table: the first two principal directions of the books' vectors."""
    state = rec.state
    assert isinstance(state, RatingState)
    vectors = state.all_rows("item").vectors[state.items.indices_of(shop.books["title"].to_list())]
    centred = vectors - vectors.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    return np.asarray(centred @ directions[:2].T, np.float64)


def _accuracy_by_size(panel: Any, rows: list[Row]) -> None:
    for row in rows:
        style, place = plotting.LINES[_LINES[row["model"]]], (row["kB"], row["NDCG@10"])
        panel.plot(*place, marker=style.get("marker", "D"), color=style["color"], markersize=8)
        above: dict[str, Any] = {"textcoords": "offset points", "xytext": (0, 9), "ha": "center"}
        panel.annotate(row["model"], place, color=style["color"], **above)
    panel.set(xscale="log", title="Accuracy against size", xlabel="size of the model, kB", ylabel="NDCG@10")
    panel.margins(0.2, 0.12)


def _map_of_books(panel: Any, places: npt.NDArray[np.float64], genres: npt.NDArray[Any]) -> None:
    dots = {"linestyle": "", "markersize": 4, "alpha": 0.65, "markeredgewidth": 0}
    looks = [("o", colour) for colour in plotting.COLORS] + [
        ("^", colour) for colour in plotting.COLORS[2:] + plotting.COLORS[:2]
    ]
    for genre, (marker, colour) in zip(np.unique(genres), looks, strict=False):
        panel.plot(*places[genres == genre].T, label=genre, marker=marker, color=colour, **dots)
    panel.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=9, handletextpad=0.2)
    panel.set(title="The books, by their codes", xticks=[], yticks=[])
    panel.set(xlabel="first principal direction", ylabel="second principal direction")


def _recommend(rec: Recommender, shop: Shop, about: Row) -> None:
    reader, likes = about["reader"], " and ".join(about["favourite_genres"])
    rated = dict(shop.train.filter(reader=reader).select("title", "rating").iter_rows())
    best = rec.recommend(reader, n=_SHOWN)
    because = pl.Series(["; ".join(reasons(rec.explain(reader, title), rated)) for title in best["item"]])
    line("")
    heading = f"For {reader}, {about['age_group']}, who likes {likes} and has rated {len(rated)} books"
    show(heading, _rows(best, shop, because=because))


def _rows(found: pl.DataFrame, shop: Shop, **more: pl.Series) -> list[Row]:
    """Return recommendations with what the shop says of the books."""
    rows = found.join(shop.books, left_on="item", right_on="title", how="left", maintain_order="left")
    book = pl.coalesce(pl.format("{} by {} ({})", "item", "author", "genre"), "item").alias("book")
    return rows.select("rank", book, prediction="score", **more).to_dicts()


def reasons(why: Explanation, rated: Mapping[str, Any], n: int = 3) -> list[str]:
    """Return the strongest reasons for a recommendation, given what the reader has rated.

    What a reader's features add together with the book's speaks for the reader, and what a book's features add by
    themselves speaks for the book. Both are summed by field; the strongest feature of a field names it. What a reader
    adds to all books alike is no reason. The strongest of either side come first, then the strongest of what is left.
    """
    shares: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    own = [(share.name, share.contribution) for share in why.features if share.name.startswith("item.")]
    for name, share in [*own, *((pair.names[0], pair.contribution) for pair in why.pairs)]:
        field, label = name.split(": ", 1)
        field = "item.id" if field == "item.raters" else field  # both: how readers like this very book
        shares[field][f"{label} {rated.get(label, '')}".rstrip() if field == "user.history" else label] += share
    summed = [(sum(of.values()), field, max(of, key=of.__getitem__)) for field, of in shares.items()]
    named = sorted((reason for reason in summed if reason[0] >= _LEAST), reverse=True)
    best = {reason[1].partition(".")[0]: reason for reason in reversed(named)}.values()  # of either side
    chosen = sorted(named, key=lambda reason: reason not in best)[:n]
    return [f"{_REASONS[field].format(label)} ({share:+.2f})" for share, field, label in sorted(chosen, reverse=True)]


def _tell_of_a_new_book(rec: Recommender, shop: Shop) -> None:
    book, busiest, highest = add_book(rec, shop)
    genre, likes = book["genre"], " and ".join(highest["favourite_genres"])
    line(f"\nA book that nobody has rated: {book['title']} by {book['author']} ({genre}). Nothing is fitted again.")
    described = {f"the busiest reader of {genre} alone": busiest, f"who likes {likes}, it ranks highest": highest}
    for who, row in described.items():
        line(f"  For {row['user']}, {who}: number {row['rank']:,} of {row['among']:,}.")


def add_book(rec: Recommender, shop: Shop) -> tuple[Row, Row, Row]:
    """Add a book by the best liked author of its genre; return it, and its ranks.

    They are for the busiest reader of its genre alone, and for whom it ranks highest.
    """
    of_genre = shop.train.join(shop.books.filter(genre=_BOOK["genre"]), on="title")
    authors = of_genre.group_by("author").agg(pl.col("rating").mean(), pl.len())
    often = authors.filter(pl.col("len") >= authors["len"].median())
    book = {**_BOOK, "author": often.sort(["rating", "author"], descending=[True, False])["author"][0]}
    rec.add_items({name: [value] for name, value in book.items()})
    found = rec.recommend(shop.readers["reader"].to_list(), n=rec.n_items).filter(item=book["title"])
    about = shop.readers.join(shop.train.group_by("reader").len("ratings"), on="reader")
    ranks = found.join(about, left_on="user", right_on="reader").with_columns(among=rec.n_items - pl.col("ratings"))
    loyal = ranks.filter(pl.col("favourite_genres") == [book["genre"]])
    busiest = (loyal if len(loyal) else ranks).sort(["ratings", "user"], descending=[True, False])
    highest = ranks.sort(["rank", "score", "user"], descending=[False, True, False])
    return book, busiest.row(0, named=True), highest.row(0, named=True)


def _serve_a_new_reader(rec: Recommender, shop: Shop) -> None:
    features, history = new_reader(shop)
    likes = " and ".join(features["favourite_genres"])
    rates = ", ".join(f"{title} {rating}" for title, rating in history)
    line(f"\nA new reader: {features['age_group']}, likes {likes}. Rates {rates}.")
    show("For this reader", _rows(rec.recommend_new(history, features, n=_SHOWN), shop))


def new_reader(shop: Shop) -> tuple[Row, list[tuple[str, int]]]:
    """Return features and history of a new reader, who has read the most read books of three genres."""
    read = shop.train.join(shop.books, on="title").group_by("genre", "title").len("times")
    most = read.sort(["times", "title"], descending=[True, False]).unique("genre", keep="first", maintain_order=True)
    features = {"age_group": "25-34", "favourite_genres": most["genre"][:2].to_list()}
    return features, list(zip(most["title"], (5, 4, 1), strict=False))


def _tell_next_steps(model: Path, tables: list[Path], reader: str) -> None:
    bitfm = "bitfm" if shutil.which("bitfm") else os.path.relpath(sys.argv[0])  # of a virtual environment
    named = zip(("--interactions", "--users", "--items"), tables, strict=True)
    columns = ("--user", "reader", "--item", "title", "-o", model.with_name("mine.bitfm"))
    fit = ("fit", *itertools.chain.from_iterable(named), *columns)
    line("\nTry next:")
    for step in (("recommend", model, reader), ("inspect", model), fit, ("fit", "--help")):
        line(f"  {shlex.join(map(str, (bitfm, *step)))}")
