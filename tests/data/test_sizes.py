"""More rows, columns or entries than the core can number: a sentence, before any of them is looked at.

No array here takes memory: all elements are the same one, or in the hole of a file, or there is nothing to keep.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

import bitfm
from bitfm.data import Interactions, history
from bitfm.data.feature_table import FeatureTable, check_rows
from bitfm.data.splits import split_cold, split_leave_one_out, split_per_user
from bitfm.data.vocabulary import PackedStrings, Vocabulary
from bitfm.errors import ModelFileError, TableError
from bitfm.validation import MOST_ROWS, check_count
from holes import hole

N = 2_200_000_000
TOO_MANY = r" has 2,200,000,000 {}; at most 2,147,483,646 are supported: split it\."


def repeated(value, n=N):
    return np.broadcast_to(value, n)


def refused(of, error=ValueError):
    return pytest.raises(error, match=TOO_MANY.format(of))


def test_the_most_is_not_too_many():
    check_count("a table", MOST_ROWS, "rows")
    with pytest.raises(
        ValueError, match=r"^a table has 2,147,483,647 rows; at most 2,147,483,646 are supported: split it\.$"
    ):
        check_count("a table", MOST_ROWS + 1, "rows")


def wide(form, folder):
    """Return a matrix with one row and too many entries, which SciPy would read if it were given them."""
    matrix = getattr(sp, f"{form}_matrix")((1, 1), dtype=np.float32)
    matrix.data = hole(folder, np.float32, N)
    if form == "coo":
        matrix.coords = repeated(np.int32(0)), repeated(np.int32(0))
    else:
        matrix.indptr, matrix.indices = np.array([0, N]), hole(folder, np.int64, N)
    return matrix


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_non_zeros_of_a_sparse_file(form, tmp_path):
    with refused("non-zeros"):
        FeatureTable.of("X", wide(form, tmp_path))
    with refused("non-zeros"):
        bitfm.FM(8).fit(wide(form, tmp_path), [1.0])
    with refused("non-zeros"):
        bitfm.BiasModel().fit([[1.0]], [1.0]).predict(wide(form, tmp_path))


def test_tables_that_are_known_to_be_right():
    for rows, columns in ((N, 1), (1, N)):
        with refused("rows" if rows == N else "columns"):
            FeatureTable(rows, columns)
    with refused("rows"):
        FeatureTable.eye(N)
    with refused("non-zeros"):
        FeatureTable(1, 1, np.array([0, N]), repeated(np.int32(0)), repeated(np.float32(0)))
    with refused("rows"):
        bitfm.Block([0], {"id": FeatureTable.eye(N)})


@pytest.mark.parametrize("entries", [{"n_rows": N}, {"n_columns": N}, {"n_entries": N}])
def test_tables_of_a_file(entries, tmp_path):
    size = {"n_rows": 1, "n_columns": 1, "n_entries": 1} | entries
    tensors = {
        "indptr": repeated(np.int64(0), size["n_rows"] + 1),
        "indices": hole(tmp_path, np.int32, size["n_entries"]),
        "values": hole(tmp_path, np.float32, size["n_entries"]),
    }
    with pytest.raises(ModelFileError, match=r"has a table of .*2,200,000,000 .*, expected at most 2,147,483,646"):
        FeatureTable.from_tensors(size["n_rows"], size["n_columns"], tensors)


def test_rows_of_interactions():
    for call in (
        lambda rows: bitfm.Block(rows, {"id": np.eye(1)}),
        lambda rows: check_rows("users", rows, 1),
        lambda rows: history(rows, rows),
    ):
        with refused("numbers"):
            call(repeated(0))


@pytest.mark.parametrize("split", [split_per_user, split_cold, split_leave_one_out])
def test_values_to_split_by(split):
    for value in (0, 0.5, "ann"):
        with refused("values"):
            split(repeated(value))


def test_frames():
    nothing = pl.Series([None]).clear(N)  # of the type Null, which keeps a length alone
    frame = pl.DataFrame(dict.fromkeys(("user_id", "item_id", "rating"), nothing))
    for call in (Interactions.of, bitfm.Recommender(bits=8).fit, lambda frame: Interactions.of(frame.lazy())):
        with refused("rows", TableError):
            call(frame)
    with refused("rows", TableError):
        bitfm.Recommender(bits=8).fit({"user_id": [1], "item_id": [1], "rating": [1]}, users=frame)


def test_strings_of_a_vocabulary(tmp_path):
    data, offsets = np.zeros(0, np.uint8), repeated(np.int64(0), N + 1)
    with refused("strings"):
        Vocabulary(PackedStrings(data, offsets), PackedStrings(data, offsets[:1]))
    tensors = {"bytes": data, "offsets": hole(tmp_path, np.int64, N + 1), "sorted": np.array(0)}
    with pytest.raises(ModelFileError, match="has a vocabulary of 2,200,000,000 strings, expected at most"):
        Vocabulary.from_tensors(tensors)
