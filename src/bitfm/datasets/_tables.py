"""The bookshop's tables of readers and of books, with the biases and tastes behind them."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bitfm.datasets._choices import Floats, spread

__all__ = ["Columns", "make_books", "make_readers"]

Columns: TypeAlias = dict[str, NDArray[Any] | list[Any]]

# Tastes are hand-drawn on the axes, so that fans of neighbouring genres like each other's books; titles are templates
# over a genre's role, thing, place and mood, and a blurb opens with its hero, deed and setting.
_WORDS: dict[str, Any] = json.loads(files(__package__).joinpath("bookshop.json").read_text("utf-8"))
_AXES, _AGES, _GENRES, _THEMES = (_WORDS[key] for key in ("axes", "age_groups", "genres", "themes"))
_A_BEFORE_VOWEL = re.compile(r"\b([Aa]) (?=[AEIOUaeiou])")

_READER_BIAS_SD = 0.35
_BOOK_BIAS_SD = 0.4
_TASTE_SD = 0.40  # of the inner product of the two tastes, over all pairs
_READER_SHARES = {"genres": 0.5, "age": 0.15, "own": 0.35}  # of the variance of a taste
_BOOK_SHARES = {"genre": 0.3, "author": 0.2, "themes": 0.25, "own": 0.25}
_BOOKS_PER_AUTHOR = 4


def make_readers(rng: np.random.Generator, n: int) -> tuple[Columns, Floats, Floats]:
    """Make the table of readers, their biases and their tastes."""
    names = _people(rng, n, _WORDS["reader_surnames"])
    ages = rng.choice(len(_AGES), size=n, p=[0.08, 0.16, 0.24, 0.24, 0.16, 0.12])
    regions = _pick(rng, _WORDS["regions"], n)
    shares = np.array([genre["share"] for genre in _GENRES])
    ranked = np.argsort(-(np.log(shares) + rng.gumbel(size=(n, len(_GENRES)))), axis=1, kind="stable")[:, :3]
    n_favourites = rng.choice([1, 2, 3], size=n, p=[0.35, 0.4, 0.25])
    is_favourite = np.arange(3) < n_favourites[:, None]

    liked = (_tastes(_GENRES)[ranked] * is_favourite[:, :, None]).sum(axis=1) / np.sqrt(n_favourites)[:, None]
    age_taste = _standardised(list(_AGES.values()))[ages]
    taste = _mix(_READER_SHARES, genres=liked, age=age_taste, own=rng.normal(size=(n, len(_AXES))))
    bias = rng.normal(0, _READER_BIAS_SD, size=n)
    age_names = list(_AGES)
    favourites = zip(ranked.tolist(), n_favourites.tolist(), strict=True)
    columns: Columns = {
        "reader": names,
        "age_group": [age_names[a] for a in ages.tolist()],
        "region": regions,
        "favourite_genres": [[_GENRES[g]["name"] for g in row[:k]] for row, k in favourites],
    }
    return columns, bias, taste


def make_books(rng: np.random.Generator, n: int) -> tuple[Columns, Floats, Floats]:
    """Make the table of books, their biases and their tastes."""
    n_authors = -(-n // _BOOKS_PER_AUTHOR)
    author_names = _people(rng, n_authors, _WORDS["author_surnames"])
    written = spread(n, 1 / np.sqrt(np.arange(1.0, n_authors + 1)), low=1, high=15 * _BOOKS_PER_AUTHOR)
    authors = rng.permutation(np.repeat(np.arange(n_authors), written))

    shares = np.array([genre["share"] for genre in _GENRES])
    home = rng.choice(len(_GENRES), size=n_authors, p=shares / shares.sum())
    elsewhere = rng.choice(len(_GENRES), size=n, p=shares / shares.sum())
    genres = np.where(rng.random(n) < 0.9, home[authors], elsewhere)
    # Two different themes per book, fifteen times as often one that is usual for its genre.
    usual = np.array([[15.0 if theme["name"] in genre["themes"] else 1.0 for theme in _THEMES] for genre in _GENRES])
    themes = np.argsort(-(np.log(usual)[genres] + rng.gumbel(size=(n, len(_THEMES)))), axis=1, kind="stable")[:, :2]

    taste = _mix(
        _BOOK_SHARES,
        genre=_tastes(_GENRES)[genres],
        author=rng.normal(size=(n_authors, len(_AXES)))[authors],
        themes=_tastes(_THEMES)[themes].sum(axis=1) / np.sqrt(2),
        own=rng.normal(size=(n, len(_AXES))),
    )
    bias = rng.normal(0, _BOOK_BIAS_SD, size=n)
    columns: Columns = {
        "title": _titles(rng, genres),
        "author": [author_names[a] for a in authors.tolist()],
        "genre": [_GENRES[g]["name"] for g in genres.tolist()],
        "year": 2017 - np.minimum(rng.exponential(14, size=n), 97).astype(np.int64),
        "blurb": _blurbs(rng, genres, themes),
    }
    return columns, bias, taste


def _tastes(of: list[dict[str, Any]]) -> Floats:
    return _standardised([each["taste"] for each in of])


def _standardised(tastes: list[list[int]]) -> Floats:
    table = np.asarray(tastes, dtype=np.float64)
    scaled: Floats = (table - table.mean(axis=0)) / table.std(axis=0)
    return scaled


def _mix(shares: dict[str, float], **parts: Floats) -> Floats:
    """Add the parts, each of unit variance, by their shares; scaled for inner products of `_TASTE_SD`."""
    taste = np.zeros_like(parts["own"])
    for name, part in parts.items():
        taste += math.sqrt(shares[name]) * part
    return taste * math.sqrt(_TASTE_SD / math.sqrt(len(_AXES)))


def _people(rng: np.random.Generator, n: int, surnames: Sequence[str]) -> list[str]:
    """Make `n` different names; an initial and then a town are added only when plain names run out."""

    def plain(rows: list[int]) -> list[str]:
        firsts = _pick(rng, _WORDS["first_names"], len(rows))
        return [f"{a} {b}" for a, b in zip(firsts, _pick(rng, surnames, len(rows)), strict=True)]

    def with_initial(rows: list[int]) -> list[str]:
        initials = _pick(rng, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", len(rows))
        return [name.replace(" ", f" {x}. ") for name, x in zip(plain(rows), initials, strict=True)]

    def with_town(rows: list[int]) -> list[str]:
        towns = _pick(rng, _WORDS["towns"], len(rows))
        return [f"{name} of {town}" for name, town in zip(with_initial(rows), towns, strict=True)]

    return _distinct(n, [plain] * 3 + [with_initial] * 2 + [with_town] * 2)


def _titles(rng: np.random.Generator, genres: NDArray[np.intp]) -> list[str]:
    """Make one title per book, all different; large shops also stock double titles, "This; or, That"."""

    def one(genre: dict[str, Any], draws: Iterator[int]) -> str:
        template = _one_of(genre["titles"], draws)
        slots = {slot: _one_of(genre[slot], draws) for slot in ("role", "thing", "place", "mood")}
        return _capitalise(_A_BEFORE_VOWEL.sub(r"\1n ", template.format(**slots)).replace("The the ", "The "))

    def single(rows: list[int]) -> list[str]:
        draws = iter(rng.integers(2**31, size=5 * len(rows)).tolist())
        return [one(_GENRES[g], draws) for g in genres[rows].tolist()]

    def double(rows: list[int]) -> list[str]:
        return [a if a == b else f"{a}; or, {b}" for a, b in zip(single(rows), single(rows), strict=True)]

    return _distinct(len(genres), [single] * 6 + [double] * 3)


def _blurbs(rng: np.random.Generator, genres: NDArray[np.intp], themes: NDArray[np.intp]) -> list[str]:
    """Make one blurb per book: a sentence of its genre, and one that names its two themes."""
    draws = iter(rng.integers(2**31, size=7 * len(genres)).tolist())
    blurbs = []
    for g, pair in zip(genres.tolist(), themes.tolist(), strict=True):
        opening = _one_of(_WORDS["blurb_openings"], draws)
        slots = {slot: _one_of(_GENRES[g][slot], draws) for slot in ("hero", "deed", "setting")}
        closing = _one_of(_WORDS["blurb_closings"], draws)
        one, two = (_one_of(_THEMES[theme]["phrases"], draws) for theme in pair)
        blurbs.append(f"{_capitalise(opening.format(**slots))} {closing.format(one=one, two=two)}")
    return blurbs


def _distinct(n: int, drafts: Sequence[Callable[[list[int]], list[str]]]) -> list[str]:
    """Draw `n` different names: each draft redraws what collided, a number settles what is left."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for draft in drafts:
        pending = [i for i in range(n) if i not in names] if names else list(range(n))
        for i, name in zip(pending, draft(pending), strict=True):
            if name not in taken:
                taken.add(name)
                names[i] = name
    pending = [i for i in range(n) if i not in names]
    seen: Counter[str] = Counter()
    for i, name in zip(pending, drafts[-1](pending), strict=True):
        seen[name] += 1
        names[i] = f"{name} ({seen[name] + 1})"
    return [names[i] for i in range(n)]


def _pick(rng: np.random.Generator, words: Sequence[str], n: int) -> list[str]:
    return [words[i] for i in rng.integers(len(words), size=n).tolist()]


def _one_of(words: Sequence[str], draws: Iterator[int]) -> str:
    return words[next(draws) % len(words)]


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]
