"""Catalogues of growing size: who is timed, who is left out, and where we lose."""

from __future__ import annotations

import pytest

from bitfm_research.bench import plots
from bitfm_research.bench import sizes as module
from bitfm_research.bench.sizes import losses, sizes

COLUMNS = ["what", "items", "queries", "method", "µs per query", "times"]
PANELS = ["codes, one query", "codes, batch", "features, one query", "features, batch"]


@pytest.fixture
def quick(monkeypatch):
    """Time everything once, beside other libraries if these are here."""
    pytest.importorskip("faiss")
    pytest.importorskip("implicit")
    monkeypatch.setattr(module, "_ROUNDS", 1)


def kinds(rows):
    """Name the methods by what they are, without versions."""
    known = ("exact", "row codes", "IndexFlatIP", "implicit", "sgemm", "IndexBinaryFlat")
    return [next(kind for kind in known if kind in row["method"]) for row in rows]


def made_up():
    """Return rows as they would be, for a picture."""
    methods = {"bitfm, exact": 3, "FAISS 9 IndexFlatIP": 1, "implicit 9 topk": 5, "sgemm alone, NumPy 9": 2}
    return [
        {"what": what, "items": n, "queries": 9, "method": method, "µs per query": t * n**0.5, "times": t / 3}
        for what in PANELS for n in (100, 1000, 10000) for method, t in methods.items()
    ]  # fmt: skip


def test_every_size_has_all_libraries_both_ways(quick):
    said = []
    tables = list(sizes(said.append, codes=(70, 300), features=(200,), n_queries=30))
    assert [title.split()[0] for title, _ in tables] == ["70", "300", "200"]
    assert len(said) == 3
    libraries = ["IndexFlatIP", "implicit", "sgemm"]
    for (_, rows), n_items in zip(tables, (70, 300, 200), strict=True):
        featured = n_items == 200
        ours = ["exact", "row codes"] if featured else ["exact"]
        assert kinds(rows) == 2 * [*ours, *libraries, *([] if featured else ["IndexBinaryFlat"])]
        assert list(dict.fromkeys(row["what"] for row in rows)) == (PANELS[2:] if featured else PANELS[:2])
        assert all(list(row)[:6] == COLUMNS and row["items"] == n_items and row["queries"] == 30 for row in rows)
        assert all(row["times"] == 1 for row in rows if row["method"] == "bitfm, exact")
    assert [row["recall@10"] is not None for row in tables[2][1]] == 2 * [False, True, False, False, False]


def test_who_would_take_too_long_is_left_out_of_larger_catalogues(quick):
    said = []
    (_, small), (_, large) = sizes(said.append, codes=(50, 100), features=(), n_queries=10, longest=0)
    assert len(set(kinds(small))) == 5
    assert kinds(large) == ["exact", "exact"]
    assert sum("would take about" in line for line in said) == 2 * 4


def test_who_finds_no_memory_is_left_out(quick, monkeypatch):
    monkeypatch.setattr(module.os, "sysconf", lambda name: 1 if name == "SC_PAGE_SIZE" else 550_000)
    said = []
    ((_, rows),) = sizes(said.append, codes=(500,), features=(), n_queries=10)
    assert kinds(rows) == 2 * ["exact", "IndexFlatIP", "IndexBinaryFlat"]
    assert [line.split()[3].rstrip(",") for line in said[1:]] == ["implicit_topk", "matrix_product"]


def test_losses_are_those_of_others():
    rows = [*made_up(), {**made_up()[0], "method": "bitfm, row codes", "times": 0.5}]
    lost = losses(rows)
    assert {row["method"] for row in lost} == {"FAISS 9 IndexFlatIP", "sgemm alone, NumPy 9"}
    assert len(lost) == 2 * 4 * 3
    assert list(lost[0]) == ["what", "items", "method", "µs per query", "times"]


def test_the_picture_has_a_panel_a_case_and_is_the_same_again(tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    figure = plots.draw_sizes(made_up())
    assert [axes.get_title() for axes in figure.axes] == PANELS
    assert all(len(axes.lines) == 4 and axes.get_xscale() == axes.get_yscale() == "log" for axes in figure.axes)
    assert figure.legends[0].get_texts()[0].get_text() == "bitfm, exact"
    for name in ("a", "b"):
        plots.save(plots.draw_sizes(made_up()), tmp_path / name)
    for ending in ("png", "svg"):
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()
    assert len(plots.draw_sizes([row for row in made_up() if row["what"] == PANELS[0]]).axes) == 1
