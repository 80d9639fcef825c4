"""A plan says what it costs before it is run."""

from __future__ import annotations

import json

import pytest
from bitfm.cli.app import app
from typer.testing import CliRunner

from bitfm_research.paper.costs import costs_of
from bitfm_research.paper.jobs import jobs_of
from bitfm_research.paper.libfm import TUNED
from bitfm_research.paper.methods import METHODS
from bitfm_research.paper.names import LIBFM
from bitfm_research.paper.plan import Plan
from bitfm_research.paper.results import Measure, Results


def costs(plan, rows=(), name="yelp", folder=None):
    results = Results(folder / "results.csv")
    results.measures += rows
    return {it.method: it for it in costs_of([(name, job) for job in jobs_of(plan, name)], results)}


def test_what_is_not_random_is_run_once_and_the_rest_for_each_seed(tmp_path):
    found = costs(Plan(tmp_path), folder=tmp_path)
    assert found["bias only"].jobs == 1
    assert found["FM, Gibbs"].jobs == 3
    assert found["DCF"].jobs == 3 * 4
    assert found["DFM, paper; Figure 2"].jobs == 3 * 7  # β = 10 is that of Figure 1
    assert found[TUNED].jobs == found["DFM, paper; retrieval"].jobs == 4  # searches and times have no seed
    assert set(METHODS) <= set(found)


def test_every_method_has_a_cost_and_it_grows_with_the_data_and_the_bits(tmp_path):
    yelp, amazon = (costs(Plan(tmp_path), name=name, folder=tmp_path) for name in ("yelp", "amazon"))
    short, long = (costs(Plan(tmp_path, bits=(bits,)), folder=tmp_path) for bits in (8, 64))
    for method in METHODS:
        assert yelp[method].seconds is not None
        assert amazon[method].seconds >= yelp[method].seconds
        assert long[method].seconds >= short[method].seconds
    assert {"FM, SGD; features", TUNED + "; features"} <= set(costs(Plan(tmp_path), name="yelp-words", folder=tmp_path))


def test_what_was_measured_counts_more_than_what_is_thought(tmp_path):
    rows = [Measure("yelp", "DCF", 8, seed, "seconds", None, value) for seed, value in enumerate((100.0, 300.0))]
    assert costs(Plan(tmp_path, bits=(8,)), rows, folder=tmp_path)["DCF"].seconds == pytest.approx(3 * 200)


def test_nobody_knows_what_another_program_takes(tmp_path):
    assert costs(Plan(tmp_path, libfm=tmp_path), folder=tmp_path)[LIBFM].seconds is None


def test_the_command_says_it_and_runs_nothing(tmp_path):
    (tmp_path / "yelp-words").mkdir()
    (tmp_path / "yelp-words" / "prepared.json").touch()
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["paper", "--data", str(tmp_path), "--out", str(out), "--plan", "--json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["rows"]
    assert {"data set": "yelp-words", "method": "bias only", "jobs": 1, "seconds": 0.1} in rows
    assert not out.exists()
