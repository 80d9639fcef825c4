"""Other libraries find the same neighbours where the model is bare codes."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp

from bitfm import BitfmError, Block, Blocks, DiscreteFM
from problems import random_blocks

N_USERS, N_ITEMS = 25, 300


@pytest.fixture(scope="module")
def bare():
    """A model whose scores are inner products of codes: gains of 1, and no weights."""
    rng = np.random.default_rng(0)
    X = Blocks(
        user=Block(rng.integers(N_USERS, size=400), {"id": sp.identity(N_USERS)}),
        item=Block(rng.integers(N_ITEMS, size=400), {"id": sp.identity(N_ITEMS)}),
    )
    model = DiscreteFM(64, max_iter=0, init_iter=1).fit(X, rng.normal(size=400))
    model.codes_ = rng.integers(0, 256, (X.n_features, 8), dtype=np.uint8)
    model.gains_, model.weights_, model.bias_ = np.ones(X.n_features, np.float32), np.zeros(X.n_features), 0.0
    return model


def distances(model, users, positions):
    """Hamming distances between users and the items at positions."""
    codes = np.asarray(model.codes_)
    different = codes[users][:, None] ^ codes[N_USERS:][positions]
    return np.unpackbits(different, axis=2).sum(axis=2)


def test_faiss_finds_the_same(bare):
    pytest.importorskip("faiss")
    index = bare.index()
    index.remove([5, 6])
    index.add([5])
    users = np.arange(N_USERS)
    positions, scores = index.search(users)
    theirs, ids = index.to_faiss_binary().search(np.asarray(bare.codes_)[:N_USERS], 10)
    np.testing.assert_array_equal(64 - 2 * theirs, scores)
    item_of = np.append(np.arange(N_ITEMS), 5)
    np.testing.assert_array_equal(distances(bare, users, item_of[ids]), theirs)
    np.testing.assert_array_equal(distances(bare, users, item_of[positions]), theirs)
    assert not np.isin(ids, [5, 6]).any()


def test_usearch_finds_the_same(bare):
    pytest.importorskip("usearch")
    index = bare.index()
    users = np.arange(N_USERS)
    _, scores = index.search(users)
    matches = index.to_usearch().search(np.asarray(bare.codes_)[:N_USERS], 10, exact=True)
    np.testing.assert_array_equal(64 - 2 * matches.distances, scores)
    np.testing.assert_array_equal(distances(bare, users, matches.keys.astype(int)), matches.distances)


def test_what_has_no_codes_is_refused(bare, monkeypatch):
    X = random_blocks("shared")
    model = DiscreteFM(16, max_iter=1, init_iter=1).fit(X, np.arange(len(X), dtype=float))
    index = model.index(X.blocks["item"])
    for export in (index.to_faiss_binary, index.to_usearch):
        with pytest.raises(ValueError, match="have no codes"):
            export()
    for name, export in (("faiss", bare.index().to_faiss_binary), ("usearch", bare.index().to_usearch)):
        monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.setitem(sys.modules, f"{name}.index", None)
        with pytest.raises(BitfmError, match=rf"pip install 'bitfm\[{name}\]'"):
            export()
