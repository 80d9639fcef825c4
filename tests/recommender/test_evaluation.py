"""An evaluation of events is what one gets by asking for each user's recommendations; users may be folded in."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import log2

import numpy as np
import polars as pl
import pytest

from bitfm import BiasModel, Recommender
from bitfm.data import Interactions
from ratings_of_shop import quick

EVENTS = {"user": "person", "item": "thing", "target": None}


@pytest.fixture(scope="module")
def parts(events):
    once = events.unique(["person", "thing"], maintain_order=True).with_row_index("time")
    return Interactions.of(once, **EVENTS, time="time")


@pytest.fixture(scope="module")
def halves(parts):
    train, test = parts.split(0.5, seed=2)
    return train, test, Recommender(bits=32, n_jobs=1).fit(train)


def things_by_person(rows):
    return {
        person: set(group["i"]) for (person,), group in pl.DataFrame({"u": rows.users, "i": rows.items}).group_by("u")
    }


def test_every_measure_is_what_the_recommendations_say(halves):
    train, test, rec = halves
    had, k = things_by_person(train), 5
    liked = things_by_person(test)
    lists = {person: rec.recommend(person, k)["item"].to_list() for person in liked}
    hits = {person: [item in liked[person] for item in items] for person, items in lists.items()}
    n_users = {item: sum(item in things for things in had.values()) for item in rec.items["thing"]}
    vectors = dict(zip(rec.items["thing"], rec.state.item_vectors, strict=True))
    cosine = {
        (a, b): vectors[a] @ vectors[b] / np.linalg.norm(vectors[a]) / np.linalg.norm(vectors[b])
        for a, b in combinations(sorted(vectors), 2)
    }
    expected = {
        "recall": [sum(hits[p]) / len(liked[p]) for p in lists],
        "precision": [sum(hits[p]) / k for p in lists],
        "hit_rate": [any(hits[p]) for p in lists],
        "mrr": [1 / (hits[p].index(True) + 1) if any(hits[p]) else 0 for p in lists],
        "map": [
            sum(sum(hits[p][: r + 1]) / (r + 1) for r in range(k) if hits[p][r]) / min(k, len(liked[p])) for p in lists
        ],
        "ndcg": [
            sum(1 / log2(r + 2) for r in range(k) if hits[p][r])
            / sum(1 / log2(r + 2) for r in range(min(k, len(liked[p]))))
            for p in lists
        ],
        "novelty": [np.mean([-log2(max(n_users[item], 1) / len(had)) for item in items]) for items in lists.values()],
        "diversity": [
            1 - np.mean([cosine[tuple(sorted(pair))] for pair in combinations(items, 2)]) for items in lists.values()
        ],
    }
    found = rec.evaluate(test, k=k)
    for name, values in expected.items():
        assert getattr(found, name) == pytest.approx(np.mean(values), rel=1e-5), name
        by_person = dict(zip(found.measures[name].users.tolist(), found.measures[name].values.tolist(), strict=True))
        assert by_person == pytest.approx(dict(zip(lists, map(float, values), strict=True)), rel=1e-4, abs=1e-6)
        low, high = found.intervals()[found.labels()[name]]
        assert low <= getattr(found, name) <= high
    assert found.coverage == len({item for items in lists.values() for item in items}) / rec.n_items
    assert "coverage@5" not in found.intervals()
    assert (found.users, found.interactions) == (len(liked), sum(map(len, liked.values())))


def test_popularity_is_one_ranking_for_all_but_what_they_have_had(halves):
    train, test, rec = halves
    had, liked = things_by_person(train), things_by_person(test)
    popular = dict(train.items.value_counts().iter_rows())
    order = sorted(rec.items["thing"], key=lambda item: -popular.get(item, 0))
    recalls = [len(set([i for i in order if i not in had[p]][:10]) & liked[p]) / len(liked[p]) for p in liked]
    found = rec.evaluate(test, model="popularity")
    assert found.recall == pytest.approx(np.mean(recalls))
    assert rec.evaluate(test).ndcg > found.ndcg
    with pytest.raises(ValueError, match="model must be one of 'popularity'"):
        rec.evaluate(test, model="random")


def test_popularity_is_for_events(rec, shop):
    with pytest.raises(ValueError, match="compare ratings with a fitted BiasModel"):
        rec.evaluate(shop.ratings, model="popularity")


def test_ranked_one_by_one_an_interval_draws_users_with_all_of_theirs(halves):
    _, test, rec = halves
    found = rec.evaluate(test, by="interaction", k=5)
    assert (found.users, found.interactions) == (len(things_by_person(test)), len(test))
    best = {person: rec.recommend(person, 5, seen=True)["item"].to_list() for person in set(test.users)}
    hits = [item in best[person] for person, item in zip(test.users, test.items, strict=True)]
    assert found.hit_rate == pytest.approx(np.mean(hits))
    assert found.recall == found.hit_rate  # one item to be found each
    low, high = found.intervals()["hit rate@5"]
    assert low < found.hit_rate < high
    assert len(found.measures["hit_rate"]) == found.users


def test_of_a_single_user_there_is_no_interval(halves):
    _, test, rec = halves
    found = rec.evaluate(test.take(np.arange(1)))
    assert found.users == 1
    assert found.intervals() == {}


# Whole users held out


def test_users_held_out_are_ranked_as_new_ones_with_the_history_that_is_given(parts):
    train, test = parts.split(0.2, seed=1, by="user")
    rec = Recommender(bits=32, n_jobs=1).fit(train)
    given, liked = things_by_person(test.given), things_by_person(test)
    recalls = [len(set(rec.recommend_new(sorted(given[p]), n=10)["item"]) & liked[p]) / len(liked[p]) for p in liked]
    found = rec.evaluate(test)
    assert found.recall == pytest.approx(np.mean(recalls))
    assert found.users == len(liked)
    assert not set(rec.users["person"]) & set(liked)  # asking has not changed the recommender
    assert (
        found.ndcg
        > rec.evaluate(Interactions.of(pl.DataFrame({"person": test.users, "thing": test.items}), **EVENTS)).ndcg
    )


def test_readers_held_out_are_folded_in_by_their_ratings(shop):
    rows = Interactions.of(shop.ratings, user="reader", item="book")
    train, test = rows.split(0.2, seed=1, by="user")
    rec = Recommender(bits=32, n_jobs=1).fit(train, items=shop.books)
    found = rec.evaluate(test)
    scores = np.empty(len(test))
    for reader in set(test.users):
        mine = (test.users == reader).to_numpy()
        his = test.given.take((test.given.users == reader).to_numpy())
        history = list(zip(map(int, his.items), his.target.tolist(), strict=True))
        best = rec.recommend_new(history, n=rec.n_items)
        by_book = dict(zip(best["item"], best["score"], strict=True))
        scores[mine] = [by_book[int(book)] for book in test.items.filter(pl.Series(mine))]
    assert found.rmse == pytest.approx(np.sqrt(np.mean((scores - test.target) ** 2)), rel=1e-3)
    bare = rec.evaluate(pl.DataFrame({"reader": test.users, "book": test.items, "rating": test.target}))
    assert found.rmse < bare.rmse
    assert rec.n_users == len(set(train.users))


def test_other_models_of_the_same_data_are_asked_of_readers_held_out_as_well(shop):
    """Biases have no fold-in, so that what is given of readers tells them nothing."""
    rows = Interactions.of(shop.ratings, user="reader", item="book")
    train, test = rows.split(0.2, seed=1, by="user")
    for readers in (None, shop.readers):  # not known at all, or by their features
        rec = quick(history=False, raters=False).fit(train, users=readers, items=shop.books)
        bias = BiasModel(n_jobs=1).fit(*rec.training_data(train))
        found = rec.evaluate(test, model=bias)
        assert found.rmse == pytest.approx(rec.evaluate(replace(test, given=None), model=bias).rmse)
        assert found.rmse < 1.05 * np.std(test.target)


def test_given_items_that_are_not_known_are_passed_over(parts):
    train, test = parts.split(0.2, seed=1, by="user")
    known = train.take((train.items != test.given.items[0]).to_numpy())
    rec = Recommender(bits=16, n_jobs=1).fit(known)
    assert rec.evaluate(test).users > 0


# A picture


def test_the_measures_are_drawn_into_a_picture(halves, tmp_path):
    pytest.importorskip("matplotlib")
    _, test, rec = halves
    found = rec.evaluate(test)
    found.plot(tmp_path / "all.svg", popularity=rec.evaluate(test, model="popularity"))
    drawn = (tmp_path / "all.svg").read_text()
    assert drawn.count('id="axes_') == 9
    found.plot(tmp_path / "alone.PNG")
    assert (tmp_path / "alone.PNG").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="same k="):
        found.plot(tmp_path / "other.svg", five=rec.evaluate(test, k=5))
    with pytest.raises(ValueError, match=r"ends in \.png or \.svg"):
        found.plot(tmp_path / "picture.gif")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["all.svg", "alone.PNG"]
