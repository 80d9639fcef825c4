"""Dense linear algebra: right, and the same bytes on every instruction set and at any number of threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfm import _core, core
from bitfm.core.linalg import column_sums, eigh, multiply, orthonormal, solve_positive
from spoilt import REFUSED

SHAPES = [(1, 1, 1), (5, 300, 7), (193, 257, 65), (40, 40_000, 24), (0, 3, 4), (3, 0, 2)]


@pytest.fixture(params=core.available_isas())
def isa(request):
    before = core.isa()
    core.use_isa(request.param)
    yield request.param
    core.use_isa(before)


def matrices(shape, dtype):
    rng = np.random.default_rng(0)
    rows, terms, columns = shape
    return rng.normal(size=(rows, terms)).astype(dtype), rng.normal(size=(terms, columns)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_product_is_right(shape, dtype):
    a, b = matrices(shape, dtype)
    found = multiply(a, b)
    assert found.dtype == dtype
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(found, exact, atol=np.finfo(dtype).eps * 30 * np.sqrt(max(shape[1], 1)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_product_is_the_same_everywhere(shape, dtype, isa):
    a, b = matrices(shape, dtype)
    found = multiply(a, b)
    for n_threads, (left, right) in enumerate(
        [
            (a, b),
            (np.asfortranarray(a), b),
            (a, np.asfortranarray(b)),
            (a[:, ::-1][:, ::-1], np.repeat(b, 2, 1)[:, ::2]),
        ]
    ):
        assert found.tobytes() == multiply(left, right, n_threads + 1).tobytes()
    core.use_isa("portable")
    assert found.tobytes() == multiply(a, b).tobytes()


def test_the_sum_of_a_product_is_in_order():
    """Terms by 256, those by 64, those in order: what is promised about bytes rests on it."""
    a, b = matrices((1, 40_000, 1), np.float32)
    spans = []
    for span in range(0, 40_000, 64 * 256):
        blocks = [np.add.accumulate((a[0] * b[:, 0])[at : min(at + 256, span + 64 * 256)], dtype=np.float32)[-1]
                  for at in range(span, min(span + 64 * 256, 40_000), 256)]  # fmt: skip
        spans.append(np.add.accumulate(np.array(blocks, np.float32))[-1])
    assert multiply(a, b)[0, 0] == np.add.accumulate(np.array(spans, np.float32))[-1]


@pytest.mark.parametrize("spans", [1, 2, 17])
@pytest.mark.parametrize("shape", [(5, 40_000, 7), (2, 19 * core.PRODUCT_SPAN + 5, 3), (3, 100, 2), (3, 0, 2)])
def test_parts_of_a_product_add_up_to_all_of_it(shape, spans):
    a, b = matrices(shape, np.float32)
    total, step = np.zeros((shape[0], shape[2]), np.float32), spans * core.PRODUCT_SPAN
    for begin in range(0, shape[1], step):
        core.add_product(total, a[:, begin : begin + step], b[begin : begin + step], 2)
    assert total.tobytes() == multiply(a, b).tobytes()


def test_a_product_is_not_added_to_a_total_of_another_shape():
    a, b = matrices((3, 4, 2), np.float32)
    for total in (np.zeros((2, 3), np.float32), np.zeros((3, 2)), np.zeros(6, np.float32)):
        with pytest.raises(REFUSED):
            core.add_product(total, a, b)
    with pytest.raises(REFUSED):
        core.add_product(np.zeros((3, 2), np.float32), a, b[1:])


@pytest.mark.parametrize("n", [1, 2, 3, 8, 65])
def test_eigenvectors_diagonalise(n, isa):
    a = np.random.default_rng(n).normal(size=(n, n))
    a += a.T
    values, vectors = eigh(a)
    assert (np.diff(values) >= 0).all()
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n), atol=1e-12)
    np.testing.assert_allclose(vectors * values @ vectors.T, a, atol=1e-12 * max(n, 8))
    assert (vectors[np.abs(vectors).argmax(axis=0), np.arange(n)] > 0).all()


@given(st.integers(0, 6), st.integers(0, 10**6), st.sampled_from([1e-200, 1.0, 1e150]))
def test_degenerate_matrices_have_eigenvectors(rank, seed, size):
    rows = np.random.default_rng(seed).integers(-1, 2, size=(rank, 9)).astype(np.float64)
    values, vectors = eigh(size * rows.T @ rows)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(9), atol=1e-12)
    np.testing.assert_allclose(vectors * (values / size) @ vectors.T, rows.T @ rows, atol=1e-12)
    assert (values / size > 1e-9).sum() == np.linalg.matrix_rank(rows)


@pytest.mark.parametrize("n", [64, 72])
def test_copies_of_a_few_columns_have_eigenvectors(n):
    """What rounding leaves of dependent columns shrinks from step to step, until its squares are 0."""
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(50, 4))[:, rng.integers(4, size=n)]
    values, vectors = eigh(columns.T @ columns)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n), atol=1e-12)
    np.testing.assert_allclose(vectors * values @ vectors.T, columns.T @ columns, atol=1e-10)


def test_equations_are_solved(isa):
    rng = np.random.default_rng(0)
    rows, b = rng.normal(size=(100, 33)), rng.normal(size=(33, 2))
    a = rows.T @ rows
    np.testing.assert_allclose(a @ solve_positive(a, b), b, atol=1e-10)
    np.testing.assert_allclose(a @ solve_positive(a, b[:, 0]), b[:, 0], atol=1e-10)
    core.use_isa("portable")
    portable = solve_positive(a, b)
    core.use_isa(isa)
    assert portable.tobytes() == solve_positive(a, b).tobytes()


def test_equations_without_a_solution_are_refused():
    with pytest.raises(ValueError, match="not positive definite"):
        solve_positive(np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones(2))


def test_a_basis_is_orthonormal():
    columns = np.random.default_rng(0).normal(size=(30, 12))
    columns[:, 7] = 2 * columns[:, 3] - columns[:, 1]
    basis = orthonormal(columns)
    np.testing.assert_allclose(basis.T @ basis, np.diag(np.arange(12) != 7), atol=1e-13)
    np.testing.assert_allclose(basis @ (basis.T @ columns), columns, atol=1e-12)


@pytest.mark.parametrize(
    ("function", "arguments", "says"),
    [
        (core.multiply, (np.ones((2, 3)), np.ones((2, 3))), "as many columns"),
        (core.eigh, (np.ones((2, 3)),), "square"),
        (core.eigh, (np.full((2, 2), np.nan),), "not finite"),
        (core.solve_positive, (np.ones((2, 3)), np.ones(2)), "square"),
        (core.solve_positive, (np.eye(3), np.ones(2)), "as many rows"),
    ],
)
def test_bad_matrices_are_refused(function, arguments, says):
    with pytest.raises(ValueError, match=says):
        function(*arguments)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 3, 16])
def test_columns_are_summed_up_in_the_order_of_rows(dtype, width):
    rng = np.random.default_rng(0)
    values, centre = rng.normal(size=(40, width)).astype(dtype), rng.normal(size=width)
    for rows in (np.arange(40), rng.permutation(40)[:7], np.array([3, 3]), np.arange(0)):
        sums, squares = np.zeros(width), np.zeros(width)
        for v in values[rows].astype(np.float64):
            sums, squares = sums + v, squares + (v - centre) ** 2
        found = column_sums(values, rows, centre)
        assert (found[0].tobytes(), found[1].tobytes()) == (sums.tobytes(), squares.tobytes())


def test_sums_of_columns_check_what_they_are_given():
    for call, dtype in ((_core.column_sums32, np.float32), (_core.column_sums64, np.float64)):
        given = {"values": np.ones((4, 3), dtype), "rows": np.arange(4), "centre": np.zeros(3)}
        call(**given)
        for wrong in ({"rows": np.array([4])}, {"rows": np.array([-1])}, {"centre": np.zeros(2)}, {"rows": None}):
            with pytest.raises(REFUSED):
                call(**given | wrong)
