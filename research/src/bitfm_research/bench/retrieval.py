"""How fast the best items are found: against FAISS, implicit and the bare matrix product."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from bitfm.data import Block, Blocks
from bitfm.models import CodeModel, DiscreteFM, DistilledFM
from bitfm.retrieval import Index
from bitfm.validation import check_choice

from bitfm_research.bench._approximate import approximate
from bitfm_research.bench._bandwidth import bandwidth
from bitfm_research.bench._comparison import OURS, compare_times, recall
from bitfm_research.bench._filters import filters
from bitfm_research.bench._libraries import Search, binary_flat, flat, implicit_topk, matrix_product, need_libraries
from bitfm_research.bench._vectors import ids_as_vectors, items_as_vectors, users_as_vectors
from bitfm_research.bench.datasets import load, need_data
from bitfm_research.bench.generated import BITS, generated_codes, generated_features
from bitfm_research.bench.measure import WITH_HISTORY, Row
from bitfm_research.bench.sizes import sizes
from bitfm_research.blas import single_blas_thread

__all__ = ["PARTS", "run"]

_TOP = 10
_MILLION = 1_000_000
_QUERIES = 2000
_ONE_BY_ONE = 100, 50  # where there are many queries, and where there are not, each different


def run(
    parts: Sequence[str] | None = None, *, folder: Path | None = None, say: Callable[[str], None] = print
) -> Iterator[tuple[str, str, list[Row]]]:
    """Search catalogues of every kind, one thread each.

    Parameters
    ----------
    parts : of "trained", "codes", "context", "features", "rows", "bandwidth", "approximate", "sizes" and "filters";
        by default all
    folder : where the data sets are
    say : called with a line about what is measured

    Yields
    ------
    part, title, rows
        One row per method, with ``what``, ``method``, ``µs per query`` and ``times``: how many times as long as bitfm
        it takes. Some parts have more columns, and "rows" has others.
    """
    wanted = [check_choice("part", part, tuple(PARTS)) for part in parts or PARTS]
    need_libraries()
    for part in wanted:
        with single_blas_thread():
            for title, rows in PARTS[part](folder, say):
                yield part, title, rows


def _trained(folder: Path | None, say: Callable[[str], None]) -> Iterator[tuple[str, list[Row]]]:
    """All users of the paper's sets, by models trained on ids alone."""
    folder = need_data(folder)
    for name in ("yelp", "amazon"):
        split = load(name, folder)
        for objective, codes in (("distilled", DistilledFM(BITS, validation_fraction=0)), ("paper", DiscreteFM(BITS))):
            say(f"{name}: fit {objective} codes")
            # The validation would find that ids alone are worth no codes on these sets, and set all gains to 0.
            model = codes.fit(split.blocks(), split.train[2])
            what = f"{split.n_users:,} users, {split.n_items:,} items, {objective}"
            yield f"{name}: the best {_TOP} for all users, ids only", _all_users(what, model, split.n_users)


def _all_users(what: str, model: CodeModel, n_users: int) -> list[Row]:
    index, users = model.index(), np.arange(n_users)
    of_users, of_items = ids_as_vectors(model, n_users)
    codes = np.asarray(model.codes_)
    methods: dict[str, Callable[[], Any]] = {OURS: lambda: index.search(users, _TOP, n_jobs=1)}
    for name, search in (flat(of_items), matrix_product(of_items), implicit_topk(of_items)):
        methods[name] = partial(search, of_users, _TOP)
    name, search = binary_flat(codes[n_users:])
    methods[name] = partial(search, codes[:n_users], _TOP)
    methods[f"{OURS}, 2 threads"] = lambda: index.search(users, _TOP, n_jobs=2)
    return compare_times(what, n_users, methods)


def _codes(folder: Path | None, say: Callable[[str], None]) -> Iterator[tuple[str, list[Row]]]:
    """Large catalogues of bare codes, one query at a time through the Python interface, and many."""
    for n_items in (_MILLION, 10 * _MILLION):
        say(f"generate {n_items:,} items of {BITS} bits")
        model = generated_codes(_QUERIES, n_items)
        of_users, of_items = ids_as_vectors(model, _QUERIES)
        codes = np.asarray(model.codes_)
        title = f"{n_items:,} generated items that are codes with gains and biases"
        libraries: list[tuple[str, Search, npt.NDArray[Any]]] = [(*flat(of_items), of_users)]
        if n_items == _MILLION:
            libraries.append((*binary_flat(codes[_QUERIES:]), codes[:_QUERIES]))
        yield from _one_and_many(title, OURS, model.index(), libraries, many=n_items == _MILLION)


def _context(folder: Path | None, say: Callable[[str], None]) -> Iterator[tuple[str, list[Row]]]:
    """Users with context: a vector, against bare codes."""
    say(f"generate {_MILLION:,} items of {BITS} bits, and users with context")
    n_contexts = 50
    model = generated_codes(_QUERIES, _MILLION, n_contexts)
    index = model.index()
    queries = Blocks(
        user=Block(np.arange(_QUERIES), {"id": sp.identity(_QUERIES)}),
        context=Block(np.arange(_QUERIES) % n_contexts, {"id": sp.identity(n_contexts)}),
    )
    _, of_items = ids_as_vectors(model, _QUERIES + n_contexts)
    title = f"{_MILLION:,} generated items that are codes, users with context"
    libraries = [(*flat(of_items), users_as_vectors(index, queries))]
    yield from _one_and_many(title, OURS, index, libraries, queries=queries)


def _features(folder: Path | None, say: Callable[[str], None]) -> Iterator[tuple[str, list[Row]]]:
    """Items with features, which are vectors: exact, and by row codes."""
    say(f"generate {_MILLION:,} items with ten features each")
    model, items = generated_features(_QUERIES, _MILLION)
    exact = model.index(items)
    libraries = [(*flat(items_as_vectors(exact)), users_as_vectors(exact, np.arange(_QUERIES)))]
    title = f"{_MILLION:,} generated items with features"
    yield from _one_and_many(title, f"{OURS}, exact", exact, libraries)
    say("learn row codes")
    by_codes = model.index(items, mode="codes")
    found = [index.search(np.arange(_QUERIES), _TOP)[0] for index in (exact, by_codes)]
    ours = f"{OURS}, row codes of 64 bits (recall@{_TOP} {recall(*found):.4f})"
    yield from _one_and_many(title, ours, by_codes, libraries)


def _one_and_many(
    title: str,
    ours: str,
    index: Index,
    libraries: Sequence[tuple[str, Search, npt.NDArray[Any]]],
    *,
    queries: Blocks | None = None,
    many: bool = True,
) -> Iterator[tuple[str, list[Row]]]:
    """Search for some queries one after another through the Python interface, and for many at once."""
    users: Any = np.arange(_QUERIES) if queries is None else queries
    n_one = _ONE_BY_ONE[not many]
    one = [users[u : u + 1] for u in range(n_one)]
    methods: dict[str, Callable[[], Any]] = {ours: lambda: [index.search(u, _TOP, n_jobs=1) for u in one]}
    for name, search, vectors in libraries:
        methods[name] = partial(search, vectors[:n_one], _TOP, 1)
    yield title, compare_times("one query after another", n_one, methods)
    if many:
        methods = {ours: lambda: index.search(users, _TOP, n_jobs=1)}
        methods |= {name: partial(search, vectors, _TOP) for name, search, vectors in libraries}
        methods[f"{ours}, 2 threads"] = lambda: index.search(users, _TOP, n_jobs=2)
        yield title, compare_times(f"{_QUERIES:,} queries at once", _QUERIES, methods)


def _rows(folder: Path | None, say: Callable[[str], None]) -> Iterator[tuple[str, list[Row]]]:
    """Count what row codes miss, on trained models."""
    folder = need_data(folder)
    rows: list[Row] = []
    for name in ("ml-1m", "douban", "amazon"):
        split = load(name, folder)
        say(f"{name}: fit codes with histories and raters")
        X = split.blocks("train", WITH_HISTORY)
        model = DistilledFM(BITS).fit(X, split.train[2])
        items = Block(np.arange(split.n_items), X.blocks["item"].tables)
        users = Block(np.arange(split.n_users), X.blocks["user"].tables)
        best = model.index(items).search(users, _TOP)[0]
        for bits in (64, 128):
            for rescore in (20, 50, 100):
                found = model.index(items, mode="codes", bits=bits, rescore=rescore).search(users, _TOP)[0]
                rows.append(
                    {"dataset": name, "bits": bits, "candidates": rescore, f"recall@{_TOP}": recall(best, found)}
                )
    yield f"Row codes: the share of the exact best {_TOP} they find, all users", rows


PARTS: dict[str, Callable[[Path | None, Callable[[str], None]], Iterator[tuple[str, list[Row]]]]] = {
    "trained": _trained,
    "codes": _codes,
    "context": _context,
    "features": _features,
    "rows": _rows,
    "bandwidth": lambda folder, say: bandwidth(say),
    "approximate": lambda folder, say: approximate(say),
    "sizes": lambda folder, say: sizes(say),
    "filters": lambda folder, say: filters(say),
}
