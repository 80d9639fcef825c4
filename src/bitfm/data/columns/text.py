"""Prose: titles, descriptions, reviews, by the TF-IDF weights of their words."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bitfm.data.columns.infer import FEW, ObservedColumn
from bitfm.data.columns.kinds import FittedColumn, Inferred, Kind, check_facts, register_kind
from bitfm.data.feature_table import FeatureTable
from bitfm.data.parsing import as_words
from bitfm.data.vocabulary import Vocabulary
from bitfm.errors import ModelFileError
from bitfm.persist import Tensor, Tensors, check_tensors
from bitfm.validation import check_integer

_PROSE = 8.0  # words per value
_SEVERAL = 1.5  # words per value
_FEW_TEXTS = 100  # among fewer, a word that occurs in one text only is kept
_WEIGHTS = {"idf": Tensor("float64", "words", low=1, high=100)}  # of n texts, 1 to 1 + log n
_WORD = re.compile(r"\b\w\w+\b")


@register_kind
@dataclass(frozen=True)
class Text(Kind):
    """Prose, such as titles or descriptions: one feature per word, of the words that weigh most; see `Words`.

    A word that occurs in a single text is left out, unless there are fewer than 100 texts.

    Parameters
    ----------
    max_words : int, default 8000
        How many words to keep, at most.

    Examples
    --------
    >>> column = Text(max_words=2).fit("plot", pl.Series(["A dragon guards gold.", "Gold, and more gold!", None]))
    >>> [column.label(feature) for feature in range(column.width)]
    ['dragon', 'gold']
    >>> column.transform(pl.Series(["All that gold", None])).toarray()
    array([[0., 1.],
           [0., 0.]], dtype=float32)
    """

    called: ClassVar[str] = "text"
    priority: ClassVar[int] = 60
    max_words: int = 8000

    def __post_init__(self) -> None:
        check_integer("Text: max_words", self.max_words, 1)

    @classmethod
    def infer(cls, column: ObservedColumn) -> Inferred | None:
        """Take strings of many words, or of several words that are mostly different."""
        if not column.has_strings:
            return None
        words, different = column.mean_words, column.distinct > len(column.present) / 2
        if words >= _PROSE and (different or column.distinct > FEW):
            return Inferred(cls(), f"texts of {words:.0f} words")
        several = words >= _SEVERAL and different
        return Inferred(cls(), f"mostly different texts of {words:.0f} words") if several else None

    def fit(self, name: str, values: pl.Series) -> FittedColumn:
        """Choose the words."""
        from bitfm.data.words import Words  # scikit-learn, which a query does not need

        texts = [text for text in as_words(values).to_list() if text is not None]
        words = Words(self.max_words, min_df=1 if len(texts) < _FEW_TEXTS else 2)
        try:
            words.fit(texts)
        except ValueError:  # scikit-learn's way to say that no word is left
            return _FittedText(name, self, Vocabulary.of(pl.Series([], dtype=pl.String)), np.zeros(0))
        return _FittedText(name, self, Vocabulary.of(pl.Series(words.words_.tolist(), dtype=pl.String)), words.idf_)

    def restored(self, name: str, state: Mapping[str, Any], tensors: Tensors) -> FittedColumn:
        """Return the fitted column of what it saved."""
        check_facts(state)
        weights = {key: tensor for key, tensor in tensors.items() if key in _WEIGHTS}
        known = Vocabulary.from_tensors({key: tensor for key, tensor in tensors.items() if key not in _WEIGHTS})
        check_tensors(weights, _WEIGHTS, {"words": len(known)})
        column = _FittedText(name, self, known, weights["idf"])
        if len(column.places) != len(known):
            raise ModelFileError(f"has {len(known)} weights for {len(column.places)} different words")
        return column


@dataclass(eq=False)
class _FittedText(FittedColumn):
    """Rows of unit length of TF-IDF weights."""

    known: Vocabulary
    idf: NDArray[np.float64]

    @property
    def width(self) -> int:
        return len(self.known)

    @cached_property
    def places(self) -> dict[str, int]:
        return {str(word): place for place, word in enumerate(self.known.texts(range(len(self.known))))}

    def transform(self, values: pl.Series) -> FeatureTable:
        return tfidf_table(as_words(values).to_list(), self.places, self.idf)

    def label(self, feature: int) -> str:
        return self.known[feature]

    def facts(self) -> str:
        return f"{self.width:,} {'word' if self.width == 1 else 'words'}, TF-IDF" if self.width else "no words"

    def only(self, features: NDArray[Any]) -> FittedColumn:
        return replace(self, known=self.known.only(features), idf=np.asarray(self.idf[features]))

    def tensors(self) -> Tensors:
        return self.known.tensors() | {"idf": self.idf}


def tfidf_table(texts: Iterable[str | None], columns: Mapping[str, int], idf: NDArray[np.float64]) -> FeatureTable:
    """Return one row per text, float32: how often it has each known word × the word's weight, at unit length.

    Words are runs of two or more letters, digits and underscores, in lower case. The rows are those of scikit-learn's
    ``TfidfVectorizer`` with the same words and weights, to the last bit; a text that is None is an empty row.
    """
    indices, counts, indptr = array("l"), array("f"), array("l", [0])
    for text in texts:
        words = _WORD.findall(text.lower()) if text else ()
        times = Counter(columns[word] for word in words if word in columns)
        indices.extend(times)
        counts.extend(times.values())
        indptr.append(len(indices))
    ends, column = np.array(indptr, np.int64), np.array(indices, np.int32)
    rows = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    order = np.lexsort((column, rows))
    column, values = column[order], np.array(counts, np.float32)[order]
    values *= idf[column]
    # Squares are rounded, and added one after the other in double precision.
    values /= np.sqrt(np.bincount(rows, weights=values * values, minlength=len(ends) - 1))[rows]
    return FeatureTable.sparse(ends, column, values, len(idf))
