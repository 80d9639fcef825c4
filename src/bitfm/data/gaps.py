"""What is left of a column to read, once the usual forms are read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bitfm.data.forks import present
from bitfm.data.vocabulary import Vocabulary

__all__ = ["Gaps"]


class Gaps(NamedTuple):
    """The strings of a column that were not read, each of them once, and where they are."""

    where: NDArray[np.bool_]
    known: pl.Series
    places: NDArray[np.int32]

    @classmethod
    def of(cls, text: pl.Series, parsed: pl.Series) -> Gaps:
        """Return the strings that were not parsed."""
        where = present(text) & ~present(parsed)
        odd = text.filter(where)
        known = Vocabulary.of(odd)
        places = np.zeros(len(text), np.int32)
        places[where] = known.indices(odd)
        return cls(where, known.take(np.arange(len(known))), places)

    @property
    def texts(self) -> list[str]:
        """Each of the strings once."""
        return self.known.to_list()

    def filled(self, parsed: pl.Series, found: pl.Series) -> pl.Series:
        """Return what was parsed, and in its gaps what was found of the strings there."""
        return parsed if not len(self.known) else parsed.zip_with(pl.Series(~self.where), found[self.places])
