"""The calls that docs/coming-from.md puts beside implicit's do what these do, on the same data."""

from __future__ import annotations

import bitfm
import numpy as np
import pytest
import scipy.sparse as sp
from implicit import als

N_USERS, N_ITEMS = 40, 30


@pytest.fixture(scope="module")
def both():
    """Fit both to users who have the items of their own parity, except for the one whose number is theirs."""
    users, items = np.nonzero(np.add.outer(np.arange(N_USERS), np.arange(N_ITEMS)) % 2 == 0)
    keep = users != items
    users, items = users[keep], items[keep]
    matrix = sp.csr_matrix((np.ones(len(users), np.float32), (users, items)), (N_USERS, N_ITEMS))
    theirs = als.AlternatingLeastSquares(factors=8, random_state=0)
    theirs.fit(matrix, show_progress=False)
    ours = bitfm.Recommender(bits=32).fit({"user": users, "item": items}, user="user", item="item", target=None)
    return theirs, ours, matrix


@pytest.mark.parametrize("user", range(0, N_ITEMS, 5))
def test_both_find_the_item_that_is_left_out(both, user):
    theirs, ours, matrix = both
    assert (
        theirs.recommend(user, matrix[user], N=1)[0].tolist() == ours.recommend(user, n=1)["item"].to_list() == [user]
    )


def test_filters_leave_the_same_items(both):
    theirs, ours, matrix = both
    denied, allowed = [4, 6], [4, 5, 6, 7]
    seen = theirs.recommend(4, matrix[4], N=N_ITEMS, filter_already_liked_items=False)[0]
    assert set(seen) == set(ours.recommend(4, n=N_ITEMS, seen=True)["item"])
    others = theirs.recommend(4, matrix[4], N=N_ITEMS, filter_items=denied)[0]
    assert set(others[: N_ITEMS // 2]) == set(ours.recommend(4, n=N_ITEMS, deny=denied)["item"][: N_ITEMS // 2])
    among = theirs.recommend(4, matrix[4], N=N_ITEMS, items=allowed, filter_already_liked_items=False)[0]
    assert set(among) == set(ours.recommend(4, n=N_ITEMS, allow=allowed, seen=True)["item"])


def test_a_history_is_a_recalculated_user(both):
    theirs, ours, _ = both
    history = [4, 6, 8]
    row = sp.csr_matrix((np.ones(3, np.float32), ([0, 0, 0], history)), (1, N_ITEMS))
    best = theirs.recommend(0, row, N=3, recalculate_user=True)[0]
    assert {item % 2 for item in best} == {item % 2 for item in ours.recommend_new(history, n=3)["item"]} == {0}


def test_similar_items_are_of_the_same_group(both):
    theirs, ours, _ = both
    near = [item for item in theirs.similar_items(7, N=6)[0] if item != 7]  # implicit counts the item itself
    assert {item % 2 for item in near} == {item % 2 for item in ours.similar_items(7, n=5)["item"]} == {1}


def test_vectors_are_factors_whose_product_is_the_score(both):
    theirs, ours, matrix = both
    best, scores = theirs.recommend(4, matrix[4], N=3)
    np.testing.assert_allclose(theirs.item_factors[best] @ theirs.user_factors[4], scores, rtol=1e-4)
    items, user = ours.item_vectors(), ours.user_vectors([4])
    products = dict(zip(items.ids, items.vectors @ user.vectors[0], strict=True))
    top = ours.recommend(4, n=1)
    assert top["item"][0] == max((item for item in products if not matrix[4, item]), key=products.get)
