"""Scores of pairs from raw features: as the formula says, and the same on every instruction set."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bitfm import Block, Blocks, _core
from bitfm.core import unpack_codes
from bitfm.retrieval import records_of

N_PAIRS = 37


@pytest.fixture(autouse=True)
def same_isa_after():
    before = _core.isa()
    yield
    _core.use_isa(before)


def some_pairs(rng, dtype=np.float32, values="real"):
    """Two blocks: an id with a short field, and two fields of which some rows are long."""

    def table(n_rows, n_columns, lengths):
        columns = np.concatenate([rng.integers(n_columns, size=n) for n in lengths])
        x = rng.normal(size=len(columns)) if values == "real" else np.full(len(columns), 0.5)
        return sp.csr_matrix((x.astype(dtype), columns, np.cumsum([0, *lengths])), (n_rows, n_columns))

    users = {"id": sp.identity(9, dtype), "tags": table(9, 6, rng.integers(0, 7, 9))}
    items = {
        "words": table(8, 300, [0, 1, 7, 8, 9, 255, 256, 600]),
        "years": table(8, 20, [0, 30, 0, 12, 3, 8, 24, 40]),
    }
    rows = rng.integers(9, size=N_PAIRS), rng.integers(8, size=N_PAIRS)
    rows[0][5:12] = 3  # as when one user is asked about many items
    return Blocks(user=Block(rows[0], users), item=Block(rows[1], items))


def some_features(rng, X, n_bytes, gains):
    n = X.n_features
    codes = rng.integers(256, size=(n, n_bytes), dtype=np.uint8)
    weights = rng.normal(size=n).astype(np.float32)
    if gains == "own":
        return codes, weights, rng.random(n, np.float32)
    return codes, weights, np.repeat(np.float32([0.3, 0.2, 0.4, 0.1]), [field.size for field in X.fields])


def expected(X, vectors, weights, cross):
    """Score the long way."""
    x, v = X.to_csr().toarray().astype(float), vectors.astype(float)
    scores = 3.5 + x @ weights.astype(float)
    q = {}
    for field in X.fields:
        at = slice(field.start, field.stop)
        q[field.block] = q.get(field.block, 0) + x[:, at] @ v[at]
    scores += np.sum(q["user"] * q["item"], axis=1)
    if not cross:
        for block, of_block in q.items():
            spans = [np.arange(field.start, field.stop) for field in X.fields if field.block == block]
            own = np.concatenate(spans)
            scores += (np.sum(of_block**2, axis=1) - (x[:, own] ** 2) @ np.sum(v[own] ** 2, axis=1)) / 2
    return scores


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("cross", [True, False])
@pytest.mark.parametrize("values", ["real", "equal"])
@pytest.mark.parametrize("gains", ["own", "field"])
@pytest.mark.parametrize("n_bytes", [1, 3, 8, 9, 16, 64])
def test_codes(n_bytes, gains, values, cross, dtype):
    rng = np.random.default_rng(n_bytes)
    X = some_pairs(rng, dtype, values)
    design = X.design(dtype)
    codes, weights, own = some_features(rng, X, n_bytes, gains)
    records = records_of(codes, weights, own)
    scores = []
    for isa in _core.available_isas():
        _core.use_isa(isa)
        for n_threads in (1, 3):
            scores.append(_core.score_pairs(design, 3.5, weights, codes, own, cross, n_threads))
            scores.append(_core.score_pairs_by_records(design, 3.5, records, "codes", 8 * n_bytes, cross, n_threads))
    for other in scores[1:]:
        np.testing.assert_array_equal(scores[0], other)
    wanted = expected(X, unpack_codes(codes) * own[:, None], weights, cross)
    np.testing.assert_allclose(scores[0], wanted, rtol=1e-5, atol=1e-6 * np.abs(wanted).max() * np.sqrt(n_bytes))


@pytest.mark.parametrize("cross", [True, False])
@pytest.mark.parametrize("gains", ["own", "field"])
@pytest.mark.parametrize("n_bytes", [1, 3, 4, 8, 16])
def test_one_field_per_block(n_bytes, gains, cross):
    """Rows of one part are counted if all of their features count the same: beside others, and again and again."""
    rng = np.random.default_rng(n_bytes)

    def side(rows):
        lengths = [0, 1, 7, 8, 9, 16, 17, 56, 57, 100, 200, 255, 256]
        x = np.concatenate([np.full(n, 0.5) if i % 3 else rng.normal(size=n) for i, n in enumerate(lengths)])
        columns = rng.integers(300, size=sum(lengths))
        table = sp.csr_matrix((x.astype(np.float32), columns, np.cumsum([0, *lengths])), (len(lengths), 300))
        return Block(rows, {"words": table})

    def equal(rows):
        table = sp.csr_matrix(rng.random((7, 300)) < 0.3, dtype=np.float32)
        return Block(rows, {"tags": table})

    n = 301  # more than are handed out at a time, and rows that stay for more pairs than are multiplied at once
    X = Blocks(user=side(np.sort(rng.integers(13, size=n))), item=side(rng.integers(13, size=n)))
    Y = Blocks(user=equal(np.sort(rng.integers(7, size=n))), item=equal(rng.integers(7, size=n)))
    for blocks in (X, Y):
        codes = rng.integers(256, size=(600, n_bytes), dtype=np.uint8)
        weights = rng.normal(size=600).astype(np.float32)
        own = rng.random(600, np.float32) if gains == "own" else np.repeat(np.float32([0.3, 0.2]), 300)
        records = records_of(codes, weights, own)
        design = blocks.design(np.float32)
        scores = []
        for isa in _core.available_isas():
            _core.use_isa(isa)
            scores.append(_core.score_pairs(design, 3.5, weights, codes, own, cross, 2))
            scores.append(_core.score_pairs_by_records(design, 3.5, records, "codes", 8 * n_bytes, cross, 1))
        for other in scores[1:]:
            np.testing.assert_array_equal(scores[0], other)
        wanted = expected(blocks, unpack_codes(codes) * own[:, None], weights, cross)
        np.testing.assert_allclose(scores[0], wanted, rtol=1e-5, atol=1e-6 * np.abs(wanted).max() * np.sqrt(n_bytes))


@pytest.mark.parametrize("kind", ["reals", "bytes"])
@pytest.mark.parametrize("width", [64, 192])
@pytest.mark.parametrize("values", ["real", "equal"])
def test_numbers(kind, width, values):
    rng = np.random.default_rng(width)
    X = some_pairs(rng, values=values)
    scale = rng.random(X.n_features, np.float32)
    weights = rng.normal(size=X.n_features).astype(np.float32)
    if kind == "reals":
        numbers = rng.normal(size=(X.n_features, width)).astype(np.float32)
        vectors = numbers
    else:
        numbers = rng.integers(-127, 128, (X.n_features, width), dtype=np.int8)
        vectors = numbers * scale[:, None]
    design = X.design(np.float32)
    records = records_of(numbers, weights, scale)
    scores = []
    for isa in _core.available_isas():
        _core.use_isa(isa)
        scores.append(_core.score_pairs_by_records(design, 3.5, records, kind, width, True, 2))
        if kind == "reals":
            scores.append(_core.score_pairs_by_vectors(design, 3.5, weights, numbers, 2))
    for other in scores[1:]:
        np.testing.assert_array_equal(scores[0], other)
    wanted = expected(X, vectors, weights, True)
    np.testing.assert_allclose(scores[0], wanted, rtol=1e-5, atol=1e-6 * np.abs(wanted).max())


@pytest.mark.parametrize("n_blocks", [1, 2, 3])
@pytest.mark.parametrize("n_bytes", [1, 3, 4, 8, 16])
def test_ids(n_bytes, n_blocks):
    rng = np.random.default_rng(n_bytes)
    names = ("user", "item", "context")[:n_blocks]
    X = Blocks(**{name: Block(rng.integers(40, size=N_PAIRS), {"id": sp.identity(40)}) for name in names})
    design = X.design(np.float32)
    codes, weights, gains = some_features(rng, X, n_bytes, "own")
    vectors = np.zeros((X.n_features, 128), np.float32)
    vectors[:, : 8 * n_bytes] = unpack_codes(codes) * gains[:, None]
    records = records_of(codes, weights, gains)
    of_codes, of_vectors = [], []
    for isa in _core.available_isas():
        _core.use_isa(isa)
        of_codes.append(_core.score_pairs(design, 3.5, weights, codes, gains, True, 1))
        of_codes.append(_core.score_pairs_by_records(design, 3.5, records, "codes", 8 * n_bytes, False, 2))
        of_vectors.append(_core.score_pairs_by_vectors(design, 3.5, weights, vectors, 2))
    for scores in (of_codes, of_vectors):
        for other in scores[1:]:
            np.testing.assert_array_equal(scores[0], other)
    x, v = X.to_csr().toarray(), vectors.astype(float)
    wanted = 3.5 + x @ weights.astype(float) + (np.sum((x @ v) ** 2, axis=1) - x @ np.sum(v**2, axis=1)) / 2
    np.testing.assert_allclose(of_codes[0], wanted, rtol=1e-9)
    np.testing.assert_allclose(of_vectors[0], wanted, rtol=1e-5, atol=1e-5)


def test_no_pairs_no_features():
    X = Blocks(user=Block([], {"id": sp.identity(3)}), item=Block([], {"id": sp.identity(2)}))
    zeros = np.zeros((5, 8), np.uint8), np.zeros(5, np.float32)
    assert len(_core.score_pairs(X.design(np.float32), 1.0, zeros[1], zeros[0], zeros[1], True, 2)) == 0
    X = Blocks(user=Block([0], {"x": sp.csr_matrix((1, 3))}), item=Block([0], {"x": sp.csr_matrix((1, 2))}))
    assert _core.score_pairs(X.design(), 1.5, zeros[1], zeros[0], zeros[1], True, 2).tolist() == [1.5]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": np.zeros(4, np.float32)}, "one gain and one weight per feature"),
        ({"gains": np.zeros(6, np.float32)}, "one gain"),
        ({"codes": np.zeros((5, 0), np.uint8)}, "1 to 64 bytes"),
        ({"codes": np.zeros((4, 8), np.uint8), "gains": np.zeros(4, np.float32), "weights": np.zeros(4, np.float32)},
         "each of the 5 features"),
    ],
)  # fmt: skip
def test_tables_that_do_not_fit_are_refused(change, message):
    X = Blocks(user=Block([0], {"id": sp.identity(3)}), item=Block([1], {"id": sp.identity(2)}))
    arrays = {"weights": np.zeros(5, np.float32), "codes": np.zeros((5, 8), np.uint8), "gains": np.zeros(5, np.float32)}
    with pytest.raises(ValueError, match=message):
        _core.score_pairs(X.design(np.float32), 0.0, **(arrays | change), across=True, n_threads=1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "bits"}, "kind must be codes, reals or bytes, got bits"),
        ({"width": 0}, "width must be from 1"),
        ({"width": -8}, "width must be from 1"),
        ({"width": 63}, "codes need whole bytes"),
        ({"width": 72}, "a record needs room"),
        ({"kind": "bytes"}, "a record needs room"),
        ({"kind": "bytes", "width": 8}, "multiple of 64"),
        (
            {"kind": "reals", "width": 64, "records": np.zeros((5, 264), np.uint8), "across": False},
            "across blocks only",
        ),
        ({"records": np.zeros((4, 16), np.uint8)}, "each of the 5 features"),
        ({"records": np.zeros((5, 17), np.uint8)}, "a record needs room"),
    ],
)
def test_records_that_do_not_fit_are_refused(change, message):
    X = Blocks(user=Block([0], {"id": sp.identity(3)}), item=Block([1], {"id": sp.identity(2)}))
    given = {"records": np.zeros((5, 16), np.uint8), "kind": "codes", "width": 64, "across": True}
    with pytest.raises(ValueError, match=message):
        _core.score_pairs_by_records(X.design(np.float32), 0.0, **(given | change), n_threads=1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": np.zeros(4, np.float32)}, "one weight and one vector per feature"),
        ({"vectors": np.zeros((5, 8), np.float32)}, "multiple of 64"),
        (
            {"weights": np.zeros(4, np.float32), "vectors": np.zeros((4, 64), np.float32)},
            "each of the 5 features",
        ),
    ],
)
def test_vectors_that_do_not_fit_are_refused(change, message):
    X = Blocks(user=Block([0], {"id": sp.identity(3)}), item=Block([1], {"id": sp.identity(2)}))
    given = {"weights": np.zeros(5, np.float32), "vectors": np.zeros((5, 64), np.float32)}
    with pytest.raises(ValueError, match=message):
        _core.score_pairs_by_vectors(X.design(np.float32), 0.0, **(given | change), n_threads=1)
