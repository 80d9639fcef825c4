"""Blocks are the matrix they stand for, whatever form it came in; and nothing else becomes Blocks."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from bitfm import Block, Blocks, FieldSpan

FORMATS = ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"]


def words(n_rows, n_columns, seed=0):
    return sp.random(n_rows, n_columns, 0.4, format="csr", random_state=np.random.default_rng(seed))


def shop(n=9):
    rng = np.random.default_rng(n)
    return Blocks(
        user=Block(rng.integers(4, size=n), {"id": sp.identity(4), "age": rng.random((4, 1))}),
        item=Block(rng.integers(5, size=n), {"id": sp.identity(5), "words": words(5, 3)}),
    )


def expanded(X):
    """Return the dense matrix, by the definition: each interaction's rows side by side."""
    tables = [(b.rows, t.to_csr().toarray()) for b in X.blocks.values() for t in b.tables.values()]
    return np.hstack([table[rows] for rows, table in tables])


def same(table, matrix):
    np.testing.assert_array_equal(table.to_csr().toarray(), matrix)


# What they are


def test_they_can_be_sent_to_another_process_without_what_the_core_made_of_them():
    X = shop()
    X.design()
    sent = pickle.loads(pickle.dumps(X))
    assert (sent.fields, len(sent), sent.dtype) == (X.fields, len(X), X.dtype)
    same(sent, expanded(X))


def test_columns_are_laid_out_block_by_block_and_field_by_field():
    X = shop()
    assert X.fields == (
        FieldSpan("user", "id", 0, 4),
        FieldSpan("user", "age", 4, 5),
        FieldSpan("item", "id", 5, 10),
        FieldSpan("item", "words", 10, 13),
    )
    assert X.shape == (9, 13) == (len(X), X.n_features)
    assert [field.size for field in X.fields] == [4, 1, 5, 3]
    assert X.fields[3].label(2) == "item.words[2]"


def test_the_representation_tells_interactions_features_and_fields():
    assert repr(shop()) == (
        "Blocks(9 interactions, 13 features: user(4 rows: id 4, age 1), item(5 rows: id 5, words 3))"
    )


def test_to_csr_is_the_tables_rows_side_by_side():
    X = shop()
    assert sp.issparse(X.to_csr())
    assert X.to_csr().format == "csr"
    np.testing.assert_array_equal(X.to_csr().toarray(), expanded(X))


@given(st.data())
def test_to_csr_is_the_tables_rows_side_by_side_for_any_blocks(data):
    n = data.draw(st.integers(0, 6))
    parts, blocks = [], {}
    for b in range(data.draw(st.integers(1, 3))):
        n_rows = data.draw(st.integers(1, 4))
        rows = np.array(data.draw(st.lists(st.integers(0, n_rows - 1), min_size=n, max_size=n)), int)
        fields = {}
        for f in range(data.draw(st.integers(1, 3))):
            table = words(n_rows, data.draw(st.integers(0, 4)), seed=b * 10 + f).toarray()
            fields[f"f{f}"] = sp.csc_array(table) if data.draw(st.booleans()) else table
            parts.append(table[rows])
        blocks[f"b{b}"] = Block(rows, fields)
    X = Blocks(**blocks)
    np.testing.assert_array_equal(X.to_csr().toarray(), np.hstack(parts))
    assert X.shape == np.hstack(parts).shape


def test_any_name_will_do_for_a_block():
    X = Blocks(**{"self": Block([0], {"x": np.ones((1, 2))}), "a b": Block([0], {"x": np.ones((1, 1))})})
    assert [field.block for field in X.fields] == ["self", "a b"]


# Tables


@pytest.mark.parametrize("kind", [*FORMATS, "csr_array", "coo_array", "csc_array", "dense", "list"])
def test_every_kind_of_matrix_gives_the_same_table(kind):
    matrix = words(6, 4).toarray()
    given = {
        "csr_array": sp.csr_array,
        "coo_array": sp.coo_array,
        "csc_array": sp.csc_array,
        "dense": np.asarray,
        "list": np.ndarray.tolist,
    }.get(kind, lambda m: sp.csr_matrix(m).asformat(kind))(matrix)
    table = Block([0, 5], {"x": given}).tables["x"]
    same(table, matrix)
    assert (table.n_rows, table.n_columns, table.identity) == (6, 4, False)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_indices_may_be_of_either_width(index, form):
    matrix = words(6, 4).asformat(form)
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    same(Block([0], {"x": matrix}).tables["x"], matrix.toarray())


def test_unsorted_and_repeated_entries_are_added_up_and_the_given_matrix_stays_as_it_was():
    parts = np.array([1.0, 2, 4, 8]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])
    matrix = sp.csr_matrix(parts, shape=(2, 3))
    before = [part.copy() for part in (matrix.data, matrix.indices, matrix.indptr)]
    table = Block([0, 1], {"x": matrix}).tables["x"]
    same(table, [[2, 0, 5], [0, 8, 0]])
    for part, kept in zip((matrix.data, matrix.indices, matrix.indptr), before, strict=True):
        np.testing.assert_array_equal(part, kept)


def test_repeated_entries_of_a_coo_matrix_are_added_up():
    matrix = sp.coo_matrix(([1.0, 2.0], ([0, 0], [1, 1])), shape=(1, 2))
    same(Block([0], {"x": matrix}).tables["x"], [[0, 3]])


@pytest.mark.parametrize("matrix", [sp.identity(3), np.eye(3), np.eye(3, dtype=bool), sp.eye_array(3, dtype=np.int8)])
def test_an_identity_is_recognised_and_kept_without_arrays(matrix):
    table = Block([0, 2], {"id": matrix}).tables["id"]
    assert table.identity
    assert table.identity
    same(table, np.eye(3))


def test_what_only_resembles_an_identity_is_not_taken_for_one():
    explicit_zero = sp.csr_matrix(([1.0, 0, 1, 1], [0, 1, 1, 2], [0, 2, 3, 4]), shape=(3, 3))
    for matrix in (
        np.eye(3)[[1, 0, 2]],
        2 * np.eye(3),
        np.eye(3, 4),
        np.eye(4, 3),
        np.diag([1.0, 0, 1]),
        np.zeros((0, 0)),
    ):
        table = Block([], {"x": matrix}).tables["x"]
        assert not table.identity
        same(table, matrix)
    same(Block([], {"x": explicit_zero}).tables["x"], np.eye(3))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.float16, np.float64),
        (np.int8, np.float64),
        (np.uint64, np.float64),
        (bool, np.float64),
        (">f4", np.float64),
        (">f8", np.float64),
    ],
)
def test_single_precision_is_kept_and_everything_else_becomes_double(given, kept):
    X = Blocks.from_matrix(np.array([[1, 0, 1]], given))
    assert X.dtype == kept
    np.testing.assert_array_equal(X.to_csr().toarray(), [[1, 0, 1]])


def test_blocks_are_double_if_any_table_is_and_identities_fit_either():
    ids, single, double = sp.identity(2), np.ones((2, 1), np.float32), np.ones((2, 1))
    assert Blocks(a=Block([0], {"id": ids})).dtype == np.float32
    assert Blocks(a=Block([0], {"id": ids, "x": single})).dtype == np.float32
    assert Blocks(a=Block([0], {"x": single}), b=Block([1], {"x": double})).dtype == np.float64


def test_a_matrix_of_the_right_types_is_not_copied():
    matrix = words(5, 4)
    assert np.shares_memory(Block([0], {"x": matrix}).tables["x"].values, matrix.data)


# Selecting interactions

INDICES = [
    slice(None),
    slice(2, 5),
    slice(None, None, -1),
    slice(-3, None),
    slice(5, 2),
    slice(1, 8, 3),
    [0],
    [3, 3, 0],
    [-1, -9],
    [],
    np.array([], float),
    np.arange(9) % 2 == 0,
    np.zeros(9, bool),
    [True] * 9,
    np.array([1, 2], np.uint8),
    np.array([8], np.int64),
    range(2, 4),
]


@pytest.mark.parametrize("index", INDICES, ids=repr)
@pytest.mark.parametrize("plain", [False, True], ids=["blocks", "plain"])
def test_a_selection_is_the_selection_of_the_matrix(index, plain):
    X = Blocks.from_matrix(shop().to_csr()) if plain else shop()
    key = index if isinstance(index, slice) else np.asarray(index) if len(index) else np.zeros(0, int)
    for chosen in (X[index], X[index, ...], X[index, :]):
        np.testing.assert_array_equal(chosen.to_csr().toarray(), expanded(X)[key])
        assert chosen.fields == X.fields
        assert chosen.dtype == X.dtype


@pytest.mark.parametrize("index", [0, 4, -1, np.int64(-9), np.array(3), np.uint8(2)], ids=repr)
def test_an_integer_selects_one_interaction(index):
    X = shop()
    assert X[index].shape == (1, 13)
    np.testing.assert_array_equal(X[index].to_csr().toarray()[0], expanded(X)[index])


@given(st.lists(st.lists(st.integers(-5, 4), min_size=5, max_size=8), min_size=1, max_size=3))
def test_selections_of_selections_compose(steps):
    X, matrix = Blocks.from_matrix(words(9, 4)), words(9, 4).toarray()
    for step in steps:
        X, matrix = X[step], matrix[step]
        np.testing.assert_array_equal(X.to_csr().toarray(), matrix)


def test_a_selection_of_a_plain_matrix_keeps_only_its_rows():
    assert Blocks.from_matrix(words(9, 4))[[1, 1, 2]].blocks["x"].n_rows == 3
    assert shop()[[1, 1, 2]].blocks["user"].n_rows == 4


@pytest.mark.parametrize(
    "index",
    [
        9,
        -10,
        [0, 9],
        [True, False],
        np.zeros(10, bool),
        1.0,
        [0.5],
        "a",
        None,
        [[0, 1], [2, 3]],
        np.zeros((0, 3)),
        np.zeros((9, 2), bool),
        np.zeros((9, 1), bool),
        {},
        (0, 1),
        (0, 1, 2),
        (0, [0]),
        (..., 0),
        (0, np.arange(3)),
        (slice(None), slice(0, 1)),
    ],
    ids=repr,
)
def test_what_selects_no_interactions_is_an_index_error(index):
    with pytest.raises(IndexError):
        shop()[index]


# From a matrix


def test_a_matrix_without_fields_is_one_block_with_one_field():
    X = Blocks.from_matrix(words(6, 4))
    assert X.fields == (FieldSpan("x", "x", 0, 4),)
    np.testing.assert_array_equal(X.to_csr().toarray(), words(6, 4).toarray())


@pytest.mark.parametrize("sizes", [[4, 5, 3], (4, 5, 3), np.array([4, 5, 3]), {"user": 4, "item": 5, "word": 3}])
def test_fields_become_blocks_and_single_ones_become_ids(sizes):
    rng = np.random.default_rng(3)
    u, i = rng.integers(4, size=8), rng.integers(5, size=8)
    matrix = np.hstack([np.eye(4)[u], np.eye(5)[i], rng.random((8, 3))])
    X = Blocks.from_matrix(sp.csc_array(matrix), sizes)
    names = list(sizes) if isinstance(sizes, dict) else ["field0", "field1", "field2"]
    assert [(f.block, f.name, f.size) for f in X.fields] == [
        (names[0], "id", 4),
        (names[1], "id", 5),
        (names[2], "x", 3),
    ]
    np.testing.assert_array_equal(X.blocks[names[0]].rows, u)
    np.testing.assert_array_equal(X.blocks[names[1]].rows, i)
    np.testing.assert_array_equal(X.to_csr().toarray(), matrix)


@given(st.data())
def test_fields_never_change_the_matrix(data):
    sizes = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    n = data.draw(st.integers(0, 4))
    entries = st.sampled_from([0, 0, 1, 1, 2])
    matrix = np.array(data.draw(st.lists(entries, min_size=n * sum(sizes), max_size=n * sum(sizes))), float)
    matrix = matrix.reshape(n, sum(sizes))
    X = Blocks.from_matrix(matrix, sizes)
    assert X.shape == matrix.shape
    np.testing.assert_array_equal(X.to_csr().toarray(), matrix)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ([2, 3], "5.*4"),
        ([2, 3, -1], "-1"),
        ([4.0], r"4\.0"),
        ([True, 3], "True"),
        (["4"], "'4'"),
        ({"a": None}, "None"),
        (4, "4"),
        ("ab", "a"),
        ([], "0"),
        ({}, "0"),
        ([2**70], str(2**70)),
        ({1: 2, "1": 2}, "1"),
    ],
    ids=repr,
)
def test_sizes_that_make_no_fields_of_the_columns_are_refused(fields, told):
    with pytest.raises(ValueError, match=rf"fields.*{told}"):
        Blocks.from_matrix(np.ones((2, 4)), fields)


# What is refused


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([-1], "-1"),
        ([0, 3], "3"),
        ([2**40], str(2**40)),
        (np.array([2**63], np.uint64), str(2**63)),
        ([0.0], "float64"),
        ([np.nan], "float64"),
        ([True, False, True], "bool"),
        (["a"], "<U1"),
        ([None], "object"),
        (1, r"\(\)"),
        ([[0, 1]], r"\(1, 2\)"),
        ([[]], r"\(1, 0\)"),
        (np.zeros(2, "M8[s]"), "datetime64"),
        (sp.csr_matrix([[1]]), ""),
    ],
    ids=repr,
)
def test_rows_that_name_no_rows_of_the_table_are_refused(rows, told):
    with pytest.raises(ValueError, match=f"Block: rows must be .*{told}"):
        Block(rows, {"x": np.ones((3, 2))})


def test_rows_of_an_empty_table_are_refused():
    with pytest.raises(ValueError, match="rows"):
        Block([0], {"x": np.ones((0, 2))})
    assert len(Block([], {"x": np.ones((0, 2))})) == 0


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", ["dense", *FORMATS])
def test_values_that_are_no_numbers_are_refused(wrong, form):
    matrix = np.array([[1, wrong], [0, 2]])
    with pytest.raises(ValueError, match="words: values must be finite"):
        Block([0], {"words": matrix if form == "dense" else sp.csr_matrix(matrix).asformat(form)})


def test_entries_that_add_up_to_infinity_are_refused():
    matrix = sp.coo_matrix(([1e308, 1e308], ([0, 0], [0, 0])), shape=(1, 1))
    with pytest.raises(ValueError, match="x: values must be finite"):
        Block([0], {"x": matrix})


@pytest.mark.parametrize(
    ("matrix", "told"),
    [
        (np.array([[object()]]), "object"),
        (np.array([["a"]]), "<U1"),
        (np.array([[1j]]), "complex128"),
        (np.zeros((1, 1), "M8[s]"), "datetime64"),
        (np.zeros((1, 1), [("a", "f4")]), "'a'"),
        (sp.csr_matrix([[1j]]), "complex128"),
        (np.ones(3), "1 dimension"),
        (np.ones((1, 2, 3)), "3 dimension"),
        (3.0, "0 dimension"),
        (None, "0 dimension"),
        ({"a": 1}, "0 dimension"),
        ("abc", "0 dimension"),
        (sp.coo_array(np.ones(3)), "1 dimension"),
        (sp.coo_array(np.ones((1, 2, 3))), "3 dimension"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value,
)
def test_what_is_no_matrix_of_numbers_is_refused_with_its_name_and_kind(matrix, told):
    with pytest.raises(ValueError, match=f"words: .*{told}"):
        Block([0], {"words": matrix})


def test_ragged_rows_are_refused():
    with pytest.raises(ValueError, match="words"):
        Block([0], {"words": [[1, 2], [3]]})


def test_a_table_of_too_many_rows_or_columns_is_refused_before_anything_is_allocated():
    for shape in ((2, 2**31), (2**31, 2), (2, 2**40)):
        with pytest.raises(ValueError, match=f"{max(shape):,}"):
            Block([0], {"x": sp.coo_matrix(shape)})


def damaged(form, **arrays):
    matrix = sp.csr_matrix(np.array([[1.0, 2, 0], [0, 3, 4]])).asformat(form)
    for name, value in arrays.items():
        setattr(matrix, name, np.array(value, np.int32) if name != "data" else np.array(value, float))
    return matrix


DAMAGE = [
    {"indices": [0, 3, 1, 2]},
    {"indices": [0, -1, 1, 2]},
    {"indices": [0, 2**31 - 1, 1, 2]},
    {"indices": [0, 1]},
    {"indptr": [0, 3, 2]},
    {"indptr": [1, 2, 4]},
    {"indptr": [0, 2, 5]},
    {"indptr": [0, 2, 3]},
    {"indptr": [0, 2]},
    {"indptr": [0, -2, 4]},
    {"indptr": [0, 2**30, 4]},
    {"indptr": []},
    {"data": [1, 2]},
    {"data": [1, 2, 3, 4, 5]},
]


@pytest.mark.parametrize("damage", DAMAGE, ids=repr)
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_a_damaged_compressed_matrix_is_refused(form, damage):
    if form == "csc":
        damage = {k: [*v[:2], 3, *v[2:]] if k == "indptr" and len(v) > 1 else v for k, v in damage.items()}
    with pytest.raises(ValueError, match="words"):
        Block([0], {"words": damaged(form, **damage)})


def test_an_indptr_whose_steps_overflow_is_refused():
    matrix = sp.csr_matrix(np.ones((4, 1)))
    matrix.indptr = np.array([0, 2**31 - 1, -(2**31), -1, 4], np.int32)  # every difference wraps to a positive one
    with pytest.raises(ValueError, match="words"):
        Block([0], {"words": matrix})


@pytest.mark.parametrize(
    "damage",
    [{"row": [0, 0, 9, 1]}, {"row": [0, 0, -9, 1]}, {"col": [0, 1, 1, 10**8]}, {"col": [0]}, {"data": [1]}],
    ids=repr,
)
def test_a_damaged_coordinate_matrix_is_refused(damage):
    with pytest.raises(ValueError, match="words"):
        Block([0], {"words": damaged("coo", **damage)})


@pytest.mark.parametrize("fields", [{}, [], None, 5, "x", np.ones((2, 2)), [("x", np.ones((2, 2)))]], ids=repr)
def test_a_block_needs_named_fields(fields):
    with pytest.raises(ValueError, match="Block: fields must be a non-empty mapping"):
        Block([0], fields)


def test_fields_of_a_block_must_agree_on_the_rows():
    with pytest.raises(ValueError, match=r"'id': 3.*'x': 2"):
        Block([0], {"id": sp.identity(3), "x": np.ones((2, 2))})


def test_field_names_that_read_alike_are_refused():
    with pytest.raises(ValueError, match="'1'"):
        Block([0], {1: np.ones((2, 2)), "1": np.ones((2, 1))})


def test_blocks_must_be_blocks_of_equally_many_interactions():
    block = Block([0, 1], {"x": np.ones((2, 2))})
    with pytest.raises(ValueError, match="at least one block"):
        Blocks()
    with pytest.raises(TypeError, match="item must be a Block, got ndarray"):
        Blocks(user=block, item=np.ones((2, 2)))
    with pytest.raises(ValueError, match="'user': 2, 'item': 1"):
        Blocks(user=block, item=Block([0], {"x": np.ones((2, 2))}))
