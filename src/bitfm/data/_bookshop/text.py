"""Names, titles and blurbs of the generated bookshop."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bitfm.data._bookshop.genres import GENRES, Genre
from bitfm.data._bookshop.names import FIRST_NAMES, TOWNS
from bitfm.data._bookshop.themes import THEMES

__all__ = ["make_blurbs", "make_people", "make_titles"]

_BLURB_OPENINGS = ("{hero} {deed}.", "In {setting}, {hero} {deed}.")
_BLURB_CLOSINGS = (
    "A book about {one}, with {two}.",
    "A story of {one}, and of {two}.",
    "Expect {one}, and {two}.",
)
_A_BEFORE_VOWEL = re.compile(r"\b([Aa]) (?=[AEIOUaeiou])")


def _pick(rng: np.random.Generator, words: Sequence[str], n: int) -> list[str]:
    return [words[i] for i in rng.integers(len(words), size=n).tolist()]


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]


def _distinct(n: int, drafts: Sequence[Callable[[list[int]], list[str]]]) -> list[str]:
    """Draw `n` different names: each draft redraws what collided, a number settles what is left."""
    names = [""] * n
    taken: set[str] = set()
    pending = list(range(n))
    for draft in drafts:
        collided = []
        for i, name in zip(pending, draft(pending), strict=True):
            if name in taken:
                collided.append(i)
            else:
                taken.add(name)
                names[i] = name
        pending = collided
    seen: Counter[str] = Counter()
    for i, name in zip(pending, drafts[-1](pending), strict=True):
        seen[name] += 1
        names[i] = f"{name} ({seen[name] + 1})"
    return names


def make_people(rng: np.random.Generator, n: int, surnames: Sequence[str]) -> list[str]:
    """Make `n` different names; an initial and then a town are added only when plain names run out."""

    def plain(rows: list[int]) -> list[str]:
        firsts = _pick(rng, FIRST_NAMES, len(rows))
        return [f"{a} {b}" for a, b in zip(firsts, _pick(rng, surnames, len(rows)), strict=True)]

    def with_initial(rows: list[int]) -> list[str]:
        initials = _pick(rng, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", len(rows))
        return [name.replace(" ", f" {x}. ") for name, x in zip(plain(rows), initials, strict=True)]

    def with_town(rows: list[int]) -> list[str]:
        towns = _pick(rng, TOWNS, len(rows))
        return [f"{name} of {town}" for name, town in zip(with_initial(rows), towns, strict=True)]

    return _distinct(n, [plain] * 3 + [with_initial] * 2 + [with_town] * 2)


def _one_of(words: Sequence[str], draws: Iterator[int]) -> str:
    return words[next(draws) % len(words)]


def _title(genre: Genre, draws: Iterator[int]) -> str:
    template = _one_of(genre.titles, draws)
    slots = {slot: _one_of(getattr(genre, slot), draws) for slot in ("role", "thing", "place", "mood")}
    return _capitalise(_A_BEFORE_VOWEL.sub(r"\1n ", template.format(**slots)).replace("The the ", "The "))


def make_titles(rng: np.random.Generator, genres: NDArray[np.intp]) -> list[str]:
    """Make one title a book, all different; large shops also stock double titles, "This; or, That"."""

    def single(rows: list[int]) -> list[str]:
        draws = iter(rng.integers(2**31, size=5 * len(rows)).tolist())
        return [_title(GENRES[g], draws) for g in genres[rows].tolist()]

    def double(rows: list[int]) -> list[str]:
        return [a if a == b else f"{a}; or, {b}" for a, b in zip(single(rows), single(rows), strict=True)]

    return _distinct(len(genres), [single] * 6 + [double] * 3)


def make_blurbs(rng: np.random.Generator, genres: NDArray[np.intp], themes: NDArray[np.intp]) -> list[str]:
    """Make one blurb a book: a sentence of its genre, and one that names its two themes."""
    draws = iter(rng.integers(2**31, size=7 * len(genres)).tolist())
    blurbs = []
    for g, (first, second) in zip(genres.tolist(), themes.tolist(), strict=True):
        opening = _one_of(_BLURB_OPENINGS, draws)
        slots = {slot: _one_of(getattr(GENRES[g], slot), draws) for slot in ("hero", "deed", "setting")}
        closing = _one_of(_BLURB_CLOSINGS, draws)
        one, two = (_one_of(THEMES[theme].phrases, draws) for theme in (first, second))
        blurbs.append(f"{_capitalise(opening.format(**slots))} {closing.format(one=one, two=two)}")
    return blurbs
