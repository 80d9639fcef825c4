"""AUC against scikit-learn's, user by user."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from bitfm import _core
from bitfm.evaluation import auc


def problem(seed, n_users=9, n_items=30, share=0.3, ties=True):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 6, (n_users, n_items)).astype(float) if ties else rng.normal(size=(n_users, n_items))
    return scores, rng.random((n_users, n_items)) < share, rng.random((n_users, n_items)) < 0.3


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    dtype=st.sampled_from([np.float32, np.float64]),
    ties=st.booleans(),
    share=st.sampled_from([0.02, 0.3, 0.9]),
    excluding=st.booleans(),
)
def test_it_equals_scikit_learns(seed, dtype, ties, share, excluding):
    scores, relevant, exclude = problem(seed, n_items=200, share=share, ties=ties)  # more and fewer than 64 relevant
    scores = scores.astype(dtype)
    each = auc(scores, sp.csr_matrix(relevant), sp.csr_matrix(exclude) if excluding else None)
    kept = ~exclude if excluding else np.ones_like(exclude)
    counted = [u for u in range(9) if 0 < relevant[u, kept[u]].sum() < kept[u].sum()]
    assert each.users.tolist() == counted
    expected = [roc_auc_score(relevant[u, kept[u]], scores[u, kept[u]]) for u in counted]
    np.testing.assert_allclose(each.values, expected, rtol=1e-12)


def test_a_function_is_asked_for_all_rows_in_turn(monkeypatch):
    scores, relevant, exclude = problem(0)
    monkeypatch.setitem(auc.__globals__, "_SCORES_AT_ONCE", 70)  # two users
    asked = []

    def rows(some):
        asked.append((some.start, some.stop))
        return scores[some]

    lists = sp.csr_matrix(relevant), sp.csr_matrix(exclude)
    by_function = auc(rows, *lists)
    assert asked == [(0, 2), (2, 4), (4, 6), (6, 8), (8, 9)]
    np.testing.assert_array_equal(by_function.values, auc(scores, *lists).values)


def test_infinite_scores_are_scores_and_zeros_are_not_relevant():
    relevant = sp.csr_matrix((np.array([1, 0]), (np.array([0, 0]), np.array([1, 2]))), (1, 3))
    assert auc([[-np.inf, -np.inf, np.inf]], relevant).values.tolist() == [0.25]


def test_users_have_names():
    each = auc([[1, 2], [2, 1]], sp.identity(2, format="csr"), users=["Bob", "Ann"])
    assert dict(zip(each.users.tolist(), each.values.tolist(), strict=True)) == {"Bob": 0.0, "Ann": 0.0}


def test_the_number_of_threads_does_not_matter():
    scores, relevant, exclude = problem(1, 50, 300)
    r, e = sp.csr_matrix(relevant), sp.csr_matrix(exclude)
    lists = r.indptr.astype(np.int64), r.indices, e.indptr.astype(np.int64), e.indices
    one = _core.auc(scores, *lists, 1)
    for n_threads in (2, 5):
        np.testing.assert_array_equal(_core.auc(scores, *lists, n_threads), one)


def test_what_has_no_auc_is_refused():
    relevant = sp.identity(2, format="csr")
    for scores in ([[1, 2]], [[1, 2, 3], [1, 2, 3]], [1, 2], lambda rows: [[1, 2]]):
        with pytest.raises(ValueError, match="auc: expected 2 × 2 scores"):
            auc(scores, relevant)
    with pytest.raises(ValueError, match="scores must not be NaN"):
        auc([[1, np.nan], [1, 2]], relevant)
    with pytest.raises(TypeError, match="relevant: expected a sparse matrix"):
        auc(np.eye(2), np.eye(2))
    with pytest.raises(ValueError, match="exclude: expected a row for each of 2 users"):
        auc(np.eye(2), relevant, sp.identity(3, format="csr"))
    with pytest.raises(ValueError, match="exclude: expected at most 2 items"):
        auc(np.eye(2), relevant, sp.csr_matrix(np.ones((2, 3))))
    with pytest.raises(ValueError, match="expected 2 different users, one per row, got 2"):
        auc(np.eye(2), relevant, users=["Ann", "Ann"])
