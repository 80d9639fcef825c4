"""Items as people name them: by id, or by title where that is no id."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bitfm.data.files import quoted
from bitfm.errors import UnknownIdError

if TYPE_CHECKING:
    from bitfm import Recommender

__all__ = ["item_id", "item_ids", "rated_items"]

_LISTED = 10  # ids of a title that several items have
_MOST_COMMAS = 8  # in a title


def item_id(rec: Recommender, text: str) -> str:
    """Return the id that a text is, or else that of the item whose title it is; a text that is neither stays."""
    items = rec.state.items
    if items.titles is None or items.indices_of([text])[0] >= 0:
        return text
    rows = items.titles.rows_of(text)
    if len(rows) > 1:
        ids = ", ".join(str(one) for one in items.ids_of(rows[:_LISTED]).to_list())
        more = f" and {len(rows) - _LISTED:,} more" if len(rows) > _LISTED else ""
        told = f"{quoted(text)} is no id, but the title of {len(rows):,} items"
        raise UnknownIdError(f"{told}: {ids}{more}; give one of these ids.")
    return text if not len(rows) else str(items.ids_of(rows).to_list()[0])


def rated_items(rec: Recommender, history: str) -> list[Any]:
    """Return items, and items with their ratings, from ITEM and ITEM:RATING with commas between them.

    Ids and titles may have commas and colons in them: the longest text that is an item is taken for one.
    """
    return _longest(history, lambda text, alone: _rated(rec, text, alone=alone))


def item_ids(rec: Recommender, listed: str | None) -> list[str] | None:
    """Return the ids of ITEM,ITEM,...; each is the longest text that is an item, or a bare part."""
    if listed is None:
        return None
    return _longest(listed, lambda text, alone: _known_id(rec, text, alone=alone) or (text if alone else None))


def _longest(listed: str, read: Callable[[str, bool], Any]) -> list[Any]:
    """Return what texts with commas between them, or in them, are: of each the longest that is read as something."""
    parts, found = listed.split(","), []
    while parts:
        for n in range(min(len(parts), _MOST_COMMAS + 1), 0, -1):
            one = read(",".join(parts[:n]).strip(), n == 1)
            if one is not None:
                break
        if one:
            found.append(one)
        del parts[:n]
    return found


def _rated(rec: Recommender, text: str, *, alone: bool) -> Any:
    """Return an item and its rating, or a bare item; of a text that is none, None unless it stands alone."""
    name, _, end = text.rpartition(":")
    rating = _number(end) if name else None
    whole = _known_id(rec, text, alone=alone)
    if whole is not None or rating is None:
        return whole if whole is not None or not alone else text
    bare = _known_id(rec, name, alone=alone)
    return (bare or name, rating) if bare is not None or alone else None


def _known_id(rec: Recommender, text: str, *, alone: bool) -> str | None:
    """Return the id of an item by its id or its title; a title's case matters unless the text stands alone."""
    items = rec.state.items
    if items.indices_of([text])[0] >= 0:
        return text
    if items.titles is None or not (alone or items.titles.texts.find(text) >= 0):
        return None
    found = item_id(rec, text)
    return found if items.indices_of([found])[0] >= 0 else None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
