"""Small random problems, and the paper's formulas computed the long way, for tests to compare with."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from bitfm import Block, Blocks, DiscreteFM, FieldSpan
from bitfm.data.feature_table import FeatureTable

KINDS = ("bare", "context", "shared", "plain", "mixed", "dense")


def random_blocks(kind, values="real", n=40, seed=0):
    """Blocks of every shape a solver treats differently; values are "real", "integer" or "binary"."""
    rng = np.random.default_rng(seed)

    def table(rows, columns, density=0.4):
        mask = rng.random((rows, columns)) < density
        x = {
            "real": rng.normal(size=(rows, columns)),
            "integer": rng.integers(-2, 3, (rows, columns)).astype(float),
            "binary": np.ones((rows, columns)),
        }[values]
        return sp.csr_matrix(mask * x)

    def levels(rows, columns):
        low, high, scale = {"real": (-127, 128, 0.02), "integer": (-2, 3, 1), "binary": (0, 2, 1)}[values]
        return FeatureTable.levels(rng.integers(low, high, (rows, columns)).astype(np.int8), scale)

    def ids(rows):
        return {"id": sp.identity(rows, format="csr")}

    u, i, c = (rng.integers(m, size=n) for m in (6, 5, 3))
    if kind == "bare":
        return Blocks(user=Block(u, ids(6)), item=Block(i, ids(5)))
    if kind == "context":
        return Blocks(user=Block(u, ids(6)), item=Block(i, ids(5)), context=Block(c, ids(3)))
    if kind == "shared":
        return Blocks(user=Block(u, ids(6)), item=Block(i, ids(5) | {"words": table(5, 7), "genre": table(5, 2, 0.5)}))
    if kind == "plain":
        return Blocks(x=Block(np.arange(n), {"x": table(n, 9)}))
    if kind == "dense":
        return Blocks(
            user=Block(u, {"vector": levels(6, 3)}), event=Block(np.arange(n), {"x": levels(n, 4)}),
            item=Block(i, ids(5) | {"vector": levels(5, 9), "words": table(5, 6)}),
        )  # fmt: skip
    return Blocks(
        user=Block(u, ids(6) | {"history": table(6, 5)}), event=Block(np.arange(n), {"x": table(n, 4)}),
        item=Block(i, {"words": table(5, 6)}),
    )  # fmt: skip


def float64(X):
    """The same blocks with one table of float64, so that the core computes in it; its column is 0."""
    blocks = dict(X.blocks)
    name, block = next(iter(blocks.items()))
    blocks[name] = Block(block.rows, dict(block.tables) | {"none": np.zeros((block.n_rows, 1))})
    return Blocks(**blocks)


def block_of_feature(X):
    """The block each column belongs to."""
    names = list(X.blocks)
    return np.concatenate([np.full(f.size, names.index(f.block)) for f in X.fields])


def pair_mask(X, cross):
    """Which pairs i < j of features count."""
    n = X.n_features
    mask = np.triu(np.ones((n, n), bool), 1)
    block = block_of_feature(X)
    return mask & (block[:, None] != block[None, :]) if cross else mask


def scores(X, bias, weights, V, cross=False):
    """Eq. 1 with two loops' worth of arithmetic."""
    x = X.to_csr().toarray()
    pairs = np.where(pair_mask(X, cross), V @ V.T, 0)
    return bias + x @ weights + ((x @ pairs) * x).sum(axis=1)


def slopes(X, V, feature, cross=False):
    """h: the derivative of every score by the feature's values, interactions × rank."""
    x = X.to_csr().toarray()
    partner = np.ones(X.n_features, bool)
    partner[feature] = False
    if cross:
        partner &= block_of_feature(X) != block_of_feature(X)[feature]
    return x[:, [feature]] * (x[:, partner] @ V[partner])


def sweep_order(X, width, bare):
    """The order of updates: (feature, lanes) for each small problem a sweep solves."""
    lanes = [np.arange(width)] if bare else [np.arange(s, min(s + 8, width)) for s in range(0, width, 8)]
    return [(feature, group) for group in lanes for feature in range(X.n_features)]


def untrained(**sizes: int) -> DiscreteFM:
    """Return a model of bare ids, a block each, with random codes of 64 bits, gains and weights."""
    n, rng = sum(sizes.values()), np.random.default_rng(0)
    model = DiscreteFM(64)
    model.codes_ = rng.integers(256, size=(n, 8), dtype=np.uint8)
    model.gains_, model.weights_ = rng.random(n, np.float32), rng.standard_normal(n, np.float32)
    model.bias_, model.pairs_, model.n_features_in_ = 3.5, "across", n
    stops = np.cumsum([*sizes.values()])
    model.fields_ = tuple(
        FieldSpan(name, "id", int(stop) - size, int(stop))
        for (name, size), stop in zip(sizes.items(), stops, strict=True)
    )
    return model


def sweep_rows(codes, partners, rows, delegate, beta, passes):
    """Update codes of −1 and +1 in place by a Gram matrix per row (Eq. 5), in double precision; return the flips.

    ``rows`` is a CSR matrix: partners and targets of each row. Only bits that disagree with the sign of their b̂ are
    visited, in order, which gives the same codes.
    """
    flips = 0
    for i, b in enumerate(codes):
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        d = partners[rows.indices[begin:end]]
        gram = d.T @ d
        hat = rows.data[begin:end] @ d + beta * delegate[i] - gram @ b + gram.diagonal() * b
        for _ in range(passes):
            t, before = -1, flips
            while len(wrong := np.flatnonzero(hat[t + 1 :] * b[t + 1 :] < 0)):
                t += 1 + int(wrong[0])
                b[t] = -b[t]
                own = hat[t]
                hat -= (2 * b[t]) * gram[:, t]
                hat[t] = own
                flips += 1
            if flips == before:
                break
    return flips
