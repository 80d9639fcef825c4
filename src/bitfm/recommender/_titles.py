"""One text per row, which several rows may share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitfm.data.vocabulary import Vocabulary

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Titles"]


@dataclass(frozen=True, eq=False)
class Titles:
    """What to show beside an id: one text per row, which several rows may share."""

    column: str
    texts: Vocabulary
    indices: npt.NDArray[np.int32]

    def take(self, rows: npt.NDArray[Any]) -> pl.Series:
        """Return the titles of some rows."""
        return self.texts.take(self.indices[rows])

    def rows_of(self, title: str) -> npt.NDArray[np.intp]:
        """Return the rows of a title; if there is none of these letters, of one that differs in their case alone."""
        index = self.texts.find(title)
        if index >= 0 and len(rows := np.flatnonzero(self.indices == index)):
            return rows
        alike = self.texts.take(np.arange(len(self.texts))).str.to_lowercase() == title.lower()
        return np.flatnonzero(np.isin(self.indices, np.flatnonzero(alike.to_numpy())))

    def only(self, rows: npt.NDArray[Any]) -> Titles:
        """Return the titles of some rows, and no others."""
        indices = self.indices[rows]
        used = np.unique(indices[indices >= 0])
        places = np.where(indices >= 0, np.searchsorted(used, indices), -1).astype(np.int32)
        return replace(self, texts=self.texts.only(used), indices=places)

    def replaced(self, rows: npt.NDArray[Any], titles: pl.Series, n_rows: int) -> Titles:
        """Return titles of which some are others."""
        texts = self.texts.extended(titles)
        indices = np.full(n_rows, -1, np.int32)
        indices[: len(self.indices)] = self.indices
        indices[rows] = texts.indices(titles)
        return replace(self, texts=texts, indices=indices)
