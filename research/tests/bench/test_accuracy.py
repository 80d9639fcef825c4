"""The accuracy benchmark: every model on every set, one row each, saved as it goes."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from bitfm import FM, BiasModel, DiscreteFM, DistilledFM
from bitfm.evaluation import ndcg

from bitfm_research.bench import datasets, plots
from bitfm_research.bench.accuracy import run
from bitfm_research.bench.measure import WITH_HISTORY, bytes_per_feature, measure
from bitfm_research.bench.results import Results, over_seeds
from ratings import small_ratings, small_split

COLUMNS = ["dataset", "split", "method", "bits", "NDCG@1", "NDCG@5", "NDCG@10", "RMSE", "bytes per feature", "seconds",
           "fields", "settings", "seed"]  # fmt: skip


def silent(_):
    pass


@pytest.fixture
def small_sets(monkeypatch):
    sets = {"one": lambda _: small_ratings(1), "given": lambda _: small_ratings(2, given_split=True)}
    monkeypatch.setattr(datasets, "READERS", sets)
    monkeypatch.setattr("bitfm_research.bench.accuracy.READERS", sets)


def test_a_row_says_what_the_model_does_on_the_test_part():
    split = small_split()
    row = measure(split, BiasModel(), ("age",))
    scores = BiasModel().fit(split.blocks("train", ("age",)), split.train[2]).predict(split.blocks("test", ("age",)))
    assert row["NDCG@5"] == ndcg(split.test[0], split.test[2], scores, 5)
    assert row["RMSE"] == pytest.approx(np.sqrt(np.mean((scores - split.test[2]) ** 2)))
    assert row["fields"] == "ids, age"


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (BiasModel(), 4),
        (FM(rank=8, n_iter=1), 4 + 4 * 8),
        (FM(rank=8, solver="gibbs", n_iter=5, n_samples=3, thin=1), 4 + 3 * 4 * 8),  # all draws are read to predict
        (DiscreteFM(24, max_iter=1), 4 + 4 + 3),
    ],
)
def test_bytes_are_those_of_the_fitted_arrays(model, expected):
    split = small_split()
    assert bytes_per_feature(model.fit(split.blocks(), split.train[2])) == expected


def test_every_model_is_fitted_to_every_set(tmp_path, small_sets):
    said = []
    done = [(split.name, rows) for split, rows in run(bits=[8], folder=tmp_path, say=said.append)]
    assert [name for name, _ in done] == ["one", "given"]
    methods = ["bias only", "FM, ALS", "FM, SGD", "FM, Gibbs", "DFM, paper", "DFM, distilled"]
    for name, rows in done:
        assert [row["method"] for row in rows] == methods
        assert all(list(row) == COLUMNS and row["dataset"] == name and row["seed"] == 0 for row in rows)
        assert all(0 < row["NDCG@10"] <= 1 for row in rows)
        assert [row["bits"] for row in rows] == [None] * 4 + [8, 8]
        assert [row["fields"] for row in rows[3:]] == ["ids, history, raters", "ids", "ids, history, raters"]
    assert done[1][1][0]["split"] == "the paper's split"
    assert sum("chose" in line for line in said) == 2 * 3


def test_seeds_are_summed_up_as_mean_and_spread():
    summary = over_seeds(rows_of("yelp", seeds=(0, 1, 2)), ("method", "bits"))
    assert len(summary) == 8
    assert summary[4] == {
        "method": "DFM, paper", "bits": 8, "NDCG@10": "0.7410 ± 0.0010", "fields": "ids", "seeds": "0, 1, 2",
    }  # fmt: skip
    assert over_seeds(rows_of("yelp"), ("method", "bits"))[4]["NDCG@10"] == "0.7400"


@pytest.mark.data("ml-100k")
def test_eight_bits_are_more_accurate_than_biases():
    split = datasets.load("ml-100k")
    assert measure(split, DistilledFM(8), WITH_HISTORY)["NDCG@10"] >= 0.769 > measure(split, BiasModel())["NDCG@10"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"datasets": ["netflix"]}, "netflix"),
        ({"bits": [12]}, "multiple of 8"),
        ({"seeds": 0}, "seeds"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_runs(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        next(run(**options, folder=tmp_path, say=silent))


def rows_of(dataset, seeds=(0,)):
    head = [("bias only", None), ("FM, ALS", None), ("FM, SGD", None), ("FM, Gibbs", None)]
    codes = [("DFM, paper", 8), ("DFM, paper", 64), ("DFM, distilled", 8), ("DFM, distilled", 128)]
    return [
        {"dataset": dataset, "method": method, "bits": bits, "NDCG@10": 0.7 + i / 100 + seed / 1000, "fields": "ids",
         "seed": seed}
        for seed in seeds for i, (method, bits) in enumerate(head + codes)
    ]  # fmt: skip


def test_each_batch_of_rows_is_saved_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(plots, "available", lambda: False)
    said = []
    results = Results(tmp_path / "new" / "folder", "accuracy", plots.draw_accuracy, "bitfm bench it", said.append)
    assert len(said) == 1
    assert "bitfm[plots]" in said[0]
    path = tmp_path / "new" / "folder" / "accuracy.csv"
    for n, dataset in enumerate(("yelp", "amazon"), start=1):
        results.add(rows_of(dataset))
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 8 * n
    assert rows[0] == {
        "dataset": "yelp", "method": "bias only", "bits": "", "NDCG@10": "0.7", "fields": "ids", "seed": "0",
        "command": "bitfm bench it",
    }  # fmt: skip
    assert [item.name for item in path.parent.iterdir()] == ["accuracy.csv"]


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_picture_has_a_panel_a_set_and_is_the_same_again(tmp_path, n):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    rows = [row for i in range(n) for row in rows_of(f"set {i}", seeds=(0, 1, 2) if i == 0 else (0,))]
    figure = plots.draw_accuracy(rows)
    titles = [axes.get_title() for axes in figure.axes if axes.axison]
    assert titles == [f"set {i}" for i in range(n)]
    plots.save(figure, tmp_path / "a")
    plots.save(plots.draw_accuracy(rows), tmp_path / "b")
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    for ending in ("png", "svg"):
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()
