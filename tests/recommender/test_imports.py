"""A query needs no estimator: a process that opens a file and recommends imports NumPy and Polars, and little else."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bitfm import Recommender

QUERIES = """
import sys
import bitfm

rec = bitfm.load(sys.argv[1])
rec.recommend("ann")
rec.recommend(["ann", "bob"], n=2)
rec.recommend("ann", where={"kind": "drink"}, deny={"ann": ["milk"]})
print(*sys.modules)
rec.recommend_new([("tea", 5)], {"city": "Ulm"})
rec.similar_items("tea", where={"price": 1.5})
rec.similar_users("ann")
rec.recommend("ann", boost={"price": 1.5}, diversity=0.5)
rec.recommend("ann", exclude={"ann": ["tea"]}, diversity={"kind": 1})
rec.explain("ann", "tea")
rec.predict([("ann", "tea"), ("cy", "milk")])
print(*sys.modules)
"""
NEVER = {
    "bitfm.models", "bitfm.evaluation", "bitfm.datasets", "bitfm.cli", "bitfm.plotting", "bitfm_research",
    "sklearn", "scipy", "matplotlib", "pandas", "pyarrow", "narwhals", "rich", "typer",
}  # fmt: skip


@pytest.fixture(scope="module", params=["rating", None])
def imported(tmp_path_factory, request):
    """Return the modules of a process that has opened a file and recommended, and those after other queries."""
    path = tmp_path_factory.mktemp("imports") / "shop.bitfm"
    ratings = {
        "user_id": ["ann", "ann", "bob", "cy"],
        "item_id": ["tea", "milk", "tea", "jam"],
        "rating": [5, 2, 4, 1],
    }
    items = {"item_id": ["tea", "milk", "jam"], "kind": ["drink", "drink", "food"], "price": [3.5, 1.5, 2.0]}
    users = {"user_id": ["ann", "bob", "cy"], "age": [25, 38, 61], "city": ["Ulm", "Ulm", "Bonn"]}
    Recommender(bits=8, n_jobs=1).fit(ratings, users=users, items=items, target=request.param).save(path)
    child = subprocess.run([sys.executable, "-c", QUERIES, str(path)], capture_output=True, text=True, check=True)
    return [set(line.split()) for line in child.stdout.splitlines()]


def test_recommending_needs_no_other_library_than_numpy_and_polars(imported):
    recommended, _ = imported
    assert {"numpy", "polars", "bitfm.recommender.recommender"} <= recommended
    assert recommended & NEVER == set()


def test_nor_does_any_other_query(imported):
    _, asked = imported
    assert asked & NEVER == set()
