"""``bitfm demo``: the whole way on generated data, in seconds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from bitfm.cli._screen import console, note, show
from bitfm.data import Block, Blocks, Bookshop, make_bookshop
from bitfm.evaluation import ndcg, rmse, split_per_user
from bitfm.models import FM, BiasModel, DiscreteFM
from bitfm.models._saving import load

_CODES = "DiscreteFM, anchored, 64 bits"


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the saved model.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Of the generated bookshop and of every fit.")] = 0,
) -> None:
    """Generate a bookshop, fit bias-only, FM and codes of bits, compare them, save the codes, and recommend."""
    shop = make_bookshop(seed=seed)
    X, y = shop.blocks(), np.asarray(shop.ratings["rating"], np.float64)
    console.print(f"{shop!r}: half of each reader's ratings to learn from, half to test on (seed {seed}).")
    train = split_per_user(shop.reader_rows, 0.5, seed)
    models: dict[str, Any] = {
        "bias only": BiasModel(),
        "FM, ALS, rank 16": FM(rank=16, early_stopping=True, random_state=seed),
        "FM, Gibbs, rank 16": FM(rank=16, solver="gibbs", random_state=seed),
        "DiscreteFM, paper, 64 bits": DiscreteFM(objective="paper", bits=64, random_state=seed),
        _CODES: DiscreteFM(bits=64, random_state=seed),
    }
    rows = []
    for name, model in models.items():
        note(f"fitting {name}")
        begin = time.perf_counter()
        model.fit(X[train], y[train])
        seconds = time.perf_counter() - begin
        rows.append({"model": name, **_quality(model, X, y, shop, train, out), "seconds": seconds})
    show("Half of each reader's ratings, held out", rows)
    path = out / "bookshop.bitfm"
    models[_CODES].save(path)
    model = load(path)
    console.print(f"\nSaved and opened again: {path} ({path.stat().st_size / 1e3:.0f} kB).\n")
    for reader in (0, 1):
        _recommend(model, shop, X, reader, train)
    console.print("\nTry next: bitfm doctor, bitfm bench read, or the ten lines of code in README.md.")


def _quality(
    model: Any, X: Blocks, y: npt.NDArray[Any], shop: Bookshop, train: npt.NDArray[np.bool_], out: Path
) -> dict[str, Any]:
    scores = model.predict(X[~train])
    out.mkdir(parents=True, exist_ok=True)
    file = out / ".size.bitfm"
    model.save(file)
    size = file.stat().st_size
    file.unlink()
    return {
        "NDCG@10": round(ndcg(shop.reader_rows[~train], y[~train], scores), 4),
        "RMSE": round(rmse(y[~train], scores), 4),
        "kB": size / 1e3,
    }


def _recommend(model: Any, shop: Bookshop, X: Blocks, reader: int, train: npt.NDArray[np.bool_], n: int = 3) -> None:
    n_books = len(shop.books["title"])
    known = shop.book_rows[(shop.reader_rows == reader) & train]
    candidates = np.setdiff1d(np.arange(n_books, dtype=np.int32), known)
    tables = {name: block.tables for name, block in X.blocks.items()}
    pairs = Blocks(
        reader=Block(np.full(len(candidates), reader), tables["reader"]),
        book=Block(candidates, tables["book"]),
    )
    scores = model.predict(pairs)
    best = np.argsort(-scores, kind="stable")[:n]
    loved = " and ".join(shop.readers["favourite_genres"][reader])
    console.print(f"For {shop.readers['reader'][reader]}, who likes {loved}:", highlight=False)
    for place in best:
        book = int(candidates[place])
        title, author, genre = (shop.books[key][book] for key in ("title", "author", "genre"))
        console.print(f"  {scores[place]:.2f}  {title} by {author} ({genre})", highlight=False)
