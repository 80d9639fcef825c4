"""Interactions are read once, and a part that was held out is found again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from bitfm.data import Interactions
from bitfm.data.splits import split_per_user
from bitfm.errors import MissingColumnError, TableError

COLUMNS = {"user": "u", "item": "i", "target": "r"}
TABLE = pl.DataFrame({"u": [1, 1, 2, 1], "i": [7, 7, 7, 8], "r": [5, 4, 3, 2], "t": [20, 10, 5, 5], "c": list("wxyz")})


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ({"time": "t"}, [5, 3, 2]),  # the latest by time
        ({}, [4, 3, 2]),  # or else the last row
        ({"context": ["c"]}, [5, 4, 3, 2]),  # in another context a rating is another one
        ({"target": None}, None),  # and of events every one counts
    ],
)
def test_the_latest_rating_of_a_pair_counts(more, kept):
    rows = Interactions.of(TABLE, **COLUMNS | more).latest()
    if kept is None:
        assert (len(rows), rows.target) == (4, None)
    else:
        assert rows.target.tolist() == kept
    assert rows.latest() is rows


def test_a_split_holds_a_share_of_each_users_rows_out_and_is_found_again():
    rng = np.random.default_rng(0)
    table = {"u": rng.integers(20, size=300), "i": np.arange(300), "r": rng.random(300)}
    rows = Interactions.of(table, **COLUMNS)
    train, test = rows.split(0.3, seed=4)
    order = {user: number for number, user in enumerate(dict.fromkeys(table["u"].tolist()))}
    mask = split_per_user([order[user] for user in table["u"].tolist()], 0.7, 4)
    assert train.items.to_list() == [str(i) for i in np.flatnonzero(mask)]
    assert sorted([*train.items, *test.items], key=int) == rows.items.to_list()
    assert test.held_out is None
    again = Interactions.of(pl.DataFrame(table).with_columns(pl.col("u").cast(pl.String)), **COLUMNS)
    for ours, theirs in zip(rows.split_as(train.held_out), again.split_as(train.held_out), strict=True):
        assert ours.items.to_list() == theirs.items.to_list()


def test_a_table_is_known_by_its_ids_and_their_order():
    held_out = Interactions.of(TABLE, **COLUMNS).split(0.5)[0].held_out
    for other, told in (
        (TABLE[:3], "has 3 rows, but 4 were split"),
        (TABLE[::-1], "another order of rows"),
        (TABLE.with_columns(i=pl.Series([77, 7, 7, 8])), "other users and items"),
        (TABLE.with_columns(u=pl.Series([1, 12, 2, 1]), i=pl.Series([7, 7, 7, 8])), "other users and items"),
    ):
        with pytest.raises(TableError, match=told):
            Interactions.of(other, **COLUMNS).split_as(held_out)


def test_columns_that_may_be_missing_are_empty_and_others_are_named():
    rows = Interactions.of(TABLE.drop("c", "t"), **COLUMNS, context=["c"], time="t", optional=["c", "t"])
    assert rows.context["c"].null_count() == 4
    assert rows.times is None
    with pytest.raises(MissingColumnError, match="name the right one with target="):
        Interactions.of(TABLE, user="u", item="i", target="stars")
    assert Interactions.of(rows) is rows


def dated():
    rng = np.random.default_rng(1)
    days = rng.permutation(300)
    return Interactions.of(
        {"u": rng.integers(20, size=300), "i": np.arange(300), "t": days}, user="u", item="i", target=None, time="t"
    )


def test_by_time_nothing_of_the_future_is_trained_on():
    rows = dated()
    train, test = rows.split(0.2, by="time")
    assert (len(train), len(test)) == (240, 60)
    assert train.times.max() < test.times.min()
    assert str(train.held_out) == "the last 0.2 of all interactions held out, by time"
    for ours, theirs in zip(rows.split_as(train.held_out), (train, test), strict=True):
        assert ours.items.to_list() == theirs.items.to_list()
    with pytest.raises(TableError, match="users, items and times"):
        replace(rows, times=rows.times[::-1]).split_as(train.held_out)
    with pytest.raises(ValueError, match="name the column of times"):
        replace(rows, times=None).split(0.2, by="time")


def test_by_user_all_of_a_user_is_held_out_and_the_first_part_is_given():
    rows = dated()
    train, test = rows.split(0.25, seed=3, by="user")
    held = set(test.users) | set(test.given.users)
    assert len(held) == 5
    assert not held & set(train.users)
    assert len(train) + len(test) + len(test.given) == len(rows)
    for user in held:
        past, rest = (part.times[(part.users == user).to_numpy()] for part in (test.given, test))
        assert len(rest) == round(0.2 * (len(past) + len(rest)))
        assert past.max() < rest.min()
    assert str(train.held_out).startswith("0.25 of the users held out, seed 3")
    again = rows.split_as(train.held_out)[1]
    assert again.given.items.to_list() == test.given.items.to_list()
    for share in (0.01, 0.99):
        with pytest.raises(ValueError, match="of 20 users leaves none"):
            rows.split(share, by="user")
    with pytest.raises(ValueError, match="by must be one of"):
        rows.split(0.5, by="item")
