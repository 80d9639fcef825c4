"""The bookshop's tables of readers and of books, with the biases and tastes behind them."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bitfm.datasets._choices import spread
from bitfm.datasets._text import WORDS, make_blurbs, make_people, make_titles

__all__ = ["Columns", "Floats", "make_books", "make_readers"]

Columns: TypeAlias = dict[str, NDArray[Any] | list[Any]]
Floats: TypeAlias = NDArray[np.float64]

_AXES, _AGES, _GENRES, _THEMES = (WORDS[key] for key in ("axes", "age_groups", "genres", "themes"))

_READER_BIAS_SD = 0.35
_BOOK_BIAS_SD = 0.4
_TASTE_SD = 0.40  # of the inner product of the two tastes, over all pairs

# Shares of the variance of a taste; each row adds up to one.
_READER_SHARES = {"genres": 0.5, "age": 0.15, "own": 0.35}
_BOOK_SHARES = {"genre": 0.3, "author": 0.2, "themes": 0.25, "own": 0.25}
_BOOKS_PER_AUTHOR = 4


def _standardised(tastes: list[tuple[int, ...]]) -> Floats:
    table = np.asarray(tastes, dtype=np.float64)
    scaled: Floats = (table - table.mean(axis=0)) / table.std(axis=0)
    return scaled


def _mix(shares: dict[str, float], **parts: Floats) -> Floats:
    """Add the parts, each of unit variance, by their shares; scaled for inner products of `_TASTE_SD`."""
    taste = np.zeros_like(parts["own"])
    for name, part in parts.items():
        taste += math.sqrt(shares[name]) * part
    return taste * math.sqrt(_TASTE_SD / math.sqrt(len(_AXES)))


def make_readers(rng: np.random.Generator, n: int) -> tuple[Columns, Floats, Floats]:
    """Make the table of readers, their biases and their tastes."""
    names = make_people(rng, n, WORDS["reader_surnames"])
    ages = rng.choice(len(_AGES), size=n, p=[0.08, 0.16, 0.24, 0.24, 0.16, 0.12])
    regions = rng.integers(len(WORDS["regions"]), size=n)
    shares = np.array([genre["share"] for genre in _GENRES])
    ranked = np.argsort(-(np.log(shares) + rng.gumbel(size=(n, len(_GENRES)))), axis=1, kind="stable")[:, :3]
    n_favourites = rng.choice([1, 2, 3], size=n, p=[0.35, 0.4, 0.25])
    is_favourite = np.arange(3) < n_favourites[:, None]

    genre_taste = _standardised([genre["taste"] for genre in _GENRES])
    liked = (genre_taste[ranked] * is_favourite[:, :, None]).sum(axis=1) / np.sqrt(n_favourites)[:, None]
    age_taste = _standardised(list(_AGES.values()))[ages]
    taste = _mix(_READER_SHARES, genres=liked, age=age_taste, own=rng.normal(size=(n, len(_AXES))))
    bias = rng.normal(0, _READER_BIAS_SD, size=n)

    age_names = list(_AGES)
    columns: Columns = {
        "reader": names,
        "age_group": [age_names[a] for a in ages.tolist()],
        "region": [WORDS["regions"][r] for r in regions.tolist()],
        "favourite_genres": [
            [_GENRES[g]["name"] for g in row[:k]] for row, k in zip(ranked.tolist(), n_favourites.tolist(), strict=True)
        ],
    }
    return columns, bias, taste


def make_books(rng: np.random.Generator, n: int) -> tuple[Columns, Floats, Floats]:
    """Make the table of books, their biases and their tastes."""
    n_authors = -(-n // _BOOKS_PER_AUTHOR)
    author_names = make_people(rng, n_authors, WORDS["author_surnames"])
    shelf = spread(n, 1 / np.sqrt(np.arange(1.0, n_authors + 1)), low=1, high=15 * _BOOKS_PER_AUTHOR)
    authors = rng.permutation(np.repeat(np.arange(n_authors), shelf))

    shares = np.array([genre["share"] for genre in _GENRES])
    home = rng.choice(len(_GENRES), size=n_authors, p=shares / shares.sum())
    elsewhere = rng.choice(len(_GENRES), size=n, p=shares / shares.sum())
    genres = np.where(rng.random(n) < 0.9, home[authors], elsewhere)
    themes = _draw_themes(rng, genres)

    theme_taste = _standardised([theme["taste"] for theme in _THEMES])
    taste = _mix(
        _BOOK_SHARES,
        genre=_standardised([genre["taste"] for genre in _GENRES])[genres],
        author=rng.normal(size=(n_authors, len(_AXES)))[authors],
        themes=theme_taste[themes].sum(axis=1) / np.sqrt(2),
        own=rng.normal(size=(n, len(_AXES))),
    )
    bias = rng.normal(0, _BOOK_BIAS_SD, size=n)
    columns: Columns = {
        "title": make_titles(rng, genres),
        "author": [author_names[a] for a in authors.tolist()],
        "genre": [_GENRES[g]["name"] for g in genres.tolist()],
        "year": 2017 - np.minimum(rng.exponential(14, size=n), 97).astype(np.int64),
        "blurb": make_blurbs(rng, genres, themes),
    }
    return columns, bias, taste


def _draw_themes(rng: np.random.Generator, genres: NDArray[np.intp]) -> NDArray[np.intp]:
    """Draw two different themes per book, fifteen times as often one that is usual for its genre."""
    weights = np.array([[15.0 if theme["name"] in genre["themes"] else 1.0 for theme in _THEMES] for genre in _GENRES])
    keys = np.log(weights)[genres] + rng.gumbel(size=(len(genres), len(_THEMES)))
    return np.argsort(-keys, axis=1, kind="stable")[:, :2]
