"""The search of a catalogue finds what scoring everything and sorting finds, with every instruction set."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitfm import _core
from bitfm.parameters import TowerRows
from bitfm.retrieval import _vector_segment
from bitfm.retrieval._segments import CodeSegment, Items
from bitfm.retrieval._vector_segment import VectorSegment

NOTHING = (None, None)
SIZES = (0, 1, 63, 64, 65, 500)
SPREADS = {
    "alike": lambda rng, n: np.ones(n),
    "none": lambda rng, n: np.zeros(n),
    "ordinary": lambda rng, n: np.abs(rng.normal(1, 0.3, n)),
    "few": lambda rng, n: rng.integers(0, 3, n).astype(float),
    "extreme": lambda rng, n: 10.0 ** rng.uniform(-38, 30, n),
}
GAINS_AND_BIASES = [*((kind, kind) for kind in SPREADS), ("alike", "none"), ("none", "alike"), ("ordinary", "extreme")]


@pytest.fixture(autouse=True)
def same_isa_after():
    before = _core.isa()
    yield
    _core.use_isa(before)


def signs(codes):
    return np.unpackbits(codes, axis=1, bitorder="little").astype(np.float64) * 2 - 1


def random_codes(rng, n, n_bytes):
    return rng.integers(0, 256, (n, n_bytes), dtype=np.uint8)


def code_items(codes, gains, biases):
    vectors = np.zeros((0, codes.shape[1] * 8), np.float32)
    return Items(biases, np.arange(len(gains), dtype=np.int32), codes, gains, vectors)


def vector_items(vectors, biases):
    n, width = vectors.shape
    return Items(
        biases, np.arange(n, dtype=np.int32), np.zeros((0, width // 8), np.uint8), np.zeros(0, np.float32), vectors
    )


def code_rows(codes, gains, constants):
    return TowerRows(constants, codes, gains, np.zeros((0, codes.shape[1] * 8), np.float32))


def vector_rows(vectors, constants):
    return TowerRows.of_vectors(constants, vectors)


def best(scores, n):
    """Positions and scores of a full sort: best first, ties by position."""
    with np.errstate(over="ignore"):
        scores = scores.astype(np.float32) + np.float32(0)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :n]
    return order, np.take_along_axis(scores, order, 1)


def biases_of(rng, kind, n):
    return (SPREADS[kind](rng, n) * rng.choice([-1, 1], n)).astype(np.float32)


def random_items(rng, size, n_bytes, gains, biases):
    amounts = SPREADS[gains](rng, size).astype(np.float32)
    return code_items(random_codes(rng, size, n_bytes), amounts, biases_of(rng, biases, size))


def grid(names, *axes):
    """Parametrize by all combinations: all on portable code, a third that has every value on the other sets as well."""
    cases = []
    for places in itertools.product(*(range(len(axis)) for axis in axes)):
        case = [axis[place] for axis, place in zip(axes, places, strict=True)]
        cases.append((*case, _core.available_isas() if sum(places) % 3 == 0 else ["portable"]))
    return pytest.mark.parametrize(
        (*names, "isas"), cases, ids=lambda v: "+".join(v) if isinstance(v, list) else str(v)
    )


def check(isas, kind, items, searches):
    """Check that an index of the items finds what is expected: (rows, n, scores of all items) for each search."""
    expected = [best(scores, n) for _, n, scores in searches]
    layouts = []
    for isa in isas:
        _core.use_isa(isa)
        segment = kind.of(items, 1.0)
        layouts.append({name: array.tobytes() for name, array in segment.arrays.items()})
        for (rows, n, _), wanted in zip(searches, expected, strict=True):
            for got, want in zip(segment.search(segment.live, rows, NOTHING, n, 1), wanted, strict=True):
                np.testing.assert_array_equal(got, want)
    assert all(layout == layouts[0] for layout in layouts)


@grid(["n_bytes", "spreads"], [1, 3, 8, 16, 31, 32, 64], GAINS_AND_BIASES)
def test_codes_for_codes(n_bytes, spreads, isas):
    rng = np.random.default_rng(0)
    for size in SIZES:
        items, searches = random_items(rng, size, n_bytes, *spreads), []
        for n_queries in (1, 9):
            codes = random_codes(rng, n_queries, n_bytes)
            own_gains = SPREADS[spreads[0]](rng, n_queries).astype(np.float32)
            constants = rng.normal(size=n_queries)
            amounts = own_gains.astype(float)[:, None] * items.gains.astype(float)
            dots = signs(codes) @ signs(items.codes).T
            scores = constants[:, None] + (items.biases.astype(float) + amounts * dots)
            rows = code_rows(codes, own_gains, constants)
            searches += [(rows, n, scores) for n in {0, min(10, size), size}]
        check(isas, CodeSegment, items, searches)


@grid(["n_bytes", "spreads"], [1, 8, 16, 64], GAINS_AND_BIASES)
def test_codes_for_vectors(n_bytes, spreads, isas):
    rng = np.random.default_rng(1)
    for size in SIZES:
        items = random_items(rng, size, n_bytes, *spreads)
        # Whole numbers, whose sums are exact in any order.
        vectors = rng.integers(-9, 10, (9, n_bytes * 8)).astype(np.float32)
        constants = rng.normal(size=9)
        dots = vectors.astype(float) @ signs(items.codes).T
        scores = constants[:, None] + (items.biases.astype(float) + items.gains.astype(float) * dots)
        rows = vector_rows(vectors, constants)
        check(isas, CodeSegment, items, [(rows, n, scores) for n in {min(10, size), size}])


SHAPES = [(8, 1), (8, 6), (64, 6), (64, 64), (512, 6), (512, 512)]  # width and rank


@grid(["shape", "biases"], SHAPES, list(SPREADS))
def test_vectors_for_vectors(shape, biases, isas, monkeypatch):
    monkeypatch.setattr(_vector_segment, "_LARGE", 65)  # treat smaller catalogues so, too
    rng, (width, rank) = np.random.default_rng(2), shape
    for size in SIZES:
        # Whole numbers again; of low rank, so that the scan leaves dimensions out; some vectors occur twice.
        basis = rng.integers(-2, 3, (rank, width)).astype(np.float32)
        vectors = rng.integers(-2, 3, (size, rank)).astype(np.float32) @ basis
        vectors[size // 2 :] = vectors[: size - size // 2]
        items = vector_items(vectors, biases_of(rng, biases, size))
        queries = rng.integers(-9, 10, (9, width)).astype(np.float32)
        queries[0] = 0
        constants = rng.normal(size=9)
        scores = constants[:, None] + (items.biases.astype(float) + queries.astype(float) @ vectors.T.astype(float))
        some = slice(None), slice(0, 1), slice(5, 6)  # a query that is alone is scanned for by half bytes
        counts = {min(10, size), size}
        searches = [(vector_rows(queries[q], constants[q]), n, scores[q]) for q in some for n in counts]
        check(isas, VectorSegment, items, searches)


@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1.0, 1e8, 1e18])
def test_vectors_of_any_length(scale, monkeypatch):
    monkeypatch.setattr(_vector_segment, "_LARGE", 65)
    rng = np.random.default_rng(3)
    lengths = 10.0 ** rng.uniform(-6, 6, 700) * scale
    vectors = (rng.normal(size=(700, 64)) * lengths[:, None]).astype(np.float32)
    queries = (rng.normal(size=(20, 64)) / scale).astype(np.float32)
    expected = -np.sort(-(queries.astype(float) @ vectors.T.astype(float)), axis=1)[:, :30]
    for some in (slice(None), slice(7, 8)):
        rows, found = vector_rows(queries[some], np.zeros(len(queries[some]))), []
        for isa in _core.available_isas():
            _core.use_isa(isa)
            segment = VectorSegment.of(vector_items(vectors, np.zeros(700, np.float32)), 1.0)
            found.append(segment.search(segment.live, rows, NOTHING, 30, 1))
            np.testing.assert_array_equal(found[-1], found[0])
        np.testing.assert_allclose(found[0][1], expected[some], rtol=1e-6)


def test_large_catalogues_and_many_threads():
    rng = np.random.default_rng(4)
    size = 30_000
    items = code_items(
        random_codes(rng, size, 8),
        rng.normal(1, 0.1, size).astype(np.float32),
        rng.normal(0, 4, size).astype(np.float32),
    )
    segment = CodeSegment.of(items, 5.0)
    codes, gains, constants = random_codes(rng, 70, 8), rng.normal(1, 0.1, 70).astype(np.float32), rng.normal(size=70)
    amounts = gains.astype(float)[:, None] * items.gains.astype(float)
    scores = constants[:, None] + (items.biases.astype(float) + amounts * (signs(codes) @ signs(items.codes).T))
    expected = best(scores, 25)
    for n_threads in (1, 2, 5):
        for queries in (slice(None), slice(3, 4), slice(10, 22)):
            rows = code_rows(codes[queries], gains[queries], constants[queries])
            found = segment.search(segment.live, rows, NOTHING, 25, n_threads)
            for got, want in zip(found, expected, strict=True):
                np.testing.assert_array_equal(got, want[queries])


def test_a_single_query_is_split_among_threads():
    rng = np.random.default_rng(5)
    size = 64 * 4096 * 3
    segment = CodeSegment.of(
        code_items(random_codes(rng, size, 2), np.ones(size, np.float32), np.zeros(size, np.float32)), 1.0
    )
    rows = code_rows(random_codes(rng, 1, 2), np.ones(1, np.float32), np.zeros(1))
    one, several = (segment.search(segment.live, rows, NOTHING, 500, n_threads) for n_threads in (1, 3))
    np.testing.assert_array_equal(one[0], several[0])
    np.testing.assert_array_equal(one[1], several[1])
    assert (np.diff(one[1]) <= 0).all()
    assert len(np.unique(one[0])) == 500


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_masks_and_exclusions(data):
    """Whatever is left out, the rest is as if there were nothing else."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    size = data.draw(st.sampled_from((0, 1, 64, 65, 300)))
    n_queries = data.draw(st.integers(0, 12))
    n_bytes = data.draw(st.sampled_from((1, 8)))
    by_code = data.draw(st.booleans())
    codes = random_codes(rng, size, n_bytes)
    gains, biases = rng.integers(0, 3, size).astype(np.float32), rng.integers(-3, 4, size).astype(np.float32)
    constants = rng.integers(-2, 3, n_queries).astype(float)
    queries = rng.integers(-2, 3, (n_queries, n_bytes * 8)).astype(np.float32)
    segment = (
        CodeSegment.of(code_items(codes, gains, biases), 1.0)
        if by_code
        else VectorSegment.of(vector_items((signs(codes) * gains[:, None]).astype(np.float32), biases), 1.0)
    )
    allowed = np.flatnonzero(rng.random(size) < data.draw(st.sampled_from((0.0, 0.05, 0.5, 1.0))))
    seen = rng.random((n_queries, size)) < data.draw(st.sampled_from((0.0, 0.1, 0.9)))
    start = np.concatenate([[0], np.cumsum(seen.sum(axis=1))]).astype(np.int64)
    excluded = np.nonzero(seen)[1].astype(np.int32)
    n = data.draw(st.integers(0, size))

    positions, scores = segment.search(
        segment.mask(allowed), vector_rows(queries, constants), (start, excluded), n, data.draw(st.integers(1, 3))
    )
    full = constants[:, None] + biases + (queries.astype(float) @ signs(codes).T) * gains
    full[seen] = -np.inf
    full[:, np.setdiff1d(np.arange(size), allowed)] = -np.inf
    order, expected = best(full, n)
    np.testing.assert_array_equal(scores, expected)
    np.testing.assert_array_equal(positions, np.where(np.isinf(expected), -1, order))


@pytest.mark.parametrize("share", [0.0, 0.001, 0.02, 0.1, 0.9])
@pytest.mark.parametrize("kind", ["codes", "vectors", "nibbles"])
def test_some_of_many(share, kind, monkeypatch):
    """Few items are scored one by one, many by a mask, and a copy of them as if there were no others."""
    monkeypatch.setattr(_vector_segment, "_LARGE", 1 if kind == "nibbles" else 10**9)
    rng = np.random.default_rng(6)
    size, width = 20_000, 16
    codes = random_codes(rng, size, width // 8)
    gains, biases = rng.integers(1, 4, size).astype(np.float32), biases_of(rng, "ordinary", size)
    vectors = (signs(codes) * gains[:, None]).astype(np.float32)
    queries = rng.integers(-5, 6, (9, width)).astype(np.float32)
    scores = biases.astype(float) + queries.astype(float) @ vectors.T.astype(float)
    allowed = np.flatnonzero(rng.random(size) < share)
    n = min(20, len(allowed))
    order, expected = best(scores[:, allowed], n)
    for isa in _core.available_isas():
        _core.use_isa(isa)
        segment = (
            CodeSegment.of(code_items(codes, gains, biases), 1.0)
            if kind == "codes"
            else VectorSegment.of(vector_items(vectors, biases), 1.0)
        )
        mask = segment.live & segment.mask(allowed)
        copied = segment.compact(mask, 1.0)
        assert segment.n_of(mask) == copied.n_items == len(allowed)
        for part, live in ((segment, mask), (copied, copied.live)):
            for some in (slice(None), slice(4, 5)):
                rows = vector_rows(queries[some], np.zeros(len(queries[some])))
                for n_threads in (1, 2):
                    found = part.search(live, rows, NOTHING, n, n_threads)
                    np.testing.assert_array_equal(found[0], allowed[order[some]])
                    np.testing.assert_array_equal(found[1], expected[some])


@given(seed=st.integers(0, 2**32), spread=st.sampled_from([0.0, 0.01, 1.0, 30.0]), tail=st.sampled_from([0, 3]))
@settings(max_examples=40, deadline=None)
def test_one_query_by_nibbles(seed, spread, tail):
    """Rounding to nibbles loses much, and cuts off what is far out; what may win is let through all the same."""
    rng = np.random.default_rng(seed)
    vectors = (rng.standard_normal((1500, 16)) * np.exp(tail * rng.standard_normal((1500, 16)))).astype(np.float32)
    items = vector_items(vectors, (rng.standard_normal(1500) * spread).astype(np.float32))
    before, _vector_segment._LARGE = _vector_segment._LARGE, 1
    segment = VectorSegment.of(items, 1.0)
    _vector_segment._LARGE = before
    assert len(segment.arrays["nibbles"])
    query = rng.standard_normal((1, 16)).astype(np.float32)
    scores = items.biases.astype(float) + query.astype(float) @ vectors.T.astype(float)
    for isa in _core.available_isas():
        _core.use_isa(isa)
        _, found = segment.search(segment.live, vector_rows(query, np.zeros(1)), NOTHING, 10, 1)
        np.testing.assert_allclose(found, best(scores, 10)[1], rtol=1e-5, atol=1e-5)
