"""The words of a text as a field."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.utils.validation import check_is_fitted

from bitfm.core import logarithm
from bitfm.data.columns.text import WordCounts, tfidf_table
from bitfm.validation import check_integer, check_real


class Words(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn texts into TF-IDF weights of the words that weigh most.

    As in the paper, the `max_words` words are kept whose TF-IDF weights have the largest sum over the fitted texts.
    The ``max_features`` of scikit-learn's ``TfidfVectorizer`` are the most frequent instead, which tell little.

    Parameters
    ----------
    max_words : int, default 8000
        How many words to keep, at most.
    stop_words : "english", list of str or None, default "english"
        Words to leave out.
    min_df : int or float, default 1
        Words in fewer texts are left out: a number of texts, or a share of them if it is a float.

    Attributes
    ----------
    words_ : ndarray of str
        The words kept, sorted: one per column.
    idf_ : ndarray of float
        The weight of each word: the fewer texts have it, the larger.

    Examples
    --------
    >>> plots = ["A dragon guards the gold.", "Two thieves steal the gold, and more gold.", None]
    >>> words = Words(max_words=3).fit(plots)
    >>> words.get_feature_names_out()
    array(['dragon', 'gold', 'guards'], dtype=object)
    >>> words.transform(["Gold!", "The dragon guards an unseen egg.", ""]).toarray().round(2)
    array([[0.  , 1.  , 0.  ],
           [0.71, 0.  , 0.71],
           [0.  , 0.  , 0.  ]], dtype=float32)
    """

    def __init__(self, max_words: int = 8000, *, stop_words: Any = "english", min_df: float = 1) -> None:
        self.max_words, self.stop_words, self.min_df = max_words, stop_words, min_df

    def fit(self, texts: Iterable[str | None], y: Any = None) -> Words:
        """Choose the words; None, or NaN as in a data frame, is an empty text, and `y` is ignored."""
        n = check_integer("Words: max_words", self.max_words, 1)
        left_out = _stop_words(self.stop_words)
        found = WordCounts.of(_strings(texts))
        n_texts, n_words = len(found.indptr) - 1, len(found.words)
        n_having = np.bincount(found.numbers, minlength=n_words)
        least = self.min_df if isinstance(self.min_df, Integral) else check_real("Words: min_df", self.min_df) * n_texts
        kept = [place for place in np.flatnonzero(n_having >= least) if found.words[place] not in left_out]
        if not kept:
            raise ValueError(
                "Words: no word is left of the texts; give others, or fewer stop_words and a lower min_df."
            )
        order = sorted(kept, key=found.words.__getitem__)
        idf = logarithm((1 + n_texts) / (1 + n_having[order])) + 1
        weight = np.bincount(found.numbers, found.counts, n_words)[order] * idf
        best = np.sort(np.argsort(-weight, kind="stable")[:n])  # stable: of equal words, the first by the alphabet
        self.words_: npt.NDArray[Any] = np.array([found.words[order[place]] for place in best], object)
        self.idf_: npt.NDArray[np.float64] = idf[best]
        return self

    def fit_transform(self, texts: Iterable[str | None], y: Any = None) -> sp.csr_matrix:
        """Choose the words of the texts and return their weights: `fit`, then `transform`."""
        strings = list(_strings(texts))  # an iterator has only one pass in it
        return self.fit(strings).transform(strings)

    def transform(self, texts: Iterable[str | None]) -> sp.csr_matrix:
        """Return one row of unit length per text, float32; empty where it has none of the words."""
        check_is_fitted(self)
        columns = {word: column for column, word in enumerate(self.words_)}
        return tfidf_table(_strings(texts), columns, self.idf_).to_csr()

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the words, one per column; `input_features` is ignored."""
        check_is_fitted(self)
        return self.words_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


def _stop_words(given: Any) -> Collection[str]:
    if given is None or (isinstance(given, str) and given == "english"):
        return ENGLISH_STOP_WORDS if given else ()
    if isinstance(given, str) or not isinstance(given, Collection):
        raise ValueError(f"Words: stop_words must be 'english', a list of words or None, got {given!r}.")
    return frozenset(given)


def _strings(texts: Iterable[str | None]) -> Iterator[str]:
    """Yield one text at a time, so that those which come from a file need not be in memory together."""
    if isinstance(texts, str):
        raise ValueError("Words: expected a list of texts, got a single one; put it in a list.")
    for place, text in enumerate(texts):
        if isinstance(text, str):
            yield text
        elif text is None or (isinstance(text, float) and np.isnan(text)):
            yield ""
        else:
            kind = type(text).__name__
            raise ValueError(f"Words: text {place} is of type {kind}; give strings, and None where there is no text.")
