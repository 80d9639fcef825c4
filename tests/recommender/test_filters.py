"""Recommendations among some items are those of a full ranking from which the others are struck out."""

from __future__ import annotations

import copy
import datetime
import threading

import numpy as np
import polars as pl
import pytest

import bitfm
from bitfm import BitfmWarning, Recommender
from bitfm.errors import MissingColumnError, ModelFileError
from ratings_of_shop import quick

N = 90
SHELVES = ["books", "toys", "food"]
ITEMS = pl.DataFrame(
    {
        "item_id": [f"i{k}" for k in range(N)],
        "shelf": [SHELVES[k % 3] if k % 10 else None for k in range(N)],
        "stock": [None if k == 7 else k % 4 > 0 for k in range(N)],
        "price": [round(k * 37 % 100 + 0.5, 2) for k in range(N)],
        "euros": [f"{k},50 €" for k in range(N)],
        "tags": [["new", "red", "big"][: k % 4] for k in range(N)],
        "since": [datetime.date(2020, 1, 1) + datetime.timedelta(days=k) for k in range(N)],
        "link": [f"https://example.org/{k}" for k in range(N)],
    }
)
ROWS = {row["item_id"]: row for row in ITEMS.to_dicts()}
CONDITIONS = {
    "a value": ({"shelf": "books"}, lambda row: row["shelf"] == "books"),
    "several columns": ({"shelf": "toys", "stock": True}, lambda row: row["shelf"] == "toys" and row["stock"]),
    "any of several values": ({"shelf": ["toys", "food"]}, lambda row: row["shelf"] in ("toys", "food")),
    "nothing": ({"shelf": None}, lambda row: row["shelf"] is None),
    "a number": ({"price": [37.5, 74.5]}, lambda row: row["price"] in (37.5, 74.5)),
    "a number that was a text": ({"euros": 12.5}, lambda row: row["euros"] == "12,50 €"),
    "one of a list": ({"tags": "red"}, lambda row: "red" in row["tags"]),
    "a day": ({"since": datetime.date(2020, 1, 9)}, lambda row: row["item_id"] == "i8"),
    "an expression": (pl.col("price") < 20, lambda row: row["price"] < 20),
    "an expression of two": (
        (pl.col("price") >= 20) & ~pl.col("stock"),
        lambda row: row["price"] >= 20 and row["stock"] is False,
    ),
    "an expression of times": (
        pl.col("since") < datetime.datetime(2020, 1, 20),
        lambda row: row["since"] < datetime.date(2020, 1, 20),
    ),
    "several conditions": (
        [{"stock": True}, pl.col("price") > 50, pl.col("tags").list.contains("new")],
        lambda row: row["stock"] and row["price"] > 50 and "new" in row["tags"],
    ),
    "all": ({}, lambda row: True),
}


def interactions(target):
    rng = np.random.default_rng(3)
    n = 1500
    user, item = rng.integers(60, size=n), np.minimum(rng.geometric(0.03, size=n) - 1, N - 1)
    table = {"user_id": [f"u{one}" for one in user], "item_id": [f"i{one}" for one in item]}
    return {**table, "rating": (1 + (user + item) % 5).tolist()} if target else table


def fit(target, **settings):
    kinds = {"stock": "ignore", "price": "ignore"}
    rec = quick(8, kinds=kinds) if target else Recommender(bits=16, n_jobs=1, kinds=kinds)
    return rec.fit(interactions(target), items=ITEMS, target=target, **settings)


@pytest.fixture(scope="module", params=["ratings", "bare ratings", "events", "ratings of a file", "events of a file"])
def of_kind(request, tmp_path_factory):
    target = None if request.param.startswith("events") else "rating"
    if request.param == "bare ratings":  # items and users are codes
        kinds = dict.fromkeys((name for name in ITEMS.columns if name != "item_id"), "ignore")
        rec = quick(8, kinds=kinds, history=False, raters=False)
        return rec.fit(interactions(target), items=ITEMS, target=target)
    rec = fit(target)
    if request.param.endswith("of a file"):
        path = tmp_path_factory.mktemp("filters") / "shop.bitfm"
        rec.save(path)
        rec = bitfm.load(path)
    return rec


@pytest.fixture
def rec(of_kind):
    return copy.copy(of_kind)


@pytest.fixture(scope="module")
def rated():
    return fit("rating")


def ranking(rec, user, **how):
    return [(row["item"], row["score"]) for row in rec.recommend(user, n=N, **how).to_dicts()]


def pairs(found):
    return list(zip(found["item"], found["score"], strict=True))


@pytest.mark.parametrize("name", CONDITIONS)
def test_the_best_among_some_are_those_of_the_full_ranking(rec, name):
    where, holds = CONDITIONS[name]
    for user in ("u3", "u41"):
        expected = [one for one in ranking(rec, user) if holds(ROWS[one[0]])]
        for n in (5, 5, 5, N):  # the first time by a mask, then from a copy
            assert pairs(rec.recommend(user, n=n, where=where)) == expected[:n]
        with_seen = [one for one in ranking(rec, user, seen=True) if holds(ROWS[one[0]])]
        assert pairs(rec.recommend(user, n=N, where=where, seen=True)) == with_seen
    together = rec.recommend(["u3", "u41", "u3"], n=4, where=where)
    alone = {user: pairs(rec.recommend(user, n=4, where=where)) for user in ("u3", "u41")}
    assert pairs(together) == alone["u3"] + alone["u41"] + alone["u3"]


def test_new_and_unknown_users_and_similar_items_go_by_the_same_conditions(rec):
    where, holds = CONDITIONS["several columns"]
    new = pairs(rec.recommend_new(["i4", "i6"], n=N))
    assert pairs(rec.recommend_new(["i4", "i6"], n=7, where=where)) == [x for x in new if holds(ROWS[x[0]])][:7]
    assert {"i4", "i6"} <= set(rec.recommend_new(["i4", "i6"], n=N, seen=True)["item"])
    with pytest.warns(BitfmWarning, match="not known"):
        nobody, some = rec.recommend("nobody", n=N), rec.recommend("nobody", n=7, where=where)
    assert pairs(some) == [one for one in pairs(nobody) if holds(ROWS[one[0]])][:7]
    alike = pairs(rec.similar_items("i4", n=N))
    assert pairs(rec.similar_items("i4", n=7, where=where)) == [one for one in alike if holds(ROWS[one[0]])][:7]
    assert rec.similar_items("i4", n=9, allow=["i4", "i5", "i6"], deny="i6")["item"].to_list() == ["i5"]


def test_an_expression_of_narwhals(rec):
    nw = pytest.importorskip("narwhals")
    expected = rec.recommend("u3", n=9, where=(pl.col("price") < 50) & pl.col("stock"))
    assert rec.recommend("u3", n=9, where=(nw.col("price") < 50) & nw.col("stock")).equals(expected)
    with pytest.raises(ValueError, match="where: the expression does not go with the items' columns, 'shelf'"):
        rec.recommend("u3", where=nw.col("prize") < 50)


def test_lists_of_items_for_all(rec):
    full = ranking(rec, "u3", seen=True)
    some = [f"i{k}" for k in range(0, N, 7)]
    among = [one for one in full if one[0] in some]
    assert pairs(rec.recommend("u3", n=N, allow=some, seen=True)) == among
    assert pairs(rec.recommend("u3", n=N, deny=some, seen=True)) == [one for one in full if one[0] not in some]
    both = {"where": {"stock": True}, "allow": some, "deny": pl.DataFrame({"item_id": some[:5]}), "seen": True}
    expected = [one for one in among if ROWS[one[0]]["stock"] and one[0] not in some[:5]]
    for _ in range(3):
        assert pairs(rec.recommend("u3", n=N, **both)) == expected


@pytest.mark.parametrize("form", ["mapping", "table"])
def test_lists_of_items_per_user(rec, form):
    lists = {"u3": [f"i{k}" for k in range(0, N, 2)], "u41": ["i1", "i2", "i3"], "nobody asked": ["i4"]}
    given = lists
    if form == "table":
        rows = [(user, item) for user, items in lists.items() for item in items]
        given = pl.DataFrame(rows, schema=["user_id", "item_id"], orient="row")
    users = ["u41", "u3", "u7", "u41"]
    full = {user: ranking(rec, user, seen=True) for user in users}
    for n in (2, N):
        allowed = rec.recommend(users, n=n, allow=given, seen=True)
        assert pairs(allowed) == [
            one for user in users for one in [x for x in full[user] if x[0] in lists.get(user, ())][:n]
        ]
        denied = rec.recommend(users, n=n, deny=given, seen=True)
        assert pairs(denied) == [
            one for user in users for one in [x for x in full[user] if x[0] not in lists.get(user, ())][:n]
        ]
    assert rec.recommend("u7", allow=given).is_empty()
    hidden = set(rec.recommend("u3", n=N, deny=given)["item"])
    assert hidden == {one[0] for one in ranking(rec, "u3")} - set(lists["u3"])


def test_fewer_items_than_asked_for_are_fewer_rows(rec):
    assert rec.recommend("u3", n=9, allow=["i88", "i89"], seen=True)["rank"].to_list() == [1, 2]
    nothing = rec.recommend("u3", where=pl.col("price") < 0)
    assert (nothing.columns, len(nothing)) == (["rank", "item", "score"], 0)
    assert len(rec.recommend(["u3", "u4"], where=pl.col("price") < 0)) == 0
    assert len(rec.similar_items("i3", where=pl.col("price") < 0)) == 0


def test_what_cannot_be_gone_by_is_named(rec):
    with pytest.raises(MissingColumnError, match="where: there is no column 'shelve' of items to go by, only 'shelf'"):
        rec.recommend("u3", where={"shelve": "books"})
    with pytest.raises(MissingColumnError, match="no column 'prize'"):
        rec.recommend("u3", where=pl.col("prize") < 3)
    for _ in range(2):
        with pytest.warns(BitfmWarning, match="where: no item has shelf 'bokos'; there are 'books', 'food', 'toys'"):
            assert rec.recommend("u3", where={"shelf": "bokos"}).is_empty()
    with pytest.raises(ValueError, match="where: column 'price' is of the kind number, but 'cheap' is no number"):
        rec.recommend("u3", where={"price": "cheap"})
    with pytest.raises(ValueError, match="column 'stock' is of the kind flag, but 'maybe' is neither true nor false"):
        rec.recommend("u3", where={"stock": "maybe"})
    with pytest.raises(ValueError, match="expected an expression that is true or false of each item; it gives"):
        rec.recommend("u3", where=pl.col("price") + 1)
    with pytest.raises(TypeError, match="where: expected a mapping"):
        rec.recommend("u3", where="books")
    with pytest.warns(BitfmWarning, match="allow: item 'i1000' not known, so passed over"):
        rec.recommend("u3", allow={"u3": ["i1000", "i4"]})


def test_masks_are_refused_wherever_ids_are_meant(rec):
    mask = np.arange(N) % 2 == 0
    for given in (mask, mask.tolist(), pl.Series(mask)):
        for ask in (
            lambda m: rec.recommend("u3", allow=m),
            lambda m: rec.recommend("u3", deny={"u3": m}),
            lambda m: rec.recommend(m),
            lambda m: rec.recommend_new(m),
            lambda m: rec.user_vectors(m),
            lambda m: rec.similar_items("i3", allow=m),
            lambda m: rec.similar_items(m),
            lambda m: rec.explain("u3", m),
            lambda m: rec.remove_items(m),
        ):
            with pytest.raises(TypeError, match="mask of 90 booleans"):
                ask(given)


def test_values_are_updated_without_a_fit(rec):
    before = rec.state
    found = rec.recommend("u3", n=N, where={"stock": False})["item"].to_list()
    assert rec.update_items({"item_id": found[:2], "stock": [True, True]}) is rec
    assert rec.recommend("u3", n=N, where={"stock": False})["item"].to_list() == found[2:]
    assert rec.state.index is before.index
    assert rec.state.parameters is before.parameters
    rec.update_items(pl.DataFrame({"item_id": ["i5", "i6"], "price": [-3.0, None], "shelf": ["attic", "books"]}))
    assert rec.recommend("u3", n=N, where=pl.col("price") < 0, seen=True)["item"].to_list() == ["i5"]
    assert "i6" in rec.recommend("u3", n=N, where={"price": None}, seen=True)["item"].to_list()
    assert rec.recommend("u3", n=N, where={"shelf": "attic"}, seen=True)["item"].to_list() == ["i5"]
    with pytest.warns(BitfmWarning, match="update_items: item 'i900' not known, so passed over"):
        rec.update_items({"item_id": ["i900", "i8"], "stock": [True, True]})
    assert rec.n_items == N
    with pytest.warns(BitfmWarning, match="update_items: passed over 'colour', not among the fit's columns"):
        rec.update_items({"item_id": ["i8"], "colour": ["red"]})


def test_new_items_have_values(rec):
    rec.add_items({"item_id": ["late"], "shelf": ["attic"], "tags": [["blue"]], "stock": [True]})
    assert rec.recommend("u3", where={"shelf": "attic", "tags": "blue", "stock": True})["item"].to_list() == ["late"]
    assert "late" in rec.recommend("u3", n=N + 1, where={"price": None})["item"].to_list()


def test_removed_items_leave_no_values(rec, tmp_path):
    secret = "q7Zk2pXw9LmVb3Rt"
    rec.update_items({"item_id": ["i5", "i9"], "shelf": [secret, "books"], "tags": [[secret, "red"], ["new"]]})
    rec.save(tmp_path / "before.bitfm")
    assert secret.encode() in (tmp_path / "before.bitfm").read_bytes()
    rec.remove_items(["i5"])
    rec.save(tmp_path / "after.bitfm")
    assert secret.encode() not in (tmp_path / "after.bitfm").read_bytes()
    left = bitfm.load(tmp_path / "after.bitfm")
    assert set(left.recommend("u3", n=N, where={"shelf": "books"}, seen=True)["item"]) == {
        item for item, row in ROWS.items() if (row["shelf"] == "books" or item == "i9") and item != "i5"
    }


def test_files_hold_the_columns(rec, tmp_path):
    rec.save(tmp_path / "one.bitfm")
    again = bitfm.load(tmp_path / "one.bitfm")
    assert again.filters == rec.filters == ["shelf", "stock", "price", "euros", "tags", "since"]
    for name in CONDITIONS:
        where = CONDITIONS[name][0]
        assert again.recommend("u3", n=9, where=where).equals(rec.recommend("u3", n=9, where=where))
    again.save(tmp_path / "two.bitfm")
    assert (tmp_path / "one.bitfm").read_bytes() == (tmp_path / "two.bitfm").read_bytes()


@pytest.mark.parametrize("damage", ["category", "list", "rows", "twice", "more"])
def test_damaged_columns_are_found(rated, tmp_path, damage):
    from bitfm import persist

    rated.save(tmp_path / "whole.bitfm")
    contents = persist.read(tmp_path / "whole.bitfm")
    tensors = {name: np.array(array) for name, array in contents.tensors.items()}
    metadata = dict(contents.metadata)
    if damage == "category":
        tensors["tables.item.kept.0.numbers"][3] = 99
    elif damage == "list":
        tensors["tables.item.kept.4.table.members"][3] = 99
    elif damage == "rows":
        tensors["tables.item.kept.2.values"] = tensors["tables.item.kept.2.values"][:-1]
    elif damage == "twice":
        metadata["recommender"] = metadata["recommender"].replace(
            '"name":"stock","kind":"flag"', '"name":"price","kind":"flag"'
        )
    else:
        tensors["tables.item.kept.9.values"] = np.zeros(N)
    persist.write(tmp_path / "damaged.bitfm", tensors, metadata)
    with pytest.raises(ModelFileError):
        bitfm.load(tmp_path / "damaged.bitfm").recommend(
            "u3", where=pl.col("shelf").is_not_null() & (pl.col("tags").list.len() > 0)
        )


def test_which_columns_are_kept():
    assert fit("rating", filters=["link", "price"]).filters == ["link", "price"]
    assert fit("rating", filters=[]).filters == []
    with pytest.raises(MissingColumnError, match="no column 'colour'"):
        fit("rating", filters=["colour"])
    with pytest.raises(ValueError, match=r"filters=\['price'\] is of items, but there is no table of items"):
        quick().fit(interactions("rating"), filters=["price"])
    with pytest.raises(TypeError, match="filters: expected a list of columns, got 'price'"):
        fit("rating", filters="price")
    plain = quick().fit(interactions("rating"))
    with pytest.raises(MissingColumnError, match="only none; keep others with fit"):
        plain.recommend("u3", where={"price": 3})


def test_whole_numbers_beyond_doubles_are_told_apart():
    items = {"item_id": ["a", "b", "c"], "code": [2**60, 2**60 + 1, None]}
    rec = quick().fit({"user_id": ["x", "y"], "item_id": ["a", "b"], "rating": [1, 2]}, items=items, filters=["code"])
    assert rec.recommend("x", where={"code": 2**60 + 1}, seen=True)["item"].to_list() == ["b"]
    assert rec.recommend("x", where={"code": None}, seen=True)["item"].to_list() == ["c"]


def test_other_threads_may_ask_while_values_change(rated):
    rec, wrong, stop = copy.copy(rated), [], threading.Event()
    rec.update_items({"item_id": [f"i{k}" for k in range(N)], "price": [0.0] * N})

    def ask():
        while not stop.is_set():
            prices = {0.0, 1.0}
            found = [len(rec.recommend("u3", n=N, where={"price": price}, seen=True)) for price in prices]
            if any(n not in (0, N) for n in found):
                wrong.append(found)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(1, 30):
        rec.update_items({"item_id": [f"i{k}" for k in range(N)], "price": [float(turn % 2)] * N})
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_many_conditions_are_not_kept_for_ever(rated):
    rec = copy.copy(rated)
    for turn in range(60):
        rec.recommend("u3", n=3, where=pl.col("price") < turn)
        rec.recommend("u3", n=3, where=pl.col("price") < turn)
    kept = rec.state.selections._found
    assert 0 < len(kept) <= 16
    assert sum(selection.n_copied for selection in kept.values()) <= N
