"""Words: those that weigh most, against the definition and scikit-learn's own TF-IDF."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from bitfm.data import Words
from bitfm.data.columns.text import tfidf_table
from bitfm.datasets import make_bookshop

VOCABULARY = ["ant", "bee", "cat", "dog", "eel", "fox"]
texts_of_words = st.lists(st.lists(st.sampled_from(VOCABULARY), max_size=8).map(" ".join), min_size=1, max_size=8)


@given(texts_of_words.filter(any), st.integers(1, 7))
def test_kept_are_the_words_with_the_largest_sum_of_weights(texts, max_words):
    counts = np.array([[text.split().count(word) for word in VOCABULARY] for text in texts])
    idf = np.log((1 + len(texts)) / (1 + (counts > 0).sum(axis=0))) + 1
    total = dict(zip(VOCABULARY, (counts * idf).sum(axis=0), strict=True))
    kept = Words(max_words).fit(texts).words_
    assert len(kept) == min(max_words, sum(weight > 0 for weight in total.values()))
    assert list(kept) == sorted(kept)
    least = min(total[word] for word in kept)
    assert all(total[word] <= least + 1e-9 for word in VOCABULARY if word not in kept)


@given(texts_of_words.filter(any), st.integers(1, 7))
def test_weights_are_those_of_the_kept_words_at_unit_length(texts, max_words):
    words = Words(max_words)
    table = words.fit_transform(texts)
    expected = TfidfVectorizer(vocabulary=words.words_).fit_transform(texts).toarray()
    assert isinstance(table, sp.csr_matrix)
    assert table.dtype == np.float32
    np.testing.assert_allclose(table.toarray(), expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(table.toarray(), words.transform(texts).toarray())
    lengths = np.linalg.norm(table.toarray(), axis=1)
    np.testing.assert_allclose(lengths, table.getnnz(axis=1) > 0, atol=1e-6)


def many(words):
    return st.lists(st.tuples(words, st.integers(1, 300)), max_size=40).map(
        lambda some: " ".join(w for w, n in some for _ in range(n))
    )


ODD = st.text("aAbİßΣé_1 '-.\u0301東", min_size=1, max_size=5)


@given(st.lists(many(st.sampled_from(VOCABULARY) | ODD) | ODD, min_size=1), st.integers(0, 2**32 - 1))
def test_weights_are_bit_by_bit_those_of_scikit_learn(texts, seed):
    known = sorted({*VOCABULARY, *TfidfVectorizer().build_analyzer()(" ".join(texts))})[::2]
    theirs = TfidfVectorizer(vocabulary=known, dtype=np.float32)
    theirs.idf_ = np.random.default_rng(seed).uniform(1, 9, len(known))
    columns = {word: column for column, word in enumerate(known)}
    expected, found = theirs.transform(texts), tfidf_table(texts, columns, theirs.idf_)
    for ours, name in ((found.values, "data"), (found.indices, "indices"), (found.indptr, "indptr")):
        np.testing.assert_array_equal(ours, getattr(expected, name))
    assert found.values.dtype == expected.data.dtype


def test_weight_is_not_frequency():
    texts = ["film", "film", "film", "film gold gold gold"]
    assert TfidfVectorizer(max_features=1).fit(texts).get_feature_names_out() == ["film"]
    assert Words(1).fit(texts).get_feature_names_out() == ["gold"]


def test_of_equal_words_the_first_by_the_alphabet_are_kept():
    assert list(Words(2).fit(["dog cat bee ant", "ant bee cat dog"]).words_) == ["ant", "bee"]


def test_unseen_words_are_ignored_and_missing_texts_are_empty():
    words = Words().fit(["ant bee", None, float("nan"), ""])
    table = words.transform(["ant wolf", "wolf", "", None, np.nan])
    np.testing.assert_array_equal(table.toarray(), [[1, 0], [0, 0], [0, 0], [0, 0], [0, 0]])
    assert table.nnz == 1


def test_texts_may_come_from_an_iterator():
    texts = ["ant bee", "bee cat"]
    np.testing.assert_array_equal(Words().fit_transform(iter(texts)).toarray(), Words().fit_transform(texts).toarray())


def test_stop_words_and_rare_words_are_left_out():
    texts = ["the ant and the bee", "the ant and a cat"]
    assert list(Words().fit(texts).words_) == ["ant", "bee", "cat"]
    assert list(Words(stop_words=["ant"]).fit(texts).words_) == ["and", "bee", "cat", "the"]
    assert list(Words(stop_words=None, min_df=2).fit(texts).words_) == ["and", "ant", "the"]


def test_it_is_an_ordinary_transformer():
    blurbs = make_bookshop(20, 30, 50).books["blurb"]
    words = Words(max_words=40, stop_words=None, min_df=2)
    assert words.get_params() == {"max_words": 40, "stop_words": None, "min_df": 2}
    assert clone(words).get_params() == words.get_params()
    table = words.fit_transform(blurbs)
    assert table.shape == (30, 40)
    pipeline = make_pipeline(FunctionTransformer(list), clone(words))
    for other in (pickle.loads(pickle.dumps(words)).transform(blurbs), pipeline.fit_transform(tuple(blurbs))):
        np.testing.assert_array_equal(other.toarray(), table.toarray())
    assert list(pipeline[-1].get_feature_names_out()) == list(words.words_)


def test_a_new_fit_forgets_the_old_one():
    words = Words().fit(["ant bee"])
    assert list(words.fit(["cat"]).words_) == ["cat"]


def test_an_unfitted_one_says_so():
    for call in (lambda: Words().transform(["ant"]), Words().get_feature_names_out):
        with pytest.raises(NotFittedError):
            call()


@pytest.mark.parametrize("max_words", [0, -1, 2.0, True, None, "all"])
def test_max_words_must_be_a_whole_number(max_words):
    with pytest.raises(ValueError, match=f"max_words must be a whole number from 1 up, got {max_words!r}"):
        Words(max_words).fit(["ant"])


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ("ant bee", "a single one; put it in a list"),
        (["ant", 3], "text 1 is of type int; give strings, and None"),
        ([["ant"]], "text 0 is of type list"),
        ([b"ant"], "text 0 is of type bytes"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(texts, told):
    for call in (Words().fit, Words().fit(["ant"]).transform):
        with pytest.raises(ValueError, match=f"Words: .*{told}"):
            call(texts)


@pytest.mark.parametrize("texts", [[], [None], ["the of"]])
def test_texts_without_words_are_refused(texts):
    with pytest.raises(ValueError, match="Words: no word is left"):
        Words().fit(texts)
