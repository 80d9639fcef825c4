"""Splits: what goes where, for any users and items, and the same again for the same seed."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfm.evaluation import split_by_time, split_cold, split_histories, split_leave_one_out, split_per_user

numbers = st.lists(st.integers(-3, 8), max_size=60)
seeds = st.integers(0, 10**6)


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


@given(numbers, st.integers(1, 19), seeds)
def test_a_share_is_cold_and_the_others_are_untouched(items, twentieths, seed):
    train = split_cold(items, twentieths / 20, seed)
    assert train.dtype == bool
    assert train.shape == (len(items),)
    cold = set(np.array(items)[~train])
    warm = set(np.array(items)[train])
    assert not cold & warm
    assert abs(len(cold) - len(set(items)) * twentieths / 20) <= 0.5 + 1e-9


def test_every_item_is_as_likely_to_be_cold_as_another():
    cold = np.mean([~split_cold([3, 3, 3, 5, 6, 8, 9], 0.2, seed) for seed in range(2000)], axis=0)
    np.testing.assert_allclose(cold, 0.2, atol=0.05)


def test_cold_items_stay_those_they_were():
    """Figures are published on this split, too."""
    assert np.flatnonzero(~split_cold(np.arange(20), 0.2, seed=3)).tolist() == [4, 9, 10, 13]


@given(numbers, st.booleans(), seeds)
def test_one_interaction_of_each_user_with_several_is_left_out(users, timed, seed):
    times = np.random.default_rng(seed).integers(0, 4, len(users)) if timed else None
    train = split_leave_one_out(users, times, seed)
    assert train.dtype == bool
    assert train.shape == (len(users),)
    for user in set(users):
        mine = np.array(users) == user
        assert (~train[mine]).sum() == (mine.sum() > 1)
        if timed and mine.sum() > 1:
            assert times[mine & ~train][0] == times[mine].max()


def test_every_one_of_the_last_is_as_likely_to_be_left_out():
    anyone = np.mean([~split_leave_one_out([7] * 4, seed=seed) for seed in range(2000)], axis=0)
    np.testing.assert_allclose(anyone, 0.25, atol=0.05)
    tied = np.mean([~split_leave_one_out([7] * 4, [5, 9, 1, 9], seed) for seed in range(2000)], axis=0)
    np.testing.assert_allclose(tied, [0, 0.5, 0, 0.5], atol=0.05)


@given(st.lists(st.integers(-5, 9), min_size=2, max_size=60), st.integers(1, 19))
def test_the_past_is_learnt_from_and_the_cut_is_the_closest_there_is(times, twentieths):
    times = np.array(times)
    moments = np.unique(times)
    if len(moments) == 1:
        with pytest.raises(ValueError, match="have the same time"):
            split_by_time(times, twentieths / 20)
        return
    train = split_by_time(times, twentieths / 20)
    assert times[train].max() < times[~train].min()
    off = [abs((times <= moment).sum() * 20 - len(times) * twentieths) for moment in moments[:-1]]
    assert abs(train.sum() * 20 - len(times) * twentieths) == min(off)
    assert train.sum() == (times <= moments[int(np.argmin(off))]).sum()


def test_times_may_be_of_any_kind():
    days = np.array(["2024-01-03", "2024-01-01", "2024-01-02"], "datetime64[D]")
    for times in (days, days.astype("datetime64[ns]"), [0.3, 0.1, 0.2], np.array([3, 1, 2], np.uint64)):
        assert split_by_time(times, 0.6).tolist() == [False, True, True]
        assert split_leave_one_out([0, 0, 0], times).tolist() == [False, True, True]


@pytest.mark.parametrize("split", [split_by_time, lambda times: split_leave_one_out(np.zeros(len(times)), times)])
def test_times_without_sense_are_refused(split):
    assert len(split([])) == 0
    with pytest.raises(ValueError, match=r"times must be one-dimensional, got shape \(1, 2\)"):
        split([[0, 1]])
    with pytest.raises(ValueError, match="times must be numbers or datetime64"):
        split(["yesterday", "today"])
    for times in ([1, np.nan], np.array(["2024-01-01", "NaT"], "datetime64[D]")):
        with pytest.raises(ValueError, match="some are missing"):
            split(times)


def test_every_user_needs_a_time():
    with pytest.raises(ValueError, match="2 users and 3 times"):
        split_leave_one_out([0, 0], [1, 2, 3])


SPLITS = [split_per_user, split_cold, split_leave_one_out]


@pytest.mark.parametrize("split", SPLITS)
def test_names_serve_as_well_as_numbers_and_seeds_matter(split):
    values = np.random.default_rng(0).integers(30, size=200)
    train = split(values)
    np.testing.assert_array_equal(split(values), train)
    np.testing.assert_array_equal(split([f"n{value:02}" for value in values]), train)
    assert (split(values, seed=1) != train).any()


@pytest.mark.parametrize("split", SPLITS)
def test_what_cannot_be_split_is_refused(split):
    side = "ids" if split is split_cold else "users"
    assert len(split([])) == 0
    with pytest.raises(ValueError, match=rf"{split.__name__}: {side} must be one-dimensional, got shape \(1, 2\)"):
        split([[0, 1]])


@pytest.mark.parametrize("split", [split_per_user, split_cold, split_by_time])
@pytest.mark.parametrize("fraction", [0, 1, -0.5, float("nan")])
def test_a_share_is_above_0_and_below_1(split, fraction):
    with pytest.raises(ValueError, match=f"{split.__name__}: fraction must be above 0 and below 1, got {fraction}"):
        split([0, 1], fraction)


@given(numbers, st.integers(1, 19), seeds, st.booleans())
def test_a_history_is_parted_so_that_there_is_something_to_ask_with_and_to_ask_for(users, twentieths, seed, timed):
    times = np.random.default_rng(seed).permutation(len(users)) if timed else None
    given_part = split_histories(users, times, twentieths / 20, seed)
    for user in set(users):
        mine = np.array(users) == user
        n = int(mine.sum())
        assert given_part[mine].sum() == min(max(1, round(n * twentieths / 20)), max(1, n - 1))
        if timed and not given_part[mine].all():
            assert times[mine & given_part].max() < times[mine & ~given_part].min()
    assert (given_part == split_histories(users, times, twentieths / 20, seed)).all()
