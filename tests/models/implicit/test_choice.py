"""What is chosen by held-out events, and how few of them it takes."""

import numpy as np
import pytest
import scipy.sparse as sp

from bitfm.models.implicit import choice
from bitfm.models.implicit.data import EventData
from bitfm.models.implicit.fit import RATIO, EventFit, EventSettings
from bitfm.models.implicit.trial import make_trials

GRIDS = {"regularization": (0.05, 0.08, 0.12, 0.18, 0.27), "ratio": (2.5, 5.0, 10.0)}
DEFAULTS = EventSettings()


def silent(stage, number, total, quality):
    return False


def climbed(monkeypatch, quality):
    """Climb by a given quality of settings, one number per user; return where to and what was tried."""
    tried = []

    def of(trial, settings):
        tried.append(settings)
        return choice._Candidate(trial, settings, None, quality(settings))

    monkeypatch.setattr(choice._Candidate, "of", of)
    settings, [best], stopped = choice._climbed([None], DEFAULTS, GRIDS, silent)
    assert best.coded == settings
    assert not stopped
    return settings, tried


@pytest.mark.parametrize("target", [(0.05, 10.0), (0.27, 2.5), (0.12, 5.0), (0.18, 10.0)])
def test_a_climb_ends_at_the_peak_of_both_settings(monkeypatch, target):
    def quality(settings):
        away = np.log(settings.regularization / target[0]) ** 2 + np.log(settings.ratio / target[1]) ** 2
        return np.full(10, -away)

    settings, tried = climbed(monkeypatch, quality)
    assert (settings.regularization, settings.ratio) == target
    assert len(tried) == len(set(tried))


def test_chance_does_not_lead_away_from_the_defaults(monkeypatch):
    users = np.random.default_rng(0).normal(size=1000)

    def quality(settings):  # others are better for half of the users by as much as they are worse for the rest
        return users + 0.1 * np.sign(users) * (settings != DEFAULTS) + 1e-4 * (settings != DEFAULTS)

    settings, tried = climbed(monkeypatch, quality)
    assert settings == DEFAULTS
    assert len(tried) == 5  # itself and what is next to it


def test_no_more_than_so_many_are_tried(monkeypatch):
    monkeypatch.setattr(choice, "_MOST_CANDIDATES", 3)
    settings, tried = climbed(monkeypatch, lambda settings: np.full(5, -settings.regularization))
    assert (len(tried), settings.regularization) == (3, 0.05)


def test_a_trial_has_the_penalties_that_the_fit_will_have():
    rng = np.random.default_rng(0)
    X = sp.csr_matrix((rng.random((200, 100)) < 0.3).astype(float))
    fit = EventFit(EventData.of(X), 16, 0, 16, 2, 0, 1)
    trial = make_trials(fit)[0].fit
    ratios = []
    for each in (fit, trial):
        events, weights = each.data.events, each.weights(DEFAULTS)
        ratios.append(weights.ridge(events.user_sizes, 100))
    np.testing.assert_allclose(ratios[1].mean(), ratios[0].mean(), rtol=0.01)
    assert trial.data.events.user_sizes.sum() < 0.85 * fit.data.events.user_sizes.sum()


def test_the_penalty_follows_the_ratio():
    fit = EventFit(EventData.of(sp.identity(5, format="csr")), 16, 0, 16, 2, 0, 1)
    low, high = (fit.weights(DEFAULTS._replace(ratio=ratio)) for ratio in (RATIO, 4 * RATIO))
    assert low.unobserved * 4 == pytest.approx(high.unobserved)
    assert high.regularization * (1 + 4 * RATIO) == pytest.approx(2 * low.regularization * (1 + RATIO))
