"""A score reads of a model what it needs: nothing is copied or converted as a whole."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from bitfm import Block, Blocks
from bitfm.data.feature_table import FeatureTable
from bitfm.parameters import towers
from problems import untrained

N = 200_000


@pytest.fixture(scope="module")
def model():
    return untrained(user=N // 2, item=N // 2)


def most_bytes(work):
    """Return the most bytes that Python and NumPy held at a time."""
    work()  # what is made once and kept
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_rows_of_another_precision_convert_nothing_of_the_model(model):
    row = sp.csr_matrix((np.array([1.0, 0.5]), ([0, 0], [1, N - 2])), (1, N))
    item = Block([0], {"id": row[:, N // 2 :]})
    assert row.dtype != model.weights_.dtype
    assert most_bytes(lambda: model.predict(row)) < N
    assert most_bytes(lambda: towers(model.parameters_)[1].rows("items", item, 1)) < N


def test_an_explanation_needs_no_identity_of_all_ids(model):
    users, items = (FeatureTable.eye(field.size) for field in model.fields_)
    row = Blocks(user=Block([3], {"id": users}), item=Block([5], {"id": items}))
    assert most_bytes(lambda: model.explain(row)) < N
    assert model.explain(row).score == pytest.approx(model.predict(row)[0], abs=1e-4)


def test_pairs_need_no_copy_of_what_is_on_both_sides_of_the_items():
    sizes = {"user": N // 2, "context": 10, "item": N // 2}
    model = untrained(**sizes)
    row = {name: Block([3], {"id": FeatureTable.eye(size)}) for name, size in sizes.items()}
    users = Blocks(user=row["user"], item=row["item"])
    assert most_bytes(lambda: model.predict_pairs(users, [3], block="context")) < N
    assert model.predict_pairs(users, [3], block="context") == pytest.approx(model.predict(Blocks(**row)), abs=1e-4)
