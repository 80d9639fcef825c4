"""Who and what is removed is nowhere: not in the file, nor in what is left; all else answers as before."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import bitfm
from bitfm import BitfmWarning, Recommender, UnknownIdError
from bitfm.parameters import with_codes, without_fields
from bitfm.parameters.fold_in import Ids
from bitfm.recommender._matrix import InteractionMatrix
from parts_agree import all_scores, check_exact, check_sizes, has

USER, ITEM = "uQ7x-Zk29vBn5TrW", "i4Hs_Lp83yGc6MdE"  # of 16 characters
WAYS = ("ratings", "events")
SEEN = {"user": "history", "item": "raters"}


@pytest.fixture(scope="session")
def tables():
    """Return a shop in which a user and an item have features, words and a title that hold their ids."""
    rng = np.random.default_rng(3)
    users, items = [f"u{n}" for n in range(40)] + [USER], [f"i{n}" for n in range(60)] + [ITEM]
    pairs = [(u, i) for u in users for i in rng.choice(items, 12, replace=False)]
    pairs += [(u, ITEM) for u in users[::5]]
    pairs = list(dict.fromkeys(pairs))
    table = {
        "user_id": [u for u, _ in pairs],
        "item_id": [i for _, i in pairs],
        "rating": rng.integers(1, 6, len(pairs)),
        "time": np.arange(len(pairs)),
    }
    of_users = {
        "user_id": users,
        "badge": ["red", "blue"] * 20 + [USER],
        "tags": [["old"], ["new", "odd"]] * 20 + [["new", f"tag {USER}"]],
        "age": rng.integers(18, 80, 41),
    }
    of_items = {
        "item_id": items,
        "title": [f"The {('red', 'green', 'blue')[n % 3]} tale of {n}" for n in range(60)] + [f"Tale of {ITEM}"],
        "maker": ["ann", "bob", "cy"] * 20 + [ITEM],
    }
    return {"interactions": table, "users": of_users, "items": of_items}


@pytest.fixture(scope="session")
def shops(tables):
    kinds = {"title": "text", "badge": "category", "maker": "category"}
    model = bitfm.ImplicitFM(32, n_jobs=1)
    return {
        "ratings": Recommender(bits=32, n_jobs=1, kinds=kinds).fit(**tables),
        "events": Recommender(model=model, kinds=kinds).fit(**tables, target=None),
    }


@pytest.fixture
def either(shops, request):
    return copy.copy(shops[request.param])


both = pytest.mark.parametrize("either", WAYS, indirect=True)


def saved(rec, tmp_path, name="saved.bitfm"):
    rec.save(tmp_path / name)
    return (tmp_path / name).read_bytes()


def answers(rec, users, n=100):
    """Return what everybody is recommended, by user."""
    found = rec.recommend(users, n, seen=True)
    rows = zip(found["user"], found["item"], found["score"], strict=True)
    scores: dict[str, dict[str, float]] = {user: {} for user in users}
    for user, item, score in rows:
        scores[user][item] = score
    return scores


def masked(state, name, gone):
    """Return a state in which ids are still there, but add nothing: neither themselves nor where they were seen."""
    rows, other = np.flatnonzero(gone), "item" if name == "user" else "user"
    table = state.log.side(name)
    inside = np.repeat(gone, np.diff(table.indptr))
    users, items = np.repeat(np.arange(len(table)), np.diff(table.indptr))[inside], table.indices[inside]
    users, items = (users, items) if name == "user" else (items, users)
    p = state.parameters
    codes = np.zeros((len(rows), p.codes.shape[1]), np.uint8)
    p = with_codes(p, name, rows, Ids(codes, np.zeros(len(rows), np.float32), np.zeros(len(rows))))
    gains, weights = p.gains.copy(), p.weights.copy()
    for field in p.fields:
        if (field.block, field.name) == (other, SEEN[other]):
            at = field.start + rows[rows < field.size]
            gains[at], weights[at] = 0, 0
    p = replace(p, gains=gains, weights=weights)
    log = state.log.by_user.to_csr().tolil()
    log[users, items] = 0
    log = log.tocsr()
    log.eliminate_zeros()
    coo = log.tocoo()
    return replace(
        state,
        parameters=p,
        log=InteractionMatrix.of(coo.row, coo.col, log.shape, coo.data.astype(float)),
        whole_sides={},
    )


@both
@pytest.mark.parametrize(("name", "gone"), [("user", USER), ("item", ITEM)])
def test_a_removed_id_is_nowhere_in_the_file(either, tmp_path, name, gone):
    before = saved(either, tmp_path)
    assert before.count(gone.encode()) >= 3  # among ids, categories, and tags or titles
    either.recommend(["u1", "u2"])  # what is kept at hand goes as well
    getattr(either, f"remove_{name}s")(gone)
    after = saved(either, tmp_path)
    assert gone.encode() not in after
    assert gone.lower().encode() not in after
    opened = bitfm.load(tmp_path / "saved.bitfm")
    assert opened.recommend("u1", 100).equals(either.recommend("u1", 100))
    assert gone not in set(opened.users["user_id"]) | set(opened.items["item_id"])
    labels = [opened.feature_name(field, n) for field in opened.fields for n in range(opened.state.sizes[_key(field)])]
    assert not any(gone.lower() in label.lower() for label in labels)
    assert not any(gone in str(row) for row in opened.describe().rows())
    assert gone.encode() in before


def _key(field):
    block, _, name = field.partition(".")
    return block, name


@both
def test_files_after_removal_and_after_saving_in_between_are_the_same(either, tmp_path):
    saved(either, tmp_path, "first.bitfm")
    again = bitfm.load(tmp_path / "first.bitfm")
    for rec in (either, again):
        rec.remove_users([USER, "u3"]).remove_items([ITEM, "i7", "i0"])
    assert saved(either, tmp_path, "one.bitfm") == saved(again, tmp_path, "two.bitfm")


@both
def test_nothing_is_left_of_what_an_item_was_before_a_change(either):
    either.add_items({"item_id": ["i3", "i5"], "maker": ["ann", "bob"]})
    either.remove_users("u1").remove_items("i9").remove_interactions([("u2", next(iter(_items_of(either, "u2"))))])
    index = either.state.index
    slots = sum(int((segment.arrays["position"] >= 0).sum()) for segment in index.segments)
    assert slots == len(index) == index.n_positions == either.n_items


def _items_of(rec, user):
    state = rec.state
    row = state.log.by_user.take(state.users.indices_of([user]))
    return {str(one) for one in state.items.ids_of(row.indices)}


def test_others_answer_as_if_the_features_of_the_removed_added_nothing(shops):
    for name, ids in (("user", [USER, "u3", "u4"]), ("item", [ITEM, "i7"])):
        rec = copy.copy(shops["ratings"])
        state = rec.state
        gone = np.isin(np.arange(len(state.side(name))), state.side(name).indices_of(ids))
        expected = masked(state, name, gone)
        rec.remove_users(ids) if name == "user" else rec.remove_items(ids)
        users = [n for n, one in enumerate(state.users.ids.take(np.arange(len(state.users)))) if one not in ids]
        items = [n for n, one in enumerate(state.items.ids.take(np.arange(len(state.items)))) if one not in ids]
        pairs = np.array([(u, i) for u in users for i in items])
        new = np.array([(u, i) for u in range(len(users)) for i in range(len(items))])
        assert (rec.n_users, rec.n_items) == (len(users), len(items))
        np.testing.assert_allclose(
            rec.state.scores(new[:, 0], new[:, 1], None), expected.scores(pairs[:, 0], pairs[:, 1], None), atol=2e-6
        )


@both
def test_users_who_had_nothing_to_do_with_an_item_answer_as_before(either):
    state = either.state
    had = set(state.users.ids.take(state.log.by_item.take(state.items.indices_of([ITEM])).indices))
    others = [f"u{n}" for n in range(40) if f"u{n}" not in had]
    before = answers(either, others)
    either.remove_items(ITEM)
    after = answers(either, others)
    for user in others:
        left = {item: score for item, score in before[user].items() if item != ITEM}
        assert list(after[user]) == list(left)
        assert after[user] == left


@both
def test_items_that_a_user_had_nothing_to_do_with_are_scored_as_before(either):
    had = set() if either.state.target is None else _items_of(either, USER)
    others = [f"u{n}" for n in range(40)]
    before = answers(either, others)
    either.remove_users(USER)
    after = answers(either, others)
    for user in others:
        assert {i: s for i, s in after[user].items() if i not in had} == {
            i: s for i, s in before[user].items() if i not in had
        }
        assert set(after[user]) == set(before[user])


@both
def test_a_removed_item_is_in_no_history_and_never_recommended(either):
    either.remove_items([ITEM, "i1"])
    for items in answers(either, [f"u{n}" for n in range(40)]).values():
        assert not {ITEM, "i1"} & set(items)
    with pytest.raises(UnknownIdError, match=ITEM):
        either.similar_items(ITEM)
    assert not {ITEM, "i1"} & set(either.similar_items("i2", 100)["item"])
    assert all(not {ITEM, "i1"} & _items_of(either, f"u{n}") for n in range(40))
    with pytest.warns(BitfmWarning, match=ITEM):
        either.recommend_new([(ITEM, 5)], n=3)


def test_removed_items_are_out_of_neighbours(shops):
    rec = copy.copy(shops["events"])
    before, ids = rec.state.parameters.neighbors, list(rec.state.items.ids.take(np.arange(rec.n_items)))
    assert before.n_entries
    gone = rec.state.items.indices_of([ITEM, "i7", "i0"])
    kept = np.delete(np.arange(len(ids)), gone)
    rec.remove_items([ITEM, "i7", "i0"])
    after = rec.state.parameters.neighbors
    np.testing.assert_array_equal(after.table.toarray(), before.table.toarray()[np.ix_(kept, kept)])
    assert len(after.steps) == after.n_entries == after.counts.sum()


@both
def test_removed_and_added_again_is_new(either, tmp_path):
    old = either.recommend(USER, 5)
    either.remove_users(USER).remove_items(ITEM)
    either.add_users({"user_id": [USER], "badge": ["red"]})
    either.add_items({"item_id": [ITEM], "maker": ["ann"]})
    assert _items_of(either, USER) == set()
    alike = copy.copy(either).add_users({"user_id": ["stranger"], "badge": ["red"]})
    assert alike.recommend(USER, 9)["item"].equals(alike.recommend("stranger", 9)["item"])
    assert not old.equals(either.recommend(USER, 5))
    saved(either, tmp_path)
    opened = bitfm.load(tmp_path / "saved.bitfm")
    assert opened.recommend([USER, "u1"], 9).equals(either.recommend([USER, "u1"], 9))
    assert ITEM in set(opened.recommend("u1", 100)["item"])


@both
@pytest.mark.parametrize("name", ["user", "item"])
def test_all_can_be_removed_and_others_added(either, tmp_path, name):
    events = either.state.target is None
    side = either.users if name == "user" else either.items
    getattr(either, f"remove_{name}s")(side[f"{name}_id"])
    assert getattr(either, f"n_{name}s") == 0
    assert either.state.log.by_user.n_entries == 0
    file = saved(either, tmp_path)
    assert (USER if name == "user" else ITEM).encode() not in file
    for rec in (either, bitfm.load(tmp_path / "saved.bitfm")):
        if name == "user":
            assert len(rec.recommend("u1", 5)) == 5
        else:
            assert len(rec.recommend(["u1", "u2"], 5)) == 0
            assert len(rec.recommend("u1", 5)) == 0
            with pytest.raises(UnknownIdError, match="no items"):
                rec.similar_items("i1")
        more = {"user_id": ["x", "x", "y"], "item_id": ["i1", "new", "new"], "rating": [5, 4, 1], "time": [1, 2, 3]}
        (rec.add_events if events else rec.add_ratings)(more)
        assert set(rec.recommend("y", 100, seen=True)["item"]) >= {"i1", "new"}
        rec.add_users({"user_id": ["z"], "badge": ["red"], "tags": [["old"]]})
        rec.add_items({"item_id": ["later"], "maker": ["ann"], "title": ["The red tale"]})
        assert "later" in set(rec.recommend("z", 100)["item"])
        assert len(rec.item_vectors().ids) == rec.n_items
        assert len(rec.user_vectors().ids) == rec.n_users
        saved(rec, tmp_path, "more.bitfm")
        assert bitfm.load(tmp_path / "more.bitfm").recommend("x", 9, seen=True).equals(rec.recommend("x", 9, seen=True))
    either.remove_users(either.users["user_id"]).remove_items(either.items["item_id"])
    assert (either.n_users, either.n_items) == (0, 0)


@both
def test_ids_that_are_not_known_are_named(either):
    state = either.state
    with pytest.warns(BitfmWarning, match="remove_users: user 'nobody' not known, so passed over"):
        either.remove_users("nobody")
    with pytest.warns(BitfmWarning, match="remove_items: item 'nothing', 7 not known"):
        either.remove_items(["nothing", 7])
    pairs = [("u1", "nothing"), ("nobody", "i1")]
    with pytest.warns(BitfmWarning, match=r"remove_interactions: interaction \('u1', 'nothing'\), \('nobody', 'i1'\)"):
        either.remove_interactions(pairs)
    assert either.state is state
    with pytest.warns(BitfmWarning, match="nobody"):
        either.remove_users(pl.DataFrame({"user_id": ["u1", "nobody", "u1"]}))
    assert either.n_users == len(state.users) - 1


def test_ratings_that_are_removed_leave_new_ids_with_the_others(shops):
    rec, table = copy.copy(shops["ratings"]), shops["ratings"].state
    pairs = [("u5", one) for one in sorted(_items_of(rec, "u5"))[:4]]
    rec.remove_interactions({"user_id": [u for u, _ in pairs], "item_id": [i for _, i in pairs]})
    assert not _items_of(rec, "u5") & {item for _, item in pairs}
    assert rec.state.log.by_user.n_entries == table.log.by_user.n_entries - 4
    # u5 is where a new user with the same features and the ratings that are left would be.
    state = rec.state
    row = state.log.by_user.take(state.users.indices_of(["u5"]))
    history = list(zip(state.items.ids_of(row.indices).to_list(), row.values.tolist(), strict=True))
    at = shops["ratings"].state.users.indices_of(["u5"])
    fields = shops["ratings"].state.users.fields(at)
    twin = copy.copy(shops["ratings"])
    new = twin.state.new_rows(fields, bitfm.recommender._inputs.history_of(twin.state, history), None)
    own = rec.state.stored_rows(state.users.indices_of(["u5"]), None, 1)
    np.testing.assert_allclose(own.as_vectors(), new.as_vectors(), atol=1e-5)
    np.testing.assert_allclose(own.constants, new.constants, atol=1e-5)
    # Nobody else has moved, but for the scores of those four items.
    left = [f"i{n}" for n in range(60) if f"i{n}" not in {item for _, item in pairs}]
    others = [(f"u{n}", item) for n in range(5) for item in left]
    np.testing.assert_array_equal(rec.predict(others), shops["ratings"].predict(others))


def test_a_removed_rating_and_the_same_one_added_again(shops):
    rec = copy.copy(shops["ratings"])
    item = min(_items_of(rec, "u5"))
    rec.remove_interactions([("u5", item)])
    assert item in set(rec.recommend("u5", 100)["item"])
    rec.add_ratings({"user_id": ["u5"], "item_id": [item], "rating": [5], "time": [1]})
    assert item not in set(rec.recommend("u5", 100)["item"])


def test_events_that_are_removed_leave_a_user_with_the_others(shops):
    rec = copy.copy(shops["events"])
    mine = sorted(_items_of(rec, "u5"))
    rec.remove_interactions([("u5", item) for item in mine[:4]])
    assert _items_of(rec, "u5") == set(mine[4:])
    features = {"badge": "blue", "tags": ["new", "odd"], "age": None}
    rec.add_users({"user_id": ["u5"], **{name: [value] for name, value in features.items()}})
    new = rec.recommend_new(mine[4:], features, 20)
    assert rec.recommend("u5", 20)["item"].equals(new["item"])
    others = [(f"u{n}", item) for n in range(5) for item in mine[4:]]
    np.testing.assert_allclose(rec.predict(others), shops["events"].predict(others), atol=0.2)


def test_all_ratings_of_a_user_can_be_removed(shops):
    rec = copy.copy(shops["ratings"])
    rec.remove_interactions([("u5", item) for item in _items_of(rec, "u5")])
    assert _items_of(rec, "u5") == set()
    silent = without_fields(rec.state.parameters, ["user.id"])
    at = rec.state.users.indices_of(["u5"]).repeat(rec.n_items), np.arange(rec.n_items)
    np.testing.assert_allclose(rec.state.scores(*at, None), rec.state.scores(*at, None, silent), atol=1e-6)


@both
def test_the_old_state_and_copies_stay_as_they_were(either):
    before, twin = either.state, copy.copy(either)
    expected = answers(twin, ["u1", USER])
    either.remove_users(USER).remove_items(ITEM).remove_interactions([("u1", min(_items_of(either, "u1")))])
    assert twin.state is before
    assert answers(twin, ["u1", USER]) == expected


@pytest.mark.parametrize("seed", range(3))
def test_any_sequence_of_additions_and_removals_keeps_all_parts_together(rec, shop, seed, tmp_path):
    rng = np.random.default_rng(seed)
    had = has(shop.ratings)
    for step in range(10):
        state = rec.state
        users = state.users.ids.take(np.arange(rec.n_users)).to_list()
        items = state.items.ids_of(np.arange(rec.n_items)).to_list()
        change = rng.choice(["add", "users", "items", "pairs", "save"])
        if change == "add":
            who, what = [str(rng.choice(users)), f"late{step}"], [20_000 + step, int(rng.choice(items))]
            rec.add_ratings({"reader": who, "book": what, "rating": [1, 5]})
            for one, book in zip(who, what, strict=True):
                had.setdefault(one, set()).add(book)
        elif change == "users":
            gone = [str(one) for one in rng.choice(users, 5, replace=False)]
            rec.remove_users(gone)
            had = {one: books for one, books in had.items() if one not in gone}
        elif change == "items":
            lost = {int(one) for one in rng.choice(items, 4, replace=False)}
            rec.remove_items(list(lost))
            had = {one: books - lost for one, books in had.items()}
        elif change == "pairs":
            one = str(rng.choice([user for user in users if had.get(user)]))
            book = sorted(had[one])[0]
            rec.remove_interactions([(one, book)])
            had[one].discard(book)
        else:
            rec.save(tmp_path / "shop.bitfm")
            rec = bitfm.load(tmp_path / "shop.bitfm")
        check_sizes(rec)
        assert rec.state.log.by_user.n_entries == sum(map(len, had.values()))
        np.testing.assert_array_equal(rec.state.log.by_item.toarray().T, rec.state.log.by_user.toarray())
    users = rec.state.users.ids.take(np.arange(rec.n_users)).to_list()
    check_exact(rec, list(rng.choice(users, 6)), had)


def test_later_users_and_items_can_be_removed(rec, shop):
    reader, book = shop.readers["reader"][0], shop.books["book"][0]
    rec.add_ratings({"reader": ["late", reader], "book": [book, 20_000], "rating": [5, 1]})
    expected = all_scores(rec, reader)[1]
    rec.add_ratings({"reader": ["later", "later"], "book": [30_000, 30_001], "rating": [5, 1]})
    rec.remove_users("later").remove_items([30_000, 30_001])
    np.testing.assert_array_equal(all_scores(rec, reader)[1], expected)
    assert (rec.n_users, rec.n_items) == (len(shop.readers) + 1, len(shop.books) + 1)


def test_whoever_keeps_no_users_can_remove_items_only(events, tmp_path):
    rec = Recommender(bits=16, n_jobs=1, keep_interactions=False).fit(events, user="person", item="thing", target=None)
    with pytest.raises(UnknownIdError, match="remove_users: this recommender keeps no users"):
        rec.remove_users("p1")
    with pytest.raises(UnknownIdError, match="remove_interactions: this recommender keeps no users"):
        rec.remove_interactions([("p1", "t1")])
    before = rec.recommend_new(["t2", "t3"], n=100)
    after = rec.remove_items("t1").recommend_new(["t2", "t3"], n=100)
    assert after["item"].to_list() == [one for one in before["item"] if one != "t1"]


def test_contexts_go_on_counting(fitted_on_contexts):
    rec = copy.copy(fitted_on_contexts)
    before = rec.recommend("p5", 40, context={"daytime": "evening"}, seen=True)
    rec.remove_users(["p1", "p7"])
    assert rec.recommend("p5", 40, context={"daytime": "evening"}, seen=True).equals(before)


def test_reasons_for_kinds_quote_no_value_of_who_is_removed(tables, tmp_path):
    born = [f"19{50 + n}-03-{n % 28 + 1:02}" for n in range(41)]
    tables = {**tables, "users": {**tables["users"], "born": born}}
    rec = Recommender(bits=8, n_jobs=1).fit(**tables)
    assert f"dates such as {born[0]}".encode() in saved(rec, tmp_path)
    items = rec.describe().filter(side="item")
    rec.remove_users("u0")
    assert born[0].encode() not in saved(rec, tmp_path)
    told = {row["column"]: (row["kind"], row["why"], row["features"]) for row in rec.describe().to_dicts()}
    assert told["badge"] == ("category", "3 categories", 3)
    assert told["born"][:2] == ("date", "year, weekday")
    assert rec.describe().filter(side="item").equals(items)


@pytest.mark.parametrize("target", ["rating", None])
@pytest.mark.parametrize("what", ["users", "items", "interactions"])
def test_nor_of_the_context_of_an_interaction(tables, tmp_path, target, what):
    table = tables["interactions"]
    n = len(table["user_id"])
    table = {**table, "day": [f"2019-{k % 12 + 1:02}-{k % 28 + 1:02}" for k in range(n)]}
    rec = Recommender(bits=8, n_jobs=1).fit(table, target=target, context=["day"])
    day = f"dates such as {table['day'][0]}".encode()
    assert day in saved(rec, tmp_path)
    user, item = table["user_id"][0], str(table["item_id"][0])
    gone = {"users": user, "items": item, "interactions": [(user, item)]}[what]
    getattr(rec, f"remove_{what}")(gone)
    assert day not in saved(rec, tmp_path)
    assert bitfm.load(tmp_path / "saved.bitfm").describe().equals(rec.describe())


def test_what_fit_kept_goes_as_well(tables):
    rec = Recommender(bits=8, n_jobs=1).fit(**tables, keep_training_data=True)
    assert len(rec.training_data()[1])
    with pytest.raises(ValueError, match="none is kept"):
        rec.remove_users(USER).training_data()
