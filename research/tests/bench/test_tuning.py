"""Tuning chooses the best of what it tries, and never looks at the test part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bitfm import FM, BiasModel
from bitfm.evaluation import rmse

from bitfm_research.bench.measure import WITH_HISTORY
from bitfm_research.bench.tuning import tune_als, tune_bias, tune_dcmf, tune_sgd
from ratings import small_split


def test_the_bias_models_strength_is_the_best_of_all():
    split = small_split()
    tuned = tune_bias(split, seed=1)
    part, errors = split.validation(seed=1), {}
    for fields in ((), WITH_HISTORY):
        for strength in (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0):
            model = BiasModel(strength).fit(part.blocks("train", fields), part.train[2])
            errors[fields, strength] = rmse(part.test[2], model.predict(part.blocks("test", fields)))
    assert (tuned.fields, tuned.model.regularization) == min(errors, key=errors.get)
    assert tuned.rmse == min(errors.values())
    assert tuned.tried == len(errors)


@pytest.mark.parametrize("tune", [tune_bias, tune_als, tune_sgd])
def test_the_test_part_is_not_looked_at(tune):
    split = small_split()
    users, items, _ = split.test
    blind = replace(split, test=(users[:0], items[:0], np.full(0, np.nan)))
    assert str(tune(split)) == str(tune(blind))


def test_the_interaction_is_the_one_that_ranks_best(monkeypatch):
    """Whatever the test part is, and once for all lengths."""
    split, tried = small_split(), []

    def rank(users, ratings, scores, k):
        tried.append(len(users))
        return [0.1, 0.2, 0.4, 0.3, 0.2][len(tried) - 1]

    monkeypatch.setattr("bitfm_research.bench.tuning.ndcg", rank)
    blind = replace(split, test=(split.test[0][:0], split.test[1][:0], np.full(0, np.nan)))
    models = [tune_dcmf(blind, bits, seed=7) for bits in (8, 64)]
    assert [(model.bits, model.interaction, model.random_state) for model in models] == [(8, 3.0, 7), (64, 3.0, 7)]
    assert len(tried) == 5
    assert 0.4 * len(split.train[2]) < tried[0] < 0.6 * len(split.train[2])


@pytest.mark.parametrize("tune", [tune_als, tune_sgd])
def test_the_number_of_iterations_is_the_one_with_the_lowest_error(tune):
    split = small_split()
    tuned = tune(split, seed=2)
    assert isinstance(tuned.model, FM)
    part, errors = split.validation(seed=2), []
    model = FM(**{**tuned.model.get_params(), "n_iter": None})
    for _ in range(tuned.model.n_iter + 5):
        model.partial_fit(part.blocks("train", tuned.fields), part.train[2])
        errors.append(rmse(part.test[2], model.predict(part.blocks("test", tuned.fields))))
    assert tuned.model.n_iter == 1 + int(np.argmin(errors[:40]))
    assert tuned.rmse == min(errors)
    fitted = tuned.model.fit(split.blocks("train", tuned.fields), split.train[2])
    assert fitted.n_iter_ == tuned.model.n_iter  # of all the data, and no early stop
