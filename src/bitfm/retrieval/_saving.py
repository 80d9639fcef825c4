"""An index as tensors of a model file, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitfm.errors import ModelFileError
from bitfm.models._saving import INDEX_PREFIX
from bitfm.retrieval._code_shelf import CodeShelf
from bitfm.retrieval._row_code_shelf import RowCodeShelf
from bitfm.retrieval._shelf import CHUNK, Shelf
from bitfm.retrieval._vector_shelf import VectorShelf
from bitfm.retrieval.index import Index, RowCodeSettings

if TYPE_CHECKING:
    from bitfm.models._codes import CodeModel

__all__ = ["index_contents", "open_index"]

_KINDS: dict[str, type[Shelf]] = {"codes": CodeShelf, "vectors": VectorShelf, "rows": RowCodeShelf}


def index_contents(index: Index) -> tuple[dict[str, npt.NDArray[Any]], dict[str, str]]:
    """Return the tensors of an index, and what to write about it into the metadata."""
    shelves, n_positions = index._shelves, index._n_positions
    kinds = {shelf: name for name, shelf in _KINDS.items()}
    tensors = {
        f"{INDEX_PREFIX}{number}.{name}": shelf.alive if name == "alive" else shelf.arrays[name]
        for number, shelf in enumerate(shelves)
        for name in shelf.names
    }
    about = {
        "block": index.block,
        "n_positions": n_positions,
        "shelves": [kinds[type(shelf)] for shelf in shelves],
        "row_codes": list(index._row_codes),
    }
    return tensors, {"index": json.dumps(about)}


def open_index(model: CodeModel, about: Mapping[str, Any], tensors: Mapping[str, npt.NDArray[Any]]) -> Index:
    """Return an index over tensors of a file, each of which is checked for its type and shape."""
    row_codes = _row_codes(_checked(about, "row_codes", list))
    shelves, expected = [], set()
    for number, kind in enumerate(_checked(about, "shelves", list)):
        if not isinstance(kind, str) or kind not in _KINDS:
            raise ModelFileError(f"has an index of unknown kind {kind!r}")
        arrays = {name: tensors.get(f"{INDEX_PREFIX}{number}.{name}") for name in _KINDS[kind].names}
        lacking = [name for name, array in arrays.items() if array is None]
        if lacking:
            raise ModelFileError(f"lacks the tensor '{INDEX_PREFIX}{number}.{lacking[0]}'")
        found: dict[str, npt.NDArray[Any]] = {name: array for name, array in arrays.items() if array is not None}
        _check_shapes(kind, number, found, model.bits, row_codes.bits)
        expected |= {f"{INDEX_PREFIX}{number}.{name}" for name in arrays}
        extra = {"rescore": row_codes.rescore} if kind == "rows" else {}
        shelves.append(_KINDS[kind](found, found["alive"], **extra))
    if set(tensors) != expected:
        raise ModelFileError(f"holds tensors of an index that has none of the name {min(set(tensors) - expected)!r}")
    n_positions = _checked(about, "n_positions", int)
    if not 0 <= n_positions < 2**31:
        raise ModelFileError(f"has an index of {n_positions} positions")
    block = _checked(about, "block", str)
    if block not in {field.block for field in model.fields_} or len({f.block for f in model.fields_}) < 2:
        raise ModelFileError(f"has an index of the block {block!r}, which the model has not")
    return Index._of_shelves(model, block, tuple(shelves), n_positions, row_codes)


def _checked(about: Mapping[str, Any], name: str, kind: type) -> Any:
    value = about.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ModelFileError(f"has an index with a malformed entry {name!r}")
    return value


def _row_codes(values: list[Any]) -> RowCodeSettings:
    whole = all(isinstance(value, int) and not isinstance(value, bool) for value in values)
    if len(values) != 2 or not whole or not 8 <= values[0] <= 512 or values[0] % 8 or not 1 <= values[1] <= 10**6:
        raise ModelFileError(f"has an index with row codes of {values!r}")
    return RowCodeSettings(*values)


def _check_shapes(kind: str, number: int, arrays: Mapping[str, npt.NDArray[Any]], bits: int, row_bits: int) -> None:
    chunks = arrays["alive"].size
    rows = arrays["row_position"].size if kind == "rows" else 0
    leading = arrays["turn"].size // bits if kind == "vectors" else 0
    halved = chunks if kind == "vectors" and arrays["nibbles"].size else 0
    shapes: dict[str, tuple[type[np.generic], tuple[int, ...]]] = {
        "codes": (np.uint8, (chunks, (row_bits if kind == "rows" else bits) // 8, CHUNK)),
        "alive": (np.uint64, (chunks,)),
        "position": (np.int32, (chunks * CHUNK,)),
        "bias": (np.float32, (chunks * CHUNK,)),
        "gain": (np.float32, (chunks * CHUNK,)),
        "chunk_first": (np.int32, (chunks,)),
        "values": (np.int8, (chunks * CHUNK * leading,)),
        "start": (np.int16, (chunks * CHUNK,)),
        "nibbles": (np.uint8, (halved * CHUNK * leading // 2,)),
        "nibble_inverse_step": (np.float32, (halved,)),
        "nibble_error": (np.float32, (halved,)),
        "vectors": (np.float32, (chunks * CHUNK, bits)),
        "turn": (np.float64, (bits, leading)),
        "row_position": (np.int32, (rows,)),
        "row_bias": (np.float32, (rows,)),
        "row_vectors": (np.float32, (rows, bits)),
        "basis": (np.float32, (bits, row_bits)),
    }
    for name, array in arrays.items():
        dtype, shape = shapes.get(name, (np.float32, (chunks,)))
        if array.dtype != dtype or array.shape != shape:
            raise ModelFileError(
                f"has '{INDEX_PREFIX}{number}.{name}' as {array.dtype} {array.shape}, "
                f"expected {np.dtype(dtype)} {shape}"
            )
    if kind == "vectors" and (leading < 2 or leading % 2 or leading > bits):
        raise ModelFileError(f"has an index of {leading} leading dimensions, expected an even number up to {bits}")
