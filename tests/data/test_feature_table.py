"""A table in three arrays gives the rows that SciPy gives, and refuses arrays that are no table."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from bitfm.data.feature_table import FeatureTable
from bitfm.errors import ModelFileError


def a_matrix(seed=0, shape=(7, 5), density=0.4):
    return sp.random(*shape, density, random_state=seed, format="csr", dtype=np.float32)


def tensors(**changes):
    return {**FeatureTable.of("x", a_matrix()).tensors(), **changes}


@pytest.mark.parametrize("rows", [[], [3], [0, 6, 3, 3], [-1], [2, -1, 2], [-1, -1]])
def test_rows_are_those_of_the_matrix(rows):
    matrix = a_matrix()
    padded = sp.vstack([matrix, sp.csr_matrix((1, 5))]).toarray()  # row -1 is the empty one at the end
    taken = FeatureTable.of("x", matrix).take(np.array(rows, int))
    assert (taken.n_rows, taken.n_columns) == (len(rows), 5)
    np.testing.assert_array_equal(taken.to_csr().toarray(), padded[rows])


def test_a_table_without_rows_has_none_to_take():
    table = FeatureTable.empty(0, 4)
    assert table.take(np.array([-1, -1])).to_csr().shape == (2, 4)
    assert table.to_csr().shape == (0, 4)
    with pytest.raises(IndexError, match="row 2 of a table of 0"):
        table.take(np.array([2]))


def test_a_row_beyond_the_end_is_an_error():
    with pytest.raises(IndexError, match="row 7 of a table of 7"):
        FeatureTable.of("x", a_matrix()).take(np.array([0, 7]))


def test_the_whole_comes_back():
    matrix = a_matrix()
    table = FeatureTable.of("x", matrix)
    np.testing.assert_array_equal(table.to_csr().toarray(), matrix.toarray())
    assert (len(table), table.n_columns, table.n_entries) == (7, 5, matrix.nnz)


@given(seed=st.integers(0, 1000), rows=st.lists(st.integers(0, 11), unique=True, max_size=6))
def test_replaced_rows_are_others_and_the_rest_stays(seed, rows):
    matrix, other = a_matrix(seed), a_matrix(seed + 1, (len(rows), 5))
    table = FeatureTable.of("x", matrix)
    replaced = table.replaced(np.array(rows, int), FeatureTable.of("x", other))
    expected = np.zeros((max([6, *rows]) + 1, 5), np.float32)
    expected[:7] = matrix.toarray()
    expected[rows] = other.toarray()
    np.testing.assert_array_equal(replaced.to_csr().toarray(), expected)
    np.testing.assert_array_equal(table.to_csr().toarray(), matrix.toarray())


def test_a_table_comes_back_from_its_tensors():
    table = FeatureTable.of("x", a_matrix())
    back = FeatureTable.from_tensors(7, 5, table.tensors())
    np.testing.assert_array_equal(back.to_csr().toarray(), table.to_csr().toarray())


@pytest.mark.parametrize("name", ["indptr", "indices", "values"])
def test_missing_and_misshapen_tensors_are_refused(name):
    array = tensors()[name]
    for other in (array[:-1], array[None], array.astype(np.float64), array.astype(np.int16)):
        with pytest.raises(ModelFileError):
            FeatureTable.from_tensors(7, 5, tensors(**{name: other}))
    with pytest.raises(ModelFileError, match="table"):
        FeatureTable.from_tensors(7, 5, {key: tensor for key, tensor in tensors().items() if key != name})
    with pytest.raises(ModelFileError, match=r"has 'table.indptr' as uint8 \(8,\), expected uint8 \(10,\)"):
        FeatureTable.from_tensors(9, 5, tensors())


WILD = {
    "indptr": [100, 255],
    "indices": [5, 255],
    "values": [np.nan, np.inf, -np.inf],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WILD.items() for value in values])
def test_wild_values_are_refused_where_they_are_read(name, value):
    for at in range(len(tensors()[name])):
        array = tensors()[name].copy()
        array[at] = value
        table = FeatureTable.from_tensors(7, 5, tensors(**{name: array}))  # opening does not look
        with pytest.raises(ModelFileError, match="damaged"):
            table.to_csr()
        with pytest.raises(ModelFileError, match="damaged"):
            table.take(np.arange(7))
        for row in range(7):
            with contextlib.suppress(ModelFileError):  # unless the damage is in another row
                assert np.isfinite(table.take(np.array([row])).values).all()


def test_rows_that_overlap_do_no_harm():
    """Each row may lie within the entries, and all together be more than there are."""
    indptr = np.array([0, 6, 0, 6, 0, 6, 0, 6], np.uint8)
    table = FeatureTable.from_tensors(7, 5, tensors(indptr=indptr))
    assert len(table.take(np.array([0]))) == 1
    for rows in ([0, 1], np.arange(7)):
        with pytest.raises(ModelFileError, match="damaged"):
            table.take(np.array(rows))


def one_per_row(n_columns, dtype=np.float32):
    columns = np.array([2, -1, 0, n_columns - 1, 1, 2])
    return FeatureTable.one_hot(columns, n_columns).to_csr().astype(dtype)


FORMS = {
    "sparse": (a_matrix(), {"indptr": np.uint8, "indices": np.uint8, "values": np.float32}),
    "wide": (a_matrix(1, (6, 300), 0.5), {"indptr": np.uint16, "indices": np.uint16, "values": np.float32}),
    "whole values": ((a_matrix(2) * 9).ceil(), {"indptr": np.uint8, "indices": np.uint8, "values": np.int8}),
    "one per row": (one_per_row(5), {"singles": np.uint8}),
    "of many columns": (one_per_row(300), {"singles": np.uint16}),
    "unit rows": (
        FeatureTable.of("x", a_matrix()).with_unit_rows().to_csr(),
        {"indptr": np.uint8, "members": np.uint8},
    ),
    "nothing": (sp.csr_matrix((6, 4), dtype=np.float32), {"singles": np.uint8}),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_a_file_is_the_same_table(name):
    """The file has the narrowest types, and no values where all are known; what is read is what was written."""
    matrix, types = FORMS[name]
    table = FeatureTable.of("x", matrix)
    assert {key: tensor.dtype for key, tensor in table.tensors().items()} == types
    back = FeatureTable.from_tensors(*table.shape, table.tensors(), "x.bitfm")
    assert (back.shape, back.n_entries, back.dtype) == (table.shape, table.n_entries, table.dtype)
    rows = np.array([3, -1, 0, 0, 5])
    taken = [np.array([row]) for row in (-1, 0, 5)]
    for ours, theirs in [(back, table), *((back.take(r), table.take(r)) for r in (rows, rows[:0], *taken))]:
        for a, b in zip(ours.arrays(), theirs.arrays(), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
    for row in range(len(table)):
        for a, b in zip(back.row(row), table.row(row), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
    used = np.array([True, False] * 3 + [True])[: len(table)]
    np.testing.assert_array_equal(back.occurring(used), table.occurring(used))
    np.testing.assert_array_equal(back.transpose().toarray(), table.toarray().T)
    np.testing.assert_array_equal(back.padded(9).toarray(), table.padded(9).toarray())
    np.testing.assert_array_equal(back.columns(1, 3).toarray(), table.toarray()[:, 1:3])


@pytest.mark.parametrize("name", FORMS)
def test_where_columns_are_counted_only_the_sparse_form_is_taken(name):
    matrix, types = FORMS[name]
    table = FeatureTable.of("x", matrix)
    tensors = table.tensors(any_form=False)
    assert set(tensors) == {"indptr", "indices", "values"}
    back = FeatureTable.from_tensors(*table.shape, tensors, any_form=False)
    np.testing.assert_array_equal(back.toarray(), table.toarray())
    if "values" not in types:
        with pytest.raises(ModelFileError, match="lacks the tensor"):
            FeatureTable.from_tensors(*table.shape, table.tensors(), any_form=False)


@pytest.mark.parametrize("name", ["one per row", "of many columns"])
def test_a_column_that_there_is_not_is_refused_where_it_is_read(name):
    table = FeatureTable.of("x", FORMS[name][0])
    singles = table.tensors()["singles"]
    for wild in (table.n_columns + 1, np.iinfo(singles.dtype).max):
        singles[1] = wild
        back = FeatureTable.from_tensors(*table.shape, {"singles": singles}, "x.bitfm")
        assert back.take(np.array([0, 2])).n_entries == 2
        for read in (back.arrays, lambda: back.row(1), lambda: back.take(np.array([1])), back.to_csr):  # noqa: B023
            with pytest.raises(ModelFileError, match=r"x\.bitfm: a table is damaged: it names columns"):
                read()


def test_a_dense_table_is_what_the_sparse_one_is():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(6, 4)).astype(np.float32)
    values[2, 1] = 0
    dense, sparse = FeatureTable.dense(values), FeatureTable.of("x", values)
    back = FeatureTable.from_tensors(6, 4, dense.tensors())
    for table in (dense, back, FeatureTable.stack([dense.take(np.arange(2)), dense.take(np.arange(2, 6))])):
        assert table.is_dense
        np.testing.assert_array_equal(table.to_csr().toarray(), values)
        for ours, theirs in zip(table.arrays(), sparse.arrays(), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(dense.take(np.array([3, -1])).to_csr().toarray(), [values[3], np.zeros(4)])
    with pytest.raises(ModelFileError, match=r"\(6, 4\), expected float32 \(6, 5\)"):
        FeatureTable.from_tensors(6, 5, dense.tensors())


@pytest.mark.parametrize("start", [0, 2])
def test_columns_and_transposes_are_those_of_scipy(start):
    matrix = a_matrix()
    table = FeatureTable.of("x", matrix)
    np.testing.assert_array_equal(table.columns(start, 4).to_csr().toarray(), matrix[:, start:4].toarray())
    np.testing.assert_array_equal(table.transpose().to_csr().toarray(), matrix.T.toarray())
    matrix.data = np.repeat(matrix.data, 2)[::2]
    np.testing.assert_array_equal(FeatureTable.of("x", matrix).transpose().to_csr().toarray(), matrix.T.toarray())


@pytest.mark.parametrize("kept", [[], [1], [0, 3, 4], [0, 1, 2, 3, 4]])
def test_some_columns_are_those_of_scipy(kept):
    matrix, kept = a_matrix(), np.array(kept, int)
    tables = FeatureTable.of("x", matrix), FeatureTable.dense(matrix.toarray()), FeatureTable.eye(5)
    for table in tables:
        found = table.with_columns(kept)
        assert found.shape == (table.n_rows, len(kept))
        np.testing.assert_array_equal(found.toarray(), table.toarray()[:, kept])


def test_the_arrays_of_a_matrix_can_change_without_harm():
    """The core checks the arrays once and relies on them."""
    matrix = a_matrix()
    table, expected = FeatureTable.of("x", matrix), matrix.toarray()
    matrix.indices[:], matrix.indptr[:] = 1000, -1
    np.testing.assert_array_equal(table.to_csr().toarray(), expected)
    with pytest.raises(ValueError, match="read-only"):
        table.indices[0] = 7
