"""Read a model file by memory map, believing nothing that its header says."""

from __future__ import annotations

import json
import math
import mmap
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from reprlib import repr as short  # header text in messages is of any length
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from bitfm.errors import ModelFileError, NewerModelFileError
from bitfm.persist import layout
from bitfm.validation import check_path, is_text

_MAX_NUMBER = 2**63 - 1
_MAX_DIGITS = len(str(_MAX_NUMBER))
_ENTRY_KEYS = {"dtype", "shape", "data_offsets"}


@dataclass(frozen=True, eq=False)
class Contents:
    """What a model file holds; `read` returns it.

    Attributes
    ----------
    tensors : mapping of str to array
        Read-only: views into the memory map, which lives as long as any of them.
    metadata : mapping of str to str
        As it was given to `write`.
    version : int
        The file's format version.
    path : str
        Of the file, for errors about what is read later.
    """

    tensors: Mapping[str, NDArray[Any]]
    metadata: Mapping[str, str]
    version: int = layout.FORMAT_VERSION
    path: str = ""


class _DamageError(Exception):
    """What is wrong with the file, as the middle part of a sentence."""


def read(path: str | os.PathLike[str]) -> Contents:
    """Open a model file by memory map.

    Only the header is read and checked, so this takes the same few milliseconds for a file of any size; tensors, each
    aligned to 64 bytes, are paged in when used, and processes that open the same file share them.

    Parameters
    ----------
    path : path
        The file to open. One that does not exist or may not be read raises an OSError; one that is damaged, not a bitfm
        model, or of a newer bitfm a `ModelFileError`.

    Notes
    -----
    Replacing the file (as `write` does) or deleting it does not disturb open contents. Shortening it in place does:
    the operating system then ends the process on access (SIGBUS), as for every memory map.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from bitfm import persist
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "weights.bitfm")
    ...     persist.write(path, {"weights": np.array([0.5, -1.5])}, {"model": "demo"})
    ...     contents = persist.read(path)
    >>> contents.tensors["weights"], contents.metadata["model"]
    (array([ 0.5, -1.5]), 'demo')
    """
    check_path(path)
    layout.require_regular(path, os.stat(path))  # before opening, which may have an effect on a device
    with open(path, "rb", opener=_open_without_waiting) as file:
        status = os.fstat(file.fileno())
        layout.require_regular(path, status)
        try:
            header, data_start = _read_header(file, status.st_size)
            metadata, version = _check_metadata(path, header.pop(layout.METADATA, None))
            slots = list(_check_tensors(header, data_start, status.st_size))
            data = _map(file, status.st_size)[data_start:]
        except _DamageError as damage:
            raise ModelFileError(
                f"{os.fspath(path)} is not a valid bitfm model: {damage}; "
                "check the path, copy the file again or save the model again."
            ) from None
    stored = [slot for slot in slots if not layout.is_padding(slot.name)]
    tensors = {slot.name: data[slot.begin : slot.end].view(slot.dtype).reshape(slot.shape) for slot in stored}
    return Contents(MappingProxyType(tensors), MappingProxyType(metadata), version, os.fspath(path))


def _open_without_waiting(path: str, flags: int) -> int:
    # Should a pipe have taken the place of the file since the first check, opening it must not hang.
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def _read_header(file: BinaryIO, file_size: int) -> tuple[dict[str, object], int]:
    """Return the decoded header and the offset in the file at which the data starts."""
    if file_size < layout.LENGTH_BYTES:
        raise _DamageError(f"it has {file_size} bytes, too few for a header")
    length = int.from_bytes(file.read(layout.LENGTH_BYTES), "little")
    data_start = layout.LENGTH_BYTES + length
    if length == 0:
        raise _DamageError("its header is empty")
    if length > layout.MAX_HEADER_BYTES:
        raise _DamageError(f"its header claims {length} bytes, more than the {layout.MAX_HEADER_BYTES} allowed")
    if data_start > file_size:
        raise _DamageError(f"its header claims {length} bytes, but the file has only {file_size}")
    raw = file.read(length)
    if not raw.startswith(b"{"):
        raise _DamageError("its header is not a JSON object")
    try:
        numbers: Any = {"parse_int": _natural, "parse_float": _refuse_number, "parse_constant": _refuse_number}
        header = json.loads(raw.decode(), object_pairs_hook=_object, **numbers)
    except RecursionError:
        raise _DamageError("its header is nested too deeply") from None
    except ValueError as error:
        raise _DamageError(f"its header cannot be decoded ({error})") from None
    return header, data_start


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a name occurs twice in one object")
    return result


def _natural(digits: str) -> int:
    if digits.startswith("-") or len(digits) > _MAX_DIGITS or int(digits) > _MAX_NUMBER:
        _refuse_number(digits)
    return int(digits)


def _refuse_number(text: str) -> NoReturn:
    raise ValueError(f"{short(text)} is not a natural number below 2**63")


def _check_metadata(path: str | os.PathLike[str], metadata: object) -> tuple[dict[str, str], int]:
    """Return the caller's part of the metadata and the format version, once both are known to be ours."""
    if not isinstance(metadata, dict) or metadata.pop("format", None) != layout.FORMAT:
        raise ModelFileError(
            f"{os.fspath(path)} is not a bitfm model: its metadata does not say so; give a file that bitfm saved."
        )
    version = metadata.pop("version", None)
    if not isinstance(version, str) or not re.fullmatch("[1-9][0-9]{0,8}", version):
        raise _DamageError(f"its format version is {short(version)}")
    if int(version) > layout.FORMAT_VERSION:
        raise NewerModelFileError(
            f"{os.fspath(path)} has format version {version}, "
            f"this bitfm reads versions up to {layout.FORMAT_VERSION}; upgrade bitfm to open it."
        )
    for key, value in metadata.items():
        if not (is_text(key) and is_text(value)):
            raise _DamageError(f"its metadata {short(key)} is not a string")
    return metadata, int(version)


class _Slot(NamedTuple):
    """A tensor whose place and type have been checked; offsets count from the start of the data."""

    name: str
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    begin: int
    end: int


def _check_tensors(entries: dict[str, object], data_start: int, file_size: int) -> Iterator[_Slot]:
    """Check that the tensors, in the order of the header, cover the data without holes or overlaps."""
    if data_start % layout.ALIGNMENT:
        raise _DamageError(f"its data starts at byte {data_start}, not at a multiple of {layout.ALIGNMENT}")
    data_size = file_size - data_start
    covered = 0
    for name, entry in entries.items():
        slot = _check_entry(name, entry)
        if slot.begin != covered:
            raise _DamageError(
                f"tensor {short(name)} starts at byte {slot.begin} of the data, "
                f"but what comes before it ends at byte {covered}"
            )
        if slot.end > data_size:
            raise _DamageError(f"tensor {short(name)} ends at byte {slot.end} of the data, which has {data_size} bytes")
        if slot.begin % layout.ALIGNMENT and not layout.is_padding(name):
            raise _DamageError(f"tensor {short(name)} does not start at a multiple of {layout.ALIGNMENT} bytes")
        covered = slot.end
        yield slot
    if covered != data_size:
        raise _DamageError(f"its tensors cover {covered} bytes of the data, which has {data_size} bytes")


def _check_entry(name: str, entry: object) -> _Slot:
    """Check one tensor by itself: the types of its fields, and that its length fits its shape."""
    if not is_text(name):
        raise _DamageError(f"tensor name {short(name)} is not valid Unicode")
    if not isinstance(entry, dict) or entry.keys() != _ENTRY_KEYS:
        raise _DamageError(f"tensor {short(name)} is not described by dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in layout.DTYPES:
        raise _DamageError(f"tensor {short(name)} has the unknown dtype {short(dtype)}")
    if not _is_naturals(shape) or len(shape) > layout.MAX_DIMENSIONS:
        raise _DamageError(f"tensor {short(name)} has the shape {short(shape)}")
    if not _is_naturals(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise _DamageError(f"tensor {short(name)} has the data_offsets {short(offsets)}")
    begin, end = offsets
    itemsize = layout.DTYPES[dtype].itemsize
    if math.prod(shape) * itemsize != end - begin:
        raise _DamageError(f"tensor {short(name)} has {end - begin} bytes, which do not fit its shape and dtype")
    # An empty tensor fits whatever its other dimensions are, but NumPy computes strides from them.
    if math.prod(size for size in shape if size) * itemsize > _MAX_NUMBER:
        raise _DamageError(f"tensor {short(name)} has the shape {short(shape)}, which is too large")
    if layout.is_padding(name) and not (dtype == "U8" and len(shape) == 1 and 0 < shape[0] < layout.ALIGNMENT):
        raise _DamageError(f"tensor {short(name)} is no padding of fewer than {layout.ALIGNMENT} bytes")
    return _Slot(name, layout.DTYPES[dtype], tuple(shape), begin, end)


def _is_naturals(value: object) -> bool:
    """Tell whether a JSON value is a list of integers; `True` is one to `isinstance`, but not here."""
    return isinstance(value, list) and all(type(number) is int for number in value)


def _map(file: BinaryIO, size: int) -> NDArray[np.uint8]:
    try:
        mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    except ValueError:
        raise _DamageError("it shrank while it was being opened") from None
    return np.frombuffer(mapped, dtype=np.uint8)
