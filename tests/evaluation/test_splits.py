"""Splits: what goes where, for any users and items, and the same again for the same seed."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitfm.evaluation import split_cold_items, split_per_user

quick = settings(deadline=None, max_examples=100)
numbers = st.lists(st.integers(-3, 8), max_size=60)
seeds = st.integers(0, 10**6)


@quick
@given(numbers, st.integers(1, 19), seeds)
def test_each_users_share_is_rounded_up(users, twentieths, seed):
    train = split_per_user(users, twentieths / 20, seed)
    assert train.dtype == bool
    assert train.shape == (len(users),)
    for user in set(users):
        mine = np.array(users) == user
        assert train[mine].sum() == ceil(mine.sum() * twentieths / 20 - 1e-9)


def test_a_share_that_is_whole_is_not_rounded_up():
    assert split_per_user(np.zeros(100), 0.07).sum() == 7  # 100 * 0.07 > 7 in floats


def test_every_interaction_of_a_user_is_as_likely_as_another():
    chosen = np.mean([split_per_user([7] * 5, 0.4, seed) for seed in range(2000)], axis=0)
    np.testing.assert_allclose(chosen, 0.4, atol=0.05)


def test_half_of_each_user_stays_the_half_it_was():
    """Figures are published on this split: the order of random numbers must not change."""
    users = np.repeat(np.arange(6, dtype=np.int32), [1, 2, 3, 4, 5, 6])
    assert "".join(split_per_user(users, 0.5, seed=3).astype(int).astype(str)) == "110011010111100010011"


@quick
@given(numbers, st.integers(1, 19), seeds)
def test_a_share_of_the_items_is_cold_and_the_others_are_untouched(items, twentieths, seed):
    train = split_cold_items(items, twentieths / 20, seed)
    assert train.dtype == bool
    assert train.shape == (len(items),)
    cold = set(np.array(items)[~train])
    warm = set(np.array(items)[train])
    assert not cold & warm
    assert abs(len(cold) - len(set(items)) * twentieths / 20) <= 0.5 + 1e-9


def test_every_item_is_as_likely_to_be_cold_as_another():
    cold = np.mean([~split_cold_items([3, 3, 3, 5, 6, 8, 9], 0.2, seed) for seed in range(2000)], axis=0)
    np.testing.assert_allclose(cold, 0.2, atol=0.05)


@pytest.mark.parametrize("split", [split_per_user, split_cold_items])
def test_names_serve_as_well_as_numbers_and_seeds_matter(split):
    values = np.random.default_rng(0).integers(30, size=200)
    train = split(values)
    np.testing.assert_array_equal(split(values), train)
    np.testing.assert_array_equal(split([f"n{value:02}" for value in values]), train)
    assert (split(values, seed=1) != train).any()


@pytest.mark.parametrize(("split", "side"), [(split_per_user, "users"), (split_cold_items, "items")])
def test_what_cannot_be_split_is_refused(split, side):
    assert len(split([])) == 0
    with pytest.raises(ValueError, match=rf"{split.__name__}: {side} must be one-dimensional, got shape \(1, 2\)"):
        split([[0, 1]])
    for fraction in (0, 1, -0.5, float("nan")):
        with pytest.raises(ValueError, match=f"{split.__name__}: fraction must be above 0 and below 1, got {fraction}"):
            split([0, 1], fraction)
