"""Tables of users and items into sides: ids, fitted columns and titles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitfm.data import DateParts, FittedColumn, Ignored, Kind, Number, infer_kind, kind_of
from bitfm.data.blocks import Block
from bitfm.data.feature_table import FeatureTable
from bitfm.data.files import quoted
from bitfm.data.interactions import Interactions
from bitfm.data.tables import as_frame, need_columns
from bitfm.data.texts import as_text
from bitfm.data.vocabulary import Vocabulary
from bitfm.errors import UnknownIdError, ValueInTableError
from bitfm.recommender._kept.choosing import kept_columns
from bitfm.recommender._side import CONTEXT, ColumnNote, Side, context_block, distinct_ids
from bitfm.recommender._titles import Titles

if TYPE_CHECKING:
    import polars as pl

__all__ = ["SideReader", "Tables", "pairs_of", "read_tables"]

_TITLES = ("title", "name")
_DECLARED = "as declared"


class Tables(NamedTuple):
    """All that a recommender is fitted to, read."""

    read: Interactions
    sides: dict[str, Side]
    context: tuple[FittedColumn, ...]
    contexts: Block | None  # the context of each interaction
    notes: list[ColumnNote]
    pairs: dict[str, npt.NDArray[np.int32]]  # the user and the item of each interaction


def read_tables(
    given: Interactions, users: Any, items: Any, title: str | None, filters: Sequence[str] | None, reader: SideReader
) -> Tables:
    """Read the tables of a fit."""
    read, roles = given.latest(), given.roles
    sides = {
        "user": reader.read("user", users, roles.user, read.users, read.integer_ids[0], filters=()),
        "item": reader.read("item", items, roles.item, read.items, read.integer_ids[1], title, filters),
    }
    context = () if read.context is None else reader.columns(CONTEXT, read.context)
    reader.finish()
    contexts = context_block(context, read.context) if context and read.context is not None else None
    read = replace(read, context=None)  # as it was read: it may be most of what there is
    return Tables(read, sides, context, contexts, [*reader.notes, *_format_notes(read)], pairs_of(sides, read))


def _format_notes(read: Interactions) -> list[ColumnNote]:
    """Return how targets, weights and times were read that are strings of two readings; it quotes none of them."""
    notes = []
    for column, choice in read.formats:
        is_time = choice.value in ("dmy", "mdy")
        why = f"{'times,' if is_time else 'numbers with'} {choice.reading}"
        why += "" if choice.decided else ", as nothing decides"
        notes.append(ColumnNote("interaction", column, "time" if is_time else "number", why, 0, 0.0))
    return notes


def pairs_of(sides: Mapping[str, Side], interactions: Interactions) -> dict[str, npt.NDArray[np.int32]]:
    """Return the indices of users and items, all of which must be known."""
    found = {}
    for name, ids in (("user", interactions.users), ("item", interactions.items)):
        found[name] = sides[name].ids.indices(ids)
        if (found[name] < 0).any():
            unknown = ids[int(np.argmin(found[name]))]
            raise UnknownIdError(f"{name} {unknown!r} is not known; add it with add_{name}s first.")
    return found


class SideReader:
    """Reads the tables of users and of items, and the columns of a context.

    A decimal mark and an order of day and month that are given are those of all columns whose kind says no other.
    """

    def __init__(self, kinds: Mapping[str, Any], decimal: str | None = None, dates: str | None = None) -> None:
        self._decimal, self._dates = decimal, dates
        self._kinds = {name: self._with_formats(kind_of(kind)) for name, kind in kinds.items()}
        self._used: set[str] = set()
        self._found: defaultdict[str, dict[str, Kind]] = defaultdict(dict)  # of each side's columns
        self.notes: list[ColumnNote] = []

    def read(
        self,
        name: str,
        table: Any,
        id_column: str,
        observed: pl.Series,
        whole: bool,
        title: str | None = None,
        filters: Sequence[str] | None = None,
    ) -> Side:
        """Return a side with all ids that were observed in the interactions or have a row of their own."""
        import polars as pl

        if table is None:
            return Side(name, id_column, Vocabulary.of(observed), whole)
        what = f"{name}s"
        frame, _ = as_frame(what, table, self._decimal)
        need_columns(what, frame, [id_column, *([title] if title is not None else [])])
        ids = distinct_ids(what, frame, id_column)
        vocabulary = Vocabulary.of(pl.concat([ids.text.rename("id"), observed.rename("id")]))
        rows = np.full(len(vocabulary), -1)  # of the table, -1 where it has none
        rows[vocabulary.indices(ids.text)] = np.arange(len(frame))
        columns = self.columns(name, frame.drop(id_column))
        tables = tuple(FeatureTable.of(c.name, c.transform(frame[c.name])).take(rows) for c in columns)
        if title is None:
            title = next((c for c in frame.columns if c.lower() in _TITLES and c != id_column), None)
        titles = None
        if title is not None:
            texts = as_text(frame[title])
            known = Vocabulary.of(texts)
            titles = Titles.of(title, known, np.append(known.indices(texts), np.int32(-1))[rows])
        kinds = {**self._found[name], **{column.name: column.kind for column in columns}}
        kept = tuple(c.only(rows) for c in kept_columns(frame.drop(id_column), kinds, filters))
        return Side(name, id_column, vocabulary, ids.whole and whole, columns, tables, titles, kept)

    def columns(self, side: str, frame: pl.DataFrame) -> tuple[FittedColumn, ...]:
        """Fit every column that tells something, by its declared kind or by what it looks like."""
        fitted = []
        for name in frame.columns:
            kind, why = self._kind(side, name, frame[name])
            self._found[side][name] = kind
            missing = frame[name].null_count() / max(len(frame), 1)
            column = None if isinstance(kind, Ignored) else kind.fit(name, frame[name])
            if why == _DECLARED:
                _need_readable(f"{side}s" if side != CONTEXT else side, kind, frame[name])
            if column is not None and column.width:
                fitted.append(column)
            features = 0 if column is None else column.width
            facts = "" if column is None else column.facts()
            reason = why if not facts or facts == why else f"{why}: {facts}"
            self.notes.append(ColumnNote(side, name, kind.called, reason, features, missing))
        return tuple(fitted)

    def finish(self) -> None:
        """Refuse kinds that were declared for columns which are not there."""
        unknown = sorted(set(self._kinds) - self._used)
        if unknown:
            known = ", ".join(f"{note.side}.{note.column}" for note in self.notes) or "none"
            raise ValueError(f"kinds: there is no column {unknown[0]!r}; the columns are {known}.")

    def _kind(self, side: str, name: str, values: pl.Series) -> tuple[Kind, str]:
        for key in (f"{side}.{name}", name):
            if key in self._kinds:
                self._used.add(key)
                return self._kinds[key], _DECLARED
        inferred = infer_kind(name, values, decimal=self._decimal, dates=self._dates)
        return inferred.kind, inferred.reason

    def _with_formats(self, kind: Kind) -> Kind:
        if isinstance(kind, Number) and kind.decimal is None:
            return replace(kind, decimal=self._decimal)
        if isinstance(kind, DateParts) and kind.order is None:
            return replace(kind, order=self._dates)
        return kind


def _need_readable(what: str, kind: Kind, values: pl.Series) -> None:
    """Refuse a column that was declared to be what none of its values can be."""
    there = values.drop_nulls()
    if len(there) and not kind.readable(there):
        raise ValueInTableError(
            f"{what}, column {quoted(values.name)}: declared a {kind.called}, but none of its {len(there):,} values "
            f"can be read as one, such as {quoted(there[0])}; declare another kind, or convert them."
        )
