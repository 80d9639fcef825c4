"""The benchmark of the search measures what it says."""

from __future__ import annotations

import time

import numpy as np
import pytest
from bitfm import BitfmError

from bitfm_research.bench import _filters, _libraries, retrieval
from bitfm_research.bench._bandwidth import bandwidth
from bitfm_research.bench._comparison import OURS, compare_times, recall
from bitfm_research.bench._vectors import ids_as_vectors
from bitfm_research.bench.generated import generated_codes, generated_features


def test_a_comparison_takes_turns_and_the_best_of_each():
    calls = []
    waits = {"ours": iter([0.02, 0.001, 0.01]), "theirs": iter([0.05, 0.03, 0.04])}

    def method(name):
        calls.append(name)
        time.sleep(next(waits[name]))

    rows = compare_times("naps", 10, {name: lambda name=name: method(name) for name in waits}, rounds=3, turn=0)
    assert calls == ["ours", "theirs"] * 3
    assert [row["method"] for row in rows] == ["ours", "theirs"]
    assert rows[0]["times"] == 1
    assert rows[0]["µs per query"] >= 100
    assert rows[1]["times"] == rows[1]["µs per query"] / rows[0]["µs per query"] > 1


def test_a_turn_is_as_many_runs_as_it_has_time_for():
    calls = []
    compare_times(
        "naps",
        1,
        {"short": lambda: time.sleep(0.01), "long": lambda: calls.append(time.sleep(0.03))},
        rounds=2,
        turn=0.02,
    )
    assert len(calls) == 2


def test_generated_models_score_as_they_search():
    model = generated_codes(20, 300, n_contexts=5)
    assert [field.block for field in model.fields_] == ["user", "context", "item"]
    model, items = generated_features(20, 300)
    positions, scores = model.index(items).search(np.arange(20), n=300)
    users = np.repeat(np.arange(20), 300)
    rows = items.take(positions.ravel())
    np.testing.assert_allclose(model.predict_pairs(users, rows), scores.ravel(), rtol=1e-5)


def test_filters_are_compared_with_none(monkeypatch):
    monkeypatch.setattr(_filters, "_QUERIES", 3)
    monkeypatch.setattr(_filters, "_SHARES", (0.2,))
    index = generated_codes(3, 2000).index()
    rows = _filters._compared(index, _filters._rows(index.parameters))
    assert [row["method"] for row in rows] == [
        "no filter", "20% of the items, not asked for before", "20% of the items, asked for again"
    ]  # fmt: skip
    assert rows[0]["times"] == 1


def test_missing_libraries_are_named(monkeypatch):
    monkeypatch.setattr(_libraries.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BitfmError, match=r"faiss and implicit.*bitfm-research\[bench\]"):
        list(retrieval.run(["context"]))
    with pytest.raises(ValueError, match="part must be one of"):
        list(retrieval.run(["all"]))


def test_other_libraries_find_what_the_index_finds():
    pytest.importorskip("faiss")
    model = generated_codes(40, 500)
    of_users, of_items = ids_as_vectors(model, 40)
    positions, _ = model.index().search(np.arange(40))
    best = np.argsort(-(of_users.astype(float) @ of_items.T.astype(float)), axis=1)[:, :10]
    assert recall(best, positions) > 0.999
    name, search = _libraries.flat(of_items)
    assert name.startswith("FAISS")
    assert OURS == "bitfm"
    search(of_users, 10, at_once=7)


def test_scores_of_a_product_need_not_fit_at_once(monkeypatch):
    products = []
    monkeypatch.setattr(_libraries, "_ROOM", 3 * 50 + 1)
    monkeypatch.setattr(_libraries.np, "matmul", lambda a, b, out: products.append((len(a), out.shape)))
    items = np.ones((50, 4), np.float32)
    _, search = _libraries.matrix_product(items)
    search(items[:11], 10, at_once=8)
    assert products == [(3, (3, 50)), (3, (3, 50)), (2, (2, 50)), (3, (3, 50))]


def test_the_bytes_that_a_search_reads_are_those_of_its_codes_and_more():
    ((_, rows),) = bandwidth(lambda _: None, n_items=200_000)
    assert float(rows[0]["what"].split()[0]) >= 200_000 * 8 / 1e6
    assert all(row["GB/s"] > 0 for row in rows)
