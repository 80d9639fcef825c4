"""A third party's user tower, in one file that is no part of the package: queries, evaluation and files use it."""

from __future__ import annotations

import numpy as np
import pytest

import bitfm
from bitfm.recommender import USER_TOWERS
from extending import folded_users


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(0)
    users, items = rng.normal(size=(60, 2)), rng.normal(size=(40, 2))
    pairs = np.argwhere(rng.random((60, 40)) < 0.5)
    ratings = 3 + (users[pairs[:, 0]] * items[pairs[:, 1]]).sum(axis=1)
    table = {"user_id": pairs[:, 0], "item_id": pairs[:, 1], "rating": ratings}
    return bitfm.data.Interactions.of(table).split(0.3, seed=1)


def fitted(train, tower):
    teacher = bitfm.FM(4, n_iter=10, regularization=1.0)
    model = bitfm.DistilledFM(32, teacher=teacher, max_iter=3)
    return bitfm.Recommender(model=model, history=False, raters=False, user_tower=tower).fit(train)


def test_queries_are_folded_in(tables, tmp_path):
    train, _ = tables
    rec, stored = fitted(train, "folded"), fitted(train, "stored")
    assert USER_TOWERS.get("folded").__class__ is folded_users.FoldedUsers
    state = rec.state
    own = USER_TOWERS.get("folded").rows(state, state.users.indices_of([3]), None, 1)
    items = state.all_rows("item")
    scores = own.constants[0] + items.constants + items.vectors @ own.vectors[0]
    best = rec.recommend(3, n=5, seen=True)
    expected = np.argsort(-scores, kind="stable")[:5]
    assert best["item"].to_list() == state.items.ids_of(expected).to_list()
    np.testing.assert_allclose(best["score"], scores[expected], rtol=1e-4)
    assert best["score"].to_list() != stored.recommend(3, n=5, seen=True)["score"].to_list()
    rec.save(tmp_path / "folded.bitfm")
    again = bitfm.load(tmp_path / "folded.bitfm")
    assert again.recommend(3, n=5, seen=True).equals(best)


def test_an_unknown_tower_is_refused(tables):
    with pytest.raises(ValueError, match="user_tower must be one of 'folded', 'stored', got 'gone'"):
        fitted(tables[0], "gone")
