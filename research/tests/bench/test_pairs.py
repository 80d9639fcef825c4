"""The benchmark of pairs compares tables that score alike."""

from __future__ import annotations

import numpy as np
import pytest
from bitfm.core import score_pairs_by_records

from bitfm_research.bench import pairs


def test_all_tables_are_the_same_model():
    tables, X = pairs._tables(200), pairs._pairs(200, 30, "real")
    design = X.design(np.float32)
    scores = {
        name: score_pairs_by_records(design, 3.5, records, kind, 64, True, 1)
        for name, (kind, records) in tables.items()
    }
    largest = np.abs(scores["feature"]).max()
    np.testing.assert_allclose(scores["float32"], scores["feature"], rtol=0, atol=1e-5 * largest)
    np.testing.assert_allclose(scores["int8"], scores["feature"], rtol=0, atol=1e-5 * largest)


@pytest.mark.parametrize("values", ["real", "binary"])
def test_pairs_have_a_hundred_features_each(values):
    X = pairs._pairs(1000, 30, values)
    assert (np.diff(X.to_csr().indptr) == 100).all()


def test_a_row_for_each_table():
    ((title, rows),) = pairs.run([1000], n_pairs=30, say=lambda line: None)
    assert "30 pairs of 100 of 1,000 features" in title
    assert [row["bytes per feature"] for row in rows] == [16, 264, 72] * 2
    assert {row["what"] for row in rows} == {"real x", "binary x"}
    assert all(row["ns per pair"] > 0 for row in rows)
