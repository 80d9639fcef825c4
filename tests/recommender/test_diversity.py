"""Lists that are not all alike, and users who are."""

from __future__ import annotations

import copy
from collections import Counter

import numpy as np
import polars as pl
import pytest

import bitfm
from bitfm import Recommender
from bitfm.errors import MissingColumnError, UnknownIdError
from ratings_of_shop import quick

N = 120
ITEMS = pl.DataFrame(
    {
        "item_id": [f"i{k}" for k in range(N)],
        "author": [None if k % 15 == 0 else f"author {k % 7}" for k in range(N)],
        "tags": [["x", "y", "z"][: k % 4] for k in range(N)],
        "year": [1990 + k % 3 for k in range(N)],
    }
)
ROWS = {row["item_id"]: row for row in ITEMS.to_dicts()}


def fit(target):
    rng = np.random.default_rng(5)
    user = rng.integers(60, size=2500)
    item = np.where(rng.random(2500) < 0.8, (user % 4) * 30 + rng.integers(30, size=2500), rng.integers(N, size=2500))
    table = {"user_id": [f"u{one}" for one in user], "item_id": [f"i{one}" for one in item]}
    if target is None:
        return Recommender(bits=32, n_jobs=1).fit(table, items=ITEMS, target=None)
    liked = (user % 4 == item // 30) * 3.0 + rng.random(2500)
    return quick(32).fit({**table, "rating": (1 + liked).tolist()}, items=ITEMS)


@pytest.fixture(scope="module", params=["rating", None])
def of_kind(request):
    return fit(request.param)


@pytest.fixture(params=["fitted", "of a file"])
def rec(of_kind, request, tmp_path):
    if request.param == "fitted":
        return copy.copy(of_kind)
    of_kind.save(tmp_path / "shop.bitfm")
    return bitfm.load(tmp_path / "shop.bitfm")


def groups(item, column):
    value = ROWS[item][column]
    return [] if value is None else value if isinstance(value, list) else [value]


@pytest.mark.parametrize("limits", [{"author": 1}, {"author": 2, "year": 3}, {"tags": 2}])
@pytest.mark.parametrize("n", [3, 10, N])
def test_no_value_has_more_items_than_it_may(rec, limits, n):
    """The result is the full ranking, from which an item is struck out if its value is full already."""
    for user in ("u3", "u41"):
        counts, expected = {column: Counter() for column in limits}, []
        for item in rec.recommend(user, n=N)["item"]:
            own = {column: groups(item, column) for column in limits}
            if all(counts[c][value] < limits[c] for c, values in own.items() for value in values):
                expected.append(item)
                for column, values in own.items():
                    counts[column].update(values)
        assert rec.recommend(user, n=n, diversity=limits)["item"].to_list() == expected[:n]
    both = rec.recommend(["u3", "u41"], n=n, diversity=limits)
    for user in ("u3", "u41"):
        own = both.filter(pl.col("user") == user)
        assert own["item"].to_list() == rec.recommend(user, n=n, diversity=limits)["item"].to_list()
        assert own["rank"].to_list() == list(range(1, len(own) + 1))


def likeness(rec, items):
    alike = {one: dict(rec.similar_items(one, n=N)[["item", "score"]].iter_rows()) for one in items}
    return np.array([[1.0 if a == b else alike[a][b] for b in items] for a in items])


@pytest.mark.parametrize("diversity", [0.2, 0.5, 0.9, 1.0])
def test_items_are_chosen_by_maximal_marginal_relevance(rec, diversity):
    pool = rec.recommend("u3", n=100)
    items, scores = pool["item"].to_list(), pool["score"].to_numpy().astype(float)
    relevance = (scores - scores[-1]) / (scores[0] - scores[-1])
    alike, chosen = likeness(rec, items), [0]
    while len(chosen) < 8:
        worth = (1 - diversity) * relevance - diversity * alike[:, chosen].max(axis=1)
        worth[chosen] = -np.inf
        chosen.append(int(np.argmax(worth)))
    found = rec.recommend("u3", n=8, diversity=diversity)
    assert found["item"].to_list() == [items[place] for place in chosen]
    np.testing.assert_allclose(found["score"], scores[chosen], rtol=1e-6)


def test_more_diversity_makes_lists_less_alike(rec):
    def mean(diversity):
        total = 0.0
        for user in ("u1", "u2", "u3", "u8"):
            items = rec.recommend(user, n=8, diversity=diversity)["item"].to_list()
            total += likeness(rec, items)[np.triu_indices(8, 1)].mean()
        return total

    assert mean(0.9) < mean(0.4) < mean(0)


def test_without_diversity_nothing_changes_and_little_is_left_as_it_is(rec):
    assert rec.recommend("u3", n=9, diversity=0).equals(rec.recommend("u3", n=9))
    assert rec.recommend("u3", n=9, diversity=0.5, allow=["i4"], seen=True)["item"].to_list() == ["i4"]
    assert rec.recommend("u3", n=9, diversity=0.5, allow=[]).is_empty()
    assert rec.recommend("u3", n=9, diversity={"author": 1}, allow=[]).is_empty()
    new = rec.recommend_new(["i3"], n=5, diversity={"author": 1}, where={"year": 1990})
    assert all(ROWS[item]["year"] == 1990 for item in new["item"])
    lists = {"u3": ["i1", "i8", "i15"], "u41": [f"i{k}" for k in range(60)]}
    found = rec.recommend(["u3", "u41"], n=3, diversity={"author": 1}, allow=lists, seen=True)
    assert Counter(found["user"]) == {"u3": 2, "u41": 3}


def test_what_is_no_diversity_is_named(rec):
    for wrong in (-0.1, 1.5, True, "much", float("nan")):
        with pytest.raises(ValueError, match="diversity: expected a number from 0 to 1"):
            rec.recommend("u3", diversity=wrong)
    with pytest.raises(MissingColumnError, match="diversity: there is no column 'writer'"):
        rec.recommend("u3", diversity={"writer": 1})
    with pytest.raises(ValueError, match="diversity: author"):
        rec.recommend("u3", diversity={"author": 0})


def test_similar_users_like_the_same(rec):
    found = rec.similar_users("u5", n=8)
    assert (found.columns, found["rank"].to_list()) == (["rank", "user", "score"], list(range(1, 9)))
    assert "u5" not in found["user"].to_list()
    assert found["score"].is_sorted(descending=True)
    assert found["score"].is_between(-1.001, 1.001).all()
    same_taste = [int(user[1:]) % 4 == 1 for user in found["user"]]
    assert sum(same_taste) >= 6
    assert len(rec.similar_users("u5", n=1000)) == rec.n_users - 1


def test_similar_users_are_those_whose_scores_correlate(rec):
    """Of events all items count alike, and of ratings as often as they were rated."""
    users, width = [f"u{k}" for k in range(20)], rec.state.item_covariance.shape[0]
    vectors, items = rec.user_vectors(users).vectors[:, :width], rec.item_vectors().vectors[:, :width]
    weights = rec.items["interactions"].to_numpy() if rec.state.target else np.ones(N)
    covariance = np.cov(vectors @ items.T, aweights=weights)
    spreads = np.sqrt(np.diag(covariance))
    found = dict(rec.similar_users("u5", n=60)[["user", "score"]].iter_rows())
    for place, user in enumerate(users):
        if user != "u5":
            assert found[user] == pytest.approx(covariance[5, place] / spreads[5] / spreads[place], abs=1e-3)


def test_users_who_are_not_known_have_none_like_them(rec):
    with pytest.raises(UnknownIdError, match="user 'nobody' is not known; add it with add_users"):
        rec.similar_users("nobody")
    with pytest.raises(TypeError, match="user: expected one id, got 2"):
        rec.similar_users(["u1", "u2"])
    forgetful = Recommender(bits=8, n_jobs=1, keep_interactions=False)
    forgetful.fit({"user_id": ["a", "b"], "item_id": ["x", "y"]}, target=None)
    with pytest.raises(UnknownIdError, match="keeps no users"):
        forgetful.similar_users("a")
