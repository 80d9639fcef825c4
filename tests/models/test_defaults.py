"""The true defaults of a model of codes, whose teachers take their time, keep the contract."""

from bitfm import DistilledFM
from bitfm.models import Iteration
from bitfm.testing import CodeModelContract


class TestDistilledFM(CodeModelContract):
    model = DistilledFM(bits=8)

    def problem(self):
        X, y = super().problem()
        return X[:200], y[:200]

    def test_two_teachers_are_tried_fitted_and_distilled(self):
        log = self.fitted()[0].fit_log_
        assert all(isinstance(item, Iteration) for item in log)
        stages = ["trial", "trial-als", "distillation", "codes", "teacher", "teacher-als"]
        assert list(dict.fromkeys(item.stage for item in log)) == stages
