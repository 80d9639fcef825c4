"""Users, items and contexts as fields of a model: ids, columns, and the table of each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt

from bitfm.data.blocks import Block
from bitfm.data.feature_table import FeatureTable
from bitfm.data.forks import few
from bitfm.data.tables import ids_of, need_columns, need_distinct, need_rows
from bitfm.data.tables.values import Ids
from bitfm.data.texts import as_text, one_as_text
from bitfm.data.vocabulary import Vocabulary
from bitfm.recommender._kept.column import KeptColumn
from bitfm.recommender._titles import Titles
from bitfm.validation import is_text

if TYPE_CHECKING:
    import polars as pl

    from bitfm.data import FittedColumn

__all__ = [
    "CONTEXT",
    "SEEN_FIELDS",
    "ColumnNote",
    "Side",
    "context_block",
    "distinct_ids",
    "encode",
    "field_name",
    "field_tables",
]

CONTEXT = "context"  # the block of the context's columns
SEEN_FIELDS = {"user": "history", "item": "raters"}
_MANY, _MOSTLY = 10_000, 0.9  # contexts, and the share of different ones from which on it costs more to share than not
_FEW = 64  # so many ids are read one by one in less time than it takes to cast a column


class ColumnNote(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a column was taken for, and why."""

    side: str
    column: str
    kind: str
    why: str
    features: Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
    missing: Annotated[float, msgspec.Meta(ge=0)]


@dataclass(frozen=True, eq=False)
class Side:
    """Users or items: an index for every id, and the values of every column by index."""

    name: str  # "user" or "item", which is the block's name
    id_column: str
    ids: Vocabulary
    integer_ids: bool  # they came as integers and go out as such
    columns: tuple[FittedColumn, ...] = ()
    tables: tuple[FeatureTable, ...] = ()
    titles: Titles | None = None
    kept: tuple[KeptColumn, ...] = ()  # as they are, to filter by

    def __len__(self) -> int:
        return len(self.ids)

    def indices_of(self, ids: Sequence[Any]) -> npt.NDArray[np.int32]:
        """Return the indices of ids; -1 for one that is not known."""
        texts = [one_as_text(one) for one in ids]
        indices = self.ids.find_all(texts)
        for text, index in zip(texts, indices, strict=True):
            if index < 0 and text is not None and not is_text(text):
                told = f"the {self.name} id {text!r} holds half of a surrogate pair, as no id of a table can"
                raise ValueError(f"{told}; decode it in the encoding that it was written in.")
        return np.array(indices, np.int32)

    def ids_of(self, indices: npt.NDArray[Any]) -> pl.Series:
        """Return the ids of indices as they were given."""
        import polars as pl

        if self.integer_ids and len(indices) <= _FEW:
            texts = self.ids.texts(indices.tolist())
            try:
                return pl.Series([None if text is None else int(text) for text in texts], dtype=pl.Int64)
            except (ValueError, OverflowError, TypeError):  # of more than 64 bits
                return pl.Series(texts, dtype=pl.String)
        ids = self.ids.take(indices)
        whole = ids.cast(pl.Int64, strict=False) if self.integer_ids else ids
        return ids if whole.null_count() > ids.null_count() else whole  # of more than 64 bits

    def fields(self, indices: npt.NDArray[Any]) -> dict[str, FeatureTable]:
        """Return the columns' fields for some rows; a row of index -1 is empty."""
        columns = zip(self.columns, self.tables, strict=True)
        return {field_name(column.name): table.take(indices) for column, table in columns}

    def with_rows(self, ids: pl.Series, frame: pl.DataFrame) -> Side:
        """Return a side to which these rows were added, or in which they take the place of others.

        A column that the frame does not have keeps its values.
        """
        import polars as pl

        extended = self.ids.extended(ids)
        indices = extended.indices(ids)
        tables = []
        for column, table in zip(self.columns, self.tables, strict=True):
            if column.name in frame.columns:
                changed = FeatureTable.of(column.name, column.transform(frame[column.name]))
                table = table.replaced(indices, changed)
            tables.append(table.padded(len(extended)))
        titles = self.titles
        if titles is not None:
            told = titles.column in frame.columns
            texts = as_text(frame[titles.column]) if told else ids[:0]
            titles = titles.replaced(indices if told else indices[:0], texts, len(extended))
        kept = tuple(column.updated(indices, frame, len(extended)) for column in self.kept)
        integers = self.integer_ids and ids.cast(pl.Int64, strict=False).cast(pl.String).equals(ids)
        return replace(self, ids=extended, integer_ids=integers, tables=tuple(tables), titles=titles, kept=kept)

    def with_values(self, indices: npt.NDArray[Any], frame: pl.DataFrame) -> Side:
        """Return a side in which some rows have other values of the columns that are kept as they are."""
        return replace(self, kept=tuple(column.updated(indices, frame, len(self)) for column in self.kept))

    def only(self, rows: npt.NDArray[Any]) -> tuple[Side, dict[str, npt.NDArray[np.intp]]]:
        """Return some of the rows, numbered anew in the same order, and nothing of the others.

        Categories and words that no row has any more go as well: what is left of each field that has lost some is
        returned beside it.
        """
        columns, tables, left = [], [], {}
        for column, whole in zip(self.columns, self.tables, strict=True):
            table = whole.take(rows)
            there = np.flatnonzero(table.occurring(np.ones(len(rows), bool)))
            smaller = column.only(there) if len(there) < column.width else None
            if smaller is not None:
                column, table, left[field_name(column.name)] = smaller, table.with_columns(there), there
            columns.append(column)
            tables.append(table)
        titles = None if self.titles is None else self.titles.only(rows)
        kept = tuple(column.only(rows) for column in self.kept)
        rest = replace(self, ids=self.ids.only(rows), columns=tuple(columns), tables=tuple(tables))
        return replace(rest, titles=titles, kept=kept), left


def distinct_ids(what: str, frame: pl.DataFrame, id_column: str) -> Ids:
    """Return the ids of a table of users or of items, which must have some, each once."""
    need_columns(what, frame, (id_column,))
    ids = ids_of(what, frame, id_column)
    need_rows(what, frame)
    need_distinct(what, ids.text)
    return ids


def field_name(column: str) -> str:
    """Return the name of a column's field; those of the ids and what was seen are taken."""
    return f"{column} (column)" if column in ("id", *SEEN_FIELDS.values()) else column


def field_tables(
    name: str, columns: Mapping[str, FeatureTable], seen: FeatureTable | None, width: int | None, ids: FeatureTable
) -> dict[str, FeatureTable]:
    """Return all fields of rows of a side; ids come last, so that what many share is learnt first.

    Where the model has a field for what was seen, each of it counts 1/√n for n of them.
    """
    if seen is None or width is None:
        return {**columns, "id": ids}
    if seen.n_columns > width:  # the model knows nothing of those who came later
        seen = seen.columns(0, width)
    return {**columns, SEEN_FIELDS[name]: seen.with_unit_rows(width), "id": ids}


def encode(columns: Sequence[FittedColumn], values: Mapping[str, Any]) -> dict[str, FeatureTable]:
    """Return the columns' fields for one row with the values given; what is not given is missing."""
    return {
        field_name(column.name): FeatureTable.of(column.name, column.transform(_one_value(column.name, values)))
        if column.name in values
        else FeatureTable.empty(1, column.width)
        for column in columns
    }


def context_block(columns: Sequence[FittedColumn], frame: pl.DataFrame) -> Block:
    """Return one context per row of the frame; equal ones share a row of the tables, unless there are hardly any."""
    import polars as pl

    names = [column.name for column in columns]
    distinct = frame = frame[names]
    rows = np.arange(len(frame), dtype=np.int32)
    if any(dtype == pl.Object or dtype.is_nested() for dtype in frame.dtypes):
        pass  # Polars cannot tell such values apart
    elif few(len(frame)):
        found: dict[tuple[Any, ...], int] = {}
        whole = pl.DataFrame([column.cast(pl.Int64) if column.dtype.is_temporal() else column for column in frame])
        keys = (tuple("NaN" if value != value else value for value in row) for row in whole.rows())
        rows = np.array([found.setdefault(key, len(found)) for key in keys], np.int32)
        first = np.unique(rows, return_index=True)[1]
        distinct = pl.DataFrame([column[first] for column in frame])
    elif len(frame) < _MANY or frame.hash_rows().n_unique() < _MOSTLY * len(frame):
        distinct = frame.unique(maintain_order=True).with_row_index("bitfm row")
        joined = frame.join(distinct, on=names, how="left", nulls_equal=True, maintain_order="left")
        rows = joined["bitfm row"].cast(pl.Int32).to_numpy()
    return Block(rows, {field_name(c.name): FeatureTable.of(c.name, c.transform(distinct[c.name])) for c in columns})


def _one_value(name: str, values: Mapping[str, Any]) -> pl.Series:
    """Return a single value as a column."""
    import polars as pl

    value = values[name]
    if isinstance(value, str):
        value = value.encode(errors="replace").decode()  # a lone surrogate cannot go into a series
    elif isinstance(value, list | tuple | set | frozenset):
        value = list(value)
    return pl.Series(name, [value], strict=False)
