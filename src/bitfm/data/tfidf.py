"""TF-IDF weights of known words in new texts, without scikit-learn."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bitfm.data.feature_table import FeatureTable

_WORD = re.compile(r"\b\w\w+\b")


class WordWeights:
    """Distinct words with one weight each: a text's row is how often it has each word × its weight, at unit length.

    Words are runs of two or more letters, digits and underscores, in lower case. The rows are those of scikit-learn's
    ``TfidfVectorizer`` with the same words and weights, to the last bit.

    Examples
    --------
    >>> WordWeights(["dragon", "gold"], np.array([1.5, 1.0])).transform(["Gold, and more gold!", None]).toarray()
    array([[0., 1.],
           [0., 0.]], dtype=float32)
    """

    def __init__(self, words: Sequence[str], idf: npt.NDArray[np.float64]) -> None:
        self.words, self.idf = words, idf

    @cached_property
    def _column(self) -> dict[str, int]:
        return {word: column for column, word in enumerate(self.words)}

    def transform(self, texts: Iterable[str | None]) -> FeatureTable:
        """Return one row per text, float32; empty where it is None or has none of the words."""
        column = self._column
        columns, counts, ends = array("l"), array("f"), array("l", [0])
        for text in texts:
            times: dict[int, int] = {}
            for word in _WORD.findall(text.lower()) if text else ():
                if word in column:
                    index = column[word]
                    times[index] = times.get(index, 0) + 1
            columns.extend(times)
            counts.extend(times.values())
            ends.append(len(columns))
        indptr, indices = np.array(ends, np.int64), np.array(columns, np.int32)
        rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        order = np.lexsort((indices, rows))
        indices, values = indices[order], np.array(counts, np.float32)[order]
        values *= self.idf[indices]
        # Squares are rounded, and added one after the other in double precision.
        values /= np.sqrt(np.bincount(rows, weights=values * values, minlength=len(indptr) - 1))[rows]
        return FeatureTable.sparse(indptr, indices, values, len(self.words))
