"""What codes are taught: a machine of bounded size, and of its draws what they agree on."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from bitfm import FM, Block, Blocks
from bitfm.data.feature_table import FeatureTable
from bitfm.models.solvers import teacher as teachers
from bitfm.models.solvers.gibbs import Samples, from_features
from bitfm.models.solvers.teacher import (
    _factors_of,
    default_teacher,
    teacher_by_descent,
    teacher_by_draws,
    teacher_parameters,
)
from problems import random_blocks, scores

pytestmark = pytest.mark.true_teacher


def test_the_default_teacher_is_the_default_machine_and_a_trial_has_half_of_it():
    chosen = FM(16, solver="gibbs").get_params()
    assert default_teacher(trial=False, heavy=False).get_params() == chosen
    assert default_teacher(trial=True, heavy=False).get_params() == chosen | {"n_chains": 2, "n_samples": 32}
    assert default_teacher(trial=False, heavy=True).get_params() == chosen | {"n_chains": 2, "n_samples": 32}
    assert default_teacher(trial=True, heavy=True).get_params() == chosen | {"n_chains": 1, "n_samples": 16}


def by_draws(X, y, callback=lambda step: None, **params):
    model = FM(3, solver="gibbs", n_chains=2, n_samples=16, thin=2, pairs="across").set_params(**params)
    return teacher_by_draws(model, X, y, across=True, seed=5, callback=callback)


def test_draws_in_parts_are_about_those_at_once(monkeypatch):
    X, rng = random_blocks("shared", n=400), np.random.default_rng(0)
    y = said(X, rng.normal(size=(X.n_features, 2))) + 0.3 * rng.normal(size=400)
    steps, told = [], []
    whole = by_draws(X, y, callback=steps.append)
    plain = FM(3, solver="gibbs", n_chains=2, n_samples=16, thin=2, pairs="across", random_state=5).fit(X, y)
    np.testing.assert_array_equal(whole.factors, teacher_parameters(plain, X, y, across=True, seed=5).factors)
    kept = []
    monkeypatch.setattr(teachers, "_MOST_BYTES", 4 * 3 * X.n_features * X.dtype.itemsize)
    last = Samples.last
    monkeypatch.setattr(Samples, "last", lambda self, n: kept.append(self.factors.nbytes) or last(self, n))
    parts = by_draws(X, y, callback=told.append)
    assert max(kept) <= teachers._MOST_BYTES
    for each in (steps, told):
        assert [(step.number, step.total) for step in each] == [(n, 40) for n in range(1, 41)]
    assert parts.factors.shape == whole.factors.shape == (X.n_features, 12)
    scored = [scores(X, t.bias, t.weights.astype(float), t.factors.astype(float), True) for t in (whole, parts)]
    assert np.corrcoef(*scored)[0, 1] > 0.999
    np.testing.assert_allclose(parts.ridge, whole.ridge, rtol=0.5)


def test_draws_in_parts_stop_when_they_are_told_to(monkeypatch):
    X, y = random_blocks("shared", n=100), np.random.default_rng(0).normal(size=100)
    monkeypatch.setattr(teachers, "_MOST_BYTES", 1)
    told = []
    found = by_draws(X, y, callback=lambda step: told.append(step.number) or step.number == 27)
    assert told == list(range(1, 28))
    assert np.isfinite(found.factors).all()


def drawn(X, rank, n, seed=0, noise=0.0):
    """Return a machine whose draws are rotations of one another, up to noise."""
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(X.n_features, rank))
    draws = [V @ np.linalg.qr(rng.normal(size=(rank, rank)))[0] + noise * rng.normal(size=V.shape) for _ in range(n)]
    fm = FM(rank, solver="gibbs", pairs="across")
    factors = np.ascontiguousarray(np.stack(draws, axis=1), np.float32)
    fm.fields_, fm.bias_, fm.weights_, fm.factors_ = X.fields, 0.0, np.zeros(X.n_features, np.float32), draws[-1]
    fm.samples_ = from_features(np.zeros(n), np.zeros((n, X.n_features), np.float32), factors, np.ones(n))
    return fm, V


def said(X, V):
    return scores(X, 0.0, np.zeros(X.n_features), np.asarray(V, float), True)


@pytest.mark.parametrize("kind", ["bare", "shared", "blocks"])
@pytest.mark.parametrize("cross", [True, False])
def test_what_all_draws_say_is_kept(kind, cross):
    X = random_blocks(kind, n=60)
    fm, V = drawn(X, rank=3, n=20)
    factors = _factors_of(fm, X, across=cross, seed=0)
    assert factors.shape == (X.n_features, 12)
    assert factors.dtype == np.float32
    np.testing.assert_allclose(said(X, factors), said(X, V), atol=1e-3)


def test_what_draws_disagree_on_is_mostly_dropped(monkeypatch):
    X = random_blocks("bare", n=60)
    fm, V = drawn(X, rank=3, n=64, noise=0.5)
    everything = fm.parameters_.factors / 8
    kept = _factors_of(fm, X, across=True, seed=0)
    assert kept.shape[1] == 12
    assert np.mean((said(X, kept) - said(X, everything)) ** 2) < 0.02 * np.var(said(X, everything))
    assert np.mean((said(X, kept) - said(X, V)) ** 2) < 1.05 * np.mean((said(X, everything) - said(X, V)) ** 2)
    monkeypatch.setattr(teachers, "_EXAMPLES", 8)  # fewer examples than numbers a feature
    few = _factors_of(fm, X, across=True, seed=0)
    assert few.shape[1] == 8
    assert np.corrcoef(said(X, few), said(X, everything))[0, 1] > 0.8


def test_few_draws_and_point_estimates_are_taken_as_they_are():
    X = random_blocks("bare", n=60)
    fm, _ = drawn(X, rank=3, n=4)
    np.testing.assert_array_equal(_factors_of(fm, X, across=True, seed=0), fm.parameters_.factors / np.float32(2))
    als = clone(fm)
    als.fields_, als.bias_, als.weights_ = fm.fields_, fm.bias_, fm.weights_
    als.factors_ = np.arange(3.0 * X.n_features).reshape(-1, 3)
    np.testing.assert_array_equal(_factors_of(als, X, across=True, seed=0), als.factors_)


@pytest.mark.parametrize("cross", [True, False])
def test_draws_that_say_nothing_and_draws_that_are_no_numbers_pass(cross):
    X = random_blocks("bare", n=60)
    fm, _ = drawn(X, rank=3, n=20)
    for value, told in ((0.0, 0.0), (np.inf, np.nan)):
        factors = np.full((X.n_features, 20, 3), value, np.float32)
        fm.samples_ = Samples(fm.samples_.biases, fm.samples_.weights, factors.transpose(1, 0, 2), np.ones(20))
        got = _factors_of(fm, X, across=cross, seed=0)
        assert np.isfinite(got).all() == np.isfinite(told)


@pytest.mark.parametrize("cross", [True, False])
def test_two_teachers_are_the_mean_of_both(cross):
    X, rng = random_blocks("shared", n=200), np.random.default_rng(0)
    y = 100 + 30 * rng.normal(size=200)
    gibbs = FM(3, solver="gibbs", n_iter=5, n_samples=4, pairs="across" if cross else "all").fit(X, y)
    one = teacher_parameters(gibbs, X, y, across=cross, seed=0)
    seen = []
    two = teacher_by_descent(X, y, across=cross, seed=0, n_threads=1, callback=lambda step: seen.append(step.number))
    assert seen == list(range(1, 16))
    both = one.averaged_with(two)
    for teaching, expected in ((one, gibbs.predict(X)), (both, None)):
        got = scores(X, teaching.bias, teaching.weights.astype(float), teaching.factors.astype(float), cross)
        if expected is None:
            expected = (gibbs.predict(X) + scores(X, two.bias, two.weights, two.factors.astype(float), cross)) / 2
        np.testing.assert_allclose(got, expected, rtol=1e-4)
    assert both.ridge is one.ridge


def test_descent_does_not_depend_on_the_units_of_the_targets():
    X, rng = random_blocks("shared", n=200), np.random.default_rng(0)
    y = rng.normal(size=200)
    plain, scaled = (
        teacher_by_descent(X, target, across=True, seed=0, n_threads=1, callback=lambda step: None)
        for target in (y, 1000 * y + 5)
    )
    np.testing.assert_allclose(scaled.bias, 1000 * plain.bias + 5, rtol=1e-4)
    np.testing.assert_allclose(scaled.weights, 1000 * plain.weights, atol=0.1)
    np.testing.assert_allclose(scaled.factors, np.sqrt(1000) * plain.factors, atol=1e-3)
    constant = teacher_by_descent(X, np.full(200, 7.0), across=True, seed=0, n_threads=1, callback=lambda step: None)
    assert constant.bias == pytest.approx(7, abs=1e-3)
    assert np.abs(constant.factors).max() < 0.1


def test_fields_of_few_columns_are_held_by_a_stronger_penalty():
    rng = np.random.default_rng(0)
    rows = rng.integers(50, size=400)
    kind = sp.csr_matrix((np.ones(50), (np.arange(50), np.arange(50) % 5)))
    X = Blocks(
        user=Block(rng.integers(20, size=400), {"id": sp.identity(20)}),
        item=Block(rows, {"kind": kind, "empty": sp.csr_matrix((50, 3)), "id": sp.identity(50)}),
    )
    ridge = teachers.ridge_by_field(X)
    assert ridge["user.id"] == 30
    assert ridge["item.kind"] == pytest.approx(30 * 50 / 5 / 2)
    assert ridge["item.id"] == 30
    assert ridge["item.empty"] == 30


def test_columns_that_hardly_ever_meet_do_not_make_a_field_large():
    """One user has seen 10,000 things that nobody else has; the λ of the ids is as without them."""
    n, more = 40, 10_000
    rng, seen = np.random.default_rng(0), (np.arange(n)[:, None] + np.arange(10)) % n
    history = sp.csr_matrix((np.full(10 * n, 10**-0.5), (np.repeat(np.arange(n), 10), seen.ravel())), (n, n + more))
    of_one = sp.csr_matrix((np.full(more, more**-0.5), (np.zeros(more, int), np.arange(n, n + more))), (1, n + more))
    users = np.append(rng.integers(n, size=900), np.full(100, n))
    user = Block(users, {"history": sp.vstack([history, of_one]), "id": sp.identity(n + 1)})
    X = Blocks(user=user, item=Block(rng.integers(20, size=1000), {"id": sp.identity(20)}))
    assert teachers.ridge_by_field(X)["user.id"] < 3 * 30


def test_a_row_that_many_interactions_share_is_summed_up_once(monkeypatch):
    n, taken = 300, []
    history = sp.csr_matrix(np.full((1, n), 1 / np.sqrt(n)))
    X = Blocks(
        user=Block(np.zeros(n, np.int32), {"history": history}), item=Block(np.arange(n), {"id": sp.identity(n)})
    )
    take = FeatureTable.take
    monkeypatch.setattr(FeatureTable, "take", lambda self, rows: taken.append(part := take(self, rows)) or part)
    factors = np.random.default_rng(0).normal(size=(2 * n, 6))
    user, item = teachers._rows(factors, X, np.random.default_rng(0))
    assert sum(part.n_entries for part in taken) <= n
    np.testing.assert_allclose(user, np.tile(factors[:n].sum(axis=0) / np.sqrt(n), (n, 1)))
    np.testing.assert_array_equal(item, factors[n:])
