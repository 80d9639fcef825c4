"""Table 1 says plainly where floats win."""

import pytest

from bitfm_research.paper._document import Table, Text
from bitfm_research.paper._table_1 import times
from bitfm_research.paper.claims import check_claims
from bitfm_research.paper.means import Means
from bitfm_research.paper.names import CODE_PAIRS, CODE_PAIRS_ACROSS, FLOAT_PAIRS, PRODUCT, PRODUCT_AND_BEST, RETRIEVAL
from bitfm_research.paper.results import Measure


def rows(what, **seconds):
    names = {
        "floats": FLOAT_PAIRS, "codes": CODE_PAIRS, "across": CODE_PAIRS_ACROSS, "product": PRODUCT,
        "best": PRODUCT_AND_BEST, "retrieval": RETRIEVAL,
    }  # fmt: skip
    return [
        Measure("yelp", names[name], bits, 0, f"TTC, {what}", None, value)
        for name, both in seconds.items()
        for bits, value in zip((8, 64), both, strict=True)
    ]


def said(measures):
    return " ".join(block.text for block in times(Means(measures)) if isinstance(block, Text))


def test_floats_win_where_they_take_less_time():
    text = said(rows("ids", floats=(1, 3), codes=(2, 2), product=(1, 1), best=(2, 4), retrieval=(0.5, 2)))
    assert "Pairs given one by one: **floats win** at 8 bits (they take 50 % of the codes' time at best)" in text
    assert "at best), codes at 64." in text
    assert "The best ten items of every user: codes are faster at every length, 2.00 × to 4.00 ×." in text
    assert "The bare product, without a selection, takes less time than retrieval at 64 bits." in text


def test_with_words_floats_are_compared_with_the_same_work():
    measures = rows("ids and words", floats=(4, 4), codes=(8, 8), across=(2, 1))
    assert "one by one: codes are faster at every length, 2.00 × to 4.00 ×" in said(measures)
    table = next(block for block in times(Means(measures)) if isinstance(block, Table))
    assert ["Pairs given one by one", "DFM, paper; pairs across, s", "2.000", "not run", "not run", "1.000"] in [
        list(row) for row in table.rows
    ]


@pytest.mark.parametrize(("codes", "holds"), [(2.0, True), (4.0, False)])
def test_codes_must_be_faster_than_the_best_float_way(codes, holds):
    found = rows("ids", floats=(3, 3), codes=(1, codes))
    title = "Codes are faster than the best float way at 64 bits: pairs given one by one (ids)"
    (claim,) = [claim for claim in check_claims(found) if claim.title == title]
    assert (claim.finding("yelp").measured, claim.finding("yelp").holds) == (3 / codes, holds)
