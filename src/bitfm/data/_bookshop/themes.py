"""What a blurb can be about and how readers differ, drawn on the axes of taste.

The figures are hand-drawn, so that fans of neighbouring genres like each other's books; the generator
standardises every axis before it uses them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["AGE_GROUPS", "AXES", "REGIONS", "THEMES", "Taste", "Theme", "split"]

AXES = ("dark", "wonder", "tender", "real", "playful", "swift")
Taste: TypeAlias = tuple[int, int, int, int, int, int]

AGE_GROUPS: dict[str, Taste] = {
    "under 18": (0, 2, 0, -2, 1, 2),
    "18-24": (1, 1, 1, -1, 1, 1),
    "25-34": (1, 0, 0, 0, 0, 1),
    "35-49": (1, 0, -1, 1, 0, 0),
    "50-64": (0, -1, 1, 1, -1, -1),
    "65+": (-1, -1, 1, 2, 0, -2),
}
REGIONS = ("Capital", "Coast", "Highlands", "Islands", "Lakes", "Plains")


@dataclass(frozen=True)
class Theme:
    """Something a book can be about; every phrase contains the theme's name."""

    name: str
    taste: Taste
    phrases: tuple[str, ...]


def split(text: str) -> tuple[str, ...]:
    """Split a list written as "one, two, three"."""
    return tuple(part.strip() for part in text.split(","))


def _theme(name: str, taste: Taste, phrases: str) -> Theme:
    return Theme(name, taste, split(phrases))


THEMES = (
    _theme("sea", (0, 1, 0, 0, 0, 0), "the sea in bad weather, a long quarrel with the sea, what the sea keeps"),
    _theme(
        "winter",
        (1, 0, 0, 0, -1, -1),
        "the longest winter in memory, one hard winter, winter and its silences",
    ),
    _theme("revenge", (2, 0, -1, 0, 0, 1), "patient revenge, the price of revenge, revenge served politely"),
    _theme("secrets", (1, 0, 0, 0, 0, 1), "family secrets, secrets under the floorboards, badly kept secrets"),
    _theme("love", (-1, 0, 2, 0, 0, 0), "love arriving late, unlikely love, love and its paperwork"),
    _theme(
        "friendship",
        (-1, 0, 1, 0, 1, 0),
        "friendship against the odds, a stubborn friendship, friendship and soup",
    ),
    _theme("war", (2, -1, 0, 2, -1, 1), "a war nobody wanted, letters home from the war, the war and after"),
    _theme("magic", (0, 2, 0, -2, 1, 0), "old magic, the small print of magic, magic that will not behave"),
    _theme("machines", (0, 1, -2, 0, 0, 1), "machines that remember, thinking machines, the kindness of machines"),
    _theme("food", (-1, 0, 1, 1, 1, -1), "food shared with strangers, good food, food and forgiveness"),
    _theme("music", (0, 1, 1, 0, 0, -1), "music through thin walls, unfinished music, music after midnight"),
    _theme("grief", (2, 0, 1, 1, -2, -2), "grief and its weather, a quiet grief, learning to carry grief"),
    _theme("travel", (0, 1, -1, 0, 1, 1), "slow travel, travel without a map, travel by unreliable boat"),
    _theme("animals", (-1, 0, 1, 0, 2, 0), "animals with opinions, rescued animals, the company of animals"),
    _theme("village", (-1, -1, 0, 1, 1, -1), "village gossip, a village that never forgets, village politics"),
    _theme("money", (1, -2, -1, 1, 0, 0), "old money, missing money, money and who deserves it"),
    _theme(
        "ghosts",
        (1, 1, 0, -1, 0, 0),
        "well-mannered ghosts, ghosts that keep accounts, ghosts in the plumbing",
    ),
    _theme("justice", (1, 0, -1, 1, 0, 0), "rough justice, justice long delayed, the cost of justice"),
    _theme("gardens", (-2, 0, 1, 1, 0, -2), "neglected gardens, walled gardens, gardens and patience"),
    _theme("youth", (0, 0, 1, 0, 1, 1), "youth and bad decisions, a misspent youth, youth remembered kindly"),
)
