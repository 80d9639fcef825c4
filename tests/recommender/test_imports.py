"""A query needs no estimator: a process that opens a file and recommends imports little but NumPy and Polars."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bitfm import Recommender

QUERY = """
import sys
import bitfm

rec = bitfm.load(sys.argv[1])
rec.recommend("ann")
rec.recommend(["ann", "bob"], n=2)
rec.recommend_new([("tea", 5)])
rec.similar_items("tea")
rec.explain("ann", "tea")
print("\\n".join(sys.modules))
"""
ESTIMATORS = {"bitfm.models", "bitfm.evaluation", "bitfm.bench", "bitfm.paper", "bitfm.demo", "bitfm.cli", "matplotlib"}
OTHERS = {
    "sklearn", "scipy", "scipy.stats", "pandas", "pyarrow", "narwhals", "rich", "typer", "bitfm.datasets",
    "bitfm.data.bookshop",
}  # fmt: skip


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """Return the modules of a process that has opened a file and recommended."""
    path = tmp_path_factory.mktemp("imports") / "shop.bitfm"
    ratings = {
        "user_id": ["ann", "ann", "bob", "cy"],
        "item_id": ["tea", "milk", "tea", "jam"],
        "rating": [5, 2, 4, 1],
    }
    items = {"item_id": ["tea", "milk", "jam"], "kind": ["drink", "drink", "food"], "price": [3.5, 1.5, 2.0]}
    Recommender(bits=8, n_jobs=1).fit(ratings, items=items).save(path)
    child = subprocess.run([sys.executable, "-c", QUERY, str(path)], capture_output=True, text=True, check=True)
    return set(child.stdout.split())


def test_a_query_needs_no_estimator(imported):
    assert "bitfm.recommender.recommender" in imported
    assert ESTIMATORS & imported == set()


def test_a_query_needs_no_other_library_than_numpy_and_polars(imported):
    assert {"numpy", "polars"} <= imported
    assert OTHERS & imported == set()
