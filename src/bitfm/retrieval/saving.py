"""An index as tensors of a model file, and back."""

from __future__ import annotations

from reprlib import repr as short  # what a file says is of any length
from typing import Annotated, Any

import msgspec

from bitfm import persist
from bitfm.errors import ModelFileError
from bitfm.parameters import Parameters
from bitfm.persist import Tensors
from bitfm.retrieval._row_codes import RowCodeSegment
from bitfm.retrieval._segments import CodeSegment, Segment, Shapes
from bitfm.retrieval._sums import ItemSums
from bitfm.retrieval._vector_segment import VectorSegment
from bitfm.retrieval.index import Index, RowCodeSettings

__all__ = ["pack_index", "unpack_index"]

PREFIX = "index."
_KINDS: dict[str, type[Segment]] = {"codes": CodeSegment, "vectors": VectorSegment, "rows": RowCodeSegment}


class _Index(msgspec.Struct, forbid_unknown_fields=True):
    block: str
    n_positions: Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
    segments: list[str]
    row_code_bits: Annotated[int, msgspec.Meta(ge=8, le=512, multiple_of=8)]
    rescore: Annotated[int, msgspec.Meta(ge=1, le=10**6)]


def pack_index(index: Index, sums: ItemSums | None = None) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the tensors of an index and what to write about it into the metadata.

    Vectors that `sums` gives as well may be left out, if the file has what they are sums of.
    """
    if any(isinstance(segment, VectorSegment) for segment in index.segments):
        index.check()  # vectors that are not kept are worked out
    segments, names = index.segments, {kind: name for name, kind in _KINDS.items()}
    tensors: dict[str, Any] = {}
    for number, segment in enumerate(segments):
        tensors |= persist.put(f"{PREFIX}{number}.", segment.packed(sums))
    about = _Index(index.block, index.n_positions, [names[type(segment)] for segment in segments], *index.row_codes)
    return tensors, {"index": persist.encode(about)}


def unpack_index(parameters: Parameters, contents: persist.Contents, sums: ItemSums | None = None) -> Index | None:
    """Return the index that a file holds, if it does; types and shapes are checked now, values on first use.

    Vectors that it leaves out are those of `sums`.
    """
    parts = persist.numbered(contents.tensors, PREFIX)
    if "index" not in contents.metadata:
        if parts:
            raise ModelFileError("holds tensors of an index, but no index")
        return None
    about = persist.decode(contents.metadata, "index", _Index)
    segments = []
    for number, kind in enumerate(about.segments):
        if kind not in _KINDS:
            raise ModelFileError(f"has an index of unknown kind {short(kind)}")
        arrays = parts.pop(number, {})
        shapes = _shapes(_KINDS[kind], arrays, parameters.width, about.row_code_bits)
        declared = {name: persist.Tensor(dtype, " ".join(map(str, shape))) for name, dtype, shape in shapes}
        persist.check_tensors(arrays, declared, prefix=f"{PREFIX}{number}.")
        extra: dict[str, Any] = {"rescore": about.rescore} if kind == "rows" else {}
        if kind == "vectors" and len(arrays["kept"]):
            if sums is None:
                raise ModelFileError("has an index that leaves vectors out, but not what they are sums of")
            extra = {"sums": sums}
        segments.append(_KINDS[kind](arrays, arrays["live"], **extra))
    for number, arrays in parts.items():
        name = PREFIX + (f"{number}." if number >= 0 else "") + min(arrays)
        raise ModelFileError(f"holds the tensor {short(name)}, which does not belong there")
    blocks = {field.block for field in parameters.fields}
    if about.block not in blocks or len(blocks) < 2:
        raise ModelFileError(f"has an index of the block {short(about.block)}, which the model does not have")
    row_codes = RowCodeSettings(about.row_code_bits, about.rescore)
    return Index.of_segments(parameters, about.block, tuple(segments), about.n_positions, row_codes, contents.path)


def _shapes(kind: type[Segment], arrays: Tensors, width: int, row_bits: int) -> Shapes:
    """Return the shapes of a segment of this kind, which may be one that the core does not take."""
    try:
        return kind.shapes(arrays, width, row_bits)
    except ModelFileError:
        raise
    except ValueError as error:
        raise ModelFileError(f"has an index that cannot be: {error}") from None
