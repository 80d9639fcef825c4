"""The training benchmark on real data: its claims that do not depend on the clock."""

from __future__ import annotations

import numpy as np
import pytest
from bitfm import BiasModel, DiscreteFM
from bitfm.evaluation import ndcg

from bitfm_research.bench import datasets, train
from bitfm_research.bench._gibbs import compare_gibbs
from bitfm_research.bench.datasets import load
from ratings import small_ratings, small_split


def test_gibbs_sampling_stands_beside_myfm():
    pytest.importorskip("myfm", reason="myFM is not installed")
    rows = compare_gibbs(small_split(), rank=2, n_iter=30, n_samples=20, rounds=1)
    assert [(row["method"].split()[0].strip(","), row["threads"]) for row in rows] == [
        ("myFM", 1), ("bitfm", 1), ("bitfm", 2),
    ]  # fmt: skip
    assert rows[0]["ratio"] == 1
    errors = [row["RMSE"] for row in rows]
    assert errors[1] == errors[2]
    assert errors[0] == pytest.approx(errors[1], abs=0.1)  # two chains, on 300 ratings


def test_only_the_parts_asked_for_are_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "READERS", {"one": lambda _: small_ratings(1)})
    said = []
    rows = train.run(["one"], parts=["codes"], folder=tmp_path, say=said.append)
    assert [row["threads"] for row in rows] == [1, 1, 2]
    assert said == ["one: 20 sweeps of discrete coordinate descent, both ways"]
    with pytest.raises(ValueError, match="'gibbs'"):
        train.run(["one"], parts=["everything"], folder=tmp_path)


@pytest.mark.data("paper")
def test_the_papers_accuracy_on_amazon_is_reached():
    """The authors publish NDCG@1 0.8173 and NDCG@10 0.8574, with β = 10, α = 0 and 20 iterations."""
    split = load("amazon")
    model = DiscreteFM(bits=64, beta=10.0, alpha=0.0, max_iter=20).fit(split.blocks(), split.train[2])
    scores = model.predict(split.blocks("test"))
    users, _, truth = split.test
    assert ndcg(users, truth, scores, 1) >= 0.815
    assert ndcg(users, truth, scores, 10) >= 0.855


@pytest.mark.data("paper")
def test_the_splits_are_the_papers():
    sizes = {"yelp": (13_679, 12_922, 323_348, 316_795), "amazon": (35_151, 33_195, 874_780, 857_280)}
    for name, expected in sizes.items():
        split = load(name)
        assert (split.n_users, split.n_items, len(split.train[0]), len(split.test[0])) == expected
        bias = BiasModel().fit(split.blocks(), split.train[2])
        assert np.isfinite(bias.predict(split.blocks("test"))).all()


@pytest.mark.data("paper")
@pytest.mark.memory
def test_a_fit_needs_at_most_three_times_its_input_and_the_model():
    from bitfm_research.bench._peak import measure_fit

    used = measure_fit("yelp", 1)
    assert 0 < used["peak_mb"] <= used["allowed_mb"]
