"""The bookshop's tables of readers and of books, with the biases and tastes behind them, and who reads what."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib.resources import files
from string import ascii_uppercase
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Columns: TypeAlias = dict[str, NDArray[Any] | list[Any]]
Rows: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

# Tastes are hand-drawn on the axes, so that fans of neighbouring genres like each other's books; titles are templates
# over a genre's role, thing, place and mood, and a blurb opens with its hero, deed and setting.
_WORDS: dict[str, Any] = json.loads(files(__package__).joinpath("bookshop.json").read_text("utf-8"))
_AXES, _AGES, _GENRES, _THEMES = (_WORDS[key] for key in ("axes", "age_groups", "genres", "themes"))
_A_BEFORE_VOWEL = re.compile(r"\b([Aa]) (?=[AEIOUaeiou])")
_READER_BIAS_SD, _BOOK_BIAS_SD = 0.35, 0.4
_TASTE_SD = 0.40  # of the inner product of the two tastes, over all pairs
_READER_SHARES = {"genres": 0.5, "age": 0.15, "own": 0.35}  # of the variance of a taste
_BOOK_SHARES = {"genre": 0.3, "author": 0.2, "themes": 0.25, "own": 0.25}
_BOOKS_PER_AUTHOR = 4
_ROUNDS = 8
_EAGER = 0.25  # of the shop: beyond it most redraws would repeat a book
_CELLS = 1 << 21  # of a dense readers × books slab: 16 MB


def _standardised(tastes: Iterable[list[int]]) -> Floats:
    table = np.array(list(tastes), np.float64)
    scaled: Floats = (table - table.mean(axis=0)) / table.std(axis=0)
    return scaled


_GENRE_TASTES = _standardised(genre["taste"] for genre in _GENRES)
_GENRE_SHARES = np.array([genre["share"] for genre in _GENRES])


def make_readers(rng: np.random.Generator, n: int) -> tuple[Columns, Floats, Floats]:
    """Make the table of readers, their biases and their tastes."""
    names = _people(rng, n, _WORDS["reader_surnames"])
    ages = rng.choice(len(_AGES), size=n, p=[0.08, 0.16, 0.24, 0.24, 0.16, 0.12])
    regions = _pick(rng, _WORDS["regions"], n)
    ranked = np.argsort(-(np.log(_GENRE_SHARES) + rng.gumbel(size=(n, len(_GENRES)))), axis=1, kind="stable")[:, :3]
    n_favourites = rng.choice([1, 2, 3], size=n, p=[0.35, 0.4, 0.25])
    is_favourite = np.arange(3) < n_favourites[:, None]
    liked = (_GENRE_TASTES[ranked] * is_favourite[:, :, None]).sum(axis=1) / np.sqrt(n_favourites)[:, None]
    age_tastes = _standardised(_AGES.values())
    taste = _mix(_READER_SHARES, genres=liked, age=age_tastes[ages], own=rng.normal(size=(n, len(_AXES))))
    bias = rng.normal(0, _READER_BIAS_SD, size=n)
    favourites = zip(ranked.tolist(), n_favourites.tolist(), strict=True)
    columns: Columns = {
        "reader": names,
        "age_group": np.array(list(_AGES))[ages].tolist(),
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
    shares = _GENRE_SHARES / _GENRE_SHARES.sum()
    home, elsewhere = rng.choice(len(_GENRES), size=n_authors, p=shares), rng.choice(len(_GENRES), size=n, p=shares)
    genres = np.where(rng.random(n) < 0.9, home[authors], elsewhere)
    # Two different themes per book, fifteen times as often one that is usual for its genre.
    usual = np.array([[15.0 if theme["name"] in genre["themes"] else 1.0 for theme in _THEMES] for genre in _GENRES])
    themes = np.argsort(-(np.log(usual)[genres] + rng.gumbel(size=(n, len(_THEMES)))), axis=1, kind="stable")[:, :2]
    taste = _mix(
        _BOOK_SHARES,
        genre=_GENRE_TASTES[genres],
        author=rng.normal(size=(n_authors, len(_AXES)))[authors],
        themes=_standardised(theme["taste"] for theme in _THEMES)[themes].sum(axis=1) / np.sqrt(2),
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


def _mix(shares: dict[str, float], **parts: Floats) -> Floats:
    """Add the parts, each of unit variance, by their shares; scaled for inner products of `_TASTE_SD`."""
    taste = sum((math.sqrt(shares[name]) * part for name, part in parts.items()), np.zeros(1))
    return taste * math.sqrt(_TASTE_SD / math.sqrt(len(_AXES)))


def _people(rng: np.random.Generator, n: int, surnames: Sequence[str]) -> list[str]:
    """Make `n` different names; an initial and then a town are added only when plain names run out."""
    words = {"town": _WORDS["towns"], "initial": ascii_uppercase, "first": _WORDS["first_names"], "last": surnames}

    def people(form: str, rows: list[int]) -> list[str]:
        drawn = {slot: _pick(rng, words[slot], len(rows)) for slot in words if slot in form}
        return [form.format(**dict(zip(drawn, parts, strict=True))) for parts in zip(*drawn.values(), strict=True)]

    forms = ["{first} {last}"] * 3 + ["{first} {initial}. {last}"] * 2 + ["{first} {initial}. {last} of {town}"] * 2
    return _distinct(n, [partial(people, form) for form in forms])


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
    names: dict[str, int] = {}
    pending = list(range(n))
    for draft in drafts:
        drawn = list(zip(draft(pending), pending, strict=True))
        names = dict(reversed(drawn)) | names
        pending = [i for name, i in drawn if names[name] != i]
    seen: Counter[str] = Counter()
    for i, name in zip(pending, drafts[-1](pending), strict=True):
        seen[name] += 1
        names[f"{name} ({seen[name] + 1})"] = i
    return sorted(names, key=names.__getitem__)


def _pick(rng: np.random.Generator, words: Sequence[str], n: int) -> list[str]:
    return [words[i] for i in rng.integers(len(words), size=n).tolist()]


def _one_of(words: Sequence[str], draws: Iterator[int]) -> str:
    return words[next(draws) % len(words)]


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]


def spread(total: int, weights: Floats, low: int, high: int) -> Rows:
    """Split `total` in proportion to `weights` into integers between `low` and `high`."""
    counts = np.full(len(weights), low, dtype=np.int64)
    while left := total - int(counts.sum()):
        room = np.flatnonzero(counts < high)
        share = left * weights[room] / weights[room].sum()
        extra = share.astype(np.int64)
        largest_remainders = np.argsort(extra - share, kind="stable")
        extra[largest_remainders[: left - int(extra.sum())]] += 1
        counts[room] += np.minimum(extra, high - counts[room])
    return counts


def choose_books(
    rng: np.random.Generator, counts: Rows, popularity: Floats, affinity: Callable[[Rows, Rows], Floats]
) -> tuple[Rows, Rows]:
    """Draw `counts[u]` different books for every reader u, as rows of readers and of books.

    A book is drawn in proportion to its popularity and accepted with probability sigmoid(affinity). A few rounds
    suffice for nearly all readers; those who read a good part of the shop get an exact weighted draw.
    """
    n_books = len(popularity)
    cumulative = np.cumsum(popularity)
    pairs = np.empty(0, dtype=np.int64)
    by_rounds = np.where(counts > _EAGER * n_books, 0, counts)
    for _ in range(_ROUNDS):
        missing = by_rounds - np.bincount(pairs // n_books, minlength=len(counts))
        readers = np.repeat(np.arange(len(counts)), 2 * missing + 4 * (missing > 0))
        if not len(readers):
            break
        draws = cumulative[-1] * rng.random(len(readers))
        books = np.minimum(np.searchsorted(cumulative, draws, side="right"), n_books - 1)
        liked = rng.random(len(readers)) * (1 + np.exp(-affinity(readers, books))) < 1
        pairs = _first_of_each(np.concatenate([pairs, (readers * n_books + books)[liked]]), n_books, by_rounds)

    missing = counts - np.bincount(pairs // n_books, minlength=len(counts))
    unfinished, books = np.flatnonzero(missing), np.arange(n_books)
    slab = max(1, _CELLS // n_books)
    parts = [pairs]
    for start in range(0, len(unfinished), slab):  # by the Gumbel top-k trick, over all books not drawn yet
        readers = unfinished[start : start + slab]
        keys = np.log(popularity) - np.logaddexp(0, -affinity(readers[:, None], books))
        keys += rng.gumbel(size=keys.shape)
        taken = pairs[np.isin(pairs // n_books, readers)]
        keys[np.searchsorted(readers, taken // n_books), taken % n_books] = -np.inf
        best = np.argsort(-keys, axis=1, kind="stable")
        parts.append((readers[:, None] * n_books + best)[books < missing[readers][:, None]])
    pairs = np.sort(np.concatenate(parts))
    return pairs // n_books, pairs % n_books


def _first_of_each(pairs: Rows, n_books: int, counts: Rows) -> Rows:
    """Drop repeated pairs and what exceeds a reader's count, earliest draws kept, ordered by reader."""
    _, first = np.unique(pairs, return_index=True)
    pairs = pairs[np.sort(first)]
    pairs = pairs[np.argsort(pairs // n_books, kind="stable")]
    readers = pairs // n_books
    starts = np.searchsorted(readers, np.arange(len(counts)))
    return pairs[np.arange(len(pairs)) - starts[readers] < counts[readers]]
