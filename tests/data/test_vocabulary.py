"""Vocabulary: against a plain dict, and against damage."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfm.data import Vocabulary
from bitfm.errors import ModelFileError

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
columns = st.lists(st.none() | texts, max_size=60)


def series(values):
    return pl.Series(values, dtype=pl.String)


def plain(first, *later):
    """Return the dict that a vocabulary of the same columns must equal."""
    numbers = {text: i for i, text in enumerate(sorted({t for t in first if t is not None}, key=str.encode))}
    for values in later:
        for text in values:
            if text is not None:
                numbers.setdefault(text, len(numbers))
    return numbers


def strings_of(tensors):
    """Read a list of strings as docs/model-file.md describes it."""
    raw = tensors["bytes"].tobytes()
    return [raw[begin:end].decode() for begin, end in pairwise(tensors["offsets"].tolist())]


def reopened(vocabulary):
    return Vocabulary.from_tensors(vocabulary.tensors())


@given(columns, columns, columns, columns, st.booleans())
def test_it_is_a_dict(first, second, third, asked, through_a_file):
    vocabulary = Vocabulary.of(series(first)).extended(series(second))
    if through_a_file:
        vocabulary = reopened(vocabulary)
    vocabulary = vocabulary.extended(series(third))
    expected = plain(first, second, third)
    assert len(vocabulary) == len(expected)
    assert [vocabulary[i] for i in range(len(vocabulary))] == list(expected)
    for text in expected:
        assert vocabulary.find(text) == expected[text]
    asked = asked + first + second
    numbers = vocabulary.indices(series(asked))
    assert numbers.dtype == np.int32
    assert numbers.tolist() == [expected.get(text, -1) for text in asked]
    assert vocabulary.take(numbers).to_list() == [text if text in expected else None for text in asked]


@given(columns, columns, st.data(), st.booleans())
def test_some_of_the_strings_are_a_vocabulary_again(first, second, data, used):
    vocabulary = Vocabulary.of(series(first)).extended(series(second))
    if used:
        vocabulary.take(np.arange(len(vocabulary)).repeat(20))
    chosen = data.draw(st.lists(st.booleans(), min_size=len(vocabulary), max_size=len(vocabulary)))
    kept = np.flatnonzero(np.array(chosen, bool))
    less, expected = vocabulary.only(kept), [vocabulary[i] for i in kept]
    for one in (less, reopened(less)):
        assert [one[i] for i in range(len(one))] == strings_of(one.tensors()) == expected
        assert one.take(np.arange(len(one)).repeat(20)).to_list() == [text for text in expected for _ in range(20)]
        for index in range(len(vocabulary)):
            text = vocabulary[index]
            assert one.find(text) == (expected.index(text) if chosen[index] else -1)
    more = less.extended(series(first))
    assert set(strings_of(more.tensors())) == set(expected) | {text for text in first if text is not None}


@given(columns, columns)
def test_a_file_keeps_it(first, second):
    vocabulary = Vocabulary.of(series(first)).extended(series(second))
    tensors = vocabulary.tensors()
    assert strings_of(tensors) == list(plain(first, second))
    again = reopened(vocabulary).tensors()
    assert tensors.keys() == again.keys()
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(tensor, again[name])
        assert tensor.dtype == again[name].dtype


def test_lookups_of_few_and_of_many_agree():
    known = series([f"item {i}" for i in range(5000)])
    vocabulary = reopened(Vocabulary.of(known))
    asked = series([f"item {i}" for i in range(4990, 5010)] + [None])
    few = np.concatenate([vocabulary.indices(asked[i : i + 3]) for i in range(0, len(asked), 3)])
    many = vocabulary.indices(pl.concat([asked] * 100))
    np.testing.assert_array_equal(np.tile(few, 100), many)
    assert vocabulary.take(few).to_list() == vocabulary.take(many).to_list()[: len(few)]
    assert (few < 0).sum() == 11


def test_extending_shares_the_sorted_strings_and_leaves_the_old_one_alone():
    old = Vocabulary.of(series(["b", "d"]))
    new = old.extended(series(["c", "a", "c", "d"]))
    assert [new[i] for i in range(4)] == ["b", "d", "c", "a"]
    assert len(old) == 2
    assert old.find("a") == -1
    assert new.find("a") == 3
    assert new.tensors()["sorted"] == 2
    assert np.shares_memory(new._ordered.data, old._ordered.data)


def test_it_can_be_pickled_after_use():
    vocabulary = reopened(Vocabulary.of(series(["a", "b"])).extended(series(["aa"])))
    assert vocabulary.indices(series(["aa", "b", "c"] * 20)).tolist() == [2, 1, -1] * 20
    again = pickle.loads(pickle.dumps(vocabulary))
    assert [again.find(text) for text in ("a", "b", "aa", "c")] == [0, 1, 2, -1]


def test_more_strings_than_are_packed_at_once(monkeypatch):
    monkeypatch.setattr("bitfm.data.vocabulary._AT_ONCE", 7)
    words = [f"wörd {i:03}" for i in range(50)]
    vocabulary = Vocabulary.of(series(words))
    assert strings_of(vocabulary.tensors()) == words
    assert reopened(vocabulary).take(np.arange(50)).to_list() == words


def test_what_is_not_there():
    vocabulary = Vocabulary.of(series(["a"]))
    assert vocabulary.find("\ud800") == -1
    for number in (-1, 1):
        with pytest.raises(IndexError, match="there are 1"):
            vocabulary[number]
    for numbers in ([1], [-2], [0, 5]):
        with pytest.raises(IndexError, match="there are 1"):
            vocabulary.take(numbers)
    for call in (Vocabulary.of, vocabulary.indices, vocabulary.extended):
        with pytest.raises(TypeError, match="as_text"):
            call(pl.Series([1, 2]))


def test_an_empty_one():
    vocabulary = reopened(Vocabulary.of(series([])))
    assert len(vocabulary) == 0
    assert vocabulary.find("") == -1
    assert vocabulary.indices(series(["a"] * 50)).tolist() == [-1] * 50
    assert vocabulary.take([]).to_list() == []
    assert vocabulary.extended(series(["", "a"])).find("a") == 1


good = Vocabulary.of(series(["a", "bé", "c"])).extended(series(["aa"])).tensors()


@pytest.mark.parametrize(
    "wrong",
    [
        {"bytes": good["bytes"].astype(np.int8)},
        {"bytes": good["bytes"][None]},
        {"bytes": good["bytes"][:-1]},
        {"offsets": good["offsets"].astype(np.int32)},
        {"offsets": good["offsets"][:0]},
        {"offsets": good["offsets"][:-1]},
        {"offsets": good["offsets"] + 1},
        {"offsets": good["offsets"][[0, 2, 1, 3, 4]]},
        {"offsets": np.array([0, 250, 2, 3, 6], np.uint8)},
        {"sorted": np.array(5)},
        {"sorted": np.array(-1)},
        {"sorted": np.array([2])},
        {"sorted": np.array(2.0)},
        {"more": np.array(1)},
    ],
)
def test_damage_is_refused(wrong):
    with pytest.raises(ModelFileError, match="vocabulary"):
        Vocabulary.from_tensors(good | wrong)


def test_a_missing_tensor_is_refused():
    for name in good:
        with pytest.raises(ModelFileError, match="lacks the tensor 'vocabulary"):
            Vocabulary.from_tensors({key: value for key, value in good.items() if key != name})


@given(st.binary(min_size=6, max_size=6), st.lists(st.integers(0, 6), min_size=3, max_size=3), st.integers(0, 4))
def test_altered_bytes_do_no_harm(data, offsets, ordered):
    tensors = {
        "bytes": np.frombuffer(data, np.uint8),
        "offsets": np.array([0, *sorted(offsets), 6], np.uint8),
        "sorted": np.array(ordered),
    }
    vocabulary = Vocabulary.from_tensors(tensors)
    asked = series([vocabulary[i] for i in range(4)] * 10)
    assert len(vocabulary.indices(asked)) == 40
    assert len(vocabulary.take(list(range(4)) * 10)) == 40
    assert -1 <= vocabulary.find(asked[0]) < 4
    assert len(vocabulary.extended(asked)) >= 4
