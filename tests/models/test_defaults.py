"""The true defaults of a model of codes, whose teachers take their time, keep the contract."""

import numpy as np
import pytest

from bitfm import DistilledFM
from bitfm.models import Iteration
from bitfm.testing import CodeModelContract

pytestmark = pytest.mark.true_teacher


class TestDistilledFM(CodeModelContract):
    model = DistilledFM(bits=8)

    def problem(self):
        X, y = super().problem()
        return X[:200], y[:200]

    def test_two_teachers_are_tried_fitted_and_distilled(self):
        log = DistilledFM(bits=8).fit(*super().problem()).fit_log_
        assert all(isinstance(item, Iteration) for item in log)
        stages = ["trial", "trial-als", "distillation", "codes", "teacher", "teacher-als"]
        assert list(dict.fromkeys(item.stage for item in log)) == stages
        for stage, total in (("trial", 40), ("trial-als", 15), ("teacher", 40), ("teacher-als", 15)):
            found = [(item.number, item.total) for item in log if item.stage == stage]
            assert found == [(number, total) for number in range(1, total + 1)]

    def test_where_the_trial_finds_nothing_to_teach_there_is_no_other_teacher(self):
        X, _ = self.problem()
        model = DistilledFM(bits=8).fit(X, np.random.default_rng(0).normal(size=len(X)))
        assert not model.gains_.any()
        assert {item.stage for item in model.fit_log_} == {"trial", "trial-als", "distillation", "codes"}
