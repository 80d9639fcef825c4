"""A file keeps the words of texts alone: what is read weighs what was written, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfm.data import FeatureTable
from bitfm.data.columns.text import tfidf_table
from bitfm.data.word_rows import fold, unfold
from bitfm.errors import ModelFileError

WORDS = [f"word{i}" for i in range(6)]
PLACES = {word: place for place, word in enumerate(WORDS)}
IDF = 1 + np.log(np.array([3, 1.5, 7, 11, 2, 100.0]))
TEXTS = ["word0 word5", None, "word3 word3 word1", "word2", "word4 word4 word4 word1 word1", "", "word2 word2 unknown"]


def assert_same(ours, theirs):
    for a, b in zip(ours.arrays(), theirs.arrays(), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@given(
    st.lists(st.lists(st.tuples(st.sampled_from(WORDS), st.integers(1, 4)), max_size=5), max_size=12),
    st.lists(st.floats(1, 100), min_size=6, max_size=6),
)
def test_rows_come_back_bit_for_bit(texts, idf):
    table = tfidf_table([" ".join(" ".join([word] * n) for word, n in text) for text in texts], PLACES, np.array(idf))
    folded = fold(*table.arrays(), np.array(idf))
    if folded is not None:
        for a, b in zip(unfold(*folded, np.array(idf)), table.arrays(), strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_file_has_the_words_alone():
    table = tfidf_table(TEXTS, PLACES, IDF)
    tensors = table.tensors(IDF)
    assert {name: tensor.dtype for name, tensor in tensors.items()} == {"indptr": np.uint8, "words": np.uint8}
    assert tensors["words"].tolist() == [0, 5, 1, 3, 3, 2, 1, 1, 4, 4, 4, 2]
    back = FeatureTable.from_tensors(*table.shape, tensors, "x.bitfm", IDF)
    assert (back.n_entries, back.dtype) == (table.n_entries, table.dtype)
    assert_same(back, table)
    for rows in ([4], [-1], [4, 0, -1, 4, 5], []):
        assert_same(back.take(np.array(rows, int)), table.take(np.array(rows, int)))
    for row in range(len(table)):
        for a, b in zip(back.row(row), table.row(row), strict=True):
            np.testing.assert_array_equal(a, b)
    assert {name: t.tobytes() for name, t in back.tensors(IDF).items()} == {n: t.tobytes() for n, t in tensors.items()}


@pytest.mark.parametrize("change", ["value", "sign", "weights"])
def test_rows_that_are_something_else_keep_their_values(change):
    table, idf = tfidf_table(TEXTS, PLACES, IDF), IDF.copy()
    values = table.values.copy()
    if change == "weights":
        idf[0] += 0.5
    else:
        values[0] = 0.5 if change == "value" else -values[0]
    other = FeatureTable.sparse(table.indptr, table.indices, values, 6)
    assert fold(*other.arrays(), idf) is None
    assert set(other.tensors(idf)) == {"indptr", "indices", "values"}
    assert_same(FeatureTable.from_tensors(*other.shape, other.tensors(idf), "", idf), other)


def test_damage_is_found():
    table = tfidf_table(TEXTS, PLACES, IDF)
    tensors = table.tensors(IDF)
    with pytest.raises(ModelFileError, match="a column that has none"):
        FeatureTable.from_tensors(*table.shape, tensors)
    for name, wild in (("words", 6), ("words", 255), ("indptr", 200)):
        array = tensors[name].copy()
        array[1] = wild
        back = FeatureTable.from_tensors(*table.shape, tensors | {name: array}, "x.bitfm", IDF)
        for read in (back.arrays, lambda: back.row(0), lambda: back.take(np.array([0, 1]))):  # noqa: B023
            with pytest.raises(ModelFileError, match=r"x\.bitfm: a table is damaged"):
                read()
        assert_same(back.take(np.array([3])), table.take(np.array([3])))
    for name in tensors:
        for other in (tensors[name][:-1] if name == "indptr" else tensors[name][None], tensors[name].astype(np.uint16)):
            with pytest.raises(ModelFileError):
                FeatureTable.from_tensors(*table.shape, tensors | {name: other}, "", IDF)
        with pytest.raises(ModelFileError, match="lacks"):
            FeatureTable.from_tensors(*table.shape, {key: t for key, t in tensors.items() if key != name}, "", IDF)
