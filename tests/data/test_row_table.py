"""A table in three arrays gives the rows that SciPy gives, and refuses arrays that are no table."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bitfm.data.row_table import RowTable
from bitfm.errors import ModelFileError


def a_matrix(seed=0, shape=(7, 5), density=0.4):
    return sp.random(*shape, density, random_state=seed, format="csr", dtype=np.float32)


def tensors(**changes):
    return {**RowTable.of(a_matrix()).tensors(), **changes}


@pytest.mark.parametrize("rows", [[], [3], [0, 6, 3, 3], [-1], [2, -1, 2], [-1, -1]])
def test_rows_are_those_of_the_matrix(rows):
    matrix = a_matrix()
    padded = sp.vstack([matrix, sp.csr_matrix((1, 5))]).toarray()  # row -1 is the empty one at the end
    taken = RowTable.of(matrix).take(np.array(rows, int))
    assert taken.shape == (len(rows), 5)
    np.testing.assert_array_equal(taken.toarray(), padded[rows])


def test_a_table_without_rows_has_none_to_take():
    table = RowTable.empty(0, 4)
    assert table.take(np.array([-1, -1])).shape == (2, 4)
    assert table.whole().shape == (0, 4)
    with pytest.raises(IndexError, match="row 2 of a table of 0"):
        table.take(np.array([2]))


def test_a_row_beyond_the_end_is_an_error():
    with pytest.raises(IndexError, match="row 7 of a table of 7"):
        RowTable.of(a_matrix()).take(np.array([0, 7]))


def test_the_whole_comes_back():
    matrix = a_matrix()
    table = RowTable.of(matrix)
    np.testing.assert_array_equal(table.whole().toarray(), matrix.toarray())
    assert (len(table), table.n_columns, table.n_entries) == (7, 5, matrix.nnz)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 1000), rows=st.lists(st.integers(0, 11), unique=True, max_size=6))
def test_replaced_rows_are_others_and_the_rest_stays(seed, rows):
    matrix, other = a_matrix(seed), a_matrix(seed + 1, (len(rows), 5))
    table = RowTable.of(matrix)
    replaced = table.replaced(np.array(rows, int), other)
    expected = np.zeros((max([6, *rows]) + 1, 5), np.float32)
    expected[:7] = matrix.toarray()
    expected[rows] = other.toarray()
    np.testing.assert_array_equal(replaced.whole().toarray(), expected)
    np.testing.assert_array_equal(table.whole().toarray(), matrix.toarray())


def test_a_table_comes_back_from_its_tensors():
    table = RowTable.of(a_matrix())
    back = RowTable.from_tensors(7, 5, table.tensors())
    np.testing.assert_array_equal(back.whole().toarray(), table.whole().toarray())


@pytest.mark.parametrize("name", ["indptr", "indices", "values"])
def test_missing_and_misshapen_tensors_are_refused(name):
    array = tensors()[name]
    for other in (None, array[:-1], array[None], array.astype(np.float64), array.astype(np.int8)):
        with pytest.raises(ModelFileError):
            RowTable.from_tensors(7, 5, tensors(**{name: other}))
    with pytest.raises(ModelFileError, match="rows, expected 9"):
        RowTable.from_tensors(9, 5, tensors())


WILD = {
    "indptr": [-1, -(2**63), 2**63 - 1, 2**40, 1000],
    "indices": [-1, 5, -(2**31), 2**31 - 1],
    "values": [np.nan, np.inf, -np.inf],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WILD.items() for value in values])
def test_wild_values_are_refused_where_they_are_read(name, value):
    for at in range(len(tensors()[name])):
        array = tensors()[name].copy()
        array[at] = value
        table = RowTable.from_tensors(7, 5, tensors(**{name: array}))  # opening does not look
        with pytest.raises(ModelFileError, match="damaged"):
            table.whole()
        with pytest.raises(ModelFileError, match="damaged"):
            table.take(np.arange(7))
        for row in range(7):
            with contextlib.suppress(ModelFileError):  # unless the damage is in another row
                assert np.isfinite(table.take(np.array([row])).toarray()).all()


def test_rows_that_overlap_do_no_harm():
    """Each row may lie within the entries, and all together be more than there are."""
    indptr = np.array([0, 6, 0, 6, 0, 6, 0, 6])
    table = RowTable.from_tensors(7, 5, tensors(indptr=indptr))
    assert table.take(np.array([0])).shape == (1, 5)
    for rows in ([0, 1], np.arange(7)):
        with pytest.raises(ModelFileError, match="damaged"):
            table.take(np.array(rows))
