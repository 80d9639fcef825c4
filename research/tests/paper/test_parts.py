"""The score of DFM taken apart, and what that says of the paper's first claim."""

from __future__ import annotations

import numpy as np
import pytest
from bitfm import DiscreteFM
from bitfm.datasets import make_bookshop

from bitfm_research.paper._claims_of_parts import lead_of_dfm, part_claims
from bitfm_research.paper._document import Table, Text
from bitfm_research.paper._what_works import what_works
from bitfm_research.paper.means import Means
from bitfm_research.paper.names import PARTS
from bitfm_research.paper.parts import parts_of_scores
from bitfm_research.paper.results import Measure


def means(**values):
    names = {"dfm": "DFM, paper", "linear": PARTS[0], "codes": PARTS[1], "bare": PARTS[2]}
    return Means(Measure("yelp", names.get(n, n), 64, 0, "NDCG", 10, value) for n, value in values.items())


@pytest.mark.parametrize("linear", [True, False])
def test_the_parts_add_up_and_are_what_they_are_called(linear):
    shop = make_bookshop(80, 50, 1500)
    X, y = shop.blocks(), shop.ratings["rating"]
    model = DiscreteFM(16, linear=linear).fit(X, y)
    scores = model.predict(X)
    parts = parts_of_scores(model, X, scores)
    np.testing.assert_allclose(parts.linear + parts.codes, scores, rtol=0, atol=1e-12)
    rows = X.to_csr()
    np.testing.assert_allclose(parts.linear, model.bias_ + rows @ model.weights_, rtol=0, atol=1e-5)
    real = model.to_float()
    real.weights_, real.bias_ = np.zeros_like(real.weights_), 0.0
    np.testing.assert_allclose(parts.codes, real.predict(X), rtol=0, atol=1e-4)
    if not linear:
        assert np.ptp(parts.linear) == 0


@pytest.mark.parametrize(("bare", "share", "holds"), [(0.71, 10, False), (0.75, 50, True), (0.69, -10, False)])
def test_the_share_of_the_lead_is_counted_from_the_best_of_the_three(bare, share, holds):
    found = means(dfm=0.8, linear=0.81, codes=0.6, bare=bare, DCF=0.7, BCCF=0.65)
    assert lead_of_dfm(found, "yelp", 64).share == pytest.approx(share)
    own, lead = (claim.findings[0] for claim in part_claims(found, ["yelp"]))
    assert own.holds is False
    assert own.measured == pytest.approx(100 * (0.8 / 0.81 - 1))
    assert (lead.measured, lead.holds) == (pytest.approx(share), holds)


def test_without_a_lead_there_is_no_share_of_it():
    found = means(dfm=0.7, linear=0.71, codes=0.6, bare=0.69, DCF=0.75)
    assert part_claims(found, ["yelp"])[1].findings[0].holds is None
    assert "no lead to explain" in what_works(found, ["yelp"])[-1].text
    assert lead_of_dfm(means(dfm=0.8, DCF=0.7), "yelp", 64) is None


@pytest.mark.parametrize(
    ("linear", "bare", "words"),
    [
        (0.8108, 0.7618, ["not by its reason", "make the ranking worse", "0.0051 more"]),
        (0.79, 0.80, ["the paper's reason stands", "add to it"]),
    ],
)
def test_the_report_says_what_that_means(linear, bare, words):
    found = means(dfm=0.8057, linear=linear, codes=0.6903, bare=bare, DCF=0.7616, DCMF=0.7626)
    blocks = what_works(found, ["yelp", "amazon"])
    (table,) = [block for block in blocks if isinstance(block, Table)]
    assert [row[1] for row in table.rows] == ["DCF", "DFM, paper", *PARTS]
    assert [row[-1] for row in table.rows[1:3]] == ["0.8057", f"{linear:.4f}"]
    said = blocks[-1].text
    assert all(word in said for word in words)
    assert what_works(Means([]), ["yelp"]) == [Text("Not run.")]
