"""The command line, run as people run it: in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import bitfm
from bitfm import _core
from bitfm.cli.main import app
from ratings import small_ratings


def run(*arguments, cwd, **environment):
    return subprocess.run(
        [sys.executable, "-c", "from bitfm.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ | environment,
        timeout=240,
        check=False,
    )


def test_doctor_tells_what_is_here(tmp_path):
    done = run("doctor", cwd=tmp_path, BITFM_DATA="")
    assert done.returncode == 0, done.stderr
    assert bitfm.__version__ in done.stdout
    assert _core.isa() in done.stdout
    assert "none found" in done.stdout


def test_doctor_speaks_json_and_finds_data_and_the_chosen_instruction_set(tmp_path):
    done = run("doctor", "--json", cwd=tmp_path, BITFM_DATA=str(tmp_path), BITFM_ISA="portable")
    facts = {row["what"]: row["found"] for row in json.loads(done.stdout)["rows"]}
    assert facts["data folder"] == str(tmp_path)
    assert facts["instruction set"].startswith("portable")
    assert int(facts["threads"]) >= 1


def test_an_unknown_instruction_set_is_one_clear_line(tmp_path):
    done = run("doctor", cwd=tmp_path, BITFM_ISA="sse9")
    assert done.returncode == 1
    assert "'sse9' is not available" in done.stderr
    assert "portable" in done.stderr
    assert "Traceback" not in done.stderr


def test_bench_read_prints_the_ratio(tmp_path):
    done = run("bench", "read", "--megabytes", "0.2", "--json", cwd=tmp_path)
    rows = json.loads(done.stdout)["rows"]
    assert [row["method"] for row in rows] == ["bitfm.read_libfm", "sklearn.load_svmlight_file"]
    assert rows[0]["ratio"] > 0


def test_bench_scale_runs_on_a_small_system(tmp_path):
    from bitfm.bench.scale import run as scale

    rows = scale(n_users=300, n_items=50, n_attributes=200, n_interactions=2000, iterations=1, say=lambda _: None)
    facts = {row["what"]: row["measured"] for row in rows}
    assert facts["features"] == 550
    assert facts["seconds a codes iteration"] > 0


def test_bench_accuracy_shows_a_table_a_set_and_saves_it(tmp_path, monkeypatch):
    sets = {"one": lambda _: small_ratings(1), "two": lambda _: small_ratings(2)}
    monkeypatch.setattr("bitfm.bench.datasets.READERS", sets)
    monkeypatch.setattr("bitfm.bench.accuracy.READERS", sets)
    options = ["--data", str(tmp_path), "--bits", "8", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, ["bench", "accuracy", *options])
    assert done.exit_code == 0, done.output
    for expected in ("one: half of each user", "two: half of each user", "DFM, anchored", "NDCG@10", "bytes a feature"):
        assert expected in done.stdout
    assert done.stdout.count("bitfm bench accuracy --bits 8 ") == 2
    assert (tmp_path / "out" / "accuracy.csv").read_text().count("\n") == 1 + 2 * 6
    done = CliRunner().invoke(app, ["bench", "accuracy", "--dataset", "two", *options[:4], "--json"])
    assert len(json.loads(done.stdout)["rows"]) == 6


@pytest.mark.parametrize("times", [0.5, 2.0])
def test_bench_retrieval_saves_a_part_and_says_where_it_loses(tmp_path, monkeypatch, times):
    row = {"what": "codes, batch", "items": 1000, "queries": 10, "µs a query": 7.0}
    rows = [{**row, "method": "bitfm, exact", "times": 1.0}, {**row, "method": "FAISS 9 IndexFlatIP", "times": times}]
    parts = {
        "sizes": lambda folder, say: [("few", rows), ("more", rows)],
        "rows": lambda folder, say: [("found", [row])],
    }
    monkeypatch.setattr("bitfm.bench.retrieval.PARTS", parts)
    monkeypatch.setattr("bitfm.bench.retrieval.need_opponents", lambda: None)
    done = CliRunner().invoke(app, ["bench", "retrieval", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert ("Where bitfm loses" in done.stdout) == (times < 1)
    assert ("bitfm loses at no size" in done.output) == (times > 1)
    assert (tmp_path / "out" / "retrieval-sizes.csv").read_text().count("\n") == 1 + 4
    assert (tmp_path / "out" / "retrieval-rows.csv").read_text().startswith("table,what,items")
    done = CliRunner().invoke(app, ["bench", "retrieval", "--json"])
    tables = [json.loads(line) for line in done.stdout.splitlines()]
    assert [table["title"] for table in tables] == ["few", "more", "found", "Where bitfm loses"]
    assert len(tables[-1]["rows"]) == (2 if times < 1 else 0)


@pytest.mark.parametrize("command", ["train", "accuracy", "features", "ablation"])
def test_a_benchmark_that_cannot_run_says_what_to_do(tmp_path, command):
    done = run("bench", command, cwd=tmp_path, BITFM_DATA=str(tmp_path / "nowhere"))
    lacks_opponent = command == "train" and importlib.util.find_spec("myfm") is None
    assert done.returncode == (1 if lacks_opponent else 3)
    assert ("bitfm[bench]" if lacks_opponent else "BITFM_DATA") in done.stderr
    assert "Traceback" not in done.stderr


def test_version_and_help(tmp_path):
    assert run("--version", cwd=tmp_path).stdout.strip() == f"bitfm {bitfm.__version__}"
    assert "doctor" in run("--help", cwd=tmp_path).stdout
    assert run("nonsense", cwd=tmp_path).returncode == 2
