"""MovieLens: who the users are, and what the movies are about."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from bitfm.data import Words
from bitfm.data.feature_table import FeatureTable
from bitfm.data.hot import many_hot, one_hot

from bitfm_research.bench.ratings import Ratings

_AGES = [18, 25, 35, 45, 50, 56]  # where ml-1m's age groups begin, after "under 18"
_UNKNOWN = "N/A"


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
