"""A model that breaks the contract is found out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bitfm import BiasModel, DiscreteFM
from bitfm.testing import CodeModelContract, FeatureModelContract

FITS = itertools.count()


class Hasty(BiasModel):
    """Changes before it looks at what it is given."""

    def fit(self, X, y, *, callback=None):
        self.bias_, self.weights_ = 7.0, np.ones(63)
        return super().fit(X, y, callback=callback)


class Restless(BiasModel):
    """Is another model after every fit."""

    def fit(self, X, y, **more):
        super().fit(X, y, **more)
        self.bias_ += next(FITS)
        return self


class Proud(BiasModel):
    """Changes its settings."""

    def fit(self, X, y, **more):
        super().fit(X, y, **more)
        self.max_iter = 1000
        return self


class Dense(BiasModel):
    """Takes a matrix for something else than blocks."""

    def predict(self, X):
        return super().predict(X) + isinstance(X, np.ndarray)


class Careless(BiasModel):
    """Does not look."""

    def fit(self, X, y, **more):
        return super().fit(X, y if y is None else np.where(np.isfinite(y), y, 0), **more)


class Biased(DiscreteFM):
    """Has predictions that nothing else knows of."""

    def predict(self, X):
        return super().predict(X) + 1


BREACHES = [
    (Hasty(), "test_bad_input_is_refused_and_leaves_the_model_as_it_was"),
    (Hasty(), "test_a_fit_that_fails_or_is_interrupted_changes_nothing"),
    (Restless(), "test_the_same_seed_gives_the_same_model_on_any_number_of_threads"),
    (Proud(), "test_settings_are_kept_as_they_are_given"),
    (Dense(), "test_every_form_of_a_matrix_gives_the_same_model"),
    (Dense(), "test_blocks_and_matrices_are_scored_alike"),
    (Careless(), "test_bad_input_is_refused_and_leaves_the_model_as_it_was"),
    (Biased(bits=8, max_iter=1), "test_an_explanation_adds_up_to_the_score"),
    (Biased(bits=8, max_iter=1), "test_pairs_and_real_numbers_are_scored_as_interactions_are"),
]


@pytest.mark.parametrize(
    ("breaching", "test"), BREACHES, ids=lambda value: value if isinstance(value, str) else str(value)
)
def test_a_breach_is_found(breaching, test):
    class Contract(CodeModelContract if isinstance(breaching, DiscreteFM) else FeatureModelContract):
        model = breaching

    with pytest.raises((AssertionError, pytest.fail.Exception)):
        getattr(Contract(), test)()
