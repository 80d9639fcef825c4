"""After changes all parts agree, and the best items are those of a full sort; who searches meanwhile sees nothing."""

from __future__ import annotations

import copy
import threading

import numpy as np
import polars as pl
import pytest

from bitfm.errors import BitfmError
from parts_agree import all_scores, check_exact, check_sizes, has


@pytest.mark.parametrize("seed", range(4))
def test_any_sequence_of_changes_keeps_all_parts_together(rec, shop, seed):
    rng = np.random.default_rng(seed)
    had = has(shop.ratings)
    readers, books = shop.readers["reader"].to_list(), shop.books["book"].to_list()
    for step in range(8):
        change = rng.choice(["users", "items", "ratings"])
        if change == "users":
            names = [f"new{step}-{one}" for one in range(rng.integers(1, 4))] + [str(rng.choice(readers))]
            rec.add_users({"reader": names, "age_group": [str(rng.choice(["35-49", "65+", "?"])) for _ in names]})
            readers = list(dict.fromkeys(readers + names))
        elif change == "items":
            numbers = [10_000 + 10 * step + one for one in range(rng.integers(1, 4))] + [int(rng.choice(books))]
            rec.add_items({"book": numbers, "genre": ["Horror"] * len(numbers), "title": [f"T{n}" for n in numbers]})
            books = list(dict.fromkeys(books + numbers))
        else:
            n = int(rng.integers(1, 12))
            who = [str(one) for one in rng.choice([*readers, f"late{step}"], n)]
            what = [int(one) for one in rng.choice([*books, 20_000 + step], n)]
            rec.add_ratings({"reader": who, "book": what, "rating": rng.integers(1, 6, n)})
            for one, book in zip(who, what, strict=True):
                had.setdefault(one, set()).add(book)
            readers, books = list(dict.fromkeys(readers + who)), list(dict.fromkeys(books + what))
        check_sizes(rec)
        assert set(rec._state.users.ids.take(np.arange(rec.n_users))) == set(readers)
        assert set(rec._state.items.ids_of(np.arange(rec.n_items))) == set(books)
    check_exact(rec, [*rng.choice(readers, 6), readers[-1], "nobody"], had)
    log = rec._state.log.by_user
    assert log.n_entries == sum(map(len, had.values()))


def test_the_last_rating_of_a_pair_counts(rec, shop):
    reader, book, rating = shop.ratings.row(0)
    rec.add_ratings({"reader": [reader, reader], "book": [book, book], "rating": [rating, 1.5]})
    state = rec._state
    row = state.log.by_user.take(state.users.indices_of([reader])).to_csr()
    assert row[0, state.items.indices_of([book])[0]] == 1.5
    assert state.log.by_user.n_entries == len(shop.ratings)


def test_untouched_users_see_a_change_in_touched_items_only(rec, fitted, shop):
    reader = shop.readers["reader"][0]
    books, before = all_scores(fitted, reader)
    touched = books[[3, 17]].to_list()
    rec.add_ratings({"reader": ["late", "later"], "book": touched, "rating": [1, 5]})
    rec.add_users({"reader": ["last"], "age_group": ["35-49"]})
    after = all_scores(rec, reader)[1]
    other = ~books.is_in(touched).to_numpy()
    np.testing.assert_allclose(after[other], before[other], atol=1e-6)
    assert np.abs(after[~other] - before[~other]).max() > 1e-4


def test_new_values_of_a_known_user_and_item_count(rec, fitted, shop):
    reader, genre = shop.readers["reader"][5], shop.books["genre"][0]
    book = shop.books.filter(pl.col("genre") != genre)["book"][0]
    rec.add_items({"book": [book], "genre": [genre]})
    title = shop.books.filter(pl.col("book") == book)["title"][0]
    assert f"item.genre: {genre}" in {share.name for share in rec.explain(reader, book).features}
    assert rec.recommend(reader, n=200, seen=True).filter(pl.col("item") == book)["title"].to_list() == [title]
    age = next(one for one in shop.readers["age_group"] if one != shop.readers["age_group"][5])
    rec.add_users({"reader": [reader], "age_group": [age]})
    assert f"user.age_group: {age}" in {share.name for share in rec.explain(reader, book).features}
    assert rec.predict([(reader, book)])[0] != fitted.predict([(reader, book)])[0]


def test_ratings_that_the_model_has_already_change_nothing(rec, fitted, shop):
    rec.add_ratings(shop.ratings.sample(200, seed=1))
    pairs = shop.ratings.sample(1000, seed=2).select("reader", "book")
    moved = rec.predict(pairs) - fitted.predict(pairs)
    assert np.sqrt(np.mean(moved**2)) < 0.02  # rounding to codes anew moves an id a little


def test_the_same_ratings_twice_are_the_same_as_once(rec, shop):
    more = pl.DataFrame({"reader": ["late"] * 3, "book": shop.books["book"][:3], "rating": [5, 1, 4]})
    once = all_scores(rec.add_ratings(more), "late")[1]
    twice = all_scores(rec.add_ratings(more), "late")[1]
    np.testing.assert_allclose(twice, once, atol=0.05)


def test_one_call_or_two_come_to_about_the_same(fitted, shop):
    reader = shop.readers["reader"][9]
    books = [book for book in shop.books["book"] if book not in has(shop.ratings)[reader]][:6]
    more = pl.DataFrame({"reader": [reader] * 6, "book": books, "rating": [5, 4, 5, 1, 2, 1]})
    at_once, in_steps = copy.copy(fitted), copy.copy(fitted)
    at_once.add_ratings(more)
    for part in (more[:2], more[2:3], more[3:]):
        in_steps.add_ratings(part)
    a, b, start = (all_scores(one, reader)[1] for one in (at_once, in_steps, fitted))
    assert np.corrcoef(a - start, b - start)[0, 1] > 0.6  # each step rounds to a code
    check_sizes(in_steps)


BAD = [
    ("add_users", {"age_group": ["35-49"]}),
    ("add_users", {"reader": ["a", "a"], "age_group": ["35-49", "65+"]}),
    ("add_users", {"reader": ["a", None]}),
    ("add_users", {"reader": []}),
    ("add_items", {"book": [1, 1]}),
    ("add_items", {"book": [1.5]}),
    ("add_ratings", {"reader": ["a", "b"], "book": [100, 101], "rating": [5, "many"]}),
    ("add_ratings", {"reader": ["a", "b"], "book": [100, 101], "rating": ["good", "bad"]}),
    ("add_ratings", {"reader": ["a", ""], "book": [100, 101], "rating": [1, 2]}),
    ("add_ratings", {"reader": ["a"], "book": [100]}),
]


@pytest.mark.parametrize(("call", "table"), BAD)
def test_a_call_that_fails_leaves_everything_as_it_was(rec, fitted, call, table):
    with pytest.raises(BitfmError):
        getattr(rec, call)(table)
    assert rec._state is fitted._state


def test_a_fit_that_fails_leaves_the_old_one(rec, fitted, shop):
    with pytest.raises(BitfmError):
        rec.fit(shop.ratings, user="reader", item="book", target="stars")
    assert rec._state is fitted._state


def test_a_change_does_not_touch_the_old_state(rec, fitted, shop):
    reader = shop.readers["reader"][0]
    before = fitted.recommend(reader, n=30, seen=True)
    rec.add_items({"book": [9_999], "genre": ["Horror"]})
    rec.add_ratings({"reader": [reader] * 2, "book": [9_999, 100], "rating": [5, 1]})
    assert before.equals(fitted.recommend(reader, n=30, seen=True))
    assert (fitted.n_items, rec.n_items) == (150, 151)


def test_who_searches_meanwhile_sees_the_old_or_the_new(rec, shop):
    reader, raters = shop.readers["reader"][0], shop.readers["reader"][1:60].to_list()
    stop = threading.Event()

    def answer():
        return str(rec.recommend([reader, "nobody"], 400, seen=True).to_dict(as_series=False))

    def search():
        while not stop.is_set():
            found.add(answer())

    found, states = set(), {answer()}
    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for step in range(10):
            rec.add_items({"book": [step], "genre": ["Horror"]})
            states.add(answer())
            rec.add_ratings({"reader": raters, "book": [step] * 59, "rating": [1 + 4 * (step % 2)] * 59})
            states.add(answer())
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert len(states) > 10
    assert len(found) > 3
    assert found <= states


def test_changes_from_several_threads_are_all_kept(rec):
    def add(name):
        for step in range(5):
            rec.add_users({"reader": [f"{name}-{step}"], "age_group": ["35-49"]})
            rec.add_ratings({"reader": [f"{name}-{step}"], "book": [100 + step], "rating": [4]})

    threads = [threading.Thread(target=add, args=(name,)) for name in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rec.n_users == 315
    assert rec._state.log.by_user.n_entries == 6015
    check_sizes(rec)
