"""The real data sets: as ratings with side tables, and as the tables that their makers publish."""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy.sparse as sp
from bitfm.data import Words, read_table
from bitfm.data.feature_table import FeatureTable
from bitfm.data.one_hot import many_hot, one_hot
from sklearn.feature_extraction.text import TfidfTransformer

from bitfm_research.matlab import read_matrix

__all__ = [
    "CONTEXT",
    "Ratings",
    "app_usage",
    "likes",
    "movie_ratings",
    "paper_content",
    "paper_likes",
    "read_1m",
    "read_100k",
    "read_douban",
    "read_paper",
]

_AGES = [18, 25, 35, 45, 50, 56]  # where ml-1m's age groups begin, after "under 18"
_UNKNOWN = "N/A"
CONTEXT = ("daytime", "weekday", "isweekend", "homework", "weather", "country", "city")  # what an app costs is none
_RATINGS = ["user_id", "item_id", "rating", "timestamp"]


@dataclass(frozen=True)
class Ratings:
    """All ratings of a data set, and the side tables of its users and items by field name.

    Users and items are numbered from 0: row i of a side table is user or item i. ``train`` is the mask of the training
    part, where a data set comes with one.
    """

    users: npt.NDArray[np.int32]
    items: npt.NDArray[np.int32]
    ratings: npt.NDArray[np.float64]
    user_fields: dict[str, FeatureTable] = field(default_factory=dict)
    item_fields: dict[str, FeatureTable] = field(default_factory=dict)
    train: npt.NDArray[np.bool_] | None = None


def read_100k(folder: Path) -> Ratings:
    """Read ``ml-100k/``, whose age in years is put into the groups of ml-1m."""
    base = folder / "ml-100k"
    users = _lines((base / "u.user").read_text("latin-1"), "|")
    movies = _lines((base / "u.item").read_text("latin-1"), "|")
    return _ratings(
        _numbers((base / "u.data").read_text()),
        [int(user[0]) for user in users],
        [int(movie[0]) for movie in movies],
        user_fields={
            "gender": one_hot([user[2] for user in users]),
            "age": one_hot(np.digitize([int(user[1]) for user in users], _AGES)),
            "occupation": one_hot([user[3] for user in users]),
        },
        item_fields={
            "genres": many_hot(np.flatnonzero(np.array(movie[5:], int)) for movie in movies),
            "year": _years(movie[1] for movie in movies),
        },
    )


def read_1m(folder: Path) -> Ratings:
    """Read ``ml-1m/``, without the movies that nobody has rated; people and plots come from an extra file."""
    base = folder / "ml-1m"
    with zipfile.ZipFile(base / "ml-1m.zip") as archive:
        texts = {name: archive.read(f"ml-1m/{name}.dat").decode("latin-1") for name in ("ratings", "users", "movies")}
    ratings = _numbers(texts["ratings"].replace("::", " "))
    rated = set(ratings[:, 1].tolist())
    users = _lines(texts["users"], "::")
    movies = [movie for movie in _lines(texts["movies"], "::") if int(movie[0]) in rated]
    extra = {line[0]: line for line in _lines((base / "movies_extrainfos.dat").read_text("utf-8"), "::")}
    about = [extra.get(movie[0], [_UNKNOWN] * 11) for movie in movies]
    return _ratings(
        ratings,
        [int(user[0]) for user in users],
        [int(movie[0]) for movie in movies],
        user_fields={
            "gender": one_hot([user[1] for user in users]),
            "age": one_hot([int(user[2]) for user in users]),
            "occupation": one_hot([int(user[3]) for user in users]),
        },
        item_fields={
            "genres": many_hot(movie[2].split("|") for movie in movies),
            "year": _years(movie[1] for movie in movies),
            "cast": many_hot((_people(movie[6:9]) for movie in about), min_rows=2),
            "words": _words(None if movie[9] == _UNKNOWN else movie[9] for movie in about),
        },
    )


def read_douban(folder: Path) -> Ratings:
    """Read ``douban-movie/douban.mat``: groups and location of a user; directors, actors and types of a movie."""
    path = folder / "douban-movie" / "douban.mat"  # cell 1 is friends
    cells = (read_matrix(path, "relation", cell).tocoo() for cell in (0, 2, 3, 4, 5, 6))
    rated, groups, location, directors, actors, types = cells
    return Ratings(
        rated.row.astype(np.int32),
        rated.col.astype(np.int32),
        rated.data.astype(np.float64),
        user_fields={"groups": _unit(groups), "location": _unit(location)},
        item_fields={"directors": _unit(directors), "actors": _unit(actors), "types": _unit(types)},
    )


def read_paper(folder: Path, name: str) -> Ratings:
    """Read ``paper/train_<name>.mat`` and ``paper/test_<name>.mat``: the paper's own split, ids only."""
    train, test = (
        read_matrix(folder / "paper" / f"{part}_{name}.mat", f"{part}_{name}_Matrix").tocoo()
        for part in ("train", "test")
    )
    return Ratings(
        np.concatenate([train.row, test.row], dtype=np.int32),
        np.concatenate([train.col, test.col], dtype=np.int32),
        np.concatenate([train.data, test.data], dtype=np.float64, casting="unsafe"),
        train=np.arange(train.nnz + test.nnz) < train.nnz,
    )


def movie_ratings(folder: Path) -> pl.DataFrame:
    """Return the ratings of MovieLens-100K."""
    return read_table(folder / "ml-100k" / "u.data", columns=_RATINGS)


def likes(folder: Path) -> pl.DataFrame:
    """Return the ratings of 4 and 5 of MovieLens-100K, as events."""
    ratings = movie_ratings(folder)
    return ratings.filter(ratings["rating"] >= 4)


def paper_likes(folder: Path) -> pl.DataFrame:
    """Return who has which paper in their library at CiteULike."""
    lines = (folder / "citeulike-t" / "users.dat").read_text().splitlines()
    lists = [[int(item) for item in line.split()[1:]] for line in lines]  # the first number counts the others
    pairs = [(user, item) for user, items in enumerate(lists) for item in items]
    return pl.DataFrame(pairs, ["user_id", "item_id"], orient="row")


def paper_content(folder: Path) -> dict[str, sp.csr_matrix]:
    """Return the words and the tags of CiteULike's papers that five papers have, by TF-IDF in rows of unit length."""
    source = folder / "citeulike-t"
    words = [[pair.split(":") for pair in line.split()[1:]] for line in (source / "mult.dat").read_text().splitlines()]
    rows = np.repeat(np.arange(len(words)), [len(pairs) for pairs in words])
    columns, counts = np.array([pair for pairs in words for pair in pairs], np.int64).T
    tags = [[int(item) for item in line.split()[1:]] for line in (source / "tag-item.dat").read_text().splitlines()]
    of_tags = np.repeat(np.arange(len(tags)), [len(items) for items in tags])
    tagged = np.array([item for items in tags for item in items], np.int64)
    return {
        "words": _tf_idf(sp.csr_matrix((counts.astype(np.float64), (rows, columns)), shape=(len(words), 20_000))),
        "tags": _tf_idf(sp.csr_matrix((np.ones(len(tagged)), (tagged, of_tags)), shape=(len(words), len(tags)))),
    }


def _tf_idf(counts: sp.csr_matrix) -> sp.csr_matrix:
    counts = counts[:, np.asarray((counts > 0).sum(0)).ravel() >= 5]
    return sp.csr_matrix(TfidfTransformer(smooth_idf=False, sublinear_tf=True).fit_transform(counts), dtype=np.float32)


def app_usage(folder: Path) -> pl.DataFrame:
    """Return Frappe's log of apps, each with its context."""
    with tempfile.TemporaryDirectory() as unpacked:
        with zipfile.ZipFile(folder / "frappe" / "Mobile_Frappe.zip") as archive:
            path = archive.extract("Mobile_Frappe/frappe/frappe.csv", unpacked)
        return read_table(path).rename({"user": "user_id", "item": "item_id"})


def _ratings(
    table: npt.NDArray[np.int64],
    user_ids: list[int],
    item_ids: list[int],
    user_fields: dict[str, FeatureTable],
    item_fields: dict[str, FeatureTable],
) -> Ratings:
    """Return the ratings with users and items numbered as in their side tables; the ids of both are sorted."""
    users, items, ratings, _times = table.T
    return Ratings(
        np.searchsorted(user_ids, users).astype(np.int32),
        np.searchsorted(item_ids, items).astype(np.int32),
        ratings.astype(np.float64),
        user_fields,
        item_fields,
    )


def _numbers(text: str) -> npt.NDArray[np.int64]:
    """Return user, item, rating and time of each rating."""
    return np.fromstring(text, np.int64, sep=" ").reshape(-1, 4)


def _lines(text: str, separator: str) -> list[list[str]]:
    return [line.split(separator) for line in text.split("\n") if line]


def _words(texts: Iterable[str | None]) -> FeatureTable:
    return FeatureTable.of("words", Words().fit_transform(texts))


def _years(titles: Iterable[str]) -> FeatureTable:
    """Return the year that each title ends with, as in "Toy Story (1995)"; a title without one has an empty row."""
    return many_hot(re.findall(r"\((\d{4})\)", title)[-1:] for title in titles)


def _people(columns: list[str]) -> set[str]:
    """Return the names in the columns, without what is said of them, as in "Pete Docter (original story by)"."""
    names = {name for column in columns for name in re.sub(r"\s*\([^)]*\)", "", column).split(", ")}
    return names - {_UNKNOWN, ""}


def _unit(relation: Any) -> FeatureTable:
    return FeatureTable.unit_rows(relation.row, relation.col, relation.shape)
