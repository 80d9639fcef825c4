"""Distillation: Ω and every step towards it, against the same computed the long way."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from bitfm import Block, Blocks, _core
from bitfm.core import make_trainer, pack_signs, unpack_codes
from bitfm.data.feature_table import FeatureTable
from bitfm.models.solvers.teacher_distance import FeatureDistillation, RowDistillation, _above, _sample
from problems import KINDS, float64, random_blocks, scores

ACROSS = ("bare", "context", "shared", "mixed")  # two or three blocks; ids alone, or beside features


def teacher(X, rank=6, seed=0):
    return np.random.default_rng(seed).normal(size=(X.n_features, rank)).astype(np.float32) / 2


def some_rows_unused(kind, n=9, seed=0):
    """Blocks among whose rows some never occur."""
    X = random_blocks(kind, n=40, seed=seed)[:n]
    return Blocks(**X.blocks)


def vectors(distillation):
    return unpack_codes(distillation.codes).astype(float) * distillation.gains[:, None]


def rows_by_field(X, V):
    """Σ x v of every row in every field: a list a block, of arrays fields × rows × rank."""
    out, first = [], 0
    for block in X.blocks.values():
        parts = []
        for table in block.tables.values():
            parts.append(table.to_csr().toarray() @ V[first : first + table.n_columns])
            first += table.n_columns
        out.append(np.array(parts))
    return out


def distance(X, V, code_vectors, field_weight):
    """Ω by a loop over pairs of rows and one over pairs of fields."""
    total = 0.0
    blocks = list(X.blocks.values())
    sides = list(zip(blocks, rows_by_field(X, V), rows_by_field(X, code_vectors), strict=True))
    for (a, p, P), (b, q, Q) in itertools.combinations(sides, 2):
        for u, i in itertools.product(range(a.n_rows), range(b.n_rows)):
            weight = np.mean(a.rows == u) * np.mean(b.rows == i)
            errors = [p[f, u] @ q[g, i] - P[f, u] @ Q[g, i] for f in range(len(p)) for g in range(len(q))]
            total += weight * ((1 - field_weight) * sum(errors) ** 2 + field_weight * sum(e**2 for e in errors))
    return total


def place(distillation, codes, gains):
    """Give a RowDistillation other codes."""
    distillation.codes[...], distillation.gains[...] = codes, gains
    for side in distillation._blocks:
        for field in side.fields:
            side.update(field, distillation._code_vectors(field.table, field.features))
        side.__dict__.pop("moments", None)


def never_rises(values, tolerance=1e-5):
    return all(after <= before + tolerance * values[0] for before, after in itertools.pairwise(values))


# The objective


@pytest.mark.parametrize("field_weight", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("kind", ACROSS)
def test_the_distance_is_that_of_all_pairs_of_rows(kind, field_weight):
    X = some_rows_unused(kind)
    V = teacher(X)
    distillation = RowDistillation(X, V, 16, field_weight=field_weight, seed=3, n_threads=1)
    nothing = distance(X, V, np.zeros_like(V), field_weight)
    for _ in range(3):
        np.testing.assert_allclose(
            distillation.distance(),
            (distance(X, V, vectors(distillation), field_weight), nothing),
            rtol=1e-4,
            atol=1e-5,
        )
        assert distillation.objective() == pytest.approx(distillation.distance()[0] / nothing, rel=1e-5)
        distillation.sweep(5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_objective_of_single_features_is_that_of_all_their_pairs(kind):
    X = some_rows_unused(kind)
    V = teacher(X)
    weight = np.asarray(X.to_csr().power(2).mean(axis=0)).ravel()
    distillation = FeatureDistillation(X, V, 16, seed=3, n_threads=1)
    for _ in range(2):
        distillation.sweep(5)
        V_codes = vectors(distillation)
        pairs = np.outer(weight, weight) * (1 - np.eye(len(V)))
        expected = (pairs * (V @ V.T - V_codes @ V_codes.T) ** 2).sum() / (pairs * (V @ V.T) ** 2).sum()
        assert distillation.objective() == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("bits", [8, 24, 64, 128])
@pytest.mark.parametrize("kind", KINDS)
def test_no_sweep_raises_the_objective(kind, bits):
    for seed in range(3):
        X = random_blocks(kind, n=50, seed=seed)
        for make in (FeatureDistillation,) if kind == "plain" else (RowDistillation, FeatureDistillation):
            distillation = make(X, teacher(X, seed=seed), bits, seed=seed, n_threads=1)
            values = [distillation.objective()]
            for _ in range(6):
                distillation.sweep(2)
                values.append(distillation.objective())
            assert never_rises(values)
            assert values[-1] < values[0]


@pytest.mark.parametrize("kind", ACROSS)
def test_a_field_may_share_one_gain_and_no_sweep_raises_the_objective(kind):
    X = some_rows_unused(kind)
    distillation = RowDistillation(X, teacher(X), 16, shared_gains=True, seed=0, n_threads=1)
    values = [distillation.objective()]
    for _ in range(6):
        distillation.sweep(2)
        values.append(distillation.objective())
        for field in X.fields:
            gains, occurs = distillation.gains[field.start : field.stop], X.occurring()[field.start : field.stop]
            assert (gains[~occurs] == 0).all()
            assert len(np.unique(gains[occurs])) <= 1
    assert never_rises(values)
    assert values[-1] < values[0]
    for field in X.fields:  # the gain is the best for these codes
        for factor in (0.9, 1.1):
            V_codes = vectors(distillation)
            V_codes[field.start : field.stop] *= factor
            assert distance(X, teacher(X), V_codes, 0.3) >= distillation.distance()[0] * (1 - 1e-3)


@pytest.mark.parametrize("strength", [0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("kind", ACROSS)
def test_no_sweep_with_the_data_raises_loss_distance_and_ridge(kind, strength):
    for seed, bits in enumerate((8, 64, 128)):
        X = random_blocks(kind, n=50, seed=seed)
        rng = np.random.default_rng(seed)
        y, ridge = rng.normal(size=50) + 3, rng.uniform(0.1, 2, len(X.fields))
        distillation = RowDistillation(X, teacher(X, seed=seed), bits, seed=seed, n_threads=1)
        distillation.sweep(5)
        trainer = make_trainer(X.design(), y, None, across=True)
        w, bias = np.zeros(X.n_features, X.dtype), 3.0
        trainer.reset_codes(bias, w, distillation.codes, distillation.gains, 1)
        penalty = np.repeat(ridge, [f.size for f in X.fields])

        def objective():
            e = y - scores(X, bias, w.astype(float), vectors(distillation), cross=True)  # noqa: B023
            return (e**2).sum() + strength * 50 * distillation.distance()[0] + (penalty * w**2).sum()  # noqa: B023

        values = [objective()]
        for _ in range(3):
            bias = trainer.sweep_weights(bias, w, ridge, True, 1)
            values.append(objective())
            distillation.sweep_with_data(trainer, strength, 3)
            values.append(objective())
        assert never_rises(values)


@pytest.mark.parametrize("kind", ACROSS)
def test_the_scales_predict_other_interactions_best(kind):
    """Also where those have rows of their own, as in a plain matrix."""
    X, rng, spread = random_blocks(kind, n=90), np.random.default_rng(0), 0.3
    distillation = RowDistillation(X[:50], teacher(X), 16, seed=0, n_threads=1)
    distillation.sweep(5)
    unseen, residual = X[50:], rng.normal(size=40)
    scales = distillation.fit_scales(unseen, residual, spread=spread)
    sizes = [f.size for f in X.fields]

    def cost(scales):
        predicted = scores(
            unseen, 0.0, np.zeros(X.n_features), vectors(distillation) * np.repeat(scales, sizes)[:, None], True
        )
        return ((residual - predicted) ** 2).sum() + np.mean(residual**2) / spread**2 * ((scales - 1) ** 2).sum()

    assert (scales >= 0).all()
    assert cost(scales) < cost(np.ones(len(sizes)))
    for f, step in itertools.product(range(len(sizes)), (-0.02, 0.02)):
        other = scales.copy()
        other[f] = max(0, other[f] + step)
        assert cost(scales) <= cost(other) + 1e-4


def test_of_very_many_fields_the_weakest_share_a_scale():
    rng, n_fields = np.random.default_rng(0), 40
    rows = {"user": rng.integers(9, size=60), "item": rng.integers(7, size=60)}
    many = {f"c{f}": FeatureTable.one_hot(rng.integers(3, size=7), 3) for f in range(n_fields)}
    X = Blocks(user=Block(rows["user"], {"id": FeatureTable.eye(9)}), item=Block(rows["item"], many))
    V = rng.normal(size=(X.n_features, 8)).astype(np.float32)
    V[9:] *= np.repeat(np.arange(n_fields, 0, -1), 3)[:, None].astype(np.float32)  # the first are the strongest
    distillation = RowDistillation(X, V, 16, seed=0, n_threads=1)
    before = distillation.objective()
    distillation.sweep(5)
    assert distillation.objective() < before
    total = sum(field.code_vectors[:] for field in distillation._blocks[1].fields)
    np.testing.assert_allclose(distillation._blocks[1].code_vectors(slice(None)), total, rtol=1e-4, atol=1e-3)
    predicted = scores(X, 0.0, np.zeros(X.n_features), vectors(distillation), True)
    scales = distillation.fit_scales(X, 0.5 * predicted + rng.normal(size=60), spread=0.3)
    assert scales.shape == (1 + n_fields,)
    shared = np.flatnonzero(scales[1:] == scales[-1])
    assert len(shared) == n_fields - 15
    assert len(np.unique(scales[1:])) == 16
    assert shared.mean() > n_fields / 2


# Single steps


def one_step(bits, rng, passes=1000, scale=1.0, keep=False, most=np.inf):
    """A feature in one row: its problem's H and a, code and gain, before a step and after."""
    Q = rng.normal(size=(12, bits)) * scale
    hessian = (Q.T @ Q / 12).astype(np.float32)
    a = rng.normal(size=bits) * scale**2 * rng.choice([0.1, 1, 10])
    codes, gains = pack_signs(rng.normal(size=(1, bits))), rng.uniform(0.1, 2, 1).astype(np.float32)
    start = unpack_codes(codes)[0].astype(float), float(gains[0])
    error = (a - start[1] * hessian @ start[0]).astype(np.float32)[None]
    weight = rng.uniform(0.1, 3, 1).astype(np.float32)
    flips = _core.distill_field(codes, gains, error, hessian, weight, None, None, None, passes, keep, 1, most)
    end = unpack_codes(codes)[0].astype(float), float(gains[0])
    return hessian.astype(float), a, start, end, error[0], flips


@pytest.mark.parametrize("seed", range(30))
def test_a_step_ends_in_a_local_minimum(seed):
    rng = np.random.default_rng(seed)
    H, a, start, (b, gain), error, flips = one_step(8, rng, scale=rng.choice([1e-3, 1.0, 1e3]))

    def value(code, gain):
        return gain**2 * code @ H @ code - 2 * gain * code @ a

    unit = np.abs(a).sum() ** 2 / H.trace()
    assert value(b, gain) <= min(value(*start), 0) + 1e-5 * unit
    assert gain == pytest.approx(max(0, b @ a / (b @ H @ b)), rel=1e-4)
    for near in (b, *(b * (1 - 2 * np.eye(8)[t]) for t in range(8))):
        assert value(b, gain) <= value(near, gain) + 1e-5 * unit
    for other in gain * np.array([0, 0.5, 0.9, 1.1, 2]):
        assert value(b, gain) <= value(b, other) + 1e-5 * unit
    codes = np.array(list(itertools.product([-1.0, 1.0], repeat=8)))
    along, curve = codes @ a, np.einsum("ij,jk,ik->i", codes, H, codes)
    least = -(np.maximum(along, 0) ** 2 / curve).max()
    assert least - 1e-5 * unit <= value(b, gain)
    assert flips >= (b != start[0]).sum()
    np.testing.assert_allclose(error, a - gain * H @ b, atol=1e-5 * (np.abs(a).max() + H.trace()))


@pytest.mark.parametrize("seed", range(10))
def test_a_gain_goes_as_far_as_it_may(seed):
    best = one_step(8, np.random.default_rng(seed))[3][1]
    for most in (best / 2, best * 2):
        H, a, _, (b, gain), error, _ = one_step(8, np.random.default_rng(seed), most=most)
        assert gain == pytest.approx(np.clip(b @ a / (b @ H @ b), 0, most), rel=1e-4)
        np.testing.assert_allclose(error, a - gain * H @ b, atol=1e-4)


@pytest.mark.parametrize("seed", range(10))
def test_a_step_that_keeps_the_gain_ends_in_a_local_minimum_for_it(seed):
    H, a, start, (b, gain), error, flips = one_step(8, np.random.default_rng(seed), keep=True)

    def value(code):
        return gain**2 * code @ H @ code - 2 * gain * code @ a

    assert gain == start[1]
    for other in (start[0], *(b * (1 - 2 * np.eye(8)[t]) for t in range(8))):
        assert value(b) <= value(other) + 1e-4
    assert flips >= (b != start[0]).sum()
    np.testing.assert_allclose(error, a - gain * H @ b, atol=1e-4)


def test_a_gain_of_nothing_that_is_kept_keeps_the_code():
    rng = np.random.default_rng(0)
    codes, gains = pack_signs(rng.normal(size=(3, 16))), np.zeros(3, np.float32)
    before, error = codes.copy(), rng.normal(size=(3, 16)).astype(np.float32)
    H, weight = np.eye(16, dtype=np.float32), np.ones(3, np.float32)
    assert _core.distill_field(codes, gains, error, H, weight, None, None, None, 5, True, 1) == 0
    np.testing.assert_array_equal(codes, before)
    assert (gains == 0).all()


@pytest.mark.parametrize("bits", [8, 40, 512])
def test_a_step_from_no_gain_starts_from_the_signs_wanted(bits):
    rng = np.random.default_rng(bits)
    a = rng.normal(size=bits).astype(np.float32)
    codes, gains = pack_signs(-a[None]), np.zeros(1, np.float32)
    H, weight, error = np.eye(bits, dtype=np.float32), np.ones(1, np.float32), a[None].copy()
    assert _core.distill_field(codes, gains, error, H, weight, None, None, None, 5, False, 1) == bits
    np.testing.assert_array_equal(codes, pack_signs(a[None]))
    assert gains[0] == pytest.approx(np.abs(a).mean(), rel=1e-5)


def field_problem(bits, seed, n_rows=12, n_columns=9):
    """A field of several features a row, with columns and rows that are empty or do not count."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.4)
    x[:, 4], x[5] = 0, 0
    weight = rng.random(n_rows).astype(np.float32)
    weight[[1, 7]] = 0
    Q = rng.normal(size=(20, bits)) / 3
    hessian = (Q.T @ Q / 20).astype(np.float32)
    codes = pack_signs(rng.normal(size=(n_columns, bits)))
    return x.astype(np.float32), weight, hessian, codes, rng.random(n_columns).astype(np.float32), rng


def columns(x):
    rows = [np.flatnonzero(x[:, j]).astype(np.int32) for j in range(x.shape[1])]
    start = np.cumsum([0, *(len(r) for r in rows)]).astype(np.int64)
    return start, np.concatenate(rows), np.concatenate([x[r, j] for j, r in enumerate(rows)])


@pytest.mark.parametrize("bits", [8, 64, 128])
@pytest.mark.parametrize("seed", range(3))
def test_each_feature_of_a_field_lowers_it_and_keeps_the_errors_up_to_date(bits, seed):
    x, weight, H, codes, gains, rng = field_problem(bits, seed)
    wanted = rng.normal(size=(len(x), bits)) / 3

    def code_vectors():
        return x.astype(float) @ (unpack_codes(codes) * gains[:, None])

    def value():
        P = code_vectors()
        return (weight * (np.einsum("nk,kl,nl->n", P, H, P) - 2 * (P * wanted).sum(axis=1))).sum()

    error = (wanted - code_vectors() @ H).astype(np.float32)
    whole = codes.copy(), gains.copy(), error.copy()
    _core.distill_field(*whole, H, weight, *columns(x), 3, False, 1)
    values = [value()]
    for j in range(x.shape[1]):
        one = slice(j, j + 1)
        _core.distill_field(codes[one], gains[one], error, H, weight, *columns(x[:, one]), 3, False, 1)
        values.append(value())
        if j != 4:  # a column that is empty loses its gain, and is in no row's sum
            np.testing.assert_allclose(error, wanted - code_vectors() @ H, atol=1e-4)
    assert all(after <= before + 1e-5 for before, after in itertools.pairwise(values))
    assert gains[4] == 0
    for got, alone in zip(whole, (codes, gains, error), strict=True):
        np.testing.assert_array_equal(got, alone)


@pytest.mark.parametrize("kind", [*ACROSS, "double"])
def test_a_sweep_with_the_data_keeps_residuals_and_errors_and_ends_in_a_local_minimum(kind):
    X, strength, bits = float64(random_blocks("bare", n=60)) if kind == "double" else random_blocks(kind, n=60), 2.0, 8
    rng = np.random.default_rng(1)
    y = rng.normal(size=60)
    distillation = RowDistillation(X, teacher(X), bits, seed=0, n_threads=1)
    distillation.sweep(5)
    trainer, w = make_trainer(X.design(), y, None, across=True), rng.normal(size=X.n_features).astype(X.dtype)
    trainer.reset_codes(0.5, w, distillation.codes, distillation.gains, 1)
    assert distillation.sweep_with_data(trainer, strength, 1000) > 0
    kept, again = trainer, make_trainer(X.design(), y, None, across=True)
    again.reset_codes(0.5, w, distillation.codes, distillation.gains, 1)
    assert kept.loss(1) == pytest.approx(again.loss(1), rel=1e-4)
    sweeps = [(t, w.copy()) for t in (kept, again)]
    biases = [t.sweep_weights(0.5, weights, np.ones(len(X.fields)), True, 1) for t, weights in sweeps]
    assert biases[0] == pytest.approx(biases[1], abs=1e-4)
    np.testing.assert_allclose(sweeps[0][1], sweeps[1][1], atol=1e-4)

    def objective(codes):
        V_codes = unpack_codes(codes).astype(float) * distillation.gains[:, None]
        e = y - scores(X, 0.5, w.astype(float), V_codes, cross=True)
        return (e**2).sum() + strength * 60 * distance(X, teacher(X), V_codes, 0.3)

    least, last = objective(distillation.codes), X.n_features - 1  # nothing was moved after the last feature
    for t in range(bits):
        near = distillation.codes.copy()
        near[last] ^= 1 << t
        assert least <= objective(near) + 1e-3


# Teachers that codes can say exactly


@pytest.mark.parametrize("bits", [8, 64])
@pytest.mark.parametrize("kind", KINDS)
def test_codes_reproduce_a_teacher_made_of_codes(kind, bits):
    X = random_blocks(kind, n=60)
    rng = np.random.default_rng(2)
    codes = pack_signs(rng.normal(size=(X.n_features, bits)))
    gains = rng.uniform(0.2, 1, X.n_features).astype(np.float32) * X.occurring()
    V = unpack_codes(codes) * gains[:, None]
    make = FeatureDistillation if kind == "plain" else RowDistillation
    distillation = make(X, V, bits, seed=0, n_threads=1)
    if kind == "plain":
        distillation.codes[...], distillation.gains[...] = codes, gains
    else:
        place(distillation, codes, gains)
    assert distillation.objective() < 1e-5
    assert distillation.sweep(5) == 0
    np.testing.assert_allclose(distillation.gains, gains, rtol=1e-2, atol=1e-4)
    # Of a teacher in one direction the first codes are right.
    line = (rng.choice([-1, 1], X.n_features) * gains).astype(np.float32)
    distillation = make(X, line[:, None], bits, seed=0, n_threads=1)
    distillation.sweep(5)
    assert distillation.objective() < 1e-5
    np.testing.assert_allclose(vectors(distillation) @ vectors(distillation).T, np.outer(line, line), atol=2e-3)


# Long rows


def one_long_row(n, rank=8, n_items=50):
    """A user who has had n items, of which nobody else has had any."""
    history = FeatureTable.unit_rows(np.zeros(n, int), np.arange(n), (1, n))
    X = Blocks(
        user=Block(np.zeros(n_items, int), {"history": history}),
        item=Block(np.arange(n_items), {"id": FeatureTable.eye(n_items)}),
    )
    return X, teacher(X, rank)


def test_no_feature_of_a_long_row_makes_up_for_all_others():
    X, V = one_long_row(6000)
    distillation = RowDistillation(X, V, 64, seed=0, n_threads=1)
    history, values = distillation.gains[:6000], [distillation.objective()]
    longest = history.max()
    for _ in range(3):
        distillation.sweep(5)
        values.append(distillation.objective())
    assert all(after <= before + 1e-6 for before, after in itertools.pairwise(values))
    assert values[-1] < 1e-5 < values[0]
    assert history.max() <= 4 * longest * (1 + 1e-6)


@pytest.mark.parametrize("bits", [8, 64, 512])
def test_steps_of_long_rows_are_by_a_positive_definite_matrix(bits):
    rng = np.random.default_rng(0)
    Q = rng.normal(size=bits) + rng.normal(0, 1e-6, size=(3000, bits))  # nearly all in one direction
    H = np.asarray(Q.T @ Q / 3000, np.float32)
    above = _above(H).astype(float)
    assert np.linalg.eigvalsh(above)[0] > 0
    assert np.linalg.eigvalsh(above - H)[0] >= 0
    np.testing.assert_allclose(above, H, rtol=bits * 1e-6)


def test_contexts_are_sampled_and_ids_are_not():
    rng = np.random.default_rng(0)
    words = sp.csr_matrix((rng.random((500, 6)) < 0.3).astype(np.float32))
    contexts, ids = Block(rng.integers(500, size=900), {"words": words}), Block(np.arange(500), {"id": np.eye(500)})
    some = _sample(contexts, 100, 0)
    assert len(some.rows) == 100 >= some.n_rows
    expected = np.asarray(words[contexts.rows].mean(axis=0)).ravel()
    found = np.asarray(some.tables["words"].to_csr()[some.rows].mean(axis=0)).ravel()
    np.testing.assert_allclose(found, expected, atol=0.2)
    for block, most in ((ids, 100), (contexts, None), (contexts, 500)):
        assert _sample(block, most, 0) is block
