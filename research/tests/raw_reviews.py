"""Generated reviews, files of them in every published form, and their preparation in plain Python."""

from __future__ import annotations

import csv
import gzip
import json
import random
import zipfile
from collections import Counter, defaultdict
from datetime import UTC, datetime
from typing import NamedTuple

import polars as pl

from bitfm_research.prepare import AmazonReviews, MovieLens, RatingTable, YelpReviews

WORDS = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "the", "and"]
GENRES = ["Action", "Crime", "Drama"]


class Review(NamedTuple):
    user: str
    item: str
    rating: float
    time: int
    text: str


def make_reviews(n=600, seed=0):
    """Reviews of which some users and items have many and others few, and some pairs have several."""
    draw = random.Random(seed)
    return [
        Review(
            user=f"u{int(draw.paretovariate(0.7))}",
            item=f"i{int(draw.paretovariate(0.6))}",
            rating=float(draw.randint(1, 5)),
            time=draw.randrange(1_000_000_000, 1_400_000_000),
            text=" ".join(draw.choices(WORDS, k=draw.randrange(6))),
        )
        for _ in range(n)
    ]


def numbered(reviews):
    """The same reviews with numbers for ids, as MovieLens has them."""
    return [review._replace(user=review.user[1:], item=review.item[1:]) for review in reviews]


def genres_of(item):
    return [name for place, name in enumerate(GENRES) if int(item) >> place & 1]


def brute_force(reviews, min_ratings, iterate=False):
    """Return (user, item) -> (mean rating, latest time) of what is left, in order of first occurrence."""
    pairs = defaultdict(list)
    for review in reviews:
        pairs[review.user, review.item].append(review)
    left = {
        pair: (sum(r.rating for r in several) / len(several), max(r.time for r in several))
        for pair, several in pairs.items()
    }
    while True:
        before = len(left)
        for side in (0, 1):
            counts = Counter(pair[side] for pair in left)
            left = {pair: value for pair, value in left.items() if counts[pair[side]] >= min_ratings}
        if not iterate or len(left) == before:
            return left


def in_order(reviews, kept, attribute):
    return list(dict.fromkeys(getattr(r, attribute) for r in reviews if getattr(r, attribute) in kept))


def yelp_line(review):
    date = datetime.fromtimestamp(review.time, UTC).strftime("%Y-%m-%d %H:%M:%S")
    record = {"review_id": "x", "user_id": review.user, "business_id": review.item, "stars": review.rating}
    return json.dumps({**record, "date": date, "text": review.text, "useful": 0})


def amazon_record(review):
    record = {"reviewerID": review.user, "asin": review.item, "overall": review.rating, "reviewText": review.text}
    return {**record, "summary": "not read", "unixReviewTime": review.time}


def write_lines(path, lines):
    text = "".join(line + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def write_csv(path, reviews, separator=","):
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, delimiter=separator)
        out.writerow(["who", "id", "what", "stars", "when", "said"])
        out.writerows([r.user, k, r.item, r.rating, r.time, r.text] for k, r in enumerate(reviews))
    return path


def write_parquet(path, reviews):
    pl.DataFrame(
        {
            "who": [r.user for r in reviews],
            "what": [r.item for r in reviews],
            "stars": pl.Series([int(r.rating) for r in reviews], dtype=pl.Int8),
            "when": [datetime.fromtimestamp(r.time, UTC) for r in reviews],
            "said": [r.text or None for r in reviews],
        }
    ).write_parquet(path, row_group_size=50)
    return path


COLUMNS = {"user": "who", "item": "what", "rating": "stars", "time": "when", "text": "said"}


def yelp(folder, reviews):
    return YelpReviews(write_lines(folder / "review.json", map(yelp_line, reviews)))


def yelp_zipped(folder, reviews):
    return YelpReviews(write_lines(folder / "review.json.gz", map(yelp_line, reviews)))


def amazon(folder, reviews):
    return AmazonReviews(
        write_lines(folder / "reviews_Books_5.json.gz", (json.dumps(amazon_record(r)) for r in reviews))
    )


def amazon_literals(folder, reviews):
    return AmazonReviews(write_lines(folder / "reviews_Books.json", (repr(amazon_record(r)) for r in reviews)))


def table_csv(folder, reviews):
    return RatingTable(write_csv(folder / "ratings.csv", reviews), **COLUMNS)


def table_tsv(folder, reviews):
    return RatingTable(write_csv(folder / "ratings.tsv", reviews, "\t"), **COLUMNS)


def table_csv_zipped(folder, reviews):
    path = folder / "ratings.csv.gz"
    path.write_bytes(gzip.compress(write_csv(folder / "plain.csv", reviews, ";").read_bytes()))
    return RatingTable(path, **COLUMNS, separator=";")


def table_parquet(folder, reviews):
    return RatingTable(write_parquet(folder / "ratings.parquet", reviews), **COLUMNS)


WITH_TEXTS = [yelp, yelp_zipped, amazon, amazon_literals, table_csv, table_tsv, table_csv_zipped, table_parquet]


def amazon_ratings(folder, reviews):
    lines = (f"{r.user},{r.item},{r.rating},{r.time}" for r in reviews)
    return AmazonReviews(write_lines(folder / "ratings_Books.csv", lines))


def ml_1m(folder, reviews):
    items = dict.fromkeys(r.item for r in reviews)
    write_lines(folder / "ratings.dat", (f"{r.user}::{r.item}::{r.rating:.0f}::{r.time}" for r in reviews))
    movies = "".join(f"{item}::Café: {item} (1995)::{'|'.join(genres_of(item))}\n" for item in items)
    (folder / "movies.dat").write_bytes(movies.encode("latin-1"))
    return MovieLens(folder)


def ml_1m_zip(folder, reviews):
    ml_1m(folder, reviews)
    with zipfile.ZipFile(folder / "ml-1m.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("ratings.dat", "movies.dat"):
            archive.write(folder / name, f"ml-1m/{name}")
    return MovieLens(folder / "ml-1m.zip")


def ml_latest(folder, reviews):
    items = dict.fromkeys(r.item for r in reviews)
    (folder / "ml-latest").mkdir()
    ratings = [f"{r.user},{r.item},{r.rating},{r.time}" for r in reviews]
    write_lines(folder / "ml-latest" / "ratings.csv", ["userId,movieId,rating,timestamp", *ratings])
    movies = [f'{item},"Heat, {item} (1995)",{"|".join(genres_of(item)) or "(no genres listed)"}' for item in items]
    write_lines(folder / "ml-latest" / "movies.csv", ["movieId,title,genres", *movies])
    return MovieLens(folder)


def ml_100k(folder, reviews):
    items = dict.fromkeys(r.item for r in reviews)
    write_lines(folder / "u.data", (f"{r.user}\t{r.item}\t{r.rating:.0f}\t{r.time}" for r in reviews))
    flags = {item: "|".join(str(int(name in genres_of(item))) for name in GENRES) for item in items}
    write_lines(folder / "u.item", (f"{item}|Heat ({item})|01-Jan-1995||http://x|{flags[item]}" for item in items))
    write_lines(folder / "u.genre", (f"{name}|{place}" for place, name in enumerate(GENRES)))
    return MovieLens(folder)


MOVIELENS = [ml_1m, ml_1m_zip, ml_latest, ml_100k]
