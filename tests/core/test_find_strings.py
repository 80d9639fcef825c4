"""The search among sorted, packed strings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfm.core import find_strings

TEXTS = st.text(st.characters(codec="utf-8"), max_size=6)


def packed(texts):
    encoded = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8), offsets


@given(st.sets(TEXTS, max_size=40), st.lists(st.none() | TEXTS, max_size=20))
def test_it_finds_what_a_list_would(known, wanted):
    strings = sorted(known)
    wanted = [*wanted, *strings]
    expected = [strings.index(text) if text in known else -1 for text in wanted]
    data, offsets = packed(strings)
    for dtype in (np.int64, np.uint32, np.uint16, np.uint8) if offsets[-1] < 256 else (np.int64, np.uint32):
        assert find_strings(data, offsets.astype(dtype), wanted) == expected


def test_half_of_a_surrogate_pair_is_not_there():
    assert find_strings(*packed(["a", "b"]), ["\ud800", "b"]) == [-1, 1]


def test_no_strings_at_all():
    assert find_strings(np.zeros(0, np.uint8), np.zeros(0, np.int64), ["a", ""]) == [-1, -1]
    assert find_strings(np.zeros(0, np.uint8), np.zeros(1, np.int64), ["a", ""]) == [-1, -1]


@pytest.mark.parametrize("offsets", [[0, 5, 2], [0, -3, 2], [0, 1, 10**12], [0, -(2**63), 2**63 - 1]])
def test_offsets_outside_of_the_bytes_are_refused(offsets):
    with pytest.raises(ValueError, match="offsets of the strings must rise"):
        find_strings(np.zeros(2, np.uint8), np.array(offsets, np.int64), ["b"])


@pytest.mark.parametrize("text", [1, b"a", 1.5, ["a"]])
def test_other_things_than_strings_are_refused(text):
    with pytest.raises(TypeError, match="expected strings or None"):
        find_strings(*packed(["a"]), [text])
