"""One text per row, which several rows may share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitfm.data.vocabulary import Vocabulary
from bitfm.persist import narrowed

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Titles"]


@dataclass(frozen=True, eq=False)
class Titles:
    """What to show beside an id: one text per row, which several rows may share."""

    column: str
    texts: Vocabulary
    numbers: npt.NDArray[Any]  # 1 + the index of the text of each row, 0 for none; of any type, as a file has them

    @classmethod
    def of(cls, column: str, texts: Vocabulary, indices: npt.NDArray[Any]) -> Titles:
        """Take indices of texts, -1 for none."""
        return cls(column, texts, narrowed(indices.astype(np.int64) + 1, len(texts)))

    def take(self, rows: npt.NDArray[Any]) -> pl.Series:
        """Return the titles of some rows."""
        return self.texts.take(self._indices(rows))

    def rows_of(self, title: str) -> npt.NDArray[np.intp]:
        """Return the rows of a title; if there is none of these letters, of one that differs in their case alone."""
        index = self.texts.find(title)
        if index >= 0 and len(rows := np.flatnonzero(self.numbers == index + 1)):
            return rows
        alike = self.texts.take(np.arange(len(self.texts))).str.to_lowercase() == title.lower()
        return np.flatnonzero(np.isin(self.numbers, np.flatnonzero(alike.to_numpy()) + 1))

    def only(self, rows: npt.NDArray[Any]) -> Titles:
        """Return the titles of some rows, and no others."""
        indices = self._indices(rows)
        used = np.unique(indices[indices >= 0])
        places = np.where(indices >= 0, np.searchsorted(used, indices), -1)
        return Titles.of(self.column, self.texts.only(used), places)

    def replaced(self, rows: npt.NDArray[Any], titles: pl.Series, n_rows: int) -> Titles:
        """Return titles of which some are others."""
        texts = self.texts.extended(titles)
        indices = np.full(n_rows, -1)
        indices[: len(self.numbers)] = self._indices(np.arange(len(self.numbers)))
        indices[rows] = texts.indices(titles)
        return Titles.of(self.column, texts, indices)

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that a model file keeps."""
        return {**self.texts.tensors(), "numbers": self.numbers}

    def _indices(self, rows: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        return np.asarray(self.numbers[rows], np.int64) - 1
