"""Names, titles and blurbs of the generated bookshop."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["WORDS", "make_blurbs", "make_people", "make_titles"]

# Tastes are hand-drawn on the axes, so that fans of neighbouring genres like each other's books; titles are templates
# over a genre's role, thing, place and mood, and a blurb opens with its hero, deed and setting.
WORDS: dict[str, Any] = json.loads(files(__package__).joinpath("bookshop.json").read_text("utf-8"))

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
        firsts = _pick(rng, WORDS["first_names"], len(rows))
        return [f"{a} {b}" for a, b in zip(firsts, _pick(rng, surnames, len(rows)), strict=True)]

    def with_initial(rows: list[int]) -> list[str]:
        initials = _pick(rng, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", len(rows))
        return [name.replace(" ", f" {x}. ") for name, x in zip(plain(rows), initials, strict=True)]

    def with_town(rows: list[int]) -> list[str]:
        towns = _pick(rng, WORDS["towns"], len(rows))
        return [f"{name} of {town}" for name, town in zip(with_initial(rows), towns, strict=True)]

    return _distinct(n, [plain] * 3 + [with_initial] * 2 + [with_town] * 2)


def _one_of(words: Sequence[str], draws: Iterator[int]) -> str:
    return words[next(draws) % len(words)]


def _title(genre: dict[str, Any], draws: Iterator[int]) -> str:
    template = _one_of(genre["titles"], draws)
    slots = {slot: _one_of(genre[slot], draws) for slot in ("role", "thing", "place", "mood")}
    return _capitalise(_A_BEFORE_VOWEL.sub(r"\1n ", template.format(**slots)).replace("The the ", "The "))


def make_titles(rng: np.random.Generator, genres: NDArray[np.intp]) -> list[str]:
    """Make one title per book, all different; large shops also stock double titles, "This; or, That"."""

    def single(rows: list[int]) -> list[str]:
        draws = iter(rng.integers(2**31, size=5 * len(rows)).tolist())
        return [_title(WORDS["genres"][g], draws) for g in genres[rows].tolist()]

    def double(rows: list[int]) -> list[str]:
        return [a if a == b else f"{a}; or, {b}" for a, b in zip(single(rows), single(rows), strict=True)]

    return _distinct(len(genres), [single] * 6 + [double] * 3)


def make_blurbs(rng: np.random.Generator, genres: NDArray[np.intp], themes: NDArray[np.intp]) -> list[str]:
    """Make one blurb per book: a sentence of its genre, and one that names its two themes."""
    draws = iter(rng.integers(2**31, size=7 * len(genres)).tolist())
    blurbs = []
    for g, (first, second) in zip(genres.tolist(), themes.tolist(), strict=True):
        genre = WORDS["genres"][g]
        opening = _one_of(WORDS["blurb_openings"], draws)
        slots = {slot: _one_of(genre[slot], draws) for slot in ("hero", "deed", "setting")}
        closing = _one_of(WORDS["blurb_closings"], draws)
        one, two = (_one_of(WORDS["themes"][theme]["phrases"], draws) for theme in (first, second))
        blurbs.append(f"{_capitalise(opening.format(**slots))} {closing.format(one=one, two=two)}")
    return blurbs
