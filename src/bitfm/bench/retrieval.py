"""How fast the best items are found: against FAISS, implicit and the bare matrix product."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from bitfm.bench._contest import OURS, contest
from bitfm.bench._measure import WITH_HISTORY, Row
from bitfm.bench._opponents import Search, binary_flat, flat, implicit_topk, matrix_product, need_opponents
from bitfm.bench.datasets import load, need_data
from bitfm.data import Block, Blocks
from bitfm.data.blocks import FieldSpan
from bitfm.models import DiscreteFM
from bitfm.models._base import check_choice
from bitfm.models._blas import one_blas_thread
from bitfm.retrieval import Index

__all__ = ["PARTS", "run"]

_BITS, _TOP = 64, 10
_MILLION = 1_000_000
_QUERIES, _ONE_BY_ONE = 2000, 20
_TASTES = 16  # of the generated models
# Spread of the generated biases and interactions: those of the model trained on MovieLens 1M with histories.
_BIAS_SPREAD, _INTERACTION_SPREAD = 0.48, 0.30


def run(
    parts: Sequence[str] | None = None, *, folder: Path | None = None, say: Callable[[str], None] = print
) -> Iterator[tuple[str, list[Row]]]:
    """Search catalogues of every kind, one thread each.

    Parameters
    ----------
    parts : of "trained", "codes", "context", "features" and "rows"; by default all
    folder : where the data sets are
    say : called with a line about what is measured

    Yields
    ------
    title, rows
        A row a method, with ``what``, ``method``, ``µs a query`` and ``times``: how many times as long as bitfm it
        takes.
    """
    wanted = [check_choice("part", part, tuple(PARTS)) for part in parts or PARTS]
    need_opponents()
    for part in wanted:
        with one_blas_thread():
            yield from PARTS[part](folder, say)


def _trained(folder: Path | None, say: Callable[[str], None]) -> Iterator[tuple[str, list[Row]]]:
    """All users of the paper's sets, by models trained on ids alone."""
    folder = need_data(folder)
    for name in ("yelp", "amazon"):
        split = load(name, folder)
        for objective in ("anchored", "paper"):
            say(f"{name}: fit {objective} codes")
            # The validation would find that ids alone are worth no codes on these sets, and set all gains to 0.
            model = DiscreteFM(_BITS, objective=objective, validation_fraction=0).fit(split.blocks(), split.train[2])
            what = f"{split.n_users:,} users, {split.n_items:,} items, {objective}"
            yield f"{name}: the best {_TOP} for all users, ids only", _all_users(what, model, split.n_users)


def _all_users(what: str, model: DiscreteFM, n_users: int) -> list[Row]:
    index, users = model.index(), np.arange(n_users)
    of_users, of_items = _with_bias(model, n_users)
    codes = np.asarray(model.codes_)
    rivals: dict[str, Callable[[], Any]] = {OURS: lambda: index.search(users, _TOP, n_jobs=1)}
    for name, search in (flat(of_items), matrix_product(of_items), implicit_topk(of_items)):
        rivals[name] = partial(search, of_users, _TOP)
    name, search = binary_flat(codes[n_users:])
    rivals[name] = partial(search, codes[:n_users], _TOP)
    rivals[f"{OURS}, 2 threads"] = lambda: index.search(users, _TOP, n_jobs=2)
    return contest(what, n_users, rivals)


def _codes(folder: Path | None, say: Callable[[str], None]) -> Iterator[tuple[str, list[Row]]]:
    """Large catalogues of bare codes, one query at a time through the Python interface, and many."""
    for n_items in (_MILLION, 10 * _MILLION):
        say(f"generate {n_items:,} items of {_BITS} bits")
        model = generated_codes(_QUERIES, n_items)
        of_users, of_items = _with_bias(model, _QUERIES)
        codes = np.asarray(model.codes_)
        title = f"{n_items:,} generated items that are codes with gains and biases"
        opponents: list[tuple[str, Search, npt.NDArray[Any]]] = [(*flat(of_items), of_users)]
        if n_items == _MILLION:
            opponents.append((*binary_flat(codes[_QUERIES:]), codes[:_QUERIES]))
        yield from _one_and_many(title, OURS, model.index(), opponents, many=n_items == _MILLION)


def _context(folder: Path | None, say: Callable[[str], None]) -> Iterator[tuple[str, list[Row]]]:
    """Users with context: a vector, against bare codes."""
    say(f"generate {_MILLION:,} items of {_BITS} bits, and users with context")
    n_contexts = 50
    model = generated_codes(_QUERIES, _MILLION, n_contexts)
    index = model.index()
    queries = Blocks(
        user=Block(np.arange(_QUERIES), {"id": sp.identity(_QUERIES)}),
        context=Block(np.arange(_QUERIES) % n_contexts, {"id": sp.identity(n_contexts)}),
    )
    _, of_items = _with_bias(model, _QUERIES + n_contexts)
    title = f"{_MILLION:,} generated items that are codes, users with context"
    of_users = _with_one(index._users.rows("users", queries, 1).as_vectors())
    yield from _one_and_many(title, OURS, index, [(*flat(of_items), of_users)], queries=queries)


def _features(folder: Path | None, say: Callable[[str], None]) -> Iterator[tuple[str, list[Row]]]:
    """Items with features, which are vectors: exact, and by row codes."""
    say(f"generate {_MILLION:,} items with ten features each")
    model, items = generated_features(_QUERIES, _MILLION)
    exact = model.index(items)
    held = exact._shelves[0].items()
    of_items = np.hstack([held.vectors, held.biases[:, None]])[np.argsort(held.positions)]
    of_users = _with_one(exact._users.rows("users", np.arange(_QUERIES), 1).as_vectors())
    opponents = [(*flat(of_items), of_users)]
    title = f"{_MILLION:,} generated items with features"
    yield from _one_and_many(title, f"{OURS}, exact", exact, opponents)
    say("learn row codes")
    by_codes = model.index(items, mode="codes")
    found = [index.search(np.arange(_QUERIES), _TOP)[0] for index in (exact, by_codes)]
    ours = f"{OURS}, row codes of 64 bits (recall@{_TOP} {_recall(*found):.4f})"
    yield from _one_and_many(title, ours, by_codes, opponents)


def _one_and_many(
    title: str,
    ours: str,
    index: Index,
    opponents: Sequence[tuple[str, Search, npt.NDArray[Any]]],
    *,
    queries: Blocks | None = None,
    many: bool = True,
) -> Iterator[tuple[str, list[Row]]]:
    """Search for some queries one after another through the Python interface, and for many at once."""
    users: Any = np.arange(_QUERIES) if queries is None else queries
    one = [users[u : u + 1] for u in range(_ONE_BY_ONE)]
    rivals: dict[str, Callable[[], Any]] = {ours: lambda: [index.search(u, _TOP, n_jobs=1) for u in one]}
    for name, search, vectors in opponents:
        rivals[name] = partial(search, vectors[:_ONE_BY_ONE], _TOP, 1)
    yield title, contest("one query after another", _ONE_BY_ONE, rivals)
    if many:
        rivals = {ours: lambda: index.search(users, _TOP, n_jobs=1)}
        rivals |= {name: partial(search, vectors, _TOP) for name, search, vectors in opponents}
        rivals[f"{ours}, 2 threads"] = lambda: index.search(users, _TOP, n_jobs=2)
        yield title, contest(f"{_QUERIES:,} queries at once", _QUERIES, rivals)


def _rows(folder: Path | None, say: Callable[[str], None]) -> Iterator[tuple[str, list[Row]]]:
    """Count what row codes miss, on trained models."""
    folder = need_data(folder)
    rows: list[Row] = []
    for name in ("ml-1m", "douban", "amazon"):
        split = load(name, folder)
        say(f"{name}: fit codes with histories and raters")
        X = split.blocks("train", WITH_HISTORY)
        model = DiscreteFM(_BITS).fit(X, split.train[2])
        items = Block(np.arange(split.n_items), X.blocks["item"].tables)
        users = Block(np.arange(split.n_users), X.blocks["user"].tables)
        best = model.index(items).search(users, _TOP)[0]
        for bits in (64, 128):
            for rescore in (20, 50, 100):
                found = model.index(items, mode="codes", bits=bits, rescore=rescore).search(users, _TOP)[0]
                rows.append(
                    {"dataset": name, "bits": bits, "candidates": rescore, f"recall@{_TOP}": _recall(best, found)}
                )
    yield f"Row codes: the share of the exact best {_TOP} they find, all users", rows


PARTS: dict[str, Callable[[Path | None, Callable[[str], None]], Iterator[tuple[str, list[Row]]]]] = {
    "trained": _trained,
    "codes": _codes,
    "context": _context,
    "features": _features,
    "rows": _rows,
}


def generated_codes(n_users: int, n_items: int, n_contexts: int = 0, seed: int = 0) -> DiscreteFM:
    """Return a model of bare ids with random codes, and gains and biases of the usual spread."""
    fields = [("user", "id", n_users), ("context", "id", n_contexts), ("item", "id", n_items)]
    return _generated([field for field in fields if field[2]], seed)


def generated_features(n_users: int, n_items: int, seed: int = 0) -> tuple[DiscreteFM, Block]:
    """Return a model whose items have an id and nine of 5,000 tags, and the items."""
    rng = np.random.default_rng(seed)
    tags = sp.csr_matrix(
        (
            np.full(9 * n_items, 1 / 3, np.float32),
            rng.integers(5000, size=9 * n_items).astype(np.int32),
            np.arange(0, 9 * n_items + 1, 9),
        ),
        (n_items, 5000),
    )
    model = _generated([("user", "id", n_users), ("item", "id", n_items), ("item", "tags", 5000)], seed)
    return model, Block(np.arange(n_items), {"id": sp.identity(n_items, np.float32, "csr"), "tags": tags})


def _generated(fields: Sequence[tuple[str, str, int]], seed: int) -> DiscreteFM:
    rng = np.random.default_rng(seed)
    n = sum(size for _, _, size in fields)
    model = DiscreteFM(_BITS)
    model.codes_ = np.concatenate([_tastes(rng, size) for _, _, size in fields])
    gain = np.sqrt(_INTERACTION_SPREAD / np.sqrt(_BITS))
    model.gains_ = (gain * np.exp(rng.normal(0, 0.25, n))).astype(np.float32)
    model.weights_ = rng.normal(0, _BIAS_SPREAD, n).astype(np.float32)
    model.bias_, model.interactions_, model.n_features_in_ = 3.5, "cross", n
    spans, start = [], 0
    for block, name, size in fields:
        spans.append(FieldSpan(block, name, start, start + size))
        start += size
    model.fields_ = tuple(spans)
    return model


def _tastes(rng: np.random.Generator, n: int) -> npt.NDArray[np.uint8]:
    """Return codes that have something in common, as learned ones have: the signs of few tastes and some noise."""
    tastes = np.random.default_rng(0).normal(size=(_TASTES, _BITS)).astype(np.float32)
    parts = []
    for begin in range(0, n, 1 << 18):
        size = min(1 << 18, n - begin)
        own = rng.standard_normal((size, _TASTES), np.float32)
        noise = rng.standard_normal((size, _BITS), np.float32)
        parts.append(np.packbits(own @ tastes + noise * np.sqrt(_TASTES / 2) > 0, axis=1, bitorder="little"))
    return np.concatenate(parts)


def _with_bias(model: DiscreteFM, first_item: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return users and items as the rivals take them: vectors with one more dimension for the items' biases."""
    vectors = model._factors_of(np.arange(model.n_features_in_))
    biases = np.asarray(model.weights_[first_item:], np.float32)
    return _with_one(vectors[:first_item]), np.hstack([vectors[first_item:], biases[:, None]])


def _with_one(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return np.hstack([vectors, np.ones((len(vectors), 1), np.float32)])


def _recall(best: npt.NDArray[np.int64], found: npt.NDArray[np.int64]) -> float:
    return float(np.mean([np.isin(b, f).mean() for b, f in zip(best, found, strict=True)]))
