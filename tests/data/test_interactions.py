"""Interactions are read once, and a part that was held out is found again."""

from __future__ import annotations

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
