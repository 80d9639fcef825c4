"""Vectors that are worked out when a search asks for them: those of `side_rows`, on every instruction set."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bitfm import Block, Blocks, _core
from bitfm.data import FeatureTable
from bitfm.data.columns.text import tfidf_table

N, WIDE = 150, 300  # items, and columns that need two bytes
IDF = 1 + np.arange(WIDE) / 7
TITLES = [" ".join(f"w{k * (i % 5) % WIDE}" for k in range(i % 9)) for i in range(N)]


@pytest.fixture(autouse=True)
def same_isa_after():
    before = _core.isa()
    yield
    _core.use_isa(before)


def tables(rng):
    """Return a table of each form that a file has: each with its tensors, as they are read."""
    words = sp.random(N, WIDE, 0.02, "csr", np.float32, random_state=1)
    found = {
        "words": FeatureTable.of("words", words),
        "tags": FeatureTable.of("tags", words).with_unit_rows(),
        "counts": FeatureTable.of("counts", (words * 100).ceil()),
        "title": tfidf_table(TITLES, {f"w{k}": k for k in range(WIDE)}, IDF),
        "author": FeatureTable.one_hot(rng.integers(-1, WIDE, N), WIDE),
        "year": FeatureTable.one_hot(rng.integers(-1, 10, N), 10),
        "place": FeatureTable.dense(rng.normal(size=(N, 3)).astype(np.float32)),
        "cover": FeatureTable.levels(rng.integers(-3, 4, (N, 5), np.int8), 0.37),
        "id": FeatureTable.eye(N),
    }
    told = [(t, IDF if name == "title" else None) for name, t in found.items() if name != "id"]
    files = [FeatureTable.from_tensors(*t.shape, t.tensors(weights), "", weights) for t, weights in told]
    assert sum(table.weights is not None for table in files) == 1
    return found, [*files, found["id"]]


def sums_of(files, codes, gains):
    sums = _core.ItemSums(codes, gains, N)
    for table in files:
        if table.identity:
            sums.add_identity(table.n_columns)
        elif table.singles is not None:
            sums.add_singles(table.n_columns, table.singles)
        elif table.weights is not None:
            sums.add_words(table.n_columns, table.indptr, table.indices, table.weights)
        elif table.is_dense:
            sums.add_dense(table.values, table.scale)
        else:
            sums.add_sparse(table.n_columns, table.indptr, table.indices, table.values)
    return sums


def features(n_bytes):
    rng = np.random.default_rng(n_bytes)
    fields, files = tables(rng)
    n = sum(table.n_columns for table in files)
    gains = rng.random(n, np.float32) * (rng.random(n) < 0.7)  # some have never occurred
    return fields, files, rng.integers(256, size=(n, n_bytes), dtype=np.uint8), gains


@pytest.mark.parametrize("n_bytes", [1, 3, 8, 9, 64])
def test_sums_are_the_vectors_of_the_rows(n_bytes):
    fields, files, codes, gains = features(n_bytes)
    X = Blocks(item=Block(np.arange(N), fields))
    weights = np.zeros(len(gains), np.float32)
    _, expected = _core.side_rows(X.design(np.float32), 0.0, weights, codes, gains, True, True, 1)
    rows = np.arange(N, dtype=np.int32)
    for isa in _core.available_isas():
        _core.use_isa(isa)
        sums = sums_of(files, codes, gains)
        np.testing.assert_array_equal(sums.vectors(rows).ravel(), expected)
        np.testing.assert_array_equal(sums.vectors(rows[[5, 3, 3]]), expected.reshape(N, -1)[[5, 3, 3]])
    np.testing.assert_array_equal(sums.n_terms(rows), np.diff(X.to_csr().indptr))
    assert not sums.vectors(np.array([-1, N], np.int32)).any()  # there are no such rows


@pytest.mark.parametrize("n_kept", [0, 1, 40, N])
def test_a_search_finds_the_same_by_sums(n_kept):
    rng = np.random.default_rng(n_kept)
    _, files, codes, gains = features(2)
    rows = np.arange(N, dtype=np.int32)
    vectors = sums_of(files, codes, gains).vectors(rows)
    biases, basis = rng.normal(size=N).astype(np.float32), np.eye(16)[:, :8].copy()
    arrays = _core.arrange_vectors(vectors, biases, rows, basis, 1.0, True)
    taken = np.zeros(len(arrays["position"]), bool)
    taken[rng.choice(N, n_kept, replace=False)] = True
    some = arrays | {
        "vectors": arrays["vectors"][taken],
        "kept": np.packbits(taken, bitorder="little").view(np.uint64),
        "kept_before": np.append(0, np.cumsum(taken.reshape(-1, 64).sum(axis=1)))[:-1].astype(np.int32),
    }
    queries, constants = rng.normal(size=(11, 16)).astype(np.float32), rng.normal(size=11)
    for isa in _core.available_isas():
        _core.use_isa(isa)
        whole, sums = _core.VectorCatalogue(arrays), sums_of(files, codes, gains)
        part = _core.VectorCatalogue(some, sums)
        part.check(N)
        for first, last in ((0, 11), (0, 1), (4, 5), (0, 11)):
            given = arrays["live"], queries[first:last], constants[first:last], None, None, 20, 2
            for a, b in zip(whole.search(*given), part.search(*given), strict=True):
                np.testing.assert_array_equal(a, b)
    shapes = {name: (dtype, tuple(shape)) for name, dtype, shape in _core.VectorCatalogue.shapes(3, 16, 8, 3, n_kept)}
    assert shapes == {name: (str(array.dtype), array.shape) for name, array in some.items()}


def test_vectors_that_are_not_kept_need_their_sums():
    _, files, codes, gains = features(2)
    rows = np.arange(N, dtype=np.int32)
    vectors = sums_of(files, codes, gains).vectors(rows)
    arrays = _core.arrange_vectors(vectors, np.zeros(N, np.float32), rows, np.eye(16), 1.0, False)
    none = {"vectors": arrays["vectors"][:0], "kept": np.zeros(3, np.uint64), "kept_before": np.zeros(3, np.int32)}
    with pytest.raises(ValueError, match="not all vectors are kept"):
        _core.VectorCatalogue(arrays | none)
    _, _, wide, _ = features(3)
    with pytest.raises(ValueError, match="other widths"):
        _core.VectorCatalogue(arrays | none, sums_of(files, wide, gains))
    with pytest.raises(ValueError, match=r"the fields have .* columns, but there are"):
        _core.VectorCatalogue(arrays | none, sums_of(files[:-1], codes, gains))
    sums = sums_of(files, codes, gains)
    _core.VectorCatalogue(arrays | none, sums).check(N)
    with pytest.raises(ValueError, match="in use"):
        sums.add_identity(N)
    with pytest.raises(ValueError, match="features of all items"):
        _core.VectorCatalogue(arrays | none, sums_of(files, codes, gains)).check(N + 1)
    wild = {"kept": np.array([1, 0, 0], np.uint64)}, {"kept_before": np.array([0, 1, 0], np.int32)}
    for other in wild:
        catalogue = _core.VectorCatalogue(arrays | none | other, sums)
        with pytest.raises(ValueError, match="'kept"):
            catalogue.check(N)
        found, _ = catalogue.search(arrays["live"], vectors[:2], np.zeros(2), None, None, 5, 1)  # and does no harm
        assert len(found) == 10


def test_wrong_fields_are_refused():
    codes, gains = np.zeros((4, 1), np.uint8), np.ones(4, np.float32)
    starts, columns, values = np.array([0, 1, 2, 4]), np.array([0, 1, 2, 3], np.int32), np.ones(4, np.float32)
    with pytest.raises(ValueError, match="one gain per feature"):
        _core.ItemSums(codes, gains[:3], 3)
    with pytest.raises(ValueError, match="finite"):
        _core.ItemSums(codes, np.full(4, np.nan, np.float32), 3)
    with pytest.raises(ValueError, match="number of rows"):
        _core.ItemSums(codes, gains, -1)
    sums = _core.ItemSums(codes, gains, 3)
    wrong = [
        (sums.add_identity, (4,)),
        (sums.add_identity, (-1,)),
        (sums.add_singles, (4, np.zeros(2, np.uint8))),
        (sums.add_singles, (4, np.array([0, 5, 0], np.uint8))),
        (sums.add_singles, (4, np.array([0, -1, 0]))),
        (sums.add_sparse, (4, starts[:3], columns, values)),
        (sums.add_sparse, (4, starts[::-1].copy(), columns, values)),
        (sums.add_sparse, (4, np.array([0, 3, 2, 4]), columns, values)),
        (sums.add_sparse, (4, np.array([0, 0, 0, 2**40]), columns, values)),
        (sums.add_sparse, (3, starts, columns, values)),
        (sums.add_sparse, (4, starts, -columns, values)),
        (sums.add_sparse, (4, starts, columns, values[:3])),
        (sums.add_sparse, (4, starts, columns, np.full(4, np.inf, np.float32))),
        (sums.add_words, (4, starts, columns, np.ones(3))),
        (sums.add_words, (4, starts, columns, np.array([1, 1, 0, 1.0]))),
        (sums.add_words, (4, starts, columns, np.array([1, 1, np.inf, 1.0]))),
        (sums.add_words, (3, starts, columns, np.ones(3))),
        (sums.add_dense, (np.zeros((2, 4), np.float32), 1.0)),
        (sums.add_dense, (np.zeros((3, 4), np.int8), np.inf)),
    ]
    for add, given in wrong:
        with pytest.raises(ValueError, match="field 0"):
            add(*given)
    for add, given in ((sums.add_singles, (4, np.zeros(3, np.float32))), (sums.add_sparse, (4, starts, columns, None))):
        with pytest.raises(TypeError):
            add(*given)
    sums.add_sparse(4, starts, columns, values)
    with pytest.raises(ValueError, match="no row 3"):
        sums.n_terms(np.array([3], np.int32))
