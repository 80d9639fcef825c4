"""LensKit's own contract of components and scorers, for ratings and for events."""

from __future__ import annotations

import numpy as np
from bitfm_lenskit import BitFMConfig, BitFMScorer
from lenskit.data import ItemList, RecQuery
from lenskit.testing import BasicComponentTests, ScorerTests


class TestRatings(BasicComponentTests, ScorerTests):
    component = BitFMScorer
    configs = ({"bits": 32}, {"ratings": False})
    can_score = "known"


class TestEvents(ScorerTests):
    component = BitFMScorer
    config = BitFMConfig(bits=32, ratings=False)
    can_score = "known"


def test_scores_are_those_of_the_recommender(ml_ds):
    scorer = BitFMScorer(bits=32)
    scorer.train(ml_ds)
    best = scorer.recommender.recommend(7, n=5)
    scored = scorer(query=7, items=ItemList(best["item"].to_list(), vocabulary=ml_ds.items))
    np.testing.assert_allclose(scored.scores(), best["score"], rtol=1e-5)


def test_a_history_is_folded_in(ml_ds):
    scorer = BitFMScorer(bits=32)
    scorer.train(ml_ds)
    history, others = ml_ds.user_row(7), ItemList(ml_ds.items.ids(), vocabulary=ml_ds.items)
    folded = scorer(RecQuery(history_items=history), others).scores()
    nobody, known = scorer(RecQuery(), others).scores(), scorer(7, others).scores()
    rest = np.isfinite(folded)
    assert rest.sum() == len(others) - len(history)
    assert np.corrcoef(folded[rest], known[rest])[0, 1] > np.corrcoef(nobody[rest], known[rest])[0, 1]
