"""Boosts are added to scores, and the best items are those of a full sort of the sums."""

from __future__ import annotations

import copy

import numpy as np
import polars as pl
import pytest

import bitfm
from bitfm import BitfmWarning, ImplicitFM, Recommender
from bitfm.errors import MissingColumnError
from ratings_of_shop import quick

N = 80
MARGINS = [None if k == 5 else (k * 29 % 17 - 8) / 10 for k in range(N)]
ITEMS = pl.DataFrame(
    {
        "item_id": [f"i{k}" for k in range(N)],
        "margin": MARGINS,
        "fresh": [k % 5 == 0 for k in range(N)],
        "shelf": ["abcd"[k % 4] for k in range(N)],
    }
)
KINDS = {"margin": "ignore", "fresh": "ignore"}
MARGIN = {f"i{k}": margin or 0.0 for k, margin in enumerate(MARGINS)}
FRESH = {f"i{k}": float(k % 5 == 0) for k in range(N)}


def fit(name):
    rng = np.random.default_rng(4)
    user, item = rng.integers(50, size=1300), rng.integers(N, size=1300)
    table = {"user_id": [f"u{one}" for one in user], "item_id": [f"i{one}" for one in item]}
    if name == "ratings":
        return quick(kinds=KINDS).fit({**table, "rating": (1 + (user * item) % 5).tolist()}, items=ITEMS)
    if name == "bare ratings":
        rec = quick(kinds={**KINDS, "shelf": "ignore"}, history=False, raters=False)
        return rec.fit({**table, "rating": (1 + (user * item) % 5).tolist()}, items=ITEMS)
    model = ImplicitFM(16, n_jobs=1, n_neighbors=0 if name == "events without neighbours" else 8)
    return Recommender(model=model, kinds=KINDS).fit(table, items=ITEMS, target=None)


@pytest.fixture(scope="module", params=["ratings", "bare ratings", "events", "events without neighbours"])
def of_kind(request):
    return fit(request.param)


@pytest.fixture(params=["fitted", "of a file"])
def rec(of_kind, request, tmp_path):
    if request.param == "fitted":
        return copy.copy(of_kind)
    of_kind.save(tmp_path / "shop.bitfm")
    return bitfm.load(tmp_path / "shop.bitfm")


def check(found, full, boosts, n):
    """Compare with a full sort; items whose sums are the same but for rounding may change places."""
    sums = {item: score + boosts.get(item, 0.0) for item, score in zip(full["item"], full["score"], strict=True)}
    best = sorted(sums.values(), reverse=True)[:n]
    np.testing.assert_allclose(found["score"], best, atol=3e-5)
    np.testing.assert_allclose([sums[item] for item in found["item"]], best, atol=3e-5)


@pytest.mark.parametrize("weight", [0.1, 3.0, -2.0])
def test_the_best_are_those_of_a_full_sort(rec, weight):
    boosts = {item: weight * margin for item, margin in MARGIN.items()}
    for user in ("u3", "u7", "u20"):
        full = rec.recommend(user, n=N)
        for n in (1, 10, 10, N):
            check(rec.recommend(user, n=n, boost={"margin": weight}), full, boosts, n)
    with pytest.warns(BitfmWarning, match="not known"):
        check(rec.recommend("nobody", n=9, boost={"margin": weight}), rec.recommend("nobody", n=N), boosts, 9)
    new = rec.recommend_new(["i3", "i9"], n=N)
    check(rec.recommend_new(["i3", "i9"], n=9, boost={"margin": weight}), new, boosts, 9)
    users = ["u3", "u7", "u20", "u3"]
    together = rec.recommend(users, n=6, boost={"margin": weight})
    alone = pl.concat([rec.recommend(user, n=6, boost={"margin": weight}) for user in users])
    assert together["item"].to_list() == alone["item"].to_list()
    np.testing.assert_allclose(together["score"], alone["score"], rtol=1e-6)


def test_boosts_in_all_their_forms(rec):
    full = rec.recommend("u3", n=N)
    both = {item: 0.5 * MARGIN[item] - 2 * FRESH[item] for item in MARGIN}
    check(rec.recommend("u3", n=9, boost={"margin": 0.5, "fresh": -2}), full, both, 9)
    check(rec.recommend("u3", n=9, boost="margin"), full, MARGIN, 9)
    some = {"i1": 2.0, "i2": -7, "i40": 1.5}
    check(rec.recommend("u3", n=N, boost=some), full, some, N)
    table = pl.DataFrame({"item_id": list(some), "more": list(some.values())})
    check(rec.recommend("u3", n=9, boost=table), full, some, 9)
    assert rec.recommend("u3", n=9, boost={}).equals(rec.recommend("u3", n=9))


def test_boosts_and_filters_go_together(rec):
    for _ in range(3):
        found = rec.recommend("u3", n=5, boost={"margin": 1.0}, where={"shelf": ["a", "b"]}, deny=["i4"])
        full = rec.recommend("u3", n=N, where={"shelf": ["a", "b"]}, deny=["i4"])
        check(found, full, MARGIN, 5)
    allowed = {"u3": ["i1", "i2", "i3"], "u7": [f"i{k}" for k in range(40)]}
    found = rec.recommend(["u3", "u7"], n=5, boost="margin", allow=allowed, seen=True)
    for user in allowed:
        full = rec.recommend(user, n=N, allow=allowed[user], seen=True)
        check(found.filter(pl.col("user") == user), full, MARGIN, min(5, len(allowed[user])))


def test_a_boost_goes_by_the_values_of_today(rec):
    before = rec.recommend("u3", n=N)
    rec.recommend("u3", boost="margin")
    last = before["item"][-1]
    rec.update_items({"item_id": [last], "margin": [1000.0]})
    assert rec.recommend("u3", n=1, boost="margin")["item"].to_list() == [last]


def test_what_is_no_boost_is_named(rec):
    with pytest.raises(MissingColumnError, match="boost: there is no column 'profit' of items to go by"):
        rec.recommend("u3", boost={"profit": 1})
    with pytest.raises(ValueError, match="boost: column 'shelf' is no column of numbers"):
        rec.recommend("u3", boost={"shelf": 1})
    with pytest.raises(ValueError, match="boost: expected a number for 'margin', got 'much'"):
        rec.recommend("u3", boost={"margin": "much"})
    with pytest.raises(ValueError, match="boost: expected a number for 'margin', got nan"):
        rec.recommend("u3", boost={"margin": float("nan")})
    with pytest.raises(ValueError, match="more than single precision holds"):
        rec.recommend("u3", boost={"margin": 1e300})
    with pytest.raises(TypeError, match="boost: expected a column"):
        rec.recommend("u3", boost=0.1)
    with pytest.raises(ValueError, match="a table of 'item_id' and one column of numbers"):
        rec.recommend("u3", boost=pl.DataFrame({"item_id": ["i1"], "a": [1], "b": [2]}))
    with pytest.warns(BitfmWarning, match="boost: item 'i900' not known, so passed over"):
        rec.recommend("u3", boost={"i900": 1.0, "i3": 2.0})
