"""Why a book is recommended, as a person would say it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from bitfm.parameters import Explanation

__all__ = ["reasons"]

_LEAST = 0.01  # of a star: less is no reason


class _Reason(NamedTuple):
    share: float
    field: str
    label: str  # of the field's strongest feature


def reasons(why: Explanation, rated: Mapping[str, Any], n: int = 3) -> list[str]:
    """Return the strongest reasons for a recommendation.

    What a reader's features add together with the book's speaks for the reader, and what a book's features add by
    themselves speaks for the book. Both are summed by field; the strongest feature of a field names it. What a reader
    adds to all books alike is no reason. The strongest of either side come first, then the strongest of what is left.

    Parameters
    ----------
    why : Explanation
        Of `Recommender.explain`.
    rated : mapping of title to rating
        What the reader has rated.
    n : int
        How many at most.
    """
    shares: dict[str, dict[str, float]] = {}
    for pair in why.pairs:
        _add(shares, pair.names[0], pair.contribution)
    for feature in why.features:
        if feature.name.startswith("item."):
            _add(shares, feature.name, feature.contribution)
    named = [_Reason(sum(of.values()), field, _strongest(of)) for field, of in shares.items()]
    named = sorted((reason for reason in named if reason.share >= _LEAST), reverse=True)
    sides = [next((r for r in named if r.field.startswith(side)), None) for side in ("user.", "item.")]
    first = [reason for reason in sides if reason is not None][:n]
    others = [reason for reason in named if reason not in first][: n - len(first)]
    return [f"{_words(reason, rated)} ({reason.share:+.2f})" for reason in sorted(first + others, reverse=True)]


def _add(shares: dict[str, dict[str, float]], name: str, share: float) -> None:
    field, label = name.split(": ", 1)
    if field in ("item.id", "item.raters"):  # both say how readers like this very book
        field = "item.id"
    of_field = shares.setdefault(field, {})
    of_field[label] = of_field.get(label, 0.0) + share


def _strongest(of_features: Mapping[str, float]) -> str:
    return max(of_features, key=lambda label: of_features[label])


def _words(reason: _Reason, rated: Mapping[str, Any]) -> str:
    label = reason.label
    return {
        "user.favourite_genres": f"likes {label}",
        "user.history": f"rated {label} {rated.get(label, '')}".rstrip(),
        "user.age_group": f"is {label} years old",
        "user.region": f"lives in the region {label}",
        "user.id": "suits a taste that shows in other ratings",
        "item.author": f"by {label}",
        "item.genre": f"it is {label}",
        "item.year": f"from {label}",
        "item.blurb": f"the blurb says “{label}”",
        "item.id": "liked by those who have read it",
    }[reason.field]
