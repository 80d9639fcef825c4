"""The benchmark of measures runs all of them."""

from __future__ import annotations

from bitfm_research.bench.evaluation import run


def test_every_measure_is_timed():
    rows = run(n_users=200, n_ratings=3000, repeat=1)
    assert len(rows) == 5
    assert all(row["seconds"] > 0 for row in rows)
    assert [row["method"].split()[0] for row in rows] == ["bitfm"] * 4 + ["scikit-learn"]
