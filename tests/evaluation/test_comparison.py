"""Comparisons: the p-value is that of all choices of signs, and chance finds nothing where there is nothing."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from bitfm import _core
from bitfm.evaluation import PerUser, compare


def per_user(values, users=None, ks=()):
    values = np.asarray(values, float)
    return PerUser(np.arange(len(values)) if users is None else np.asarray(users), values, ks)


@pytest.mark.parametrize("seed", range(8))
def test_the_p_value_is_the_share_of_all_choices_of_signs(seed):
    rng = np.random.default_rng(seed)
    few = rng.normal(0.5, 1, 10) if seed % 2 else rng.integers(-2, 4, 10).astype(float)  # the second have equal sums
    differences = np.zeros(200)
    differences[rng.permutation(200)[:10]] = few
    sums = np.abs(np.array(list(product([-1, 1], repeat=10))) @ few)
    expected = np.mean(sums >= abs(few.sum()) - 1e-9)
    n = 40_000
    found = compare(per_user(differences), per_user(np.zeros(200)), n=n, seed=seed)
    assert found.p_value == pytest.approx(expected, abs=5 * np.sqrt(0.25 / n))
    assert found.difference == pytest.approx(differences.mean())


def test_two_users_who_never_agree_have_independent_signs():
    """Each pair of places, in a word of random signs or in two: all four choices are as likely."""
    for one, other in ((0, 1), (7, 8), (63, 64), (5, 130), (0, 64)):
        differences = np.zeros((131, 1))
        differences[[one, other], 0] = 1
        assert _core.count_far_flips(differences, 1, 40_000, 2)[0] == pytest.approx(20_000, abs=500)


def test_where_there_is_nothing_p_values_are_uniform():
    rng = np.random.default_rng(0)
    p = [compare(per_user(rng.normal(size=40)), per_user(np.zeros(40)), n=400, seed=s).p_value for s in range(500)]
    for level in (0.05, 0.25, 0.5, 0.75):
        assert np.mean(np.array(p) <= level) == pytest.approx(level, abs=0.07)


def test_the_other_way_round_is_the_same_difference_downwards():
    rng = np.random.default_rng(0)
    a, b = per_user(rng.normal(0.1, 1, (90, 2)), ks=(1, 5)), per_user(rng.normal(size=(90, 2)), ks=(1, 5))
    there, back = compare(a, b), compare(b, a)
    np.testing.assert_allclose(there.difference, -back.difference)
    np.testing.assert_allclose(there.low, -back.high, rtol=1e-9)
    np.testing.assert_array_equal(there.p_value, back.p_value)
    alone = compare(per_user(a.values[:, 1]), per_user(b.values[:, 1]))
    assert (alone.difference, alone.low, alone.p_value) == (there.difference[1], there.low[1], there.p_value[1])


def test_equals_do_not_differ():
    same = per_user(np.random.default_rng(0).random(50))
    found = compare(same, same)
    assert (found.difference, found.low, found.high, found.p_value) == (0, 0, 0, 1)


def test_users_are_paired_by_name_and_the_others_left_out():
    a = per_user([1.0, 2.0, 3.0], ["x", "y", "z"])
    b = per_user([5.0, 1.5, 0.5], ["w", "z", "y"])
    found = compare(a, b)
    assert found.n_users == 2
    assert found.difference == pytest.approx(((2 - 0.5) + (3 - 1.5)) / 2)


def test_the_number_of_threads_does_not_matter():
    values = np.random.default_rng(0).normal(0.01, 1, (777, 3))
    one = _core.count_far_flips(values, 9, 5000, 1)
    assert (one > 0).all()
    for n_threads in (2, 5):
        np.testing.assert_array_equal(_core.count_far_flips(values, 9, 5000, n_threads), one)


def test_what_cannot_be_compared_is_refused():
    a = per_user([1.0, 2.0])
    with pytest.raises(ValueError, match="no user is in both"):
        compare(a, per_user([1.0], [7]))
    with pytest.raises(ValueError, match="users of one are strings"):
        compare(a, per_user([1.0], ["0"]))
    with pytest.raises(ValueError, match=r"first has k=\(\), the second k=\(3,\)"):
        compare(a, per_user([1.0, 2.0], ks=(3,)))
    with pytest.raises(ValueError, match="the second has a user twice"):
        compare(a, per_user([1.0, 2.0], [1, 1]))
    with pytest.raises(ValueError, match="n must be"):
        compare(a, a, n=0)
    with pytest.raises(ValueError, match="level must be"):
        compare(a, a, level=95)
