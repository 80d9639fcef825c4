"""Whether all parts of a changed recommender agree, and its best items are those of a full sort."""

from __future__ import annotations

import numpy as np


def all_scores(rec, user, **context):
    books = rec._state.items.ids_of(np.arange(rec.n_items))
    return books, rec.predict({"reader": [user] * len(books), "book": books, **context})


def check_sizes(rec):
    state = rec._state
    n_users, n_items = len(state.users), len(state.items)
    sizes = state.sizes
    assert (sizes["user", "id"], sizes["item", "id"]) == (n_users, n_items) == (rec.n_users, rec.n_items)
    parameters = state.parameters
    assert parameters.fields[-1].stop == len(parameters.codes) == len(parameters.gains) == len(parameters.weights)
    assert len(state.index) == state.index.n_positions == n_items
    assert (len(state.log.by_user), state.log.by_user.n_columns) == (n_users, n_items)
    assert (len(state.log.by_item), state.log.by_item.n_columns) == (n_items, n_users)
    for side in (state.users, state.items):
        assert all(len(table) == len(side) for table in side.tables)
        assert side.titles is None or len(side.titles.numbers) == len(side)
        texts = side.ids.take(np.arange(len(side)))
        assert texts.n_unique() == len(side)
        np.testing.assert_array_equal(side.ids.indices(texts), np.arange(len(side)))


def check_exact(rec, users, had):
    """Scoring every item and sorting finds the same."""
    for user in users:
        books, scores = all_scores(rec, user)
        best = rec.recommend(user, n=12)
        place = {book: number for number, book in enumerate(books)}
        found = [place[book] for book in best["item"]]
        np.testing.assert_allclose(best["score"], scores[found], atol=2e-5)
        new = np.array([book not in had.get(user, ()) for book in books])
        assert new[found].all()
        np.testing.assert_allclose(np.sort(scores[new])[::-1][: len(found)], best["score"], atol=2e-5)
        assert len(found) == min(12, new.sum())


def has(ratings):
    return {user: set(books) for user, books in ratings.group_by("reader").agg("book").iter_rows()}
