"""A search within a selection finds what a search finds that is told what to allow."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import scipy.sparse as sp

from bitfm import Block, Blocks, DiscreteFM
from bitfm.datasets import make_bookshop


@pytest.fixture(scope="module", params=["exact", "codes"])
def index(request):
    shop = make_bookshop(80, 300, 2000)
    users = Block(shop.reader_rows, {"id": sp.identity(80)})
    tables = {"id": sp.identity(300), "two": sp.csr_matrix(np.arange(600).reshape(300, 2) % 7)}
    items = Block(shop.book_rows, tables)
    model = DiscreteFM(16, pairs="across", max_iter=2).fit(Blocks(user=users, item=items), shop.ratings["rating"])
    return model.index(Block(np.arange(300), tables), mode=request.param, bits=16)


@pytest.mark.parametrize("share", [0.0, 0.05, 0.4, 1.0])
def test_a_selection_is_what_it_allows(index, share):
    allowed = np.random.default_rng(0).random(300) < share
    expected = index.search([3, 9], 12, allow=allowed)
    selection = index.select(allow=allowed)
    assert selection.n_items == allowed.sum()
    for within in (selection, index.compact(selection)):
        for got, want in zip(index.search([3, 9], 12, within=within), expected, strict=True):
            np.testing.assert_array_equal(got, want)
    narrower = index.search([3, 9], 300, within=index.compact(selection), allow=np.arange(100), deny=[5, 7])
    positions = np.setdiff1d(np.flatnonzero(allowed[:100]), [5, 7])
    for row in narrower[0]:
        np.testing.assert_array_equal(np.sort(row), positions)


def test_a_selection_is_of_the_items_that_there_were(index):

    changed = copy.deepcopy(index)
    selection = changed.select(deny=[3])
    changed.remove([4])
    with pytest.raises(ValueError, match="within: the index has other items than when they were selected"):
        changed.search([3], within=selection)


def test_boosts_are_added_to_scores(index):
    boost = np.random.default_rng(1).normal(size=300).round(2)
    _, plain = index.search([3, 9], 300)
    order = index.search([3, 9], 300)[0]
    boosted = plain + boost[order].astype(np.float32)
    expected = np.take_along_axis(order, np.argsort(-boosted, axis=1, kind="stable"), 1)
    for allow in (None, np.arange(40)):
        selection = index.select(allow=allow, boost=boost)
        for within in (selection, index.compact(selection)):
            positions, scores = index.search([3, 9], 300, within=within)
            for query in range(2):
                among = expected[query][np.isin(expected[query], positions[query])]
                np.testing.assert_array_equal(positions[query], among)
                np.testing.assert_allclose(
                    scores[query], np.sort(boosted[query][np.isin(order[query], among)])[::-1], rtol=1e-5
                )
    with pytest.raises(ValueError, match="boost: expected 300 finite numbers, one per position"):
        index.select(boost=np.full(300, np.nan))
