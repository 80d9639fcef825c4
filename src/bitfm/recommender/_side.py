"""One side of the interactions: its ids, its columns, and the table of each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitfm.data.feature_table import FeatureTable
from bitfm.data.parsing import as_text, one_as_text
from bitfm.data.vocabulary import Vocabulary

if TYPE_CHECKING:
    import polars as pl

    from bitfm.data import FittedColumn

__all__ = ["Side", "Titles", "one_hot_ids", "one_value"]

_FEW = 64  # so many ids are read one by one in less time than it takes to cast a column


@dataclass(frozen=True, eq=False)
class Titles:
    """What to show beside an id: one text per row, which several rows may share."""

    column: str
    texts: Vocabulary
    indices: npt.NDArray[np.int32]

    def take(self, rows: npt.NDArray[Any]) -> pl.Series:
        """Return the titles of some rows."""
        return self.texts.take(self.indices[rows])

    def replaced(self, rows: npt.NDArray[Any], titles: pl.Series, n_rows: int) -> Titles:
        """Return titles of which some are others."""
        texts = self.texts.extended(titles)
        indices = np.full(n_rows, -1, np.int32)
        indices[: len(self.indices)] = self.indices
        indices[rows] = texts.indices(titles)
        return replace(self, texts=texts, indices=indices)


@dataclass(frozen=True, eq=False)
class Side:
    """Users or items: an index for every id, and the values of every column by index."""

    name: str  # "user" or "item", which is the block's name
    id_column: str
    ids: Vocabulary
    integer_ids: bool  # they came as integers and go out as such
    columns: tuple[FittedColumn, ...]
    tables: tuple[FeatureTable, ...]
    titles: Titles | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def indices_of(self, ids: Sequence[Any]) -> npt.NDArray[np.int32]:
        """Return the indices of ids; -1 for one that is not known."""
        texts = [one_as_text(one) for one in ids]
        return np.array([-1 if text is None else self.ids.find(text) for text in texts], np.int32)

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

    def own_tables(self, indices: npt.NDArray[Any] | None = None) -> dict[str, FeatureTable]:
        """Return the columns' tables for some rows, or all; a row of index -1 is empty."""
        return {
            column.name: table if indices is None else table.take(indices)
            for column, table in zip(self.columns, self.tables, strict=True)
        }

    def encode(self, features: Mapping[str, Any] | pl.DataFrame, n_rows: int) -> dict[str, FeatureTable]:
        """Return the columns' tables for rows with the values given; what is not given is missing."""
        import polars as pl

        tables = {}
        for column in self.columns:
            if column.name in (features.columns if isinstance(features, pl.DataFrame) else features):
                values = features[column.name]
                series = values if isinstance(values, pl.Series) else one_value(column.name, values)
                tables[column.name] = FeatureTable.of(column.name, column.transform(series))
            else:
                tables[column.name] = FeatureTable.empty(n_rows, column.width)
        return tables

    def with_rows(self, ids: pl.Series, frame: pl.DataFrame) -> tuple[Side, npt.NDArray[np.int32]]:
        """Return a side to which these rows were added, or in which they take the place of others; and their indices.

        A column that the frame does not have keeps its values.
        """
        extended = self.ids.extended(ids)
        indices = extended.indices(ids)
        tables = []
        for column, table in zip(self.columns, self.tables, strict=True):
            if column.name in frame.columns:
                changed = FeatureTable.of(column.name, column.transform(frame[column.name]))
                tables.append(table.replaced(indices, changed).padded(len(extended)))
            else:
                tables.append(table.padded(len(extended)))
        titles = self.titles
        if titles is not None and titles.column in frame.columns:
            titles = titles.replaced(indices, as_text(frame[titles.column]), len(extended))
        elif titles is not None:
            titles = titles.replaced(indices[:0], ids[:0], len(extended))
        whole = self.integer_ids and _are_whole(ids)
        return replace(self, ids=extended, integer_ids=whole, tables=tuple(tables), titles=titles), indices


def one_hot_ids(indices: npt.NDArray[Any], n_columns: int) -> FeatureTable:
    """Return the table of bare ids; an index of -1, or one that the model has no column for, is an empty row."""
    return FeatureTable.one_hot(np.where(indices < n_columns, indices, -1), n_columns)


def _are_whole(ids: pl.Series) -> bool:
    import polars as pl

    return bool((ids.cast(pl.Int64, strict=False).cast(pl.String) == ids).fill_null(False).all())


def one_value(name: str, value: Any) -> pl.Series:
    """Return a single value as a column."""
    import polars as pl

    if isinstance(value, str):
        value = value.encode(errors="replace").decode()  # a lone surrogate cannot go into a series
    elif isinstance(value, list | tuple | set | frozenset):
        value = list(value)
    return pl.Series(name, [value], strict=False)
