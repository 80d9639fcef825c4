"""A user with far too many interactions, such as a bot, does not decide on what the others get."""

from __future__ import annotations

from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bitfm
from bitfm.recommender import _heavy_users as heavy_users
from bitfm.recommender._heavy_users import counted

N_USERS, N_ITEMS, PER_USER, HELD_OUT, FEW = 150, 120, 20, 10, 400


def kept(counts, *, shared=True):
    """How many interactions of each user count, with an item that all have had or with one of its own for each."""
    users = np.repeat(np.arange(len(counts)), counts)
    items = np.zeros(len(users), int) if shared else np.arange(len(users))
    return np.bincount(users[counted(users, items)], minlength=len(counts)).tolist()


@pytest.mark.parametrize(
    "counts",
    [
        [1],
        [200_000],  # there are no others
        [5000, *[2] * 50],  # people have that many
        [30_000, 30_000, 30_000],  # all alike
        [9000, 500, 400, 10],  # few users, and not that far apart
        [30_000] * 12 + [50] * 100,  # none has a tenth
        [12_000, *[50] * 2500],
    ],
)
def test_what_people_do_counts(counts):
    assert kept(counts) == counts


def test_of_a_bot_a_tenth_of_all_counts():
    assert kept([200_000, *[50] * 2000]) == [11_111, *[50] * 2000]
    assert kept([20_000, 20_000, *[50] * 2000]) == [12_500, 12_500, *[50] * 2000]
    assert kept([20_000, *[10] * 100]) == [5000, *[10] * 100]


def test_of_what_a_bot_alone_has_had_5000_count():
    """More would only make all items look rare."""
    assert kept([200_000, *[50] * 2000], shared=False) == [5000, *[50] * 2000]
    users, items = np.append(np.zeros(200_000, int), np.arange(100_000) // 50 + 1), np.arange(300_000)
    items[:7000] = items[200_000:207_000]
    assert np.flatnonzero(counted(users, items)[:200_000]).tolist() == list(range(7000))


@given(st.lists(st.integers(0, 30_000), min_size=1, max_size=30).filter(any))
def test_nobody_has_more_than_their_limit(counts):
    count = kept(counts)
    limit = max(5000, 20 * np.median([c for c in counts if c]), sum(count) / 10)
    for had, now in zip(counts, count, strict=True):
        assert now == had if had <= int(limit) else int(limit) - 1 <= now <= limit


def test_those_that_count_are_evenly_spaced_and_always_the_same():
    users = np.random.default_rng(0).permutation(np.repeat([3, 7, 8, 9], [20_000, 5, 5, 5]))
    items = np.arange(len(users))
    count = counted(users, items)
    np.testing.assert_array_equal(count, counted(users, items))
    assert count[users != 3].all()
    np.testing.assert_array_equal(np.flatnonzero(count[users == 3]), np.arange(5000) * 4)


@pytest.mark.parametrize("n_common", [3000, 8000])
def test_items_that_others_have_had_come_first(n_common):
    """They tell more of others than those that a bot alone has, of which a model would learn a great deal in vain."""
    users = np.append(np.zeros(20_000, int), np.arange(n_common) + 1)
    items = np.append(np.arange(20_000), np.arange(n_common) * 2)
    of_bot = np.flatnonzero(counted(users, items)[:20_000])
    common = of_bot[np.isin(of_bot, items[20_000:])]
    assert len(of_bot) == 5000
    assert len(common) == min(n_common, 5000)
    assert np.ptp(np.diff(common)) <= 2
    repeated = np.append(np.zeros(20_000, int), [1, 2]), np.append(np.arange(20_000) // 2, [7, 8])
    assert counted(*repeated)[[14, 15, 16, 17]].all()  # of what is had twice, but by the bot alone, half is left out


def tastes(n_bot=0):
    """Ratings of planted tastes, of which some are held out, and those of a bot, which are all the same."""
    rng = np.random.default_rng(0)
    likes, has = rng.normal(size=(N_USERS, 2)), rng.normal(size=(N_ITEMS, 2))
    users = np.repeat(np.arange(N_USERS), PER_USER + HELD_OUT)
    items = np.concatenate([rng.permutation(N_ITEMS)[: PER_USER + HELD_OUT] for _ in range(N_USERS)])
    ratings = 3.5 + np.einsum("nk,nk->n", likes[users], has[items]) + rng.normal(size=len(users))
    table = pl.DataFrame({"user_id": users, "item_id": items, "rating": ratings})
    test = pl.Series(np.tile(np.arange(PER_USER + HELD_OUT) >= PER_USER, N_USERS))
    bot = pl.DataFrame({"user_id": np.full(n_bot, N_USERS), "item_id": np.arange(n_bot), "rating": np.ones(n_bot)})
    return table.filter(~test), table.filter(test), bot


@pytest.fixture(scope="module")
def beside_a_bot():
    train, test, bot = tastes(20_000)
    with mock.patch.object(heavy_users, "_NEVER_TOO_MANY", FEW):  # so that a few users are enough
        return bitfm.Recommender(bits=32).fit(pl.concat([train, bot]), keep_training_data=True), test, bot


def correlation(rec, test):
    return float(np.corrcoef(rec.predict(test.drop("rating")), test["rating"])[0, 1])


def test_the_others_get_what_they_would_get_without_it(beside_a_bot):
    rec, test, _ = beside_a_bot
    alone = bitfm.Recommender(bits=32).fit(tastes()[0])
    assert correlation(rec, test) > correlation(alone, test) - 0.02
    assert rec.evaluate(test).ndcg > alone.evaluate(test).ndcg - 0.02
    # Items that nothing was learnt of do not tell what a new one is like.
    assert rec.state.priors["item"].weight > alone.state.priors["item"].weight / 3


def test_the_bot_is_known_with_all_it_has_rated(beside_a_bot):
    rec, _, bot = beside_a_bot
    assert np.isfinite(rec.predict(bot.drop("rating"))).all()
    assert len(rec.recommend(N_USERS)) == 0
    assert len(rec.recommend(N_USERS, seen=True)) == 10
    assert rec.state.log.by_user.n_entries == N_USERS * PER_USER + len(bot)


def test_what_does_not_count_is_in_no_table_that_is_learnt_from(beside_a_bot):
    """Thousands of features that the bot alone has would change the variances and the λ of all others."""
    rec, _, _ = beside_a_bot
    n = N_USERS * PER_USER
    blocks, y = rec.training_data()
    assert len(y) == len(blocks) == n + FEW
    tables = {name: block.tables for name, block in blocks.blocks.items()}
    assert tables["user"]["history"].n_entries == tables["item"]["raters"].n_entries == n + FEW
    assert blocks.n_features <= 2 * (N_USERS + 1 + N_ITEMS + FEW)


def test_one_user_with_all_ratings_is_learnt_from_as_a_whole():
    n = 20_000
    table = {"user_id": np.zeros(n, int), "item_id": np.arange(n), "rating": np.arange(n) % 5 + 1.0}
    rec = bitfm.Recommender(bits=32).fit(table, keep_training_data=True)
    blocks, y = rec.training_data()
    assert len(y) == n
    assert sum(table.n_entries for block in blocks.blocks.values() for table in block.tables.values()) == 3 * n + 1
    assert np.isfinite(rec.predict(pl.DataFrame(table).drop("rating"))).all()


def test_contexts_of_a_bot_count_alike(monkeypatch):
    monkeypatch.setattr(heavy_users, "_NEVER_TOO_MANY", 50)
    train, _, bot = tastes(1000)
    table = pl.concat([train, bot]).with_columns(day=pl.lit("Monday"))
    rec = bitfm.Recommender(bits=32).fit(table, context=["day"], keep_training_data=True)
    blocks, y = rec.training_data()
    own = blocks.blocks["user"].rows == rec.state.users.indices_of([N_USERS])
    assert (
        own.sum() == counted(*(table[name].to_numpy() for name in ("user_id", "item_id")))[-len(bot) :].sum() < len(bot)
    )
    assert rec.state.log.by_user.n_entries == len(table)
    np.testing.assert_array_equal(rec.training_data(table)[1], y)


def test_a_user_of_many_events_does_not_spoil_the_others():
    train, test, bot = tastes(20_000)
    of_others = {"k": 5, "by": "user"}
    alone = bitfm.Recommender(bits=32).fit(train, target=None).evaluate(test, **of_others)
    beside = bitfm.Recommender(bits=32).fit(pl.concat([train, bot]), target=None).evaluate(test, **of_others)
    assert beside.ndcg > 0.95 * alone.ndcg


def test_of_events_so_many_count(monkeypatch):
    monkeypatch.setattr(heavy_users, "_NEVER_TOO_MANY", 50)
    train, _, bot = tastes(1000)
    table = pl.concat([train, bot]).drop("rating").with_columns(day=pl.lit("Monday"))
    rec = bitfm.Recommender(bits=16).fit(table, target=None, context=["day"], keep_training_data=True)
    count = counted(*(table[name].to_numpy() for name in ("user_id", "item_id")))
    blocks, y = rec.training_data()
    assert len(y) == len(blocks) == count.sum() < len(table)
    assert rec.state.log.by_user.n_entries == len(table)
    assert len(rec.training_data(table)[1]) == len(y)
