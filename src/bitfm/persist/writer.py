"""Write a model file: all of it or nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from bitfm.atomic import atomic_write
from bitfm.persist import layout
from bitfm.validation import check_path, is_text

_CHUNK_BYTES = 1 << 19  # the system keeps in one piece, and maps at once, what is written at once
_DTYPE_NAMES = {dtype.kind + str(dtype.itemsize): name for name, dtype in layout.DTYPES.items()}


def write(path: str | os.PathLike[str], tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> None:
    """Write arrays and strings to a model file, atomically.

    The file appears under its name only when it is complete and on disk. Until then, and after any failure
    or interruption, whatever was there before is intact; readers that have the old file open keep it.

    Parameters
    ----------
    path : path
        The file to create or replace. A symbolic link is followed. Anything but a file raises a `ModelFileError`.
    tensors : mapping of str to array
        Of boolean, integer or floating dtype (up to 64 bits), in any memory order and byte order. The names
        ``__metadata__`` and ``__pad_0__``, ``__pad_1__``, ... are reserved.
    metadata : mapping of str to str
        The names ``format`` and ``version`` are reserved.

    Notes
    -----
    Equal tensors and metadata give equal files, byte for byte. Memory use does not grow with the size of the arrays.
    """
    for name in tensors:
        if not is_text(name):
            raise TypeError(f"tensor name {name!r} is not valid Unicode text; use another name.")
        if name == layout.METADATA or layout.is_padding(name):
            raise ValueError(f"tensor name {name!r} is reserved by the file format; use another name.")
    arrays = _padded({name: _storable(name, tensors[name]) for name in sorted(tensors)})
    header = _header(arrays, metadata)
    check_path(path)
    with suppress(FileNotFoundError):
        layout.require_regular(path, os.stat(path))
    with atomic_write(path) as file:
        file.write(header)
        for array in arrays.values():
            _write_array(file, array)


def _storable(name: str, value: NDArray[Any]) -> NDArray[Any]:
    array = np.asarray(value)
    if _dtype_key(array) not in _DTYPE_NAMES:
        raise TypeError(
            f"tensor {name!r} has dtype {array.dtype}, which a model file cannot hold; "
            "convert it to a boolean, integer or floating dtype of at most 64 bits."
        )
    if array.ndim > layout.MAX_DIMENSIONS:
        raise ValueError(
            f"tensor {name!r} has {array.ndim} dimensions, a model file holds up to {layout.MAX_DIMENSIONS}; "
            "reshape it."
        )
    return array


def _dtype_key(array: NDArray[Any]) -> str:
    return array.dtype.kind + str(array.dtype.itemsize)


def _padded(tensors: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Fill the gaps before aligned tensors by tensors, because safetensors rejects files with holes."""
    padded: dict[str, NDArray[Any]] = {}
    offset = pads = 0
    for name, array in tensors.items():
        if gap := -offset % layout.ALIGNMENT:
            padded[f"__pad_{pads}__"] = np.zeros(gap, dtype=np.uint8)
            pads += 1
        padded[name] = array
        offset += gap + array.nbytes
    return padded


def _header(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> bytes:
    for key, value in metadata.items():
        if not (is_text(key) and is_text(value)):
            raise TypeError(f"metadata {key!r}: {value!r} is not Unicode text; convert both to strings.")
        if key in ("format", "version"):
            raise ValueError(f"metadata name {key!r} is reserved by the file format; use another name.")
    entries: dict[str, object] = {
        layout.METADATA: {"format": layout.FORMAT, "version": str(layout.FORMAT_VERSION)}
        | dict(sorted(metadata.items()))
    }
    offset = 0
    for name, array in arrays.items():
        entries[name] = {
            "dtype": _DTYPE_NAMES[_dtype_key(array)],
            "shape": array.shape,
            "data_offsets": (offset, offset + array.nbytes),
        }
        offset += array.nbytes
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-(layout.LENGTH_BYTES + len(text)) % layout.ALIGNMENT)
    if len(text) > layout.MAX_HEADER_BYTES:
        raise ValueError(
            f"names and metadata take {len(text)} bytes, a model file holds up to {layout.MAX_HEADER_BYTES}; "
            "store long texts as tensors of their bytes."
        )
    return len(text).to_bytes(layout.LENGTH_BYTES, "little") + text


def _write_array(file: BinaryIO, array: NDArray[Any]) -> None:
    """Write the elements in C order and little-endian, converting one chunk at a time where needed."""
    dtype = layout.DTYPES[_DTYPE_NAMES[_dtype_key(array)]]
    # Slices of a contiguous array are views; slices of the flat iterator are copies in C order.
    flat = array.reshape(-1) if array.flags.c_contiguous else array.flat
    chunk = _CHUNK_BYTES // dtype.itemsize
    for begin in range(0, array.size, chunk):
        file.write(np.ascontiguousarray(flat[begin : begin + chunk], dtype=dtype).data)
