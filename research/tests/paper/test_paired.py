"""NDCG of every user is kept and comes back, and claims are tested by it."""

from __future__ import annotations

import numpy as np
import pytest
from bitfm.errors import DataFileError
from bitfm.evaluation import PerUser, compare

from bitfm_research.paper import paired  # not its functions, which pytest would take for tests
from bitfm_research.paper.claims import check_claims
from bitfm_research.paper.names import BITS, KS
from bitfm_research.paper.results import Measure
from bitfm_research.paper.user_scores import AT_10, MEAN_OVER_K, UserScores

N = 200
FIRST = "DFM is better than the other binarised methods BCCF, DCF and DCMF"


class Study:
    """Rows and users' NDCG of methods whose users differ by noise around a level."""

    def __init__(self, folder, seeds=2):
        self.rows, self.users, self.seeds = [], UserScores(folder / "users"), seeds
        self.rng = np.random.default_rng(0)

    def add(self, method, level, noise=0.02, bits=BITS, dataset="yelp"):
        for length in bits:
            for seed in range(self.seeds):
                values = np.clip(self.rng.normal(level, noise, (N, len(KS))), 0, 1)
                each = PerUser(np.arange(N), values, KS)
                self.users.add(dataset, method, length, seed, each)
                self.rows += [
                    Measure(dataset, method, length, seed, "NDCG", k, value)
                    for k, value in zip(KS, each.mean(), strict=True)
                ]
        return self

    def finding(self, title, dataset="yelp"):
        (claim,) = [it for it in check_claims(self.rows, self.users) if it.title == title and it.finding(dataset)]
        return claim.finding(dataset)


def test_users_come_back_averaged_over_seeds_in_both_columns(tmp_path):
    study = Study(tmp_path).add("DCF", 0.7, bits=(8,))
    kept = [np.clip(np.random.default_rng(0).normal(0.7, 0.02, (2, N, len(KS)))[seed], 0, 1) for seed in range(2)]
    for column, value in ((MEAN_OVER_K, np.mean(kept, axis=(0, 2))), (AT_10, np.mean(kept, axis=0)[:, -1])):
        found = study.users.mean_over_seeds("yelp", "DCF", 8, column)
        np.testing.assert_array_equal(found.users, np.arange(N))
        np.testing.assert_allclose(found.values, value, atol=1e-6)
    assert study.users.mean_over_seeds("yelp", "DCF", 16, AT_10) is None
    assert study.users.mean("yelp", [("DCF", 8), ("DCF", 16)], AT_10) is None
    assert study.users.mean_over_seeds("yelp", "DCF; features", 8, AT_10) is None


def test_a_damaged_file_of_users_is_named(tmp_path):
    study = Study(tmp_path, 1).add("DCF", 0.7, bits=(8,))
    (path,) = (tmp_path / "users" / "yelp").iterdir()
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(DataFileError, match="is not from a run"):
        study.users.mean_over_seeds("yelp", "DCF", 8, AT_10)


def test_the_test_is_that_of_users_averaged_over_lengths_against_the_best_of_each(tmp_path):
    study = Study(tmp_path).add("DFM, paper", 0.8).add("DCF", 0.7).add("BCCF", 0.75, bits=(8,))
    study.add("BCCF", 0.6, bits=(16, 32, 64))
    it = study.finding(FIRST)
    ours = study.users.mean("yelp", [("DFM, paper", bits) for bits in BITS], MEAN_OVER_K)
    theirs = study.users.mean("yelp", [("BCCF", 8), *(("DCF", bits) for bits in BITS[1:])], MEAN_OVER_K)
    expected = compare(ours, theirs)
    assert it.tested.difference == pytest.approx(expected.difference)
    assert (it.tested.low, it.tested.high) == pytest.approx((expected.low, expected.high))
    assert it.tested.n_users == N
    assert it.holds
    assert "Paired over 200 users: +0.0" in it.tested.told()


def test_a_difference_that_chance_may_make_does_not_hold(tmp_path):
    study = Study(tmp_path, 1).add("DFM, paper", 0.7005, 0.25).add("bias only", 0.7, 0.25, bits=(None,))
    chance = study.finding("DFM is better than the bias alone")
    assert chance.tested.p_value > 0.05
    assert chance.holds is False
    (tmp_path / "b").mkdir()
    sure = Study(tmp_path / "b", 1).add("DFM, paper", 0.71, 0.01).add("bias only", 0.7, 0.01, bits=(None,))
    assert sure.finding("DFM is better than the bias alone").holds


def test_a_loss_called_small_may_be_more_than_chance(tmp_path):
    it = (
        Study(tmp_path).add("DFM, paper", 0.79).add("FM, SGD", 0.8).finding("DFM loses little against libFM on average")
    )
    assert it.tested.p_value < 0.01
    assert it.tested.difference == pytest.approx(-0.01, abs=0.003)
    assert it.holds


def test_a_gap_that_shrinks_is_a_difference_of_differences(tmp_path):
    study = Study(tmp_path).add("DFM, paper", 0.75, bits=(8,)).add("DFM, paper", 0.79, bits=(64,))
    study.add("FM, SGD", 0.8, bits=(8, 64))
    it = study.finding("DFM's loss against libFM shrinks from 8 to 64 bits")
    values = {
        (method, bits): study.users.mean_over_seeds("yelp", method, bits, MEAN_OVER_K).values.mean()
        for method in ("DFM, paper", "FM, SGD")
        for bits in (8, 64)
    }
    gaps = [values["DFM, paper", bits] - values["FM, SGD", bits] for bits in (64, 8)]
    assert it.tested.difference == pytest.approx(gaps[0] - gaps[1])
    assert it.holds


def test_without_users_there_is_no_test_and_claims_hold_by_their_numbers(tmp_path):
    rows = Study(tmp_path).add("DFM, paper", 0.8).add("DCF", 0.7).rows
    (it,) = [claim.finding("yelp") for claim in check_claims(rows) if claim.title == FIRST]
    assert it.tested is None
    assert it.holds
    assert paired.tested(None, "yelp", [("DCF", 8)], [("DCF", 8)], AT_10) is None
    run = (("DCF", 8), ("DCF", 8))
    assert paired.tested_gap(None, "yelp", run, run, AT_10) is None


def test_p_values_are_adjusted_for_their_number():
    rng = np.random.default_rng(0)
    p = rng.random(20) ** 3
    found = np.array(paired.holm(p))
    order = np.argsort(p)
    for place, i in enumerate(order):  # the definition, one by one
        assert found[i] == pytest.approx(min(1, max(p[j] * (len(p) - n) for n, j in enumerate(order[: place + 1]))))
    assert (found >= p).all()
    assert paired.holm([]) == []
