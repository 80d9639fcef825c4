"""Settings by name: what scikit-learn needs to clone a recommender."""

from __future__ import annotations

import pytest
from sklearn.base import clone

from bitfm import DistilledFM, ImplicitFM, Recommender


def test_a_clone_has_the_same_settings_and_no_fit(fitted):
    rec = clone(fitted)
    assert repr(rec) == "Recommender(32 bits, not fitted)"
    assert rec.get_params() == fitted.get_params()
    given = Recommender(16, model=ImplicitFM(64), kinds={"zip": "ignore"}, half_life=3.0)
    copied = clone(given)
    assert copied.model is not given.model
    assert {**copied.get_params(), "model": None} == {**given.get_params(), "model": None}


def test_settings_are_set_by_name_also_those_of_the_model():
    rec = Recommender(model=DistilledFM(32)).set_params(history=False, model__bits=8)
    assert (rec.history, rec.model.bits) == (False, 8)
    assert rec.get_params()["model__bits"] == 8
    assert "model__bits" not in rec.get_params(deep=False)
    assert rec.set_params(model=ImplicitFM(), model__n_neighbors=2).model.n_neighbors == 2
    assert rec.set_params() is rec


def test_names_that_are_none_are_refused_and_nothing_is_changed():
    rec = Recommender(16)
    for wrong in ({"bit": 8}, {"model__bits": 8}, {"history": False, "hystory": True}):
        with pytest.raises(ValueError, match="there is no setting"):
            rec.set_params(**wrong)
    assert rec.get_params() == Recommender(16).get_params()


def test_what_was_fitted_stays_until_the_next_fit(rec):
    before = rec.recommend(rec.users["reader"][0])
    rec.set_params(bits=8)
    assert rec.recommend(rec.users["reader"][0]).equals(before)
    assert rec.model_.bits == 32
