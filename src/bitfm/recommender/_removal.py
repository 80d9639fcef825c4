"""What removals from ratings and from events have in common: a side without some of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from bitfm.recommender._matrix import InteractionMatrix
from bitfm.recommender._side import CONTEXT, ColumnNote, Side

if TYPE_CHECKING:
    from bitfm.data import FittedColumn
    from bitfm.recommender._state import State

__all__ = ["Rest", "rest_of", "without_reasons"]


class Rest(NamedTuple):
    """What is left after ids of a side were removed."""

    name: str
    kept: npt.NDArray[np.intp]  # rows of the side, in rising order
    sides: dict[str, Side]  # both, by the name that a state has for them
    log: InteractionMatrix
    features: dict[tuple[str, str], npt.NDArray[Any]]  # of fields of columns that have lost some
    columns: list[ColumnNote]

    @property
    def parts(self) -> dict[str, Any]:
        """The parts of a state that follow from it."""
        return {**self.sides, "log": self.log, "columns": self.columns}


def rest_of(state: State, name: str, gone: npt.NDArray[Any]) -> Rest:
    """Take rows out of a side and of the log."""
    before = state.side(name)
    kept = np.delete(np.arange(len(before)), gone)
    side, left = before.only(kept)
    sides = {"users": side, "items": state.items} if name == "user" else {"users": state.users, "items": side}
    features = {(name, field): there for field, there in left.items()}
    notes = without_reasons(without_reasons(state.columns, name, side.columns), CONTEXT, state.context)
    return Rest(name, kept, sides, state.log.only(name, kept), features, notes)


def without_reasons(notes: list[ColumnNote], block: str, columns: Sequence[FittedColumn]) -> list[ColumnNote]:
    """Return what was made of a block's columns, without the reasons, which may quote a value of a row."""
    fitted = {column.name: column for column in columns}

    def noted(note: ColumnNote) -> ColumnNote:
        if note.side != block:
            return note
        column = fitted.get(note.column)
        if column is None:  # nothing was made of it
            return msgspec.structs.replace(note, why=note.why.rpartition(": ")[2])
        return msgspec.structs.replace(note, why=column.facts(), features=column.width)

    return [noted(note) for note in notes]
