"""Lists of strings in a model file."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from bitfm import persist
from bitfm.errors import ModelFileError

ABC = np.frombuffer(b"abc", dtype=np.uint8)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(st.lists(TEXT))
def test_strings_round_trip(strings):
    data, offsets = persist.pack_strings(strings)
    assert (data.dtype, offsets.dtype, offsets.size) == (np.uint8, np.int64, len(strings) + 1)
    assert persist.unpack_strings(data, offsets) == strings


def test_strings_round_trip_through_a_file(path):
    strings = ["Amélie", "", "千と千尋の神隠し", "a\0b\n", "🎬"]
    data, offsets = persist.pack_strings(strings)
    persist.write(path, {"names.data": data, "names.offsets": offsets}, {})
    tensors = persist.read(path).tensors
    assert persist.unpack_strings(tensors["names.data"], tensors["names.offsets"]) == strings


@pytest.mark.parametrize("strings", [["a", 3], [b"a"], ["\ud800"], [None]])
def test_packing_anything_but_text_is_refused(strings):
    with pytest.raises(TypeError, match=r"element \d is"):
        persist.pack_strings(strings)


@pytest.mark.parametrize(
    ("data", "offsets"),
    [
        (ABC, np.array([], dtype=np.int64)),
        (ABC, np.array([1, 3])),
        (ABC, np.array([0, 2])),
        (ABC, np.array([0, 4])),
        (ABC, np.array([0, 2, 1, 3])),
        (ABC, np.array([0, -1, 3])),
        (ABC, np.array([0, 2**63 - 1, -(2**63), 3])),
        (ABC, np.array([0.0, 3.0])),
        (ABC, np.array([0, 3], dtype=np.uint64)),
        (ABC, np.array([[0, 3]])),
        (ABC, np.array(3)),
        (ABC.reshape(1, 3), np.array([0, 3])),
        (ABC.view(np.int8), np.array([0, 3])),
        (np.frombuffer("é".encode(), dtype=np.uint8), np.array([0, 1, 2])),
        (np.array([255], dtype=np.uint8), np.array([0, 1])),
        (np.frombuffer(b"\xed\xa0\x80", dtype=np.uint8), np.array([0, 3])),
    ],
)
def test_damaged_string_lists_are_refused(data, offsets):
    with pytest.raises(ModelFileError, match="string list"):
        persist.unpack_strings(data, offsets)


@given(
    data=hnp.arrays(np.uint8, st.integers(0, 6)),
    offsets=hnp.arrays(np.int64, st.integers(0, 4), elements=st.integers(-1, 7)),
)
def test_random_string_lists_are_read_or_refused(data, offsets):
    try:
        strings = persist.unpack_strings(data, offsets)
    except ModelFileError:
        return
    again = persist.pack_strings(strings)
    assert_array_equal(again[0], data)
    assert_array_equal(again[1], offsets)
