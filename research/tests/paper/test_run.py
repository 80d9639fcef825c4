"""The whole way: data as published, experiments, results to go on from, and the report."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from bitfm.datasets import make_bookshop
from bitfm.errors import DataFileError
from bitfm.evaluation import split_per_user
from bitfm.validation import limit_threads, thread_count

from bitfm_research.paper.datasets import find_data, load_split, sampled
from bitfm_research.paper.methods import METHODS
from bitfm_research.paper.plan import Plan
from bitfm_research.paper.results import Measure, Results
from bitfm_research.paper.run import run
from bitfm_research.paper.user_scores import UserScores

FAST = ("bias only", "FM, SGD", "BCCF", "DCF", "DFM, paper")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with ratings of generated readers in the published form."""
    folder = tmp_path_factory.mktemp("data") / "paper"
    folder.mkdir()
    for name, seed in (("yelp", 0), ("amazon", 1)):
        shop = make_bookshop(80, 50, 2000, seed=seed)
        ratings = np.asarray(shop.ratings["rating"], float)
        train = split_per_user(shop.reader_rows, 0.5, 0)
        for part, mask in (("train", train), ("test", ~train)):
            rows, columns = shop.reader_rows[mask], shop.book_rows[mask]
            matrix = sp.csc_matrix((ratings[mask], (rows, columns)), (80, 50))
            scipy.io.savemat(folder / f"{part}_{name}.mat", {f"{part}_{name}_Matrix": matrix})
    return folder


def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bitfm", "paper", *map(str, words)], capture_output=True, text=True, timeout=600
    )


def test_one_command_makes_the_report_and_goes_on_where_it_stopped(data, tmp_path):
    out = tmp_path / "results"
    options = ["--data", data, "--out", out, "--quick", "--bits", "8", "--seeds", "2"]
    for method in FAST:
        options += ["--methods", method]
    first = command(*options, "--dataset", "yelp")
    assert first.returncode == 0, first.stderr
    assert "DFM, paper, 8 bits, seed 1: NDCG@10" in first.stderr
    rows = list(Results(out / "results.csv"))
    assert {row.dataset for row in rows} == {"yelp"}
    assert {row.k for row in rows if row.metric == "NDCG" and row.method == "DCF"} == set(range(1, 11))
    assert all(0 < row.value < 1 for row in rows if row.metric == "NDCG")
    assert {"TTC, ids", "TTC, ids and words"} <= {row.metric for row in rows}
    assert all(row.value > 0 for row in rows if row.metric == "seconds")
    assert {row.seed for row in rows if row.method == "DCF"} == {0, 1}
    assert {row.seed for row in rows if row.method == "bias only"} == {0}
    assert_one_libfm(rows)
    assert "beta=0.01" in {row.method.partition("; ")[2] for row in rows}
    for name in ("report.md", "report.html"):
        assert "bias only" in (out / name).read_text()

    second = command(*options, "--json")
    assert second.returncode == 0, second.stderr
    assert "jobs were done before" in second.stderr
    after = list(Results(out / "results.csv"))
    assert after[: len(rows)] == rows
    assert {row.dataset for row in after} == {"yelp", "amazon"}
    claims = json.loads(second.stdout)["rows"]
    assert {row["data set"] for row in claims} >= {"yelp", "amazon"}
    assert any(row["holds"] in ("yes", "no") for row in claims)

    third = command("--data", data, "--out", out)
    assert third.returncode == 1
    assert "another --out" in third.stderr


def assert_one_libfm(rows):
    """Figure 1 at the greatest length is a point of Figure 2, for each seed."""
    ndcg = {(row.method, row.seed): row.value for row in rows if (row.metric, row.k, row.bits) == ("NDCG", 10, 8)}
    (l2,) = (row.value for row in rows if row.method == "FM, SGD; tuned" and row.metric == "L2")
    for seed in (0, 1):
        assert ndcg["FM, SGD", seed] == ndcg[f"FM, SGD; l2={l2:g}", seed]
        assert ndcg["DFM, paper", seed] == ndcg["DFM, paper; beta=10", seed]


def test_what_cannot_be_run_is_said_before_anything_is(data, tmp_path):
    for settings, message in (
        ({"datasets": ("netflix",)}, "dataset must be one of .* got 'netflix'"),
        ({"methods": ("SVD",)}, "method must be one of .* got 'SVD'"),
        ({"bits": (12,)}, "multiple of 8"),
        ({"seeds": 0}, "seeds must be"),
    ):
        with pytest.raises(ValueError, match=message):
            Plan(data, **settings)
    results, users = Results(tmp_path / "results.csv"), UserScores(tmp_path / "users")
    with pytest.raises(FileNotFoundError, match="douban is not in"):
        run(Plan(data, ("yelp", "douban")), results, users, print)
    with pytest.raises(FileNotFoundError, match="none of the data sets"):
        run(Plan(tmp_path), results, users, print)
    assert not results.path.exists()


def test_jobs_beside_each_other_give_what_they_give_one_by_one(data, tmp_path):
    plan = Plan(
        data, ("yelp",), ("bias only", "FM, Gibbs", "BCCF", "DCMF", "DFM, distilled"), (8, 16), seeds=2, quick=True
    )
    found = {}
    for threads in (1, 2):
        limit_threads(threads)
        try:
            results = Results(tmp_path / f"{threads}.csv")
            run(plan, results, UserScores(tmp_path / f"{threads}"), lambda line: None)
            assert thread_count(8) == threads  # as before
        finally:
            limit_threads(None)
        found[threads] = [row for row in results if row.metric != "seconds"]
    assert found[1] == found[2]
    assert {row.seed for row in found[1] if row.method == "DCMF"} == {0, 1}


def test_data_is_found_by_either_folder(data):
    assert find_data(data) == (data.parent.resolve(), ("yelp", "amazon"))
    assert find_data(data.parent) == (data.parent, ("yelp", "amazon"))


def test_a_sample_of_users_keeps_all_of_their_ratings(data):
    split = load_split("yelp", data.parent, 0)
    some = sampled(split, 20, 0)
    assert some.n_users == 20
    assert set(np.unique(some.train[0])) == set(range(20))
    assert set(np.concatenate([some.train[1], some.test[1]])) == set(range(some.n_items))
    counts = sorted(np.bincount(some.train[0], minlength=20))
    assert set(counts) <= set(np.bincount(split.train[0]))
    assert sampled(split, 1000, 0) is split


def test_results_come_back_as_they_were(tmp_path):
    path = tmp_path / "deep" / "results.csv"
    rows = [
        Measure("yelp", "DFM, paper; beta=0.1", 64, 0, "NDCG", 10, 0.8125),
        Measure("yelp", "bias only", None, 0, "RMSE", None, 1.0625),
    ]
    results = Results(path)
    results.add(rows)
    assert list(Results(path)) == rows
    assert results.has("yelp", "bias only", None, 0, "RMSE")
    assert not results.has("yelp", "bias only", None, 1, "RMSE")
    path.write_text(path.read_text() + "yelp,DCF,x,0,NDCG,1,0.5\n")
    with pytest.raises(DataFileError, match="line 4"):
        Results(path)
    path.write_text("a,b\n")
    with pytest.raises(DataFileError, match="not a file of results"):
        Results(path)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("ml-1m", marks=pytest.mark.data("ml-1m")),
        pytest.param("douban", marks=pytest.mark.data("douban-movie")),
    ],
)
def test_features_are_prepared_as_the_paper_does(name):
    from bitfm_research.bench.datasets import need_data
    from bitfm_research.paper.datasets import ITEM_FIELDS

    split = load_split(name, need_data(None), 0)
    assert set(ITEM_FIELDS[name]) <= set(split.item_fields)
    assert np.bincount(np.concatenate([split.train[1], split.test[1]])).min() >= 20
    X = split.blocks("train", ITEM_FIELDS[name])
    assert len(X) == len(split.train[2])


def test_methods_can_be_chosen(data, tmp_path):
    results, users = Results(tmp_path / "results.csv"), UserScores(tmp_path / "users")
    run(Plan(data, ("amazon",), ("popularity",), quick=True), results, users, lambda line: None)
    assert {row.method for row in results} == {"popularity"}
    assert set(FAST) < set(METHODS)
    shutil.rmtree(tmp_path)


def test_a_teacher_is_fitted_once_and_its_seconds_are_its_own(data, tmp_path):
    results, users = Results(tmp_path / "results.csv"), UserScores(tmp_path / "users")
    plan = Plan(data, ("yelp",), ("FM, Gibbs", "DFM, distilled"), (8,), 1, quick=True)
    run(plan, results, users, lambda line: None)
    seconds = {row.method: row.value for row in results if row.metric == "seconds"}
    assert set(seconds) == {"FM, Gibbs", "DFM, distilled"}
    assert min(seconds.values()) > 0.001


def test_a_run_that_fails_leaves_a_report_of_what_there_is(data, tmp_path, monkeypatch):
    from bitfm.cli.app import app
    from typer.testing import CliRunner

    from bitfm_research.paper import jobs

    def fail(*args, **settings):
        raise ValueError("sgd diverged")

    monkeypatch.setattr(jobs, "testing_times", fail)
    out = tmp_path / "out"
    words = ["paper", "--data", data, "--out", out, "--quick", "--bits", "8", "--methods", "DFM, paper"]
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert "diverged" in str(done.exception)
    assert "DFM, paper" in (out / "report.md").read_text()
    (out / "settings.json").unlink()
    again = CliRunner().invoke(app, [str(word) for word in words])
    assert "unknown settings" in str(again.exception)
