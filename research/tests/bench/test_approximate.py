"""Approximate searches are compared where they find as much."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfm_research.bench._approximate import _tuned, approximate, lowest
from bitfm_research.bench._libraries import inverted_lists


@given(st.integers(1, 500), st.integers(1, 500))
def test_a_setting_is_the_lowest_that_is_enough(needed, highest):
    tried = []
    assert lowest(lambda setting: tried.append(setting) or setting >= needed, highest) == min(needed, highest)
    assert 1 <= min(tried) <= max(tried) <= highest
    assert len(tried) <= 2 * 10


def test_approximate_libraries_find_as_much_as_row_codes():
    pytest.importorskip("faiss")
    said = []
    tables = list(approximate(said.append, n_items=2000, n_queries=30))
    assert len({title for title, _ in tables}) == 1
    assert [rows[0]["what"] for _, rows in tables] == ["one query after another", "30 queries at once"]
    for _, rows in tables:
        methods = [row["method"] for row in rows]
        found = [float(re.search(r"recall@10 ([\d.]+)\)$", method)[1]) for method in methods]
        assert [method.split(",")[0].split()[-1] for method in methods] == [
            "bitfm",
            "HNSW16",
            "HNSW32",
            "IVF178",
            "bitfm",
        ]
        assert min(found) == found[0] > 0.5
        assert found[-1] == 1
        assert rows[0]["times"] == 1
        assert all(row["seconds to build"] > 0 for row in rows)
    assert sum("built in" in line for line in said) == 3


def test_a_library_that_cannot_find_as_much_says_so():
    pytest.importorskip("faiss")
    rng = np.random.default_rng(0)
    items, users = rng.normal(size=(900, 9)).astype(np.float32), rng.normal(size=(20, 9)).astype(np.float32)
    best = np.argsort(-(users @ items.T), axis=1)[:, :10]
    library = inverted_lists(items, users)
    assert _tuned(library, best, 1.5).endswith("IVF120, nprobe 120, its most (recall@10 1.0000)")
    few = _tuned(library, best, 0.5)
    assert "its most" not in few
    assert int(re.search(r"nprobe (\d+)", few)[1]) < 120
