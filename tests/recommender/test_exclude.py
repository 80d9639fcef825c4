"""What was bought is hidden, and what was viewed is shown."""

from __future__ import annotations

import copy

import numpy as np
import polars as pl
import pytest

import bitfm
from bitfm import BitfmWarning, Recommender
from bitfm.errors import ModelFileError, UnknownIdError
from ratings_of_shop import quick

WEIGHTS = {"view": 1.0, "cart": 3.0, "buy": 10.0, "return": -4.0}


def some_events(n=1200, seed=0):
    rng = np.random.default_rng(seed)
    kinds = np.array(["view", "view", "view", "cart", "buy", "return"])[rng.integers(6, size=n)]
    user, item = rng.integers(40, size=n), rng.integers(50, size=n)
    return pl.DataFrame({"user_id": [f"u{one}" for one in user], "item_id": [f"i{one}" for one in item], "what": kinds})


EVENTS = some_events()


def fit(**settings):
    rec = Recommender(bits=16, n_jobs=1, event_weights=WEIGHTS, **settings)
    return rec.fit(EVENTS, target=None, event="what")


@pytest.fixture(scope="module", params=["fitted", "of a file"])
def fitted(request, tmp_path_factory):
    rec = fit()
    if request.param == "fitted":
        return rec
    path = tmp_path_factory.mktemp("kinds") / "shop.bitfm"
    rec.save(path)
    return bitfm.load(path)


@pytest.fixture
def rec(fitted):
    return copy.copy(fitted)


def had(events, user, kinds, weights=WEIGHTS):
    """Return the items of a user by some kinds of events, but those whose events add up to nothing."""
    own = events.filter(pl.col("user_id") == user).with_columns(worth=pl.col("what").replace_strict(weights))
    sums = own.group_by("item_id").agg(pl.col("worth").sum(), pl.col("what")).filter(pl.col("worth") != 0)
    return {item for item, _, what in sums.iter_rows() if set(what) & set(kinds)}


def shown(rec, user, **how):
    return set(rec.recommend(user, n=100, **how)["item"])


def check(rec, events, users=("u3", "u17", "u39")):
    everything = set(rec.items["item_id"])
    for user in users:
        for kinds in (["buy"], ["buy", "cart"], ["view"], ["return"], list(WEIGHTS), []):
            assert shown(rec, user, exclude=kinds) == everything - had(events, user, kinds)
        assert shown(rec, user, exclude="buy") == shown(rec, user, exclude=["buy"])
        assert shown(rec, user) == everything - had(events, user, list(WEIGHTS))


def test_items_are_hidden_by_what_was_done_with_them(rec):
    check(rec, EVENTS)
    full = rec.recommend("u3", n=100, seen=True)
    hidden = had(EVENTS, "u3", ["buy"])
    expected = [row for row in full.to_dicts() if row["item"] not in hidden]
    found = rec.recommend("u3", n=100, exclude=["buy"]).to_dicts()
    assert [(row["item"], row["score"]) for row in found] == [(row["item"], row["score"]) for row in expected]
    together = rec.recommend(["u3", "u17"], n=100, exclude=["buy"])
    for user in ("u3", "u17"):
        assert set(together.filter(pl.col("user") == user)["item"]) == shown(rec, user, exclude=["buy"])


def test_users_who_are_not_known_have_had_nothing(rec):
    with pytest.warns(BitfmWarning, match="not known"):
        assert len(rec.recommend("nobody", n=100, exclude=["buy"])) == rec.n_items


def test_kinds_are_kept_when_things_change(rec, tmp_path):
    more = some_events(200, seed=1).with_columns(
        user_id=pl.when(pl.int_range(pl.len()) < 20).then(pl.lit("late")).otherwise("user_id"),
        item_id=pl.when(pl.int_range(pl.len()) % 9 == 0).then(pl.lit("new")).otherwise("item_id"),
    )
    rec.add_events(more)
    events = pl.concat([EVENTS, more])
    check(rec, events, ("u3", "u17", "late"))
    rec.remove_users(["u5", "u1"]).remove_items(["i7", "i30"])
    events = events.filter(~pl.col("user_id").is_in(["u5", "u1"]) & ~pl.col("item_id").is_in(["i7", "i30"]))
    check(rec, events, ("u3", "u17", "late"))
    item = next(iter(had(events, "u3", ["buy"])))
    rec.remove_interactions([("u3", item)])
    events = events.filter((pl.col("user_id") != "u3") | (pl.col("item_id") != item))
    check(rec, events)
    rec.save(tmp_path / "changed.bitfm")
    check(bitfm.load(tmp_path / "changed.bitfm"), events)


def test_events_of_an_untold_kind_are_of_none(rec):
    rec.add_events({"user_id": ["fresh"], "item_id": ["i4"]})
    assert "i4" in shown(rec, "fresh", exclude=list(WEIGHTS))
    assert "i4" not in shown(rec, "fresh")


def test_many_kinds_are_told_apart():
    weights = {f"kind {k}": 1.0 for k in range(40)}
    table = {"user_id": ["u"] * 40, "item_id": [f"i{k}" for k in range(40)], "what": list(weights)}
    more = {"user_id": ["v"] * 3, "item_id": ["i1", "i2", "i3"], "what": ["kind 1", "kind 39", "kind 1"]}
    rec = Recommender(bits=8, n_jobs=1, event_weights=weights)
    rec.fit({name: table[name] + more[name] for name in table}, target=None, event="what")
    rec.add_events({"user_id": ["w", "u"], "item_id": ["i9", "i39"], "what": ["kind 7", "kind 0"]})
    assert shown(rec, "u", exclude=["kind 39"]) == {f"i{k}" for k in range(39)}
    assert shown(rec, "u", exclude=["kind 0"]) == {f"i{k}" for k in range(1, 39)}
    assert shown(rec, "v", exclude=["kind 39"]) == {f"i{k}" for k in range(40)} - {"i2"}


@pytest.mark.parametrize("target", ["rating", None])
def test_pairs_are_hidden_in_place_of_what_was_had(target):
    table = EVENTS.with_columns(rating=pl.lit(3.0))
    rec = (quick() if target else Recommender(bits=8, n_jobs=1)).fit(table, target=target)
    everything = set(rec.items["item_id"])
    bought = pl.DataFrame({"user_id": ["u3", "u3", "u4"], "item_id": ["i1", "i2", "i3"]})
    lists = {"u3": ["i1", "i2"], "u4": "i3"}
    for exclude in (bought, bought.to_pandas(), lists, list(bought.iter_rows())):
        assert shown(rec, "u3", exclude=exclude) == everything - {"i1", "i2"}
        assert shown(rec, "u5", exclude=exclude) == everything
        found = rec.recommend(["u4", "u3"], n=100, exclude=exclude, deny=["i9"])
        assert set(found.filter(pl.col("user") == "u4")["item"]) == everything - {"i3", "i9"}
    with pytest.warns(BitfmWarning, match="exclude: item 'i1000' not known, so passed over"):
        rec.recommend("u3", exclude={"u3": ["i1000"]})


def test_what_cannot_be_hidden_is_an_error(rec):
    with pytest.raises(ValueError, match="there are no events 'bought'; the kinds of events are 'buy', 'cart'"):
        rec.recommend("u3", exclude=["bought"])
    with pytest.raises(ValueError, match="seen=True to hide nothing; give one of them"):
        rec.recommend("u3", exclude=["buy"], seen=True)
    with pytest.raises(TypeError, match="exclude: expected kinds of events"):
        rec.recommend("u3", exclude=5)
    with pytest.raises(TypeError, match="exclude: expected kinds of events"):
        rec.recommend("u3", exclude=[True, False])
    untold = Recommender(bits=8, n_jobs=1).fit(EVENTS, target=None)
    with pytest.raises(ValueError, match=r"nothing says what events are; name their column with fit\(event="):
        untold.recommend("u3", exclude=["buy"])
    with pytest.raises(ValueError, match="ratings are of no kinds"):
        quick().fit(EVENTS.with_columns(rating=pl.lit(1.0))).recommend("u3", exclude=["buy"])
    with pytest.raises(UnknownIdError, match="keeps no users"):
        fit(keep_interactions=False).recommend("u3", exclude=["buy"])


def test_without_users_there_are_no_kinds(tmp_path):
    rec = fit(keep_interactions=False)
    assert rec.state.kinds is None
    rec.save(tmp_path / "nobody.bitfm")
    assert bitfm.load(tmp_path / "nobody.bitfm").state.kinds is None


@pytest.mark.parametrize("damage", ["short", "names", "none"])
def test_damaged_kinds_are_found(fitted, tmp_path, damage):
    from bitfm import persist

    fitted.save(tmp_path / "whole.bitfm")
    contents = persist.read(tmp_path / "whole.bitfm")
    tensors, metadata = dict(contents.tensors), dict(contents.metadata)
    if damage == "short":
        tensors["tables.kinds.marks"] = tensors["tables.kinds.marks"][1:]
    elif damage == "names":
        metadata["recommender"] = metadata["recommender"].replace('"kinds":["buy",', '"kinds":["bay",')
    else:
        metadata["recommender"] = metadata["recommender"].replace(
            '"kinds":["buy","cart","return","view"]', '"kinds":null'
        )
    persist.write(tmp_path / "damaged.bitfm", tensors, metadata)
    with pytest.raises(ModelFileError):
        bitfm.load(tmp_path / "damaged.bitfm")
