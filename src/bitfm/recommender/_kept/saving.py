"""Columns that are kept as they are, as a part of a file."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from bitfm import persist
from bitfm.errors import ModelFileError
from bitfm.persist import Tensors
from bitfm.recommender._kept.column import KeptColumn
from bitfm.recommender._kept.plain import Flags, Numbers, Times
from bitfm.recommender._kept.texts import Categories, Lists

__all__ = ["KeptEntry", "open_kept", "pack_kept"]

_PREFIX = "item.kept."
_KINDS: dict[str, type[KeptColumn]] = {kind.called: kind for kind in (Flags, Numbers, Times, Categories, Lists)}


class KeptEntry(msgspec.Struct, forbid_unknown_fields=True):
    """A column's name, what it is, and how more of its values are read."""

    name: str
    kind: Literal["flag", "number", "time", "category", "list"]
    how: str | None


def pack_kept(columns: tuple[KeptColumn, ...], tables: dict[str, Any]) -> list[KeptEntry]:
    """Return what to write, and put tensors to the tables."""
    for number, column in enumerate(columns):
        tables |= persist.put(f"{_PREFIX}{number}.", column.tensors())
    return [KeptEntry(column.name, column.called, column.how) for column in columns]  # type: ignore[arg-type]


def open_kept(entries: list[KeptEntry], tables: Tensors, n_items: int, file: str) -> tuple[KeptColumn, ...]:
    """Return the columns, without a look at their values."""
    parts = persist.numbered(tables, _PREFIX)
    if len({entry.name for entry in entries}) < len(entries):
        raise ModelFileError("keeps a column twice")
    if set(parts) - set(range(len(entries))):
        raise ModelFileError("keeps more columns than it names")
    return tuple(
        _KINDS[entry.kind].restored(entry.name, entry.how, parts[number], n_items, file)
        for number, entry in enumerate(entries)
    )
