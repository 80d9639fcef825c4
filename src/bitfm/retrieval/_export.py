"""An index of codes for those who run another library already. Only the codes go along: no gains, no biases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.errors import BitfmError
from bitfm.retrieval._code_segment import CodeSegment
from bitfm.retrieval._segment import Items, Segment


def to_faiss_binary(segments: Sequence[Segment]) -> Any:
    """Return FAISS's index of Hamming distances, with positions for ids."""
    codes, positions = _codes_of("to_faiss_binary", segments)
    try:
        import faiss
    except ImportError:
        raise BitfmError("to_faiss_binary needs FAISS, which is not installed: pip install 'bitfm[faiss]'") from None
    index = faiss.IndexBinaryIDMap2(faiss.IndexBinaryFlat(codes.shape[1] * 8))
    index.add_with_ids(codes, positions)
    return index


def to_usearch(segments: Sequence[Segment]) -> Any:
    """Return USearch's graph of Hamming distances, with positions for keys."""
    codes, positions = _codes_of("to_usearch", segments)
    try:
        from usearch.index import Index
    except ImportError:
        raise BitfmError("to_usearch needs USearch, which is not installed: pip install 'bitfm[usearch]'") from None
    index = Index(ndim=codes.shape[1] * 8, metric="hamming", dtype="b1")
    if len(codes):
        index.add(positions.astype(np.uint64), codes)
    return index


def _codes_of(what: str, segments: Sequence[Segment]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    if not all(isinstance(segment, CodeSegment) for segment in segments):
        raise ValueError(
            f"{what}: the items have several features each, so they have no codes; index items that are bare ids."
        )
    items = Items.together([segment.items() for segment in segments])
    order = np.argsort(items.positions)
    return np.ascontiguousarray(items.codes[order]), items.positions[order].astype(np.int64)
