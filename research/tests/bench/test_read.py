"""The reading benchmark runs, and its own check that both readers agree passes."""

from __future__ import annotations

from bitfm_research.bench.read import run


def test_read_benchmark_compares_both_readers():
    rows = run(megabytes=0.1, repeat=1)
    assert [row["method"] for row in rows] == ["bitfm.read_libfm", "sklearn.load_svmlight_file"]
    assert all(set(row) == {"method", "seconds", "mb_per_s", "ratio", "version"} for row in rows)
    assert rows[1]["ratio"] == 1
