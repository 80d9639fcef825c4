"""The B-subproblem: every bit update is what flipping the bit and recomputing Eq. 4 says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitfm import _core
from bitfm.core import make_trainer, pack_signs, unpack_codes
from problems import KINDS, pair_mask, random_blocks, scores, sweep_order, sweep_rows


def objective_of(X, y, bias, weights, D, beta, cross):
    """Return Eq. 4 as a function of B, without the constant α term."""
    x, counts = X.to_csr().toarray(), pair_mask(X, cross)
    rest = y - bias - x @ weights

    def objective(B):
        pairs = ((x @ np.where(counts, B @ B.T, 0)) * x).sum(axis=1)
        return ((rest - pairs) ** 2).sum() - 2 * beta * (B * D).sum()

    return objective


def brute_force_sweep(X, y, bias, weights, B, D, beta, passes, cross, bare):
    """Visit the bits in the solver's order; flip where that lowers Eq. 4, keep on a tie."""
    B, objective = B.copy(), objective_of(X, y, bias, weights, D, beta, cross)
    now = objective(B)
    for feature, lanes in sweep_order(X, B.shape[1], bare):
        for _ in range(passes):
            changed = False
            for t in lanes:
                B[feature, t] *= -1
                flipped = objective(B)
                if flipped < now - 1e-9 * max(1, abs(now)):
                    changed, now = True, flipped
                else:
                    B[feature, t] *= -1
            if not changed:
                break
    return B


def problem(kind, values, seed, bits=8):
    rng = np.random.default_rng(seed)
    X = random_blocks(kind, values, n=25, seed=seed)
    n = X.n_features
    real = values == "real"
    y = rng.normal(scale=bits, size=len(X)) if real else rng.integers(-2 * bits, 2 * bits, len(X)).astype(float)
    weights = rng.normal(size=n) if real else rng.integers(-3, 4, n).astype(float)
    B = rng.choice([-1.0, 1.0], (n, bits))
    D = (rng.normal(size=(n, bits)) if real else rng.integers(-2, 3, (n, bits))).astype(np.float32)
    return X, y, weights, B, D


@pytest.mark.parametrize("cross", [False, True], ids=["all", "across"])
@pytest.mark.parametrize("values", ["real", "integer", "binary"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_sweep_equals_brute_force(kind, values, cross):
    for seed in range(3):
        check_sweep(kind, values, cross, seed, bits=16 if seed == 0 else 8, beta=[0.0, 1.0, 5.0][seed], passes=1 + seed)


@settings(deadline=None, max_examples=30)
@given(
    kind=st.sampled_from(KINDS), values=st.sampled_from(["real", "integer", "binary"]), cross=st.booleans(),
    seed=st.integers(3, 2**32 - 1), bits=st.sampled_from([8, 16]), beta=st.sampled_from([0.0, 1.0, 5.0]),
    passes=st.integers(1, 3),
)  # fmt: skip
def test_any_sweep_equals_brute_force(kind, values, cross, seed, bits, beta, passes):
    check_sweep(kind, values, cross, seed, bits, beta, passes)


def check_sweep(kind, values, cross, seed, bits, beta, passes):
    X, y, weights, B, D = problem(kind, values, seed, bits)
    bias = 1.0 if values != "real" else 0.3
    dtype = X.dtype
    trainer = make_trainer(X.design(), y, None, across=cross)
    codes = pack_signs(B)
    # bare ids compute in float32: give brute force the same numbers
    y, weights = y.astype(dtype).astype(float), weights.astype(dtype)
    trainer.reset_codes(bias, weights, codes, None, 1)
    flips = trainer.sweep_codes(codes, D, beta, passes, 1)
    expected = brute_force_sweep(X, y, bias, weights.astype(float), B, D, beta, passes, cross, kind == "bare")
    np.testing.assert_array_equal(unpack_codes(codes), expected)
    assert flips >= (expected != B).sum()
    # and the residuals are those of the new codes
    loss = ((y - scores(X, bias, weights.astype(float), expected, cross)) ** 2).sum()
    assert trainer.loss(1) == pytest.approx(loss, rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_tie_keeps_the_bit(kind):
    X = random_blocks(kind, "binary")
    n = X.n_features
    codes = np.random.default_rng(3).integers(0, 256, (n, 1), np.uint8)
    y = scores(X, 0.0, np.zeros(n), unpack_codes(codes).astype(float))
    # Where a feature is alone and D is 0, every b̂ is 0.
    lonely = X[:0]
    trainer = make_trainer(lonely.design(), np.zeros(0), None, across=False)
    trainer.reset_codes(0.0, np.zeros(n, X.dtype), codes, None, 1)
    before = codes.copy()
    assert trainer.sweep_codes(codes, np.zeros((n, 8), np.float32), 1.0, 5, 1) == 0
    np.testing.assert_array_equal(codes, before)
    # Where the codes fit exactly, no flip can lower the loss.
    trainer = make_trainer(X.design(), y, None, across=False)
    trainer.reset_codes(0.0, np.zeros(n, X.dtype), codes, None, 1)
    assert trainer.sweep_codes(codes, np.zeros((n, 8), np.float32), 1.0, 5, 1) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_reset_forgets_what_sweeps_have_left(kind):
    X, y, weights, B, D = problem(kind, "binary", 5)
    weights = weights.astype(X.dtype)
    trainer, fresh = (make_trainer(X.design(), y, None, across=False) for _ in range(2))
    codes = pack_signs(B)
    trainer.reset_codes(0.0, weights, codes, None, 1)
    trainer.sweep_codes(codes.copy(), D, 1.0, 5, 1)
    for t in (trainer, fresh):
        t.reset_codes(0.0, weights, codes, None, 1)
    assert trainer.loss(1) == fresh.loss(1)
    swept, swept_fresh = codes.copy(), codes.copy()
    trainer.sweep_codes(swept, D, 1.0, 5, 1)
    fresh.sweep_codes(swept_fresh, D, 1.0, 5, 1)
    np.testing.assert_array_equal(swept, swept_fresh)


@pytest.mark.parametrize("bits", [8, 24, 64, 72, 128, 200, 256, 512])
@pytest.mark.parametrize("scale", [1.0, 30_000.0], ids=["fixed point", "exact only"])
def test_bare_ids_follow_discrete_collaborative_filtering(bits, scale):
    """One user and one item field: DCF's update, a Gram matrix a row, at every width and at any size of targets."""
    import scipy.sparse as sp

    rng = np.random.default_rng(bits)
    n_users, n_items, n = 60, 40, 1500
    pairs = rng.choice(n_users * n_items, n, replace=False)
    u, i = np.divmod(pairs, n_items)
    X = random_bare(u, i, n_users, n_items)
    y = np.rint(rng.normal(size=n) * bits * 64) / 64 * scale
    D = (np.rint(rng.normal(size=(n_users + n_items, bits)) * 64) / 64).astype(np.float32)
    codes = rng.integers(0, 256, (n_users + n_items, bits // 8), np.uint8)
    signs = unpack_codes(codes).astype(float)
    of_users, of_items = signs[:n_users], signs[n_users:]
    by_user = sp.csr_matrix((y, (u, i)), shape=(n_users, n_items))
    trainer = make_trainer(X.design(), y, None, across=False)
    trainer.reset_codes(0.0, np.zeros(n_users + n_items, np.float32), codes, None, 1)
    for _ in range(3):
        flips = trainer.sweep_codes(codes, D, 10.0, 5, 2)
        expected = sweep_rows(of_users, of_items, by_user, D[:n_users], 10.0, 5)
        expected += sweep_rows(of_items, of_users, sp.csr_matrix(by_user.T), D[n_users:], 10.0, 5)
        assert flips == expected
        np.testing.assert_array_equal(unpack_codes(codes), signs)


def random_bare(u, i, n_users, n_items):
    from bitfm import Block, Blocks
    from bitfm.data.feature_table import FeatureTable

    return Blocks(user=Block(u, {"id": FeatureTable.eye(n_users)}), item=Block(i, {"id": FeatureTable.eye(n_items)}))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("isa", _core.available_isas())
def test_every_instruction_set_finds_the_same_codes(kind, isa):
    used = _core.isa()
    X, y, weights, B, D = problem(kind, "real", 11, bits=64)
    results = []
    try:
        for name in ("portable", isa):
            _core.use_isa(name)
            trainer = make_trainer(X.design(), y, None, across=False)
            codes = pack_signs(B)
            trainer.reset_codes(0.2, weights.astype(X.dtype), codes, None, 1)
            for _ in range(3):
                trainer.sweep_codes(codes, D, 2.0, 5, 1)
            results.append((codes, trainer.loss(1)))
    finally:
        _core.use_isa(used)
    np.testing.assert_array_equal(results[0][0], results[1][0])
    assert results[0][1] == results[1][1]


def test_long_rows_are_exact_on_every_instruction_set():
    """A user with thousands of ratings: sums that overflow 16 and 8 bits many times over."""
    import scipy.sparse as sp

    rng = np.random.default_rng(5)
    n_users, n_items, bits = 3, 9000, 64
    u, i = np.repeat(np.arange(n_users), n_items), np.tile(np.arange(n_items), n_users)
    y = rng.integers(-128, 129, len(u)).astype(float)
    D = rng.integers(-3, 4, (n_users + n_items, bits)).astype(np.float32)
    start = rng.integers(0, 256, (n_users + n_items, bits // 8), np.uint8)
    signs = unpack_codes(start).astype(float)
    by_user = sp.csr_matrix((y, (u, i)), shape=(n_users, n_items))
    sweep_rows(signs[:n_users], signs[n_users:], by_user, D[:n_users], 10.0, 5)
    sweep_rows(signs[n_users:], signs[:n_users], sp.csr_matrix(by_user.T), D[n_users:], 10.0, 5)
    used = _core.isa()
    try:
        for isa in _core.available_isas():
            _core.use_isa(isa)
            codes = start.copy()
            trainer = make_trainer(random_bare(u, i, n_users, n_items).design(), y, None, across=False)
            trainer.reset_codes(0.0, np.zeros(n_users + n_items, np.float32), codes, None, 2)
            trainer.sweep_codes(codes, D, 10.0, 5, 2)
            np.testing.assert_array_equal(unpack_codes(codes), signs)
    finally:
        _core.use_isa(used)
