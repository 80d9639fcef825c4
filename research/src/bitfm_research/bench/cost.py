"""What a fit to large public tables costs: generated ones of the same shape, so that anyone can run it."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from bitfm.evaluation import ndcg, rmse
from bitfm.recommender import Recommender

from bitfm_research.bench._peak import in_own_process, peak_bytes
from bitfm_research.bench.measure import Row

if TYPE_CHECKING:
    import polars as pl

__all__ = ["book_crossing", "measure_costs", "rent_the_runway"]

_TEST = 0.1


def measure_costs(_: Path, say: Callable[[str], None], share: float = 1.0) -> Iterator[tuple[str, list[Row]]]:
    """Fit to tables like RentTheRunway's and Book-Crossing's, each in a process of its own, from files."""
    rows: list[Row] = []
    for name, make in (("RentTheRunway", rent_the_runway), ("Book-Crossing", book_crossing)):
        say(f"tables like those of {name}")
        with tempfile.TemporaryDirectory() as folder:
            for table, frame in make(share).items():
                say(f"{table}: {frame.height:,} rows, {frame.width} columns")
                test = np.random.default_rng(0).random(frame.height) < _TEST
                parts = {"train": ~test, "test": test} if table == "interactions" else {table: np.ones(len(test), bool)}
                for part, rows_of_part in parts.items():
                    frame.filter(rows_of_part).write_csv(Path(folder, f"{part}.csv"))
            rows.append({"tables like": name, **in_own_process("the fit", __name__, folder)})
    yield "A fit to generated tables, with all that reading and saving them takes", rows


def rent_the_runway(share: float = 1.0, seed: int = 0) -> dict[str, pl.DataFrame]:
    """Return 192,000 ratings of 5,850 dresses by 105,000 users, each with a review, a summary and eight more columns.

    A rating depends on the user, the dress, how it fits, what it was rented for, and on some of the review's words.
    """
    import polars as pl

    rng, n, n_users, n_items = np.random.default_rng(seed), int(192_000 * share), int(105_000 * share), 5850
    users, items = _at_least_once(rng, n, n_users, 0.6), _zipf(rng, n, n_items, 0.9)
    feeling = rng.normal(size=n)  # what the words tell, and the rating follows
    fit, occasion = rng.choice(3, n, p=(0.74, 0.13, 0.13)), rng.integers(9, size=n)
    taste = np.sum(rng.normal(size=(n_users, 4))[users] * rng.normal(size=(n_items, 4))[items], axis=1) / 2
    score = 9.2 + 0.4 * rng.normal(size=n_users)[users] + 0.4 * rng.normal(size=n_items)[items] + 0.3 * taste
    score += 0.7 * feeling - 0.8 * (fit > 0) + rng.normal(0, 0.15, 9)[occasion] + rng.normal(0, 0.8, n)
    size, age = rng.integers(0, 58, n_users), rng.normal(34, 8, n_users).round()
    columns = {
        "user_id": users,
        "item_id": items,
        "rating": np.clip(2 * np.round(score / 2), 2, 10).astype(int),
        "fit": np.array(["fit", "small", "large"])[fit],
        "rented_for": np.array([f"occasion {i}" for i in range(9)])[occasion],
        "body_type": np.array([f"body {i}" for i in range(7)])[rng.integers(7, size=n_users)[users]],
        "category": np.array([f"kind {i}" for i in range(68)])[_zipf(rng, n_items, 68, 1.0)[items]],
        "size": size[users],
        "age": age[users],
        "weight": (110 + size + rng.normal(0, 12, n_users).round())[users],
        "review_date": np.datetime64("2012-01-01") + rng.integers(0, 2200, n),
        "review_text": _texts(rng, 60, 40_000, feeling),
        "review_summary": _texts(rng, 5, 12_000, feeling),
    }
    return {"interactions": pl.DataFrame(columns)}


def book_crossing(share: float = 1.0, seed: int = 0) -> dict[str, pl.DataFrame]:
    """Return 69,000 ratings, 280,000 users and 270,000 books, most of whom have no rating."""
    import polars as pl

    rng, n, n_users, n_items = (
        np.random.default_rng(seed),
        int(69_000 * share),
        int(280_000 * share),
        int(270_000 * share),
    )
    users, items = _zipf(rng, n, n_users, 0.75), _zipf(rng, n, n_items, 0.75)
    authors, publishers = _zipf(rng, n_items, int(100_000 * share), 0.8), _zipf(rng, n_items, 16_000, 1.0)
    spread = {"users": rng.normal(size=n_users)[users], "items": rng.normal(size=n_items)[items]}
    score = 7.6 + 0.9 * spread["users"] + 0.5 * spread["items"] + 0.6 * rng.normal(size=len(authors))[authors[items]]
    ratings = {
        "user_id": users,
        "item_id": items,
        "rating": np.clip(np.round(score + rng.normal(0, 1.2, n)), 1, 10).astype(int),
    }
    places = np.array([f"{place}, state {place % 50}, country {place % 30}" for place in range(22_000)])
    ages = pl.Series(rng.normal(35, 14, n_users).round())
    people = {
        "user_id": np.arange(n_users),
        "location": places[_zipf(rng, n_users, len(places), 0.8)],
        "age": pl.select(pl.when(pl.Series(rng.random(n_users) < 0.6)).then(ages)).to_series(),
    }
    names, houses = _texts(rng, 2, 50_000, np.zeros(int(100_000 * share))), _texts(rng, 2, 8000, np.zeros(16_000))
    books = {
        "item_id": np.arange(n_items),
        "title": _texts(rng, 6, 60_000, np.zeros(n_items)),
        "author": names.gather(authors),
        "year": rng.integers(1950, 2005, n_items),
        "publisher": houses.gather(publishers),
    }
    keep = pl.DataFrame(ratings).unique(["user_id", "item_id"], keep="first", maintain_order=True)
    return {"interactions": keep, "users": pl.DataFrame(people), "items": pl.DataFrame(books)}


def _zipf(rng: np.random.Generator, n: int, values: int, exponent: float) -> npt.NDArray[np.int64]:
    """Draw whole numbers whose frequencies fall as a power of their rank, in no order."""
    shares = np.arange(1, values + 1, dtype=float) ** -exponent
    drawn = np.searchsorted(np.cumsum(shares) / shares.sum(), rng.random(n))
    return rng.permutation(values)[np.minimum(drawn, values - 1)]


def _at_least_once(rng: np.random.Generator, n: int, values: int, exponent: float) -> npt.NDArray[np.int64]:
    """Draw whole numbers, each of which occurs."""
    drawn = np.concatenate([np.arange(values), _zipf(rng, n - values, values, exponent)])
    return rng.permutation(drawn)


def _texts(rng: np.random.Generator, length: int, vocabulary: int, feeling: npt.NDArray[Any]) -> pl.Series:
    """Return texts of words of a Zipf law; a tenth of the words are the more frequent, the better the feeling."""
    import polars as pl

    words = [_word(i) for i in range(vocabulary)]
    n, mood = len(feeling), np.where(rng.random(vocabulary) < 0.1, rng.normal(size=vocabulary), 0)
    drawn = _zipf(rng, n * length, vocabulary, 1.0).reshape(n, length)
    # A word that does not go with the feeling is drawn once more.
    again = rng.random(drawn.shape) < 1 / (1 + np.exp(2 * mood[drawn] * feeling[:, None])) * (mood[drawn] != 0)
    drawn[again] = _zipf(rng, int(again.sum()), vocabulary, 1.0)
    flat = pl.Series("word", words).gather(drawn.ravel())
    return flat.reshape((n, length)).arr.join(" ")


def _word(number: int) -> str:
    """Return a word for a number, of syllables."""
    consonants, vowels, word = "bdfgklmnprstvz", "aeiou", ""
    number += 70
    while number:
        number, rest = divmod(number, 70)
        word += consonants[rest // 5] + vowels[rest % 5]
    return word


def _main(folder: str) -> None:
    import polars as pl

    tables: dict[str, Any] = {path.stem: path for path in sorted(Path(folder).glob("*.csv"))}
    train, rest = tables.pop("train"), pl.read_csv(tables.pop("test"), try_parse_dates=True)
    context = [name for name in rest.columns if name not in ("user_id", "item_id", "rating")]
    begin = time.process_time()
    recommender = Recommender().fit(train, context=context, **tables)
    seconds, peak, path = time.process_time() - begin, peak_bytes(), Path(folder, "model.bitfm")
    recommender.save(path)
    scores, users, ratings = recommender.predict(rest), rest["user_id"].to_numpy(), rest["rating"].to_numpy()
    told = {
        "CPU seconds": seconds,
        "MB at the peak": peak / 1e6,
        "MB of the file": path.stat().st_size / 1e6,
        "RMSE": rmse(ratings, scores),
        "NDCG@10": float(ndcg(users, ratings, scores, 10)),
        "RMSE of the mean": float(np.std(ratings)),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    _main(*sys.argv[1:])
