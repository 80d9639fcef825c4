"""Events without ratings: tastes and contexts are learnt, and beat what is popular."""

from __future__ import annotations

import copy

import numpy as np
import polars as pl
import pytest

import bitfm
from bitfm import ImplicitFM, Recommender
from bitfm.errors import UnknownIdError, ValueInTableError

NAMES = {"user": "person", "item": "thing", "target": None}


def popular(events, test, k=10):
    """Return the share of test events whose item is among the k most popular."""
    best = events["thing"].value_counts().sort("count", "thing", descending=[True, False])["thing"][:k].to_list()
    return float(test["thing"].is_in(best).mean())


def quick(**settings):
    """Return a recommender that does not choose its settings."""
    return Recommender(model=ImplicitFM(32, tune=False, n_jobs=1), **settings)


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


def test_a_known_user_and_the_same_history_are_one(fitted_on_events, events):
    own = events.filter(pl.col("person") == "p3").group_by("thing").len()
    known = fitted_on_events.recommend("p3", 20)
    new = fitted_on_events.recommend_new(dict(own.iter_rows()), n=20)
    assert known.equals(new)


def test_scores_of_pairs_are_those_of_recommendations(fitted_on_contexts):
    for context in (None, {"daytime": "evening"}):
        best = fitted_on_contexts.recommend("p5", 15, context=context, seen=True)
        pairs = pl.DataFrame(
            {"person": ["p5"] * 15, "thing": best["item"], **({k: [v] * 15 for k, v in (context or {}).items()})}
        )
        np.testing.assert_allclose(fitted_on_contexts.predict(pairs), best["score"].to_numpy(), rtol=1e-6)


def test_an_explanation_adds_up_to_the_score(fitted_on_contexts):
    for item in fitted_on_contexts.recommend("p5", 5, seen=True)["item"]:
        why = fitted_on_contexts.explain("p5", item, context={"daytime": "morning"})
        pairs = {"person": ["p5"], "thing": [item], "daytime": ["morning"]}
        np.testing.assert_allclose(why.score, fitted_on_contexts.predict(pairs)[0], atol=1e-5)
        named = {feature.name.split(":")[0] for feature in why.features}
        assert named == {"user.history", "context.daytime"}
        assert set(why.by_field()) == {"user.history", "context.daytime"}


def test_somebody_new_is_recommended_things_to_their_taste(fitted_on_events):
    for taste in (0, 1):
        shelves = {2 * taste, 2 * taste + 1}
        best = fitted_on_events.recommend_new([f"t{20 * taste + n}" for n in (0, 1, 10, 11)], n=8)["item"]
        assert np.mean([int(thing[1:]) // 10 in shelves for thing in best]) >= 0.75


def test_what_was_chosen_is_not_recommended_again(fitted_on_events, events):
    for person in ("p0", "p7"):
        had = set(events.filter(pl.col("person") == person)["thing"])
        assert not had & set(fitted_on_events.recommend(person, 40)["item"])
        assert len(fitted_on_events.recommend(person, 40, seen=True)) == 40


def test_things_of_one_shelf_are_alike(fitted_on_events):
    alike = [int(thing[1:]) // 20 for thing in fitted_on_events.similar_items("t1", 8)["item"]]
    assert np.mean(np.array(alike) == 0) > 0.8


def test_evaluation_by_user_counts_new_items_only(fitted_on_events, events):
    some = events[:50]
    with pytest.raises(ValueError, match="new to its user"):
        fitted_on_events.evaluate(some, by="user")
    new = pl.DataFrame({"person": ["nobody"], "thing": [fitted_on_events.recommend("nobody", 1)["item"][0]]})
    found = fitted_on_events.evaluate(pl.concat([some.select("person", "thing"), new]))
    assert (found.users, found.interactions, found.hit_rate, found.mrr) == (1, 1, 1.0, 1.0)


def test_training_data_is_what_the_model_learns_from(fitted_on_contexts, events):
    blocks, values = fitted_on_contexts.training_data(events)
    assert [field.name for field in blocks.fields] == ["history", "daytime", "id"]
    assert (values == 1).all()
    again = ImplicitFM(32, n_jobs=1).fit(blocks, values).parameters_
    np.testing.assert_array_equal(again.items.codes, fitted_on_contexts.model_.parameters_.items.codes)


# What comes after the fit


def test_a_new_thing_finds_its_people(fitted_on_events):
    rec = copy.copy(fitted_on_events)
    people = [f"p{n}" for n in range(0, 80, 2)]
    rec.add_events({"person": people, "thing": ["t99"] * 40})
    same, other = rec.predict([*((f"p{n}", "t99") for n in range(80, 120))]).reshape(-1, 2).mean(axis=0)
    assert same > other + 0.1
    assert "t99" in rec.recommend("p100", 20)["item"].to_list()
    assert "t99" not in rec.recommend("p0", 40)["item"].to_list()  # who has it already
    assert fitted_on_events.n_items == 40  # the state before stays as it was


def test_new_events_count_for_their_user_at_once(fitted_on_events):
    rec = copy.copy(fitted_on_events)
    rec.add_events({"person": ["zed"] * 3, "thing": ["t0", "t1", "t10"]})
    history = ["t0", "t1", "t10"]
    assert rec.recommend("zed", 10)["item"].to_list() == rec.recommend_new(history, n=10)["item"].to_list()
    rec.add_events({"person": ["zed"], "thing": ["t11"]})
    assert rec.recommend("zed", 10)["item"].to_list() == rec.recommend_new([*history, "t11"], n=10)["item"].to_list()


def test_cold_things_and_people_are_known_by_their_columns(events):
    things = pl.DataFrame({"thing": [f"t{n}" for n in range(40)], "shelf": [f"s{n // 10}" for n in range(40)]})
    people = pl.DataFrame(
        {"person": [f"p{n}" for n in range(120)], "club": ["odd" if n % 2 else "even" for n in range(120)]}
    )
    rec = quick().fit(events, **NAMES, items=things, users=people)
    rec.add_items({"thing": ["new0", "new2"], "shelf": ["s0", "s2"]})
    even, odd = (rec.predict([(person, thing) for thing in ("new0", "new2")]) for person in ("p2", "p3"))
    assert even[0] > even[1]
    assert odd[1] > odd[0]
    for club, shelves in (("even", (0, 1)), ("odd", (2, 3))):
        best = rec.recommend_new(features={"club": club}, n=8)["item"].to_list()
        assert np.mean([thing[:3] == "new" or int(thing[1:]) // 10 in shelves for thing in best]) > 0.7
    rec.add_users({"person": ["zed"], "club": ["odd"]})
    assert (
        rec.recommend("zed", 8)["item"].to_list() == rec.recommend_new(features={"club": "odd"}, n=8)["item"].to_list()
    )
    why = rec.explain("zed", "t20")
    np.testing.assert_allclose(why.score, rec.predict([("zed", "t20")])[0], atol=1e-5)
    assert {feature.name for feature in why.features} == {"user.club: odd"}


def test_ratings_and_events_are_added_each_in_its_way(fitted_on_events, fitted):
    with pytest.raises(ValueError, match="use add_events"):
        fitted_on_events.add_ratings({"person": ["p1"], "thing": ["t1"]})
    with pytest.raises(ValueError, match="use add_ratings"):
        fitted.add_events({"user": ["p1"]})


# How much events count


def test_kinds_weights_and_ages_count_as_told():
    table = pl.DataFrame(
        {
            "user_id": ["a", "a", "a", "b"],
            "item_id": ["x", "x", "y", "x"],
            "what": ["view", "buy", "view", "cart"],
            "amount": [1.0, 2.0, 1.0, 1.0],
            "day": ["2024-01-01", "2024-01-03", "2024-01-02", "2024-01-03"],
        }
    )
    rec = quick(event_weights={"view": 1, "cart": 3, "buy": 10}, half_life=1)
    rec.fit(table, target=None, event="what", weight="amount", time="day")
    log = rec.state.log.by_user.toarray()
    np.testing.assert_allclose(log, [[0.25 + 20, 0.5], [3, 0]])
    rec.add_events({"user_id": ["b"], "item_id": ["y"], "what": ["buy"], "amount": [1.0], "day": ["2024-02-01"]})
    assert rec.state.log.by_user.toarray()[1, 1] == 10  # what comes later has no age


def test_a_dislike_counts_against_its_item(events):
    about = {"person": ["zed"] * 4, "thing": ["t0", "t1", "t2", "t20"]}
    rec = quick().fit(events.with_columns(weight=pl.lit(1.0)), **NAMES, weight="weight")
    liked = copy.copy(rec).add_events({**about, "weight": [1.0] * 4})
    disliked = copy.copy(rec).add_events({**about, "weight": [1.0] * 3 + [-20.0]})
    shelf = [("zed", f"t{n}") for n in range(21, 26)]
    assert disliked.predict(shelf).mean() < liked.predict(shelf).mean() - 0.05
    assert "t20" not in disliked.recommend("zed", 40)["item"].to_list()
    np.testing.assert_allclose(disliked.explain("zed", "t21").score, disliked.predict([("zed", "t21")])[0], atol=1e-5)
    history = {"t0": 1, "t1": 1, "t2": 1, "t20": -20}
    assert disliked.recommend("zed", 9).equals(disliked.recommend_new(history, n=9))
    test = {"person": ["p1", "p1"], "thing": ["new", "newer"], "weight": [1.0, -1.0]}
    assert disliked.evaluate(test).interactions == 1  # a dislike is nothing to find


@pytest.mark.parametrize(
    ("settings", "roles", "message"),
    [
        ({}, {"event": "what"}, r"event= needs event_weights="),
        ({"event_weights": {"view": 1}}, {}, r"event_weights= needs event="),
        ({"event_weights": {"view": "much"}}, {"event": "what"}, r"expected a number for 'view', got 'much'"),
        ({"half_life": 3}, {}, r"half_life needs times: name their column with time="),
        ({"half_life": -1}, {"time": "day"}, r"half_life must be above 0 days"),
        ({"event_weights": {"view": 1}}, {"event": "what"}, r"row 2: nothing says what an event 'buy' counts for"),
        ({}, {"weight": "wrong"}, r"column 'wrong'"),
        ({}, {"weight": "huge"}, r"more than single precision"),
        ({}, {"weight": "amount", "target": "amount"}, r"ratings have target= alone"),
    ],
)
def test_strengths_that_mean_nothing_are_refused(settings, roles, message):
    table = {
        "user_id": ["a", "b"],
        "item_id": ["x", "y"],
        "what": ["view", "buy"],
        "day": ["2024-01-01", "2024-01-02"],
        "wrong": ["much", "little"],
        "huge": [1e300, 1.0],
        "amount": [1.0, 2.0],
    }
    with pytest.raises(ValueError, match=message):
        quick(**settings).fit(table, **{"target": None, **roles})


def test_an_event_of_no_kind_is_refused():
    table = {"user_id": ["a", "b"], "item_id": ["x", "y"], "what": ["view", None]}
    with pytest.raises(ValueInTableError, match="nothing says what the event of row 2 is"):
        quick(event_weights={"view": 1}).fit(table, target=None, event="what")


@pytest.mark.parametrize("value", [0, float("nan"), "much", 1e300])
def test_a_history_that_means_nothing_is_refused(fitted_on_events, value):
    with pytest.raises(ValueError, match="a number above 0, or below it for a dislike"):
        fitted_on_events.recommend_new([("t1", value)])


@pytest.mark.parametrize("name", ["event_weights", "half_life", "keep_interactions"])
def test_ratings_have_none_of_it(name):
    values = {"event_weights": {"view": 1}, "half_life": 1, "keep_interactions": False}
    with pytest.raises(ValueError, match=f"{name}=.* is for events"):
        Recommender(**{name: values[name]}).fit({"user_id": [1], "item_id": [1], "rating": [1]})


def test_other_models_are_refused(events):
    with pytest.raises(TypeError, match="model must be an ImplicitFM or None for events"):
        Recommender(model=bitfm.DistilledFM()).fit(events, **NAMES)
    with pytest.raises(TypeError, match="model must be a DistilledFM, a DiscreteFM or None for ratings"):
        Recommender(model=ImplicitFM()).fit({"user_id": [1], "item_id": [1], "rating": [1]})


# Without users


def test_nothing_of_a_user_is_in_a_file_that_keeps_none(events, tmp_path):
    secret = "q8Zk3vXw1LmN7pRt"
    table = events.with_columns(person=pl.when(pl.col("person") == "p4").then(pl.lit(secret)).otherwise("person"))
    people = pl.DataFrame({"person": [secret, "p5"], "club": ["even", "odd"]})
    kept = quick().fit(table, **NAMES, users=people)
    rec = quick(keep_interactions=False).fit(table, **NAMES, users=people)
    path = tmp_path / "shop.bitfm"
    kept.save(path)
    assert secret.encode() in path.read_bytes()
    rec.save(path)
    assert secret.encode() not in path.read_bytes()
    opened = bitfm.load(path)
    assert opened.n_users == 0
    history = ["t1", "t2"]
    expected = kept.recommend_new(history, {"club": "odd"}, n=9)
    assert opened.recommend_new(history, {"club": "odd"}, n=9).equals(expected)
    for ask in (
        lambda: opened.recommend(secret),
        lambda: opened.predict([("p5", "t1")]),
        lambda: opened.explain("p5", "t1"),
        lambda: opened.evaluate(table),
        lambda: opened.add_events(table),
        lambda: opened.add_users(people),
    ):
        with pytest.raises(UnknownIdError, match=r"keeps no users .*recommend_new\(history=\.\.\.\)"):
            ask()
    opened.add_items({"thing": ["t77"]})
    assert opened.n_items == 41


def test_events_come_back_from_a_file(fitted_on_contexts, tmp_path):
    rec = copy.copy(fitted_on_contexts)
    rec.add_events({"person": ["zed"] * 2, "thing": ["t0", "brand new"], "daytime": ["evening"] * 2})
    rec.save(tmp_path / "events.bitfm")
    opened = bitfm.load(tmp_path / "events.bitfm")
    for person in ("p1", "zed", "nobody"):
        for context in (None, {"daytime": "morning"}):
            one, two = (each.recommend(person, 20, context=context) for each in (rec, opened))
            assert one.equals(two)
    assert str(opened.explain("zed", "t5")) == str(rec.explain("zed", "t5"))
    opened.add_events({"person": ["zed"], "thing": ["t1"]})
    assert opened.recommend("zed", 5).equals(rec.add_events({"person": ["zed"], "thing": ["t1"]}).recommend("zed", 5))
    assert isinstance(opened.model_, ImplicitFM)


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


@pytest.mark.parametrize("features", [False, True])
def test_similar_items_correlate_over_users(parts, features):
    """Also where users have features, so that one of whom nothing is known is not the mean of all."""
    train = parts[0]
    people = train["person"].unique(maintain_order=True)
    users = pl.DataFrame({"person": people, "taste": [int(one[1:]) % 2 for one in people]}) if features else None
    rec = quick().fit(train, users=users, **NAMES)
    everybody = np.arange(rec.n_users, dtype=np.int32)
    vectors = rec.state.vectors(everybody, 1).astype(np.float64)
    covariance = np.cov(vectors.T, bias=True)
    np.testing.assert_allclose(rec.state.user_covariance, covariance, atol=5e-3 * covariance.max())
    scores = vectors @ rec.state.item_vectors.T
    item = rec.recommend(people[0], 1)["item"][0]
    found = rec.similar_items(item, 5)
    places = rec.state.items.indices_of([item, *found["item"].to_list()])
    expected = np.corrcoef(scores[:, places].T)[0, 1:]
    np.testing.assert_allclose(found["score"].to_numpy(), expected, atol=0.01)
