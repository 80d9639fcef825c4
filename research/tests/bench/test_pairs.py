"""The benchmark of pairs compares tables that score alike."""

from __future__ import annotations

import numpy as np
import pytest

from bitfm_research.bench import pairs


@pytest.mark.parametrize("what", ["features", "ids"])
def test_all_tables_are_the_same_model(what):
    tables = pairs._tables(200)
    X = pairs._pairs(200, 30, "real") if what == "features" else pairs._ids(200, 30)
    design = X.design(np.float32)
    scores = {name: table.score(design) for name, table in tables.items()}
    largest = np.abs(scores["feature"]).max()
    np.testing.assert_allclose(scores["float32"], scores["feature"], rtol=0, atol=1e-5 * largest)
    np.testing.assert_allclose(scores["int8"], scores["feature"], rtol=0, atol=1e-5 * largest)


@pytest.mark.parametrize("values", ["real", "binary"])
def test_pairs_have_a_hundred_features_each(values):
    X = pairs._pairs(1000, 30, values)
    assert (np.diff(X.to_csr().indptr) == 100).all()


def test_ids_are_two_features():
    assert (np.diff(pairs._ids(1000, 30).to_csr().indptr) == 2).all()


def test_floats_begin_with_a_cache_line():
    assert pairs._aligned(3, 64).ctypes.data % 64 == 0


def test_a_row_for_each_table():
    ((title, rows),) = pairs.run([1000], n_pairs=30, say=lambda line: None)
    assert "30 pairs of 100 of 1,000 features" in title
    assert [row["bytes per feature"] for row in rows] == [16, 260, 72] * 3
    assert {row["what"] for row in rows} == {"real x", "binary x", "two ids"}
    assert all(row["ns per pair"] > 0 for row in rows)
