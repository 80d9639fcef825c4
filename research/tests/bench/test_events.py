"""``bitfm bench events``: its rows, on a few generated events."""

from __future__ import annotations

import json
import sys
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from bitfm.cli.app import app
from bitfm.models.implicit.events import Events
from typer.testing import CliRunner

from bitfm_research.bench.events import discrete, frappe, hashing, run, run_speed
from bitfm_research.bench.events.opponents import popularity
from bitfm_research.bench.events.protocol import READERS, judge, splits
from bitfm_research.bench.events.quantized import rabitq, rotated_levels


def blocks_of_taste(_=None):
    """Users like the items of their half, most of them."""
    rng = np.random.default_rng(0)
    alike = np.add.outer(np.arange(60), np.arange(40)) % 2 == 0
    return Events.of(sp.csr_matrix((alike & (rng.random(alike.shape) < 0.6)).astype(np.float32)))


@pytest.fixture(autouse=True)
def small_sets(monkeypatch):
    for name in list(READERS):
        monkeypatch.delitem(READERS, name)
    monkeypatch.setitem(READERS, "tastes", blocks_of_taste)
    monkeypatch.setattr(sys.modules["bitfm_research.bench.events.run"], "SETS", ("tastes",))  # `run` is a function, too


def test_both_losses_find_a_taste(tmp_path):
    [split] = splits("tastes", tmp_path, [0])
    least = 1.3 * judge(split, popularity(split, None))["NDCG@20"]
    for fit in (discrete.squared, discrete.pairwise):
        assert judge(split, fit(split, (100.0, 10.0, 4)))["NDCG@20"] > least
    assert len(discrete.SETTINGS) >= 12


def test_hashing_finds_a_taste(tmp_path):
    [split] = splits("tastes", tmp_path, [0])
    least = 1.3 * judge(split, popularity(split, None))["NDCG@20"]
    assert judge(split, hashing.logit(split, (2.0, 1.0, 1.0)))["NDCG@20"] > least
    for by in ("users", "items"):
        assert judge(split, hashing.lsh(split, (8, by)))["NDCG@20"] > least
    assert len(hashing.DCMF_SETTINGS) >= 12
    assert hashing.lsh_bytes(split) > 8


@pytest.mark.parametrize("bits", [64, 128])
def test_quantised_vectors_score_nearly_like_real_ones(bits):
    rng = np.random.default_rng(0)
    users, items = (rng.normal(size=(n, 64)).astype(np.float32) for n in (5, 300))
    scorer, size = rabitq(users, items, bits, 0)
    exact, of_levels = users @ items.T, users @ rotated_levels(items, bits, 0).T
    for found in (scorer(np.arange(5)), of_levels):
        assert np.corrcoef(found.ravel(), exact.ravel())[0, 1] > 0.7 + 0.1 * (bits > 64)
    assert bits / 8 < size < bits / 8 + 32


def test_the_table_has_the_methods_asked_for(tmp_path):
    [(_, rows)] = run(seeds=[0], only=["popularity", "FAISS", "bitfm, 64 bits"], folder=tmp_path)
    assert [row["method"] for row in rows][:3] == ["popularity", "FAISS RaBitQ, 128 bits", "FAISS RaBitQ, 256 bits"]
    assert rows[1]["bytes per item"] < rows[2]["bytes per item"]


def test_sweeps_are_timed_beside_implicit(tmp_path):
    pytest.importorskip("implicit")
    [(_, rows)] = run_speed(factors=[8], threads=[1], folder=tmp_path)
    assert [row["solver"] for row in rows] == ["conjugate gradients", "Cholesky"]
    assert all(row["ratio"] == pytest.approx(row["bitfm seconds"] / row["implicit seconds"]) for row in rows)
    options = ["bench", "events", "--data", str(tmp_path), "--part"]
    assert "part must be one of" in str(CliRunner().invoke(app, [*options, "sped"]).exception)
    done = CliRunner().invoke(app, [*options, "ranking", "--only", "popularity", "--seeds", "1", "--json"])
    assert json.loads(done.stdout)["rows"][0]["method"] == "popularity"


def test_opponents_are_tuned_where_apps_are_used_again(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    lines = ["user\titem\tcnt\tdaytime\tweekday\tisweekend\thomework\tcost\tweather\tcountry\tcity"]
    for user in range(40):
        for item in rng.choice(np.arange(user % 4, 40, 4), 6, False):  # apps of a kind, each used in three contexts
            rest = "monday\tworkday\thome\tfree\tsunny\tSpain\t0"
            lines += [f"{user}\t{item}\t1\t{time}\t{rest}" for time in ("morning", "noon", "night")]
    (tmp_path / "frappe").mkdir()
    with zipfile.ZipFile(tmp_path / "frappe" / "Mobile_Frappe.zip", "w") as archive:
        archive.writestr("Mobile_Frappe/frappe/frappe.csv", "\n".join(lines) + "\n")
    few = [replace(each, grid=each.grid[::8]) for each in frappe.OPPONENTS]
    monkeypatch.setattr(frappe, "OPPONENTS", few)
    rows = {row["method"]: row for row in frappe.next_apps(tmp_path, [0], lambda name: "bitfm" not in name)}
    names = {"popularity", "most used by the user", "item kNN", "EASE", "real factors"}
    assert names <= set(rows)
    for name in names - {"popularity"}:
        assert rows[name]["NDCG@10"] > 1.2 * rows["popularity"]["NDCG@10"], name
        assert rows[name]["Recall@20"] <= 1
