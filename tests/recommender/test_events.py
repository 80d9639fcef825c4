"""Events without ratings: tastes and contexts are learnt, and beat what is popular."""

from __future__ import annotations

import copy

import numpy as np
import polars as pl
import pytest

from bitfm import Recommender
from bitfm.recommender._events import FOLDS, event_examples

NAMES = {"user": "person", "item": "thing", "target": None}


def popular(events, test, k=10):
    """Return the share of test events whose item is among the k most popular."""
    best = events["thing"].value_counts().sort("count", "thing", descending=[True, False])["thing"][:k].to_list()
    return float(test["thing"].is_in(best).mean())


@pytest.fixture(scope="module")
def parts(events):
    shuffled = events.sample(fraction=1, shuffle=True, seed=1)
    return shuffled[:3200], shuffled[3200:]


def test_events_beat_popularity(parts):
    train, test = parts
    rec = Recommender(bits=32, n_jobs=1).fit(train, **NAMES)
    found = rec.evaluate(test, by="interaction", k=10)
    assert found.hit_rate > 1.3 * popular(train, test)
    assert found.interactions == len(test)
    assert 0 < found.mrr <= found.ndcg <= found.hit_rate <= 1


def test_more_examples_than_can_be_numbered_are_refused():
    same = np.broadcast_to(np.int32(0), 10**9)  # one number, which takes no memory
    with pytest.raises(ValueError, match=r"has 5,000,000,000 rows; at most 2,147,483,646 .*: lower negatives\."):
        event_examples(same, same, 1, 4, np.random.default_rng(0))


def test_contexts_beat_events_without_them(parts):
    train, test = parts
    plain = Recommender(bits=32, n_jobs=1).fit(train, **NAMES).evaluate(test, by="interaction", k=5)
    rec = Recommender(bits=32, n_jobs=1).fit(train, **NAMES, context=["daytime"])
    in_context = rec.evaluate(test, k=5)
    assert in_context.ndcg > 1.15 * plain.ndcg
    assert in_context.hit_rate > 1.5 * popular(train, test, 5)
    np.testing.assert_allclose(rec.evaluate(test, k=5, without="context").hit_rate, plain.hit_rate, atol=0.08)


def test_the_best_item_depends_on_the_context(fitted_on_contexts):
    right = []
    for person in range(40):
        for number, daytime in enumerate(("morning", "evening")):
            best = fitted_on_contexts.recommend(f"p{person}", 3, context={"daytime": daytime}, seen=True)["item"]
            right += [int(thing[1:]) // 10 == 2 * (person % 2) + number for thing in best]
    assert np.mean(right) > 0.9


def test_ratings_depend_on_the_context_too():
    rng = np.random.default_rng(0)
    n = 4000
    frame = pl.DataFrame({"u": rng.integers(60, size=n), "i": rng.integers(30, size=n), "c": rng.integers(2, size=n)})
    kind = frame["i"].to_numpy() % 2
    score = 3 + np.where(kind == frame["c"].to_numpy(), 1.5, -1.5) + 0.3 * rng.normal(size=n)
    frame = frame.with_columns(
        pl.Series("rating", score), c=pl.when(pl.col("c") == 0).then(pl.lit("a")).otherwise(pl.lit("b"))
    )
    rec = Recommender(bits=16, n_jobs=1).fit(frame, user="u", item="i", context="c")
    for context, rest in (("a", 0), ("b", 1)):
        best = rec.recommend("nobody", 15, context={"c": context})
        assert {item % 2 for item in best["item"]} == {rest}
    assert rec.evaluate(frame).rmse < 0.6
    rec.add_ratings({"u": [99] * 4, "i": [0, 1, 2, 3], "c": ["a"] * 4, "rating": [4.5, 1.5, 4.5, 1.5]})
    best = rec.recommend(99, 10, context={"c": "b"})
    assert {item % 2 for item in best["item"]} == {1}  # what the context has done is not taken for taste


def test_somebody_new_is_recommended_things_to_their_taste(fitted_on_events):
    for taste in (0, 1):
        shelves = {2 * taste, 2 * taste + 1}
        best = fitted_on_events.recommend_new([f"t{20 * taste + n}" for n in (0, 1, 10, 11)], n=8)["item"]
        assert np.mean([int(thing[1:]) // 10 in shelves for thing in best]) >= 0.75


def test_a_new_thing_finds_its_people(fitted_on_events, events):
    rec = copy.copy(fitted_on_events)
    people = [f"p{n}" for n in range(0, 80, 2)]
    rec.add_ratings({"person": people, "thing": ["t99"] * 40})
    same, other = rec.predict([*((f"p{n}", "t99") for n in range(80, 120))]).reshape(-1, 2).mean(axis=0)
    assert same > other


def test_what_was_chosen_is_not_recommended_again(fitted_on_events, events):
    for person in ("p0", "p7"):
        had = set(events.filter(pl.col("person") == person)["thing"])
        assert not had & set(fitted_on_events.recommend(person, 40)["item"])
        assert len(fitted_on_events.recommend(person, 40, seen=True)) == 40


def test_evaluation_by_user_counts_new_items_only(fitted_on_events, events):
    some = events[:50]
    with pytest.raises(ValueError, match="new to its user"):
        fitted_on_events.evaluate(some, by="user")
    new = pl.DataFrame({"person": ["nobody"], "thing": [fitted_on_events.recommend("nobody", 1)["item"][0]]})
    found = fitted_on_events.evaluate(pl.concat([some.select("person", "thing"), new]))
    assert (found.users, found.interactions, found.hit_rate, found.mrr) == (1, 1, 1.0, 1.0)


# What the model learns from


def test_examples_are_events_and_items_that_were_not_chosen():
    rng = np.random.default_rng(0)
    users, items = rng.integers(30, size=400).astype(np.int32), rng.integers(50, size=400).astype(np.int32)
    examples = event_examples(users, items, 60, 4, np.random.default_rng(1))
    pairs = set(zip(users.tolist(), items.tolist(), strict=True))
    found = list(zip(users[examples.event].tolist(), examples.item.tolist(), strict=True))
    assert [pair in pairs for pair in found] == examples.chosen.tolist()
    assert examples.chosen.sum() == 400
    assert 1500 < (~examples.chosen).sum() <= 1600
    assert set(examples.item.tolist()) <= set(items.tolist())
    fold = dict(zip(found[:400], examples.fold[:400].tolist(), strict=True))
    assert [fold[pair] for pair in found[:400]] == examples.fold[:400].tolist()  # a repeated event stays in its fold
    assert min(np.bincount(examples.fold[:400], minlength=FOLDS)) > 50
    np.testing.assert_array_equal(examples.fold, examples.fold[:400][examples.event])


@pytest.mark.parametrize("kind", ["fitted_on_events", "fitted_on_contexts"])
def test_no_history_gives_its_own_pair_away(request, events, kind):
    """Neither of what was chosen, nor of what was drawn in one context and chosen in another."""
    rec = request.getfixturevalue(kind)
    blocks, y = rec.training_data(events)
    user, item = blocks.blocks["user"], blocks.blocks["item"]
    histories = user.tables["history"].to_csr()[user.rows]
    raters = item.tables["raters"].to_csr()[item.rows]
    each = np.arange(len(y))
    assert not np.asarray(histories[each, item.rows % rec.n_items]).any()
    assert not np.asarray(raters[each, user.rows % rec.n_users]).any()
    assert histories.nnz > 5 * len(y)
    assert y.mean() == pytest.approx(0.2, abs=0.03)


def test_what_was_chosen_in_another_context_counts_against():
    users, items, contexts = (np.array(numbers, np.int32) for numbers in ([0] * 4, [0, 1, 2, 3], [0, 0, 1, 1]))
    examples = event_examples(users, items, 4, 8, np.random.default_rng(0), contexts)
    for event, item in zip(examples.event[~examples.chosen], examples.item[~examples.chosen], strict=True):
        assert contexts[item] != contexts[event]  # item n was chosen in context n
    assert not (~event_examples(users, items, 4, 8, np.random.default_rng(0)).chosen).any()
