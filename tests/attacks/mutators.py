"""Ways to damage a file of bitfm's: each takes its bytes and a generator, and returns other bytes."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bitfm.persist import layout

Mutator = Callable[["File", np.random.Generator], bytes]

MUTATORS: dict[str, Mutator] = {}
SIZES = [0, 1, 2, 3, 63, 64, 65, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1]
ODD = [
    None, True, False, 0, 1, -1, 3, 2**31, 2**63, 10**400, 0.5, 1e300, 1e400, math.nan, math.inf, "", "x", "category",
    "stored", "\ud800", "\0", [], [1, 2, 3], [[]], {}, {"a": 1},
]  # fmt: skip
FLOATS = [math.nan, math.inf, -math.inf, 3e38, -3e38, 1e-45, -1.0, 0.0, -0.0]


class File:
    """A valid file, taken apart."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.start = 8 + int.from_bytes(raw[:8], "little")
        self.data = raw[self.start :]
        self._header: dict[str, Any] = json.loads(raw[8 : self.start])
        self.names = [n for n in self._header if n != layout.METADATA and not layout.is_padding(n)]

    @property
    def header(self) -> dict[str, Any]:
        return copy.deepcopy(self._header)

    def tensor(self, name: str) -> np.ndarray[Any, Any]:
        entry = self._header[name]
        begin, end = entry["data_offsets"]
        return np.frombuffer(self.data[begin:end], layout.DTYPES[entry["dtype"]]).reshape(entry["shape"])

    def with_tensor(self, name: str, array: np.ndarray[Any, Any]) -> bytes:
        """Return the file with other values in a tensor, of the same size."""
        begin = self.start + self._header[name]["data_offsets"][0]
        return self.raw[:begin] + array.tobytes() + self.raw[begin + array.nbytes :]

    @staticmethod
    def assemble(header: dict[str, Any] | bytes, data: bytes = b"") -> bytes:
        """Put a file together as the writer does, from a header that the writer would not write."""
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        text += b" " * (-(8 + len(text)) % 64)
        return len(text).to_bytes(8, "little") + text + data


def mutator(function: Mutator) -> Mutator:
    MUTATORS[function.__name__] = function
    return function


def pick(rng: np.random.Generator, values: Any) -> Any:
    return values[rng.integers(len(values))]


def places(values: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of everything in a JSON value."""
    for key in values if isinstance(values, dict) else range(len(values)):
        yield (*path, key)
        if isinstance(values[key], dict | list):
            yield from places(values[key], (*path, key))


def spoil(values: Any, rng: np.random.Generator) -> None:
    """Replace, remove, copy or add something at a random place of a JSON value."""
    *path, key = pick(rng, list(places(values)))
    parent = values
    for step in path:
        parent = parent[step]
    how = rng.integers(6)
    if how == 0:
        del parent[key]
    elif how == 1 and isinstance(parent, dict):
        parent["more"] = copy.deepcopy(pick(rng, ODD))
    elif how == 2:
        parent[key] = copy.deepcopy(parent[pick(rng, list(parent) if isinstance(parent, dict) else range(len(parent)))])
    elif how == 3 and isinstance(parent[key], int | float):
        step = pick(rng, [-1, 1, 0.5])
        parent[key] += step if abs(parent[key]) < 1e300 else 1  # 0.5 more than 10**400 is no float
    else:
        parent[key] = copy.deepcopy(pick(rng, ODD))


@mutator
def bit_flips(file: File, rng: np.random.Generator) -> bytes:
    raw = bytearray(file.raw)
    for at in rng.integers(pick(rng, [8, file.start, len(raw)]), size=pick(rng, [1, 1, 2, 8])):
        raw[at] ^= 1 << rng.integers(8)
    return bytes(raw)


@mutator
def random_bytes(file: File, rng: np.random.Generator) -> bytes:
    raw = bytearray(file.raw)
    at, size = rng.integers(8, len(raw)), pick(rng, [1, 4, 64])
    raw[at : at + size] = rng.bytes(len(raw[at : at + size]))
    return bytes(raw)


@mutator
def cut_or_grown(file: File, rng: np.random.Generator) -> bytes:
    at, size = rng.integers(len(file.raw)), int(pick(rng, [1, 7, 64, 4096]))
    ways = [file.raw[:at], file.raw + rng.bytes(size), file.raw[:at] + file.raw[at + size :]]
    return pick(rng, [*ways, file.raw[:at] + rng.bytes(size) + file.raw[at:], file.raw[at:]])


@mutator
def header_entries(file: File, rng: np.random.Generator) -> bytes:
    """The header's JSON: types, shapes, offsets and names of tensors, and the metadata as a whole."""
    header = file.header
    for _ in range(pick(rng, [1, 1, 2])):
        spoil(header, rng)
    return file.assemble(header, file.data)


@mutator
def metadata_entries(file: File, rng: np.random.Generator) -> bytes:
    """The JSON within the metadata: what the file says of the model, the index and the recommender."""
    header = file.header
    metadata = header[layout.METADATA]
    name = pick(rng, [name for name in metadata if name not in ("format", "version")])
    values = json.loads(metadata[name])
    for _ in range(pick(rng, [1, 1, 2])):
        spoil(values, rng)
    metadata[name] = json.dumps(values)
    return file.assemble(header, file.data)


@mutator
def type_and_shape(file: File, rng: np.random.Generator) -> bytes:
    """Another type or shape for a tensor that still fits its bytes, or nearly."""
    header = file.header
    entry = header[pick(rng, file.names)]
    size = entry["data_offsets"][1] - entry["data_offsets"][0]
    if rng.integers(2):
        entry["dtype"] = pick(rng, list(layout.DTYPES))
        entry["shape"] = [size // layout.DTYPES[entry["dtype"]].itemsize]
    elif entry["shape"] and rng.integers(2):
        entry["shape"] = pick(rng, [entry["shape"][::-1], [1, *entry["shape"]], [int(np.prod(entry["shape"]))]])
    elif entry["shape"]:
        entry["shape"][rng.integers(len(entry["shape"]))] = pick(rng, SIZES)
    else:
        entry["shape"] = [1]
    return file.assemble(header, file.data)


@mutator
def swapped_tensors(file: File, rng: np.random.Generator) -> bytes:
    """Two tensors under each other's names, or one missing, or one twice."""
    header = file.header
    one, other = pick(rng, file.names), pick(rng, file.names)
    alike = [name for name in file.names if name.rsplit(".", 1)[-1] == one.rsplit(".", 1)[-1]]
    other = pick(rng, alike) if rng.integers(2) else other
    names = {one: other, other: one}
    if rng.integers(4) == 0:
        names = {one: f"{one}.more"}
    return file.assemble({names.get(name, name): entry for name, entry in header.items()}, file.data)


@mutator
def extreme_values(file: File, rng: np.random.Generator) -> bytes:
    """Some or all values of a tensor replaced by extremes, or by others of its own."""
    name = pick(rng, file.names)
    array = file.tensor(name).copy()
    flat = array.reshape(-1)
    if not flat.size:
        return file.raw
    at = slice(None) if rng.integers(4) == 0 else rng.integers(flat.size, size=pick(rng, [1, 1, 2, 5]))
    if array.dtype.kind == "f":
        value = pick(rng, FLOATS)
    elif array.dtype.kind in "iu":
        info = np.iinfo(array.dtype)
        near = [int(flat[rng.integers(flat.size)]) + step for step in (-1, 0, 1)]
        value = pick(rng, [int(info.min), int(info.max), 0, 1, 7, info.max // 2, *near, *near])
        value = min(max(value, int(info.min)), int(info.max))
    else:
        value = bool(rng.integers(2))
    with np.errstate(all="ignore"):
        flat[at] = np.array(value).astype(array.dtype)
    return file.with_tensor(name, array)


@mutator
def moved_values(file: File, rng: np.random.Generator) -> bytes:
    """Values of a tensor in another order, so that what refers to them is wrong, or copied over others."""
    name = pick(rng, file.names)
    array = file.tensor(name).copy()
    flat = array.reshape(-1)
    if rng.integers(2):
        rng.shuffle(flat)
    elif flat.size:
        flat[rng.integers(flat.size)] = flat[rng.integers(flat.size)]
    return file.with_tensor(name, array)


def mutant(file: File, seed: int) -> tuple[str, bytes]:
    """Return the name of a mutator, and what it makes of the file."""
    rng = np.random.default_rng(seed)
    name = pick(rng, list(MUTATORS))
    return name, MUTATORS[name](file, rng)
