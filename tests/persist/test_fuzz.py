"""Random files: each is refused, or is read, traversed and found equal by the safetensors library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from bitfm import persist
from bitfm.errors import ModelFileError


@pytest.fixture(scope="module")
def survives(tmp_path_factory) -> Callable[[bytes], None]:
    """Return a check that the reader, given these bytes, keeps its promise."""
    path = tmp_path_factory.mktemp("fuzz") / "fuzz.bitfm"

    def check(raw: bytes) -> None:
        path.unlink(missing_ok=True)  # a file that may still be mapped must not be rewritten in place
        path.write_bytes(raw)
        try:
            contents = persist.read(path)
        except ModelFileError:
            return
        theirs = safetensors.numpy.load(raw)
        for name, array in contents.tensors.items():
            assert array.tobytes() == theirs[name].tobytes()
            assert (array.shape, array.dtype) == (theirs[name].shape, theirs[name].dtype)
            assert array.ctypes.data % 64 == 0 or array.size == 0
        for text in (*contents.tensors, *contents.metadata, *contents.metadata.values()):
            text.encode()

    return check


fuzz = settings(deadline=None, max_examples=300)
POSITIONS = st.integers(0, 1 << 10)
EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("flip"), POSITIONS, st.integers(1, 255)),
        st.tuples(st.just("insert"), POSITIONS, st.binary(max_size=70)),
        st.tuples(st.just("delete"), POSITIONS, st.integers(1, 70)),
        st.tuples(st.just("truncate"), POSITIONS, st.none()),
    ),
    min_size=1,
    max_size=4,
)
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.sampled_from([0, 1, 4, 20, 48, 64, 84, 128, 131, 2**31, 2**32, 2**62, 2**63, 2**64, 10**30, -1])
    | st.integers()
    | st.floats()
    | st.sampled_from(["F32", "F64", "U8", "I8", "BOOL", "bitfm", "1", "dtype", "shape", "__pad_0__"])
    | st.text(max_size=5),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=5), children, max_size=3),
    max_leaves=6,
)


@fuzz
@given(raw=st.binary(max_size=200))
def test_random_bytes(sample, survives, raw):
    survives(raw)
    survives(sample.assemble(raw))
    survives(sample.assemble(b"{" + raw))


@fuzz
@given(edits=EDITS)
def test_random_edits_of_a_valid_file(sample, survives, edits):
    raw = bytearray(sample.raw)
    for kind, position, argument in edits:
        if kind == "flip" and position < len(raw):
            raw[position] ^= argument
        elif kind == "insert":
            raw[position:position] = argument
        elif kind == "delete":
            del raw[position : position + argument]
        elif kind == "truncate":
            del raw[position:]
    survives(bytes(raw))


def test_every_truncation_of_a_valid_file(sample, survives):
    for length in range(len(sample.raw)):
        survives(sample.raw[:length])


@fuzz
@given(data=st.data())
def test_random_changes_of_a_valid_header(sample, survives, data):
    header = sample.header
    for _ in range(data.draw(st.integers(1, 3))):
        parent: Any = header
        while True:
            keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
            if not keys:
                break
            key = data.draw(st.sampled_from(keys))
            if isinstance(parent[key], dict | list) and data.draw(st.booleans()):
                parent = parent[key]
                continue
            if data.draw(st.integers(0, 4)) == 0:
                del parent[key]
            else:
                parent[key] = data.draw(JSON_VALUES)
            break
    survives(sample.assemble(header, sample.data))


@fuzz
@given(
    shape=st.lists(st.sampled_from([0, 1, 2, 3, 4, 8, 2**31, 2**61, 2**62, 2**63 - 1]), max_size=5),
    dtype=st.sampled_from(["BOOL", "U8", "I16", "F32", "F64"]),
    begin=st.sampled_from([0, 0, 0, 1, 64]),
    length=st.sampled_from([0, 1, 2, 4, 8, 16, 64, 2**62]),
    size=st.sampled_from([0, 1, 2, 4, 8, 16, 64]),
)
def test_random_shapes_and_lengths(sample, survives, shape, dtype, begin, length, size):
    entry = {"dtype": dtype, "shape": shape, "data_offsets": [begin, begin + length]}
    survives(sample.assemble({"__metadata__": {"format": "bitfm", "version": "1"}, "a": entry}, bytes(size)))
