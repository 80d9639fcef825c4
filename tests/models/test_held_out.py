"""What is held out judges parameters by error and by order."""

import numpy as np
import pytest

from bitfm import Block, Blocks
from bitfm.models.solvers.held_out import HeldOutPart, Verdict
from bitfm.parameters import FactorParameters


def judged(users, y, scores):
    """Judge parameters whose scores are given: a weight per interaction."""
    n = len(y)
    blocks = Blocks(user=Block(users, {"id": np.eye(max(users) + 1)}), item=Block(np.arange(n), {"id": np.eye(n)}))
    weights = np.concatenate([np.zeros(max(users) + 1), scores])
    parameters = FactorParameters(blocks.fields, 0.0, weights, np.zeros((len(weights), 0), np.float32), "all")
    part = HeldOutPart(blocks, np.asarray(y, float), 1)
    return part.judge(part.scores(parameters))


def test_the_order_is_that_of_all_pairs_of_a_user():
    rng = np.random.default_rng(0)
    users, y, scores = rng.permutation(np.arange(40) % 6), rng.integers(1, 6, 40), rng.integers(0, 4, 40) / 4
    expected = []
    for user in np.unique(users):
        own = np.flatnonzero(users == user)
        pairs = [(a, b) for a in own for b in own if y[a] > y[b]]
        expected.append(np.mean([0.5 * (1 + np.sign(scores[a] - scores[b])) for a, b in pairs]))
    assert max(np.bincount(users)) <= 9  # no two are further apart than is looked at
    found = judged(users, y, scores)
    np.testing.assert_allclose(found.order, expected)
    np.testing.assert_allclose(found.squares, (y - scores) ** 2)


def test_what_tells_nothing_decides_nothing():
    one = judged([0, 1, 2], [1, 2, 3], np.zeros(3))
    assert len(one.order) == 0
    assert one.ranks_above(one) == one.saves(one) == 0
    assert Verdict(np.ones(1), np.ones(1)).saves(Verdict(np.zeros(1), np.ones(1))) == 0


def test_differences_count_in_standard_errors():
    rng = np.random.default_rng(0)
    squares, gain = rng.random(400), rng.normal(0.1, 1, 400)
    better, worse = Verdict(squares - gain, squares), Verdict(squares, squares - gain)
    expected = gain.mean() / (gain.std(ddof=1) / 20)
    assert better.saves(worse) == pytest.approx(expected)
    assert better.ranks_above(worse) == pytest.approx(expected)
