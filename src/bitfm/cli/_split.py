"""Interactions that a command may split: the latest ratings, within what NDCG takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from bitfm.cli.screen import note
from bitfm.errors import ValueInTableError

if TYPE_CHECKING:
    from bitfm.data import Interactions

__all__ = ["check_share", "latest", "need_measurable"]

_LARGEST_RATING = 1000  # that bitfm.evaluation.ndcg takes


def check_share(share: float) -> float:
    """Return a share to hold out."""
    if not 0 < share < 1:
        raise typer.BadParameter(f"expected a share above 0 and below 1, got {share:g}", param_hint="--test")
    return share


def latest(interactions: Interactions) -> Interactions:
    """Return the rows that a fit would use, and say how many it would not."""
    kept = interactions.latest()
    if len(kept) < len(interactions):
        note(f"rows left out, since a later one has the same user and item: {len(interactions) - len(kept):,}")
    return kept


def need_measurable(interactions: Interactions) -> None:
    """Refuse ratings that NDCG cannot take, before the work and not after it."""
    if interactions.target is None or interactions.target.max() <= _LARGEST_RATING:
        return
    raise ValueInTableError(
        f"interactions, column {interactions.roles.target!r}: the largest rating is {interactions.target.max():,g}, "
        f"but NDCG, which counts a rating r as 2^r − 1, takes at most {_LARGEST_RATING:,}; scale the ratings, for "
        "example to 1 to 5"
    )
