"""Other libraries' search of the best items by inner product, each on one thread."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bitfm.errors import BitfmError

__all__ = ["Search", "binary_flat", "flat", "implicit_topk", "matrix_product", "need_opponents"]

Reals = npt.NDArray[np.float32]
_AT_ONCE = 4096  # queries: FAISS multiplies matrices from some dozens on, and memory stays small


class Search(Protocol):
    """Find the best n for queries, so many of them at once."""

    def __call__(self, queries: npt.NDArray[Any], n: int, at_once: int = _AT_ONCE) -> None:
        """Search."""


def need_opponents() -> None:
    """Say what to do where a library is missing."""
    missing = [name for name in ("faiss", "implicit") if importlib.util.find_spec(name) is None]
    if missing:
        raise BitfmError(
            f"bench retrieval compares with {' and '.join(missing)}, which is not installed: pip install 'bitfm[bench]'"
        )


def flat(items: Reals) -> tuple[str, Search]:
    """FAISS's inner products, exact."""
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatIP(items.shape[1])
    index.add(items)
    return f"FAISS {_version('faiss-cpu')} IndexFlatIP", _in_batches(index.search)


def binary_flat(items: npt.NDArray[np.uint8]) -> tuple[str, Search]:
    """FAISS's Hamming distances, which know neither gains nor biases."""
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexBinaryFlat(items.shape[1] * 8)
    index.add(np.ascontiguousarray(items))
    return f"FAISS {_version('faiss-cpu')} IndexBinaryFlat, no bias", _in_batches(index.search)


def matrix_product(items: Reals) -> tuple[str, Search]:
    """NumPy's product alone, without finding the best; to be run with one BLAS thread."""
    by_item = np.ascontiguousarray(items.T)
    room = np.empty((_AT_ONCE, len(items)), np.float32)

    def multiply(queries: Reals, n: int) -> None:
        np.matmul(queries, by_item, out=room[: len(queries)])

    return f"sgemm alone, NumPy {np.__version__}", _in_batches(multiply)


def implicit_topk(items: Reals) -> tuple[str, Search]:
    """Return implicit's."""
    from implicit.cpu.topk import topk

    return f"implicit {_version('implicit')} topk", _in_batches(
        lambda queries, n: topk(items, queries, n, num_threads=1)
    )


def _in_batches(search: Callable[[npt.NDArray[Any], int], Any]) -> Search:
    def run(queries: npt.NDArray[Any], n: int, at_once: int = _AT_ONCE) -> None:
        for begin in range(0, len(queries), at_once):
            search(queries[begin : begin + at_once], n)

    return run


def _version(package: str) -> str:
    return importlib.metadata.version(package)
