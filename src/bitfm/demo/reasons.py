"""Why a book is recommended, as a person would say it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from bitfm.parameters import Explanation

__all__ = ["reasons"]

_LEAST = 0.01  # of a star: less is no reason
_WORDS = {
    "user.favourite_genres": "likes {}",
    "user.history": "rated {}",
    "user.age_group": "is {} years old",
    "user.region": "lives in the region {}",
    "user.id": "suits a taste that shows in other ratings",
    "item.author": "by {}",
    "item.genre": "it is {}",
    "item.year": "from {}",
    "item.blurb": "the blurb says “{}”",
    "item.id": "liked by those who have read it",
}


def reasons(why: Explanation, rated: Mapping[str, Any], n: int = 3) -> list[str]:
    """Return the strongest reasons for a recommendation, given what the reader has rated.

    What a reader's features add together with the book's speaks for the reader, and what a book's features add by
    themselves speaks for the book. Both are summed by field; the strongest feature of a field names it. What a reader
    adds to all books alike is no reason. The strongest of either side come first, then the strongest of what is left.
    """
    shares: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    own = [(share.name, share.contribution) for share in why.features if share.name.startswith("item.")]
    for name, share in [*own, *((pair.names[0], pair.contribution) for pair in why.pairs)]:
        field, label = name.split(": ", 1)
        shares["item.id" if field == "item.raters" else field][label] += share  # both: how readers like this very book
    named = sorted(
        ((sum(of.values()), field, max(of, key=of.__getitem__)) for field, of in shares.items()), reverse=True
    )
    named = [reason for reason in named if reason[0] >= _LEAST]
    sides = [next((one for one in named if one[1].startswith(side)), None) for side in ("user.", "item.")]
    first = [reason for reason in sides if reason is not None][:n]
    others = [reason for reason in named if reason not in first][: n - len(first)]
    return [_told(*reason, rated) for reason in sorted(first + others, reverse=True)]


def _told(share: float, field: str, label: str, rated: Mapping[str, Any]) -> str:
    text = f"{label} {rated.get(label, '')}".rstrip() if field == "user.history" else label
    return f"{_WORDS[field].format(text)} ({share:+.2f})"
