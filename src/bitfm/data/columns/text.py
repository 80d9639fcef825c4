"""Prose: titles, descriptions, reviews, by the TF-IDF weights of their words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bitfm.core import WordCounter
from bitfm.data.columns.infer import FEW, ObservedColumn
from bitfm.data.columns.kinds import FittedColumn, Inferred, Kind, check_facts, register_kind
from bitfm.data.feature_table import FeatureTable
from bitfm.data.texts import as_words
from bitfm.data.vocabulary import Vocabulary
from bitfm.data.word_rows import weigh
from bitfm.errors import ModelFileError
from bitfm.persist import Tensor, Tensors, check_tensors
from bitfm.validation import check_integer

_PROSE = 8.0  # words per value
_SEVERAL = 1.5  # words per value
_FEW_TEXTS = 100  # among fewer, a word that occurs in one text only is kept
_WEIGHTS = {"idf": Tensor("float64", "words", low=1, high=100)}  # of n texts, 1 to 1 + log n
_AT_ONCE = 10_000  # texts
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

        n_texts = len(values) - as_words(values).null_count()
        words = Words(self.max_words, min_df=1 if n_texts < _FEW_TEXTS else 2)
        try:
            words.fit(text for text in texts_of(values) if text is not None)
        except ValueError:  # no word is left
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

    @property
    def word_weights(self) -> NDArray[np.float64]:
        return self.idf

    def transform(self, values: pl.Series) -> FeatureTable:
        return tfidf_table(texts_of(values), self.places, self.idf)

    def label(self, feature: int) -> str:
        return self.known[feature]

    def facts(self) -> str:
        return f"{self.width:,} {'word' if self.width == 1 else 'words'}, TF-IDF" if self.width else "no words"

    def only(self, features: NDArray[Any]) -> FittedColumn:
        return replace(self, known=self.known.only(features), idf=np.asarray(self.idf[features]))

    def tensors(self) -> Tensors:
        return self.known.tensors() | {"idf": self.idf}


class WordCounts(NamedTuple):
    """How often texts have words: those of text ``i`` are at ``indptr[i]`` to ``indptr[i + 1]``, each once."""

    indptr: NDArray[np.int64]
    numbers: NDArray[np.int32]  # of words
    counts: NDArray[np.float32]
    words: list[str]

    @classmethod
    def of(cls, texts: Iterable[str | None]) -> WordCounts:
        """Count the words: runs of two or more letters, digits and underscores, in lower case."""
        counter = WordCounter()
        plain = (_plain(text) for text in texts)
        while some := list(islice(plain, _AT_ONCE)):
            counter.feed(some)
        return cls(*counter.finish())

    def rows(self) -> NDArray[np.int64]:
        """Return the text of each count."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))


def _plain(text: str | None) -> str:
    """Return a text as the core takes it: what is a letter beyond ASCII, Python knows."""
    if not text or text.isascii():
        return text or ""
    return " ".join(_WORD.findall(text.lower()))


def texts_of(values: pl.Series) -> Iterator[str | None]:
    """Yield the texts of a column, some at a time, so that not all of them are Python's at once."""
    for begin in range(0, len(values), _AT_ONCE):
        yield from as_words(values[begin : begin + _AT_ONCE]).to_list()


def tfidf_table(texts: Iterable[str | None], columns: Mapping[str, int], idf: NDArray[np.float64]) -> FeatureTable:
    """Return one row per text, float32: how often it has each known word × the word's weight, at unit length.

    Words are runs of two or more letters, digits and underscores, in lower case. The rows are those of scikit-learn's
    ``TfidfVectorizer`` with the same words and weights, to the last bit; a text that is None is an empty row.
    """
    several = iter(texts)
    parts: list[tuple[NDArray[Any], ...]] = [(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))]
    while some := list(islice(several, _AT_ONCE)):
        parts.append(_part(WordCounts.of(some), columns, idf))
    lengths, column, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return FeatureTable.sparse(np.cumsum(lengths), column, values, len(idf))


def _part(found: WordCounts, columns: Mapping[str, int], idf: NDArray[np.float64]) -> tuple[NDArray[Any], ...]:
    """Return how many words each of some texts has, their columns and their weights."""
    column_of = np.array([columns.get(word, -1) for word in found.words], np.int32)
    column = column_of[found.numbers] if len(column_of) else found.numbers
    known, n = column >= 0, len(found.indptr) - 1
    column, values, rows = column[known], found.counts[known], found.rows()[known]
    order = np.lexsort((column, rows))
    column, values = column[order], values[order]
    return np.bincount(rows, minlength=n), column, weigh(rows, column, values, idf, n)
