"""Whatever can be stored is read back equal, by us and by the safetensors library; the rest is refused."""

from __future__ import annotations

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from bitfm import persist

DTYPES = ["?", "u1", "i1", "u2", "i2", "f2", "u4", "i4", "f4", "u8", "i8", "f8"]
BLOCK = np.arange(120, dtype=np.int32).reshape(4, 5, 6)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
RESERVED = ("format", "version", "__metadata__")
NAMES = TEXT.filter(lambda name: name not in RESERVED and not name.startswith("__pad_"))


def assert_same_tensors(actual, expected) -> None:
    assert set(actual) == set(expected)
    for name, array in expected.items():
        assert actual[name].shape == array.shape, name
        assert actual[name].dtype == array.dtype.newbyteorder("="), name
        assert_array_equal(actual[name], array)


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_round_trips_from_either_byte_order(path, dtype, order):
    array = np.array([[0, 1, 2], [3, 4, 255]]).astype(np.dtype(dtype).newbyteorder(order))
    persist.write(path, {"a": array}, {})
    assert_same_tensors(persist.read(path).tensors, {"a": array})


@pytest.mark.parametrize(
    "array",
    [
        np.array(7.5),
        np.zeros(0, dtype=np.float32),
        np.zeros((3, 0, 2), dtype=np.uint16),
        np.asfortranarray(BLOCK),
        BLOCK[::-1, ::2, 1:],
        BLOCK.T,
        BLOCK.astype(">i4")[:, 1],
        np.broadcast_to(np.float16(2), (5, 7)),
        np.ones((1,) * 32, dtype=bool),
        BLOCK.view(np.ndarray)[1:2, :, 3],
    ],
    ids=lambda array: f"{array.dtype.str}{array.shape[:3]}",
)
def test_every_memory_order_round_trips(path, array):
    persist.write(path, {"a": array}, {})
    assert_same_tensors(persist.read(path).tensors, {"a": array})


@pytest.mark.parametrize("transform", [lambda a: a, np.transpose, lambda a: a.astype(">f8")])
def test_arrays_longer_than_a_chunk_round_trip(path, transform):
    array = transform(np.arange(3 * 400_003, dtype=np.float64).reshape(3, -1))
    persist.write(path, {"a": array}, {})
    assert_same_tensors(persist.read(path).tensors, {"a": array})


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    tensors=st.dictionaries(
        NAMES, hnp.arrays(st.sampled_from(DTYPES), hnp.array_shapes(min_dims=0, min_side=0)), max_size=5
    ),
    metadata=st.dictionaries(NAMES, TEXT, max_size=4),
)
def test_random_contents_round_trip_and_the_safetensors_library_agrees(path, tensors, metadata):
    persist.write(path, tensors, metadata)
    contents = persist.read(path)
    assert dict(contents.metadata) == metadata
    assert_same_tensors(contents.tensors, tensors)
    theirs = safetensors.numpy.load_file(path)
    assert_same_tensors({name: theirs[name] for name in tensors}, tensors)
    assert all(name in tensors or name.startswith("__pad_") for name in theirs)
    for array in contents.tensors.values():
        assert not array.flags.writeable
        assert array.ctypes.data % 64 == 0 or array.size == 0


def test_equal_contents_give_equal_bytes_in_any_order(tmp_path):
    tensors = {"b": np.asfortranarray(BLOCK), "a": np.arange(3.0), "é": np.array(True)}
    metadata = {"x": "1", "settings": '{"bits": 64}'}
    for name, reverse in [("one", False), ("two", True)]:
        step = -1 if reverse else 1
        persist.write(tmp_path / name, dict(list(tensors.items())[::step]), dict(list(metadata.items())[::step]))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_tensors_cannot_be_made_writeable(path):
    persist.write(path, {"a": BLOCK}, {})
    tensors = persist.read(path).tensors
    with pytest.raises(ValueError, match="WRITEABLE"):
        tensors["a"].setflags(write=True)
    with pytest.raises(TypeError):
        tensors["a"] = BLOCK


@pytest.mark.parametrize(
    ("tensors", "metadata", "error", "message"),
    [
        ({"a": np.array(["text"])}, {}, TypeError, "dtype <U4"),
        ({"a": np.array([None])}, {}, TypeError, "dtype object"),
        ({"a": np.zeros(2, dtype=complex)}, {}, TypeError, "dtype complex128"),
        ({"a": np.zeros(2, dtype="M8[s]")}, {}, TypeError, "dtype datetime64"),
        ({"a": np.zeros(2, dtype=[("x", "f4")])}, {}, TypeError, "dtype"),
        ({"__metadata__": BLOCK}, {}, ValueError, "reserved"),
        ({"__pad_12__": BLOCK}, {}, ValueError, "reserved"),
        ({"\ud800": BLOCK}, {}, TypeError, "Unicode"),
        ({3: BLOCK}, {}, TypeError, "Unicode"),
        ({}, {"format": "x"}, ValueError, "reserved"),
        ({}, {"version": "2"}, ValueError, "reserved"),
        ({}, {"bits": 64}, TypeError, "convert both to strings"),
        ({}, {"bits": "\udfff"}, TypeError, "convert both to strings"),
        ({}, {"long": "x" * (1 << 24)}, ValueError, "store long texts as tensors"),
    ],
)
def test_what_cannot_be_stored_is_refused_before_anything_is_written(path, tensors, metadata, error, message):
    with pytest.raises(error, match=message):
        persist.write(path, tensors, metadata)
    assert list(path.parent.iterdir()) == []


def test_more_dimensions_than_the_format_holds_are_refused(path):
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        pytest.skip("this NumPy has no arrays of more than 32 dimensions")
    with pytest.raises(ValueError, match="33 dimensions"):
        persist.write(path, {"a": np.zeros((1,) * 33)}, {})
