"""Files made to break the reader: each is refused with one sentence, and touched no further than needed."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from bitfm import persist
from bitfm.errors import ModelFileError

Build = Callable[[Any], bytes]  # takes the `sample` of conftest.py

OURS = {"format": "bitfm", "version": "1"}
ATTACKS: dict[str, tuple[Build, str]] = {}


def attack(message: str) -> Callable[[Build], Build]:
    """Enter a function that makes a bad file from the sample, and what the error must say of it."""

    def enter(build: Build) -> Build:
        ATTACKS[build.__name__] = (build, message)
        return build

    return enter


def attack_text(label: str, message: str, text: bytes) -> None:
    """Enter a file whose header is the given text."""
    ATTACKS[label] = (lambda sample: sample.assemble(text), message)


def attack_metadata(label: str, message: str, metadata: object) -> None:
    """Enter a file without tensors."""
    ATTACKS[label] = (lambda sample: sample.assemble({"__metadata__": metadata}), message)


def attack_entry(label: str, message: str, **fields: object) -> None:
    """Enter the sample with some fields of a tensor in its middle replaced."""

    def build(sample) -> bytes:
        header = sample.header
        header["gains"].update(fields)
        return sample.assemble(header, sample.data)

    ATTACKS[label] = (build, message)


def attack_only(label: str, message: str, entry: object, data: bytes = b"", name: str = "a") -> None:
    """Enter a file with a single tensor."""
    ATTACKS[label] = (lambda sample: sample.assemble({"__metadata__": OURS, name: entry}, data), message)


def tensor(dtype: str, shape: list[int], begin: int, end: int) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


@attack("has 0 bytes")
def empty_file(sample) -> bytes:
    return b""


@attack("has 7 bytes")
def seven_bytes(sample) -> bytes:
    return sample.raw[:7]


@attack("header is empty")
def no_header(sample) -> bytes:
    return bytes(64)


@attack("more than the 16777216 allowed")
def header_of_all_the_address_space(sample) -> bytes:
    return b"\xff" * 8 + sample.raw[8:]


@attack("more than the 16777216 allowed")
def header_beyond_the_cap(sample) -> bytes:
    return sample.assemble(b" " * ((16 << 20) + 56))


@attack("the file has only")
def header_longer_than_the_file(sample) -> bytes:
    return len(sample.raw).to_bytes(8, "little") + sample.raw[8:]


@attack("not at a multiple of 64")
def header_without_padding(sample) -> bytes:
    text = json.dumps(sample.header).encode()
    text += b" " * ((8 + len(text)) % 64 == 0)
    return len(text).to_bytes(8, "little") + text + sample.data


@attack("not a JSON object")
def zip_archive(sample) -> bytes:
    return (56).to_bytes(8, "little") + b"PK\3\4" + bytes(100)


@attack("the file has only")
def truncated_in_the_header(sample) -> bytes:
    return sample.raw[:100]


@attack("the data, which has")
def truncated_in_the_data(sample) -> bytes:
    return sample.raw[:-1]


@attack("cover 131 bytes of the data, which has 132 bytes")
def trailing_byte(sample) -> bytes:
    return sample.raw + b"\0"


@attack("cover 0 bytes")
def data_without_tensors(sample) -> bytes:
    return sample.assemble({"__metadata__": OURS}, bytes(64))


@attack("comes before it ends")
def tensors_out_of_order(sample) -> bytes:
    return sample.assemble(dict(reversed(sample.header.items())), sample.data)


@attack("occurs twice")
def tensor_listed_twice(sample) -> bytes:
    text = json.dumps(sample.header)
    return sample.assemble(f'{text[:-1]}, "codes": {json.dumps(sample.header["codes"])}}}'.encode(), sample.data)


@attack("comes before it ends")
def hole_instead_of_padding(sample) -> bytes:
    return sample.assemble({name: entry for name, entry in sample.header.items() if name != "__pad_0__"}, sample.data)


@attack("multiple of 64 bytes")
def unaligned_tensor(sample) -> bytes:
    header = {"__metadata__": OURS, "a": tensor("U8", [4], 0, 4), "b": tensor("F32", [1], 4, 8)}
    return sample.assemble(header, bytes(8))


@attack("multiple of 64 bytes")
def unaligned_empty_tensor(sample) -> bytes:
    header = {"__metadata__": OURS, "a": tensor("U8", [4], 0, 4), "b": tensor("F32", [0], 4, 4)}
    return sample.assemble(header, bytes(4))


@attack("no padding")
def padding_of_many_bytes(sample) -> bytes:
    return sample.assemble({"__metadata__": OURS, "__pad_0__": tensor("U8", [64], 0, 64)}, bytes(64))


@attack("no padding")
def padding_of_another_type(sample) -> bytes:
    return sample.assemble({"__metadata__": OURS, "__pad_0__": tensor("F32", [4], 0, 16)}, bytes(16))


@attack("not a bitfm model: its metadata")
def file_of_the_safetensors_library(sample) -> bytes:
    return safetensors.numpy.save({"a": np.zeros(16)}, {"format": "pt"})


attack_text("header_not_utf8", "cannot be decoded", b'{"\xff": 1}')
attack_text("header_not_json", "cannot be decoded", b'{"a": }')
attack_text("header_cut_off", "cannot be decoded", b'{"__metadata__": {"format": "bitfm"')
attack_text("header_followed_by_more", "cannot be decoded", b"{} {}")
attack_text("header_with_byte_order_mark", "not a JSON object", b"\xef\xbb\xbf{}")
attack_text("header_list", "not a JSON object", b"[]")
attack_text("header_number", "not a JSON object", b"1")
attack_text("header_nul_bytes", "not a JSON object", bytes(56))
attack_text("header_deep_lists", "nested too deeply", b'{"a": ' + b"[" * 200_000)
attack_text("header_deep_objects", "nested too deeply", b'{"a":' * 200_000)
attack_text("number_of_many_digits", "natural number", b'{"a": ' + b"9" * 100_000 + b"}")
attack_text("number_not_a_number", "natural number", b'{"a": NaN}')
attack_text("number_infinite", "natural number", b'{"a": -Infinity}')
attack_text("metadata_twice", "occurs twice", b'{"__metadata__": {}, "__metadata__": {}}')
attack_text("metadata_key_twice", "occurs twice", b'{"__metadata__": {"a": "1", "a": "2"}}')
attack_text("metadata_absent", "not a bitfm model: its metadata", b"{}")

attack_metadata("metadata_list", "not a bitfm model: its metadata", ["format", "bitfm"])
attack_metadata("metadata_null", "not a bitfm model: its metadata", None)
attack_metadata("format_absent", "not a bitfm model: its metadata", {"version": "1"})
attack_metadata("format_other", "not a bitfm model: its metadata", {"format": "pt", "version": "1"})
attack_metadata("format_list", "not a bitfm model: its metadata", {"format": ["bitfm"], "version": "1"})
attack_metadata("version_absent", "format version is None", {"format": "bitfm"})
attack_metadata("version_zero", "format version is '0'", OURS | {"version": "0"})
attack_metadata("version_number", "format version is 1", OURS | {"version": 1})
attack_metadata("version_words", "format version is 'one'", OURS | {"version": "one"})
attack_metadata("version_other_digits", "format version is", OURS | {"version": "١"})
attack_metadata("version_padded", "format version is", OURS | {"version": "1\n"})
attack_metadata("version_long", "format version is", OURS | {"version": "9" * 100_000})
attack_metadata("version_newer", "has format version 7.*up to 1; upgrade", OURS | {"version": "7"})
attack_metadata("metadata_number", "is not a string", OURS | {"bits": 64})
attack_metadata("metadata_nested", "is not a string", OURS | {"a": {"b": "c"}})
attack_metadata("metadata_surrogate_value", "is not a string", OURS | {"a": "\ud800"})
attack_metadata("metadata_surrogate_key", "is not a string", OURS | {"\ud800": "a"})

attack_entry("dtype_unknown", "unknown dtype 'BF16'", dtype="BF16")
attack_entry("dtype_numpy_object", "unknown dtype", dtype="|O")
attack_entry("dtype_list", "unknown dtype", dtype=["F32"])
attack_entry("dtype_null", "unknown dtype", dtype=None)
attack_entry("dtype_of_another_size", "do not fit", dtype="F64")
attack_entry("shape_number", "has the shape 5", shape=5)
attack_entry("shape_text", "has the shape '5'", shape="5")
attack_entry("shape_of_texts", "has the shape", shape=["5"])
attack_entry("shape_of_booleans", "has the shape", shape=[5, True])
attack_entry("shape_of_floats", "natural number", shape=[5.0])
attack_entry("shape_negative", "natural number", shape=[-5])
attack_entry("shape_twice_negative", "natural number", shape=[-1, -5])
attack_entry("shape_huge", "natural number", shape=[10**30])
attack_entry("shape_beyond_int64", "natural number", shape=[2**63])
attack_entry("shape_wraps_to_the_right_length", "do not fit", shape=[5, 2**62 + 1])
attack_entry("shape_product_wraps", "do not fit", shape=[2**32, 2**32])
attack_entry("shape_too_long", "has the shape", shape=[5] + [1] * 32)
attack_entry("shape_too_small", "do not fit", shape=[4])
attack_entry("shape_too_large", "do not fit", shape=[6])
attack_entry("offsets_absent_end", "has the data_offsets", data_offsets=[64])
attack_entry("offsets_three", "has the data_offsets", data_offsets=[64, 84, 84])
attack_entry("offsets_object", "has the data_offsets", data_offsets={"64": 84})
attack_entry("offsets_boolean", "has the data_offsets", data_offsets=[False, 84])
attack_entry("offsets_float", "natural number", data_offsets=[64.0, 84])
attack_entry("offsets_negative", "natural number", data_offsets=[-20, 0])
attack_entry("offsets_huge", "natural number", data_offsets=[10**30, 10**30 + 20])
attack_entry("offsets_reversed", "has the data_offsets", data_offsets=[84, 64])
attack_entry("offsets_overlap", "comes before it ends", data_offsets=[0, 20])
attack_entry("offsets_beyond_the_file", "comes before it ends", data_offsets=[2**40, 2**40 + 20])
attack_entry("field_unknown", "not described by", strides=[4])

attack_only("entry_list", "not described by", ["F32", [1], [0, 4]], bytes(4))
attack_only("entry_null", "not described by", None)
attack_only("entry_without_shape", "not described by", {"dtype": "F32", "data_offsets": [0, 4]}, bytes(4))
attack_only("name_surrogate", "not valid Unicode", tensor("U8", [1], 0, 1), b"0", name="\ud800")
attack_only("end_beyond_the_file", "which has 4 bytes", tensor("U8", [1 << 40], 0, 1 << 40), bytes(4))
attack_only("end_at_the_largest_number", "which has", tensor("U8", [2**63 - 1], 0, 2**63 - 1), bytes(4))
attack_only("empty_but_too_large", "too large", tensor("U8", [0, 2**62, 2**62], 0, 0))
attack_only("empty_but_too_large_in_bytes", "too large", tensor("F64", [2**61, 0], 0, 0))


def test_the_helpers_build_valid_files(tmp_path, sample):
    path = tmp_path / "valid.bitfm"
    path.write_bytes(sample.assemble(sample.header, sample.data))
    contents = persist.read(path)
    assert contents.tensors.keys() == {"codes", "gains", "none", "seen"}
    assert dict(contents.metadata) == {"model": "demo", "settings": '{"bits": 64}'}


@pytest.mark.parametrize("label", ATTACKS)
def test_attack_is_refused(tmp_path, sample, label):
    build, message = ATTACKS[label]
    path = tmp_path / "attack.bitfm"
    path.write_bytes(build(sample))
    with pytest.raises(ModelFileError, match=message) as caught:
        persist.read(path)
    text = str(caught.value)
    assert text.startswith(str(path))
    assert ";" in text
    assert text.endswith(".")
    assert len(text) < len(str(path)) + 300


def test_what_is_not_a_regular_file_is_refused_without_waiting(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket may have about 100 characters only
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        for path in (".", "pipe", "socket", "/dev/zero", "/dev/null"):
            with pytest.raises(ModelFileError, match="not a regular file"):
                persist.read(path)


def test_a_pipe_that_takes_the_place_of_the_file_is_refused_without_waiting(tmp_path, sample, monkeypatch):
    regular, pipe = tmp_path / "valid.bitfm", tmp_path / "pipe"
    regular.write_bytes(sample.raw)
    os.mkfifo(pipe)
    real_stat = os.stat
    monkeypatch.setattr(os, "stat", lambda path, **_: real_stat(regular))
    with pytest.raises(ModelFileError, match="not a regular file"):
        persist.read(pipe)


def test_a_file_that_shrinks_while_it_is_opened_is_refused(tmp_path, sample, monkeypatch):
    path = tmp_path / "valid.bitfm"
    path.write_bytes(sample.raw)
    before = os.stat(path)
    path.write_bytes(sample.raw[:-10])
    monkeypatch.setattr(os, "fstat", lambda _: before)
    with pytest.raises(ModelFileError, match="shrank"):
        persist.read(path)


def test_a_missing_or_forbidden_file_stays_an_operating_system_error(tmp_path, sample):
    with pytest.raises(FileNotFoundError):
        persist.read(tmp_path / "missing.bitfm")
    path = tmp_path / "secret.bitfm"
    path.write_bytes(sample.raw)
    path.chmod(0)
    if not os.access(path, os.R_OK):  # root may read everything
        with pytest.raises(PermissionError):
            persist.read(path)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="resident memory is read from /proc")
def test_opening_a_file_of_a_gigabyte_touches_only_its_header(tmp_path, sample):
    path = tmp_path / "sparse.bitfm"
    header = sample.assemble({"__metadata__": OURS, "a": tensor("U8", [1 << 30], 0, 1 << 30)})
    with open(path, "wb") as file:
        file.write(header)
        file.truncate(len(header) + (1 << 30))

    def resident_bytes() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

    before = resident_bytes()
    contents = persist.read(path)
    assert resident_bytes() - before < 5 << 20
    assert contents.tensors["a"].nbytes == 1 << 30
    assert contents.tensors["a"][-1] == 0
