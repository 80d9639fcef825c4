"""Constants and vectors of a model's users or items: as the formula says, and the same on every instruction set."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bitfm import Block, Blocks, _core
from bitfm.core import unpack_codes


@pytest.fixture(autouse=True)
def same_isa_after():
    before = _core.isa()
    yield
    _core.use_isa(before)


def some_rows(rng, dtype, n_blocks):
    """Rows of ids and words, some of them without any word; and perhaps a second block."""
    counts = [0, 1, 2, 9, 300]
    columns = np.concatenate([rng.permutation(400)[:n] for n in counts])
    words = sp.csr_matrix(
        (rng.normal(size=len(columns)).astype(dtype), columns, np.cumsum([0, *counts])), (len(counts), 400)
    )
    rows = rng.integers(len(counts), size=23)
    blocks = {"item": Block(rows, {"id": sp.identity(len(counts), dtype), "words": words})}
    if n_blocks == 2:
        blocks["context"] = Block(rng.integers(4, size=23), {"id": sp.identity(4, dtype)})
    return Blocks(**blocks)


def expected(X, vectors, weights, across):
    x = X.to_csr().toarray().astype(float)
    sums, own = np.zeros((len(x), vectors.shape[1])), 0.5 + x @ weights.astype(float)
    of_blocks = {}
    for field in X.fields:
        at = slice(field.start, field.stop)
        of_blocks[field.block] = of_blocks.get(field.block, 0) + x[:, at] @ vectors[at]
    for block, q in of_blocks.items():
        own += np.sum(sums * q, axis=1)
        sums += q
        if not across:
            span = np.concatenate([np.arange(f.start, f.stop) for f in X.fields if f.block == block])
            own += (np.sum(q**2, axis=1) - (x[:, span] ** 2) @ np.sum(vectors[span] ** 2, axis=1)) / 2
    return own, sums


@pytest.mark.parametrize("n_blocks", [1, 2])
@pytest.mark.parametrize("across", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_bytes", [1, 3, 8, 9, 16])
def test_side_rows(n_bytes, dtype, across, n_blocks):
    rng = np.random.default_rng(n_bytes)
    X = some_rows(rng, dtype, n_blocks)
    design = X.design(dtype)
    codes = rng.integers(256, size=(X.n_features, n_bytes), dtype=np.uint8)
    gains, weights = rng.random(X.n_features, np.float32), rng.normal(size=X.n_features).astype(np.float32)
    found = []
    for isa in _core.available_isas():
        _core.use_isa(isa)
        found += [_core.side_rows(design, 0.5, weights, codes, gains, across, True, n_threads) for n_threads in (1, 3)]
        alone, none = _core.side_rows(design, 0.5, weights, codes, gains, across, False, 1)
        np.testing.assert_array_equal(alone, found[0][0])
        assert len(none) == 0
    for constants, vectors in found[1:]:
        np.testing.assert_array_equal(constants, found[0][0])
        np.testing.assert_array_equal(vectors, found[0][1])
    doubles = _core.side_rows(design, 0.5, weights.astype(np.float64), codes, gains, across, True, 1)
    np.testing.assert_array_equal(doubles[0], found[0][0])
    own, sums = expected(X, unpack_codes(codes) * gains[:, None].astype(float), weights, across)
    np.testing.assert_allclose(found[0][0], own, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found[0][1].reshape(sums.shape), sums, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": np.zeros(4, np.float32)}, "one weight per feature"),
        ({"gains": np.zeros(6, np.float32)}, "one gain per feature"),
        ({"codes": np.zeros((4, 8), np.uint8), "gains": np.zeros(4, np.float32)}, "one row of factors per feature"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change, message):
    X = Blocks(item=Block([0], {"id": sp.identity(5)}))
    given = {"weights": np.zeros(5, np.float32), "codes": np.zeros((5, 8), np.uint8), "gains": np.zeros(5, np.float32)}
    with pytest.raises(ValueError, match=message):
        _core.side_rows(X.design(np.float32), 0.0, **(given | change), across=True, vectors=True, n_threads=1)
