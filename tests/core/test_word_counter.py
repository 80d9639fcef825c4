"""Words are counted in the core as Python's regular expressions would count them."""

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfm.core import WordCounter


@given(st.lists(st.text(st.characters(max_codepoint=127), max_size=40), max_size=6))
def test_ascii_texts_are_split_as_by_a_regular_expression(texts):
    counter = WordCounter()
    counter.feed(texts)
    indptr, numbers, counts, words = counter.finish()
    assert len(indptr) == len(texts) + 1
    assert len(set(words)) == len(words)
    for text, begin, end in zip(texts, indptr, indptr[1:], strict=False):
        found = {words[n]: c for n, c in zip(numbers[begin:end], counts[begin:end], strict=True)}
        assert found == Counter(re.findall(r"\b\w\w+\b", text.lower(), re.ASCII))


def test_letters_beyond_ascii_are_letters_and_one_is_no_word():
    counter = WordCounter()
    counter.feed(["é éé", "東京 éé éé"])
    _, numbers, counts, words = counter.finish()
    assert words == ["éé", "東京"]
    assert list(zip(numbers.tolist(), counts.tolist(), strict=True)) == [(0, 1), (1, 1), (0, 2)]
    assert [len(part) for part in counter.finish()] == [1, 0, 0, 0]  # it begins anew


@pytest.mark.parametrize("texts", [[3], [None], [b"ab"], "ab", None, ["\ud800"], np.zeros(2)])
def test_what_is_no_list_of_strings_is_refused(texts):
    with pytest.raises((TypeError, UnicodeEncodeError)):
        WordCounter().feed(texts)
