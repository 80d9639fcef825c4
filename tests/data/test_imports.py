"""What the data package costs those who only query."""

from __future__ import annotations

import subprocess
import sys

QUERY = """
import sys
import polars as pl
import bitfm.data
assert "scipy" not in sys.modules
from bitfm.data import Block, Blocks, Vocabulary, kind_of
from bitfm.data.columns.kinds import restore_column
from bitfm.data.one_hot import history
from bitfm.data.feature_table import FeatureTable
from bitfm.data.tables import as_frame, ids_of, numbers_of, times_of
import numpy as np
words = Vocabulary.of(pl.Series(["dragon", "gold"])).tensors() | {"idf": np.array([1.5, 1.0])}
column = restore_column({"name": "plot", "kind": "text", "settings": {"max_words": 8000}}, words)
assert column.transform(pl.Series(["Gold!"])).toarray().tolist() == [[0.0, 1.0]]
for kind in ("category", "multi-category", "number", "standard", "date", "ignore"):
    kind_of(kind).fit("c", pl.Series([1, 2, 2])).transform(pl.Series([2]))
frame, _ = as_frame("users", {"user": ["a"], "time": ["2018-07-13"]})
ids_of("users", frame, "user"), times_of("users", frame, "time")
slow = ["sklearn", "scipy", "narwhals", "pandas", "matplotlib", "bitfm.datasets"]
slow += ["bitfm.data.words", "bitfm.data.tables.read"]
print(sorted(name for name in slow if name in sys.modules))
"""


def test_a_query_imports_neither_scikit_learn_nor_readers_nor_generators():
    run = subprocess.run([sys.executable, "-c", QUERY], capture_output=True, text=True, check=False)
    assert run.stderr == ""
    assert run.stdout.strip() == "[]"
