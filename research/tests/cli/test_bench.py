"""``bitfm bench``, run as people run it: by name, through the command line of bitfm."""

from __future__ import annotations

import importlib.util
import json

import pytest
from bitfm.cli.app import app
from typer.testing import CliRunner

from cli_process import run
from ratings import small_ratings


def test_bench_read_prints_the_ratio(tmp_path):
    done = run("bench", "read", "--megabytes", "0.2", "--json", cwd=tmp_path)
    rows = json.loads(done.stdout)["rows"]
    assert [row["method"] for row in rows] == ["bitfm.read_libfm", "sklearn.load_svmlight_file"]
    assert rows[0]["ratio"] > 0


def test_bench_scale_runs_on_a_small_system(tmp_path):
    from bitfm_research.bench.scale import run as scale

    rows = scale(n_users=300, n_items=50, n_attributes=200, n_interactions=2000, iterations=1, say=lambda _: None)
    facts = {row["what"]: row["measured"] for row in rows}
    assert facts["features"] == 550
    assert facts["seconds per codes iteration"] > 0


def test_bench_accuracy_shows_a_table_a_set_and_saves_it(tmp_path, monkeypatch):
    sets = {"one": lambda _: small_ratings(1), "two": lambda _: small_ratings(2)}
    monkeypatch.setattr("bitfm_research.bench.datasets.READERS", sets)
    monkeypatch.setattr("bitfm_research.bench.accuracy.READERS", sets)
    options = ["--data", str(tmp_path), "--bits", "8", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, ["bench", "accuracy", *options])
    assert done.exit_code == 0, done.output
    for expected in (
        "one: half of each user",
        "two: half of each user",
        "DFM, distilled",
        "NDCG@10",
        "bytes per feature",
    ):
        assert expected in done.stdout
    assert done.stdout.count("bitfm bench accuracy --bits 8 ") == 2
    assert (tmp_path / "out" / "accuracy.csv").read_text().count("\n") == 1 + 2 * 6
    done = CliRunner().invoke(app, ["bench", "accuracy", "--dataset", "two", *options[:4], "--json"])
    assert len(json.loads(done.stdout)["rows"]) == 6


@pytest.mark.parametrize("times", [0.5, 2.0])
def test_bench_retrieval_saves_a_part_and_says_where_it_loses(tmp_path, monkeypatch, times):
    row = {"what": "codes, batch", "items": 1000, "queries": 10, "µs per query": 7.0}
    rows = [{**row, "method": "bitfm, exact", "times": 1.0}, {**row, "method": "FAISS 9 IndexFlatIP", "times": times}]
    parts = {
        "sizes": lambda folder, say: [("few", rows), ("more", rows)],
        "rows": lambda folder, say: [("found", [row])],
    }
    monkeypatch.setattr("bitfm_research.bench.retrieval.PARTS", parts)
    monkeypatch.setattr("bitfm_research.bench.retrieval.need_libraries", lambda: None)
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
    lacks_library = command == "train" and importlib.util.find_spec("myfm") is None
    assert done.returncode == (1 if lacks_library else 3)
    assert ("bitfm-research[bench]" if lacks_library else "BITFM_DATA") in done.stderr
    assert "Traceback" not in done.stderr
