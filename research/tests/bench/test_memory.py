"""The benchmark of memory weighs real files and opens them in a real process."""

from __future__ import annotations

import ctypes
import json
import math
import mmap
import subprocess

import numpy as np
import pytest
from bitfm.cli.app import app
from typer.testing import CliRunner

from bitfm_research.bench import memory
from bitfm_research.bench._opening import FORMATS, SCORES, Opening, first_score, generated, measure_opening, open_here


@pytest.fixture
def in_this_process(monkeypatch):
    """Open files here: a fresh process takes seconds, and what it adds has a test of its own."""
    monkeypatch.setattr(memory, "measure_opening", open_here)
    monkeypatch.setattr(memory, "_ROUNDS", 1)


def test_it_prints_both_tables_and_leaves_nothing_behind(tmp_path, in_this_process):
    options = ["--features", "20000", "--megabytes", "0.5", "--folder", str(tmp_path)]
    done = CliRunner().invoke(app, ["bench", "memory", *options, "--json"])
    assert done.exit_code == 0, done.output
    sizes, openings = (json.loads(line) for line in done.stdout.splitlines())
    whole, ours, factors, codes = sizes["rows"]
    assert whole["bytes"] == pytest.approx(20000 * 260, abs=2000)
    assert ours["bytes"] == pytest.approx(20000 * 16, abs=2000)
    assert ours["ratio"] == whole["bytes"] / ours["bytes"] > 16
    assert ours["share"] == "1/16.2"
    assert (factors["bytes"], codes["bytes"]) == (20000 * 256, 20000 * 8)
    assert (codes["share"], codes["ratio"]) == ("1/32.0", 32)
    assert "0.5 MB" in openings["title"]
    rows = openings["rows"]
    assert [row["file"] for row in rows] == ["just written"] * 4 + ["on disk"] * 4 + ["opened before"] * 4
    assert all(row["ms to the first score"] > 0 for row in rows)
    assert not list(tmp_path.iterdir())


@pytest.mark.memory
def test_a_fresh_process_maps_the_file_where_pickle_reads_it(tmp_path):
    model, small = generated(1_000_000), generated(100)
    for name in ("bitfm", "pickle"):
        FORMATS[name].write(model, tmp_path / name)
        FORMATS[name].write(small, tmp_path / f"small {name}")
    opened, read = (
        measure_opening(name, "predict_pairs", tmp_path / f"small {name}", tmp_path / name)
        for name in ("bitfm", "pickle")
    )
    assert opened.score == read.score == first_score(model, "predict_pairs")
    assert opened.own < 1e6 < 15e6 < read.own
    assert opened.resident >= opened.own


def test_every_format_keeps_the_model_and_both_ways_score_it_alike(tmp_path):
    model = generated(1001)
    for name, form in FORMATS.items():
        form.write(model, tmp_path / name)
        opened = form.read(tmp_path / name)
        for array in ("codes_", "gains_", "weights_"):
            np.testing.assert_array_equal(getattr(opened, array), getattr(model, array))
            assert getattr(opened, array).dtype == getattr(model, array).dtype
        scores = [first_score(opened, score) for score in SCORES]
        assert scores == pytest.approx([first_score(model, score) for score in SCORES], abs=1e-4)
    pair = [field.start + field.size // 2 for field in model.fields_]
    user, item = model.to_float().factors_[pair].astype(float)
    assert scores[0] == pytest.approx(model.bias_ + model.weights_[pair].sum() + user @ item, rel=1e-4)


def test_a_run_that_is_interrupted_leaves_nothing_behind(tmp_path, in_this_process, monkeypatch):
    def interrupted(*_):
        assert len(list(tmp_path.glob("*/large.*"))) == 3
        raise KeyboardInterrupt

    monkeypatch.setattr(memory, "measure_opening", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(memory.run(n_features=100, megabytes=0.01, folder=tmp_path, say=lambda _: None))
    assert not list(tmp_path.iterdir())


def test_a_model_that_opens_wrong_is_told(tmp_path, in_this_process, monkeypatch):
    monkeypatch.setattr(memory, "measure_opening", lambda *_: Opening(0.1, 1, 1, math.nan))
    with pytest.raises(RuntimeError, match="scores differently"):
        list(memory.run(n_features=100, megabytes=0.01, folder=tmp_path, say=lambda _: None))
    monkeypatch.setattr("sys.executable", "false")  # the command
    with pytest.raises(RuntimeError, match="nowhere in a process of its own failed"):
        measure_opening("bitfm", "predict", tmp_path / "nowhere", tmp_path / "nowhere")


def test_other_systems_get_the_sizes_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(memory.sys, "platform", "darwin")
    said = []
    titles = [title for title, _ in memory.run(n_features=100, folder=tmp_path, say=said.append)]
    assert len(titles) == 1
    assert "only Linux" in said[-1]


def share_in_memory(path):
    """Return how much of a file the system keeps in memory; to read a byte of it would change that."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        data = np.frombuffer(mapped, np.uint8)
        pages = np.zeros(-(-data.size // mmap.PAGESIZE), np.uint8)
        ask = ctypes.CDLL(None).mincore
        assert ask(*map(ctypes.c_void_p, (data.ctypes.data, data.size, pages.ctypes.data))) == 0
        del data  # or the map could not be closed
    return float((pages & 1).mean())


def test_a_forgotten_file_is_on_the_disk_alone(tmp_path):
    kind = subprocess.run(["stat", "-f", "-c", "%T", tmp_path], capture_output=True, text=True, check=True).stdout
    if kind.strip() in ("tmpfs", "ramfs"):
        pytest.skip("there is no disk here")
    path = tmp_path / "file"
    path.write_bytes(bytes(1 << 20))
    assert share_in_memory(path) == 1
    memory._forget(path)
    assert share_in_memory(path) == 0
