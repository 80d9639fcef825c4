"""The time of a query against the size of the catalogue, beside other libraries."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from bitfm.retrieval import Index

from bitfm_research.bench._comparison import OURS, compare_times, recall
from bitfm_research.bench._libraries import Search, binary_flat, flat, implicit_topk, matrix_product
from bitfm_research.bench._vectors import ids_as_vectors, items_as_vectors, users_as_vectors
from bitfm_research.bench.generated import generated_codes, generated_features
from bitfm_research.bench.measure import Row

__all__ = ["losses", "sizes"]

_TOP = 10
_SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
_QUERIES, _FEWER, _FEW_FROM = 2000, 200, 10_000_000  # a batch, and from how many items on it is smaller
_PAIRS_ONE_BY_ONE = 100_000_000
_ROUNDS, _SECONDS = 25, 10.0  # of a comparison: small catalogues need many rounds, large ones get two
_LONGEST = 30.0  # seconds: who would need more for a round is left out
_EXACT, _ROW_CODES = f"{OURS}, exact", f"{OURS}, row codes"
# Who takes vectors, and the memory each needs beside them, in copies: for its own and for the scores of some queries.
_COPIES: dict[Callable[[Any], tuple[str, Search]], float] = {flat: 1, implicit_topk: 2, matrix_product: 1.5}


class _Catalogue(NamedTuple):
    """Ours, and for each library the items and the queries as it takes them."""

    title: str
    ours: dict[str, Index]
    libraries: dict[Callable[[Any], tuple[str, Search]], tuple[npt.NDArray[Any], npt.NDArray[Any]]]


def sizes(
    say: Callable[[str], None],
    *,
    codes: Sequence[int] = _SIZES,
    features: Sequence[int] = _SIZES[:-1],
    n_queries: int = _QUERIES,
    longest: float = _LONGEST,
) -> Iterator[tuple[str, list[Row]]]:
    """Search catalogues of growing size, one query after another and in a batch, one thread each.

    Parameters
    ----------
    say : called with a line about what is measured, and what is not
    codes, features : numbers of items that are codes, and that have features; rising
    n_queries : of a batch; from 10,000,000 items on 200 at most
    longest : seconds
        A library that would need more for a batch, by what it took for fewer items, is left out.

    Yields
    ------
    title, rows
        For each size, rows with ``what``, ``items``, ``queries``, ``method``, ``µs per query``, ``times`` that of our
        exact search, and ``recall@10`` for row codes.
    """
    pace: dict[tuple[str, str], float] = {}
    for name, make, numbers in (("codes", _codes, codes), ("features", _features, features)):
        for n_items in numbers:
            say(f"{name}: generate {n_items:,} items")
            n = min(n_queries, _FEWER) if n_items >= _FEW_FROM else n_queries
            catalogue = make(n, n_items)
            yield catalogue.title, _compare(name, n_items, n, catalogue, pace, longest, say)


def losses(rows: Sequence[Row]) -> list[Row]:
    """Return what to say of the libraries that are faster than our exact search."""
    columns = ("what", "items", "method", "µs per query", "times")
    faster = [row for row in rows if row["times"] < 1 and not row["method"].startswith(OURS)]
    return [{name: row[name] for name in columns} for row in faster]


def _codes(n_queries: int, n_items: int) -> _Catalogue:
    model = generated_codes(n_queries, n_items)
    of_users, of_items = ids_as_vectors(model, n_queries)
    codes = np.asarray(model.codes_)
    title = f"{n_items:,} generated items that are codes with gains and biases"
    libraries = dict.fromkeys(_COPIES, (of_items, of_users))
    return _Catalogue(title, {_EXACT: model.index()}, libraries | {binary_flat: (codes[n_queries:], codes[:n_queries])})


def _features(n_queries: int, n_items: int) -> _Catalogue:
    model, items = generated_features(n_queries, n_items)
    exact = model.index(items)
    vectors = items_as_vectors(exact), users_as_vectors(exact, np.arange(n_queries))
    ours = {_EXACT: exact, _ROW_CODES: model.index(items, mode="codes")}
    return _Catalogue(f"{n_items:,} generated items with features", ours, dict.fromkeys(_COPIES, vectors))


def _compare(
    name: str,
    n_items: int,
    n_queries: int,
    catalogue: _Catalogue,
    pace: dict[tuple[str, str], float],
    longest: float,
    say: Callable[[str], None],
) -> list[Row]:
    """Time all who fit; `pace` keeps the seconds that each needs for a query and an item, from size to size."""
    users = np.arange(n_queries)
    libraries = dict(_built(catalogue, say))
    n_one = min(n_queries, 500, max(50, _PAIRS_ONE_BY_ONE // n_items))
    each = [users[u : u + 1] for u in range(n_one)]
    rows: list[Row] = []
    for way, queries, n in (("one query", each, n_one), ("batch", [users], n_queries)):
        what = f"{name}, {way}"
        methods: dict[str, Callable[[], Any]] = {
            method: partial(_search_all, index, queries) for method, index in catalogue.ours.items()
        }
        for method, (search, vectors) in libraries.items():
            seconds = pace.get((what, method), 0) * n_items * n
            if seconds > longest:
                say(f"{what}, {n_items:,} items: without {method}, which would take about {seconds:.0f} s per round")
            elif way == "batch":
                methods[method] = partial(search, vectors, _TOP)
            else:
                methods[method] = partial(search, vectors[:n], _TOP, 1)
        for row in compare_times(what, n, methods, rounds=_ROUNDS, seconds=_SECONDS):
            pace[what, row["method"]] = row["µs per query"] / 1e6 / n_items
            rows.append({"what": what, "items": n_items, "queries": n, **row})
    return _with_recall(rows, catalogue.ours, users)


def _search_all(index: Index, queries: Sequence[npt.NDArray[Any]]) -> None:
    for users in queries:
        index.search(users, _TOP, n_jobs=1)


def _built(catalogue: _Catalogue, say: Callable[[str], None]) -> Iterator[tuple[str, tuple[Search, npt.NDArray[Any]]]]:
    """Build the libraries, as many as there is memory for."""
    memory = 0.75 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    memory -= 2 * max(items.nbytes for items, _ in catalogue.libraries.values())  # these themselves, and ours
    for make, (items, queries) in catalogue.libraries.items():
        needed = _COPIES.get(make, 1) * items.nbytes
        if needed > memory:
            say(f"{len(items):,} items: without {make.__name__}, for whose {needed / 1e9:.1f} GB there is no room")
            continue
        memory -= needed
        name, search = make(items)
        yield name, (search, queries)


def _with_recall(rows: list[Row], ours: Mapping[str, Index], users: npt.NDArray[Any]) -> list[Row]:
    if _ROW_CODES not in ours:
        return rows
    share = recall(*(ours[name].search(users, _TOP)[0] for name in (_EXACT, _ROW_CODES)))
    return [{**row, f"recall@{_TOP}": share if row["method"] == _ROW_CODES else None} for row in rows]
