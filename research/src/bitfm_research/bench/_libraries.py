"""Other libraries' search of the best items by inner product, each on one thread."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from bitfm.errors import BitfmError

__all__ = [
    "Search",
    "Tunable",
    "binary_flat",
    "flat",
    "hnsw",
    "implicit_topk",
    "inverted_lists",
    "matrix_product",
    "need_libraries",
]

Reals = npt.NDArray[np.float32]
_AT_ONCE = 4096  # queries: enough to multiply matrices, and memory stays small
_ROOM = 1 << 28  # scores of a matrix product: 1 GB
_MULTIPLY_FROM = 800  # numbers in a batch of queries: what FAISS's own measurements give for one thread


class Search(Protocol):
    """Find the best n for queries, so many of them at once."""

    def __call__(self, queries: npt.NDArray[Any], n: int, at_once: int = _AT_ONCE) -> None:
        """Search."""


class Tunable(NamedTuple):
    """An approximate search, which finds more the higher it is set."""

    name: str
    setting: str
    highest: int
    set: Callable[[int], None]
    find: Callable[[Reals, int], npt.NDArray[np.int64]]
    queries: Reals  # as it takes them

    @property
    def search(self) -> Search:
        """The same search, to be timed."""
        return _in_batches(self.find)


def need_libraries() -> None:
    """Say what to do where a library is missing."""
    missing = [name for name in ("faiss", "implicit") if importlib.util.find_spec(name) is None]
    if missing:
        raise BitfmError(
            f"bench retrieval compares with {' and '.join(missing)}, which is not installed: "
            "pip install 'bitfm-research[bench]'"
        )


def flat(items: Reals) -> tuple[str, Search]:
    """FAISS's inner products, exact."""
    faiss = _faiss()
    index = faiss.IndexFlatIP(items.shape[1])
    index.add(items)
    return f"FAISS {_version('faiss-cpu')} IndexFlatIP", _in_batches(index.search)


def binary_flat(items: npt.NDArray[np.uint8]) -> tuple[str, Search]:
    """FAISS's Hamming distances, which know neither gains nor biases."""
    faiss = _faiss()
    index = faiss.IndexBinaryFlat(items.shape[1] * 8)
    index.add(np.ascontiguousarray(items))
    return f"FAISS {_version('faiss-cpu')} IndexBinaryFlat, no bias", _in_batches(index.search)


def matrix_product(items: Reals) -> tuple[str, Search]:
    """NumPy's product alone, without finding the best; to be run with one BLAS thread."""
    by_item = np.ascontiguousarray(items.T)
    room = np.empty((min(max(_ROOM // len(items), 1), _AT_ONCE), len(items)), np.float32)

    def multiply(queries: Reals, n: int) -> None:
        for begin in range(0, len(queries), len(room)):
            some = queries[begin : begin + len(room)]
            np.matmul(some, by_item, out=room[: len(some)])

    return f"sgemm alone, NumPy {np.__version__}", _in_batches(multiply)


def implicit_topk(items: Reals) -> tuple[str, Search]:
    """Return implicit's."""
    from implicit.cpu.topk import topk

    return f"implicit {_version('implicit')} topk", _in_batches(
        lambda queries, n: topk(items, queries, n, num_threads=1)
    )


def hnsw(items: Reals, queries: Reals, links: int) -> Tunable:
    """FAISS's graph over inner products.

    Over distances, with all items made equally long, it finds far less at any setting.
    """
    faiss = _faiss()
    index = faiss.IndexHNSWFlat(items.shape[1], links, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = 80
    index.add(items)

    def set_ef(value: int) -> None:
        index.hnsw.efSearch = value

    highest = min(len(items), 4096)  # from there on it is slower than looking at all items
    name = f"FAISS {_version('faiss-cpu')} HNSW{links}"
    return Tunable(name, "efSearch", highest, set_ef, lambda q, n: index.search(q, n)[1], queries)


def inverted_lists(items: Reals, queries: Reals) -> Tunable:
    """FAISS's inverted lists over distances, with one more dimension that makes all items equally long.

    The nearest are then the best by inner product, and are found in fewer lists than by inner products themselves.
    """
    faiss = _faiss()
    squares = np.einsum("ij,ij->i", items, items)
    items = np.hstack([items, np.sqrt(squares.max() - squares)[:, None]])
    n_lists = int(4 * np.sqrt(len(items)))
    coarse = faiss.IndexFlatL2(items.shape[1])
    index = faiss.IndexIVFFlat(coarse, items.shape[1], n_lists, faiss.METRIC_L2)
    index.train(items)
    index.add(items)

    def set_probes(value: int) -> None:
        index.nprobe = value

    name = f"FAISS {_version('faiss-cpu')} IVF{n_lists}"
    queries = np.hstack([queries, np.zeros((len(queries), 1), np.float32)])
    return Tunable(name, "nprobe", n_lists, set_probes, lambda q, n: index.search(q, n)[1], queries)


def _faiss() -> Any:
    """Return FAISS, set to one thread."""
    import faiss

    faiss.omp_set_num_threads(1)
    # Some versions multiply only from 128,000 on, which suits many threads; one then takes several times as long.
    faiss.cvar.distance_compute_blas_threshold = min(faiss.cvar.distance_compute_blas_threshold, _MULTIPLY_FROM)
    return faiss


def _in_batches(search: Callable[[npt.NDArray[Any], int], Any]) -> Search:
    def run(queries: npt.NDArray[Any], n: int, at_once: int = _AT_ONCE) -> None:
        for begin in range(0, len(queries), at_once):
            search(queries[begin : begin + at_once], n)

    return run


def _version(package: str) -> str:
    return importlib.metadata.version(package)
