"""Settings are chosen on a part of the training data, and the recommender is fitted to all of it."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

import bitfm
from bitfm import ImplicitFM, Recommender
from bitfm.data import Interactions
from bitfm.datasets import make_bookshop
from bitfm.tuning import model_of

pytest.importorskip("optuna")
COLUMNS = {"user": "reader", "item": "title"}


@pytest.fixture(scope="module")
def shop():
    return make_bookshop(80, 50, 1200, seed=4)


def test_the_best_trial_is_the_one_that_ranks_the_validation_part_best(shop):
    found = bitfm.tune(shop.ratings, **COLUMNS, items=shop.books, trials=3, seed=2)
    trials = found.trials.to_dicts()
    assert len(trials) == 3
    assert (trials[0]["bits"], trials[0]["model"]) == (64, "distilled")  # as by default
    best = max(trials, key=lambda trial: trial["NDCG@10"])
    assert found.ndcg == best["NDCG@10"]
    assert found.best == {name: value for name, value in best.items() if name in found.best}
    rows = Interactions.of(shop.ratings, **COLUMNS)
    train, unseen = rows.split_as(found.held_out)
    model = model_of(found.best, events=False, random_state=2)
    again = Recommender(model=model).fit(train, items=shop.books)
    assert again.evaluate(unseen).ndcg == pytest.approx(found.ndcg)


def test_the_recommender_is_fitted_to_everything_with_the_best_settings(shop):
    found = bitfm.tune(pd.DataFrame(shop.ratings), **COLUMNS, target=None, trials=2, by="user")
    assert isinstance(found.trials, pd.DataFrame)
    assert set(found.best) == {"bits", "neighbors"}
    assert isinstance(found.recommender.model_, ImplicitFM)
    assert found.recommender.model_.bits == found.best["bits"]
    assert found.recommender.model_.n_neighbors == found.best["neighbors"]
    assert found.recommender.n_users == 80
    assert found.held_out.by == "user"
    assert f"ndcg={found.ndcg:.4f}, 2 trials" in repr(found)


def test_what_is_not_tuned_is_as_the_template_has_it_and_the_template_stays(shop):
    template = Recommender(half_life=30.0, n_jobs=1)
    times = {**shop.ratings, "when": np.arange(len(shop.ratings["reader"]))}
    found = bitfm.tune(times, **COLUMNS, target=None, time="when", recommender=template, trials=1)
    assert (found.recommender.half_life, found.recommender.n_jobs) == (30.0, 1)
    assert (template.bits, template.model) == (None, None)
    assert bitfm.tune(times, **COLUMNS, target=None, trials=1, refit=False).recommender is None


def test_trials_are_kept_and_the_same_seed_gives_the_same(shop, tmp_path):
    arguments = {**COLUMNS, "target": None, "refit": False, "study": tmp_path / "trials.db"}
    first = bitfm.tune(shop.ratings, **arguments, trials=1)
    second = bitfm.tune(shop.ratings, **arguments, trials=2)
    assert second.trials["NDCG@10"][0] == first.trials["NDCG@10"][0]
    assert len(second.trials) == 2
    fewer = {name: values[:-1] for name, values in shop.ratings.items()}
    for other in ({"interactions": fewer}, {"seed": 1}, {"by": "user"}):
        with pytest.raises(bitfm.BitfmError, match=r"trials with other .*; give another study="):
            bitfm.tune(**{"interactions": shop.ratings, **arguments, **other}, trials=1)
    again = bitfm.tune(shop.ratings, **COLUMNS, target=None, refit=False, trials=1)
    assert again.ndcg == first.ndcg


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"trials": 0}, "trials"),
        ({"timeout": -1}, "timeout"),
        ({"validation": 1.5}, "fraction"),
        ({"by": "item"}, "by"),
    ],
)
def test_wrong_numbers_are_refused(shop, wrong, told):
    with pytest.raises(ValueError, match=told):
        bitfm.tune(shop.ratings, **COLUMNS, target=None, **wrong)


def test_a_callback_hears_of_every_fit(shop):
    stages = set()
    bitfm.tune(shop.ratings, **COLUMNS, trials=1, callback=lambda iteration: stages.add(iteration.stage))
    assert "trial" in stages  # a teacher for good follows only where a trial finds use for codes


def test_without_optuna_it_says_what_to_install(shop, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(bitfm.BitfmError, match=r"pip install 'bitfm\[tune\]'"):
        bitfm.tune(shop.ratings, **COLUMNS)


def test_settings_become_a_model():
    model = model_of({"bits": 32, "model": "discrete", "beta": 3.0}, events=False, random_state=4)
    assert (model.bits, model.beta, model.random_state) == (32, 3.0, 4)
    model = model_of({"anchor_strength": "inf", "rank": 8, "bits": None}, events=False, n_jobs=2)
    assert (model.anchor_strength, model.teacher.rank, model.bits, model.n_jobs) == (float("inf"), 8, 64, 2)
