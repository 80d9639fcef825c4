"""More than the core can number, or than memory holds: a sentence, before anything is read or any product wraps.

The arrays are holes of files, or have no rows, so they take no memory unless the core reads them.
"""

from __future__ import annotations

import numpy as np
import pytest

from bitfm import _core
from bitfm.core import release_memory
from holes import hole

MOST = 2**31 - 2
TOO_MANY = r"has {:,} {}; at most [\d,]+ are supported: "
NONE32 = np.zeros(0, np.int32)


def refused(n, of):
    return pytest.raises(ValueError, match=TOO_MANY.format(n, of))


@pytest.mark.parametrize("n", [MOST + 1, 2**31, 2**32, 2**62])
def test_rows_and_columns(n):
    design = _core.Design32()
    with refused(n, "rows"):
        design.add_block(n, NONE32)
    design.add_block(MOST, NONE32)
    with refused(n, "columns"):
        design.add_table(n, np.zeros(1, np.int64), NONE32, np.zeros(0, np.float32))


def test_interactions(tmp_path):
    with refused(2**31, "interactions"):
        _core.Design32().add_block(1, hole(tmp_path, np.int32, 2**31))


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_non_zeros(tmp_path, real):
    design = _core.Design32() if real is np.float32 else _core.Design64()
    design.add_block(1, np.zeros(1, np.int32))
    indices, values = hole(tmp_path, np.int32, 2**31), hole(tmp_path, real, 2**31)
    with refused(2**31, "non-zeros"):
        design.add_table(1, np.array([0, 2**31]), indices, values)


def test_tables_to_transpose(tmp_path):
    indices, values = hole(tmp_path, np.int32, 2**31), hole(tmp_path, np.float32, 2**31)
    with refused(2**31 - 1, "rows"):
        _core.transpose32(1, hole(tmp_path, np.int64, 2**31), NONE32, np.zeros(0, np.float32))
    with refused(2**31, "columns"):
        _core.transpose32(2**31, np.zeros(1, np.int64), NONE32, np.zeros(0, np.float32))
    with refused(2**31, "non-zeros"):
        _core.transpose32(1, np.array([0, 2**31]), indices, values)


def test_events(tmp_path):
    n, one, empty = MOST + 1, np.ones(1, np.float32), np.zeros(0, np.float32)
    starts, column = hole(tmp_path, np.int64, n + 1), hole(tmp_path, np.float32, n, 1)
    nobody, none = np.zeros(1, np.int64), np.empty((n, 0), np.float32)
    with refused(n, "rows"):
        _core.solve_rows(starts, NONE32, empty, one[None], one, column[:, 0], None, column, None, 1)
    with refused(n, "columns"):
        _core.improve_rows(nobody, NONE32, empty, column, one, empty, None, 1, column[:0], 1)
    with refused(n, "rows"):
        _core.score_events(starts, NONE32, empty, none, none[:1], empty, 1)
    index, value = hole(tmp_path, np.int32, n), column[:, 0]
    with refused(n, "events"):
        _core.sum_vectors(np.array([0, n]), index, value, none[:1], none[:1].copy(), 1)
    codes = column[:1].copy(), one, one, np.zeros(1)
    with refused(n, "events"):
        decoded = np.zeros((1, 2), np.float32)
        _core.encode_levels(np.array([0, n]), index, value, one[None], one[None], decoded, decoded, decoded,
                            np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32), one, np.ones(1, np.int32), 1,
                            *codes, 1)  # fmt: skip


def test_lists_of_events(tmp_path):
    n, one, empty, nobody = MOST + 1, np.ones(1, np.float32), np.zeros(0, np.float32), np.zeros(1, np.int64)
    starts, none = hole(tmp_path, np.int64, n + 1), np.empty((n, 0), np.float32)
    with refused(n, "kinds of members"):
        codes, gains = hole(tmp_path, np.uint8, n, 1), hole(tmp_path, np.float32, n)
        queries = np.zeros((0, 8), np.float32)
        _core.score_listed(codes, gains, gains, queries, np.zeros(0), nobody, NONE32, empty, empty, 1)
    neighbors = np.empty((n, 0), np.int32), none
    users = nobody, NONE32, nobody, NONE32
    with refused(n, "rows"):
        _core.find_neighbors(starts, NONE32, empty, empty, empty, *users, none, none, 1, 1, 1, 1, *neighbors, 1)
    with refused(n, "members"):
        neighbors = np.empty((1, 1), np.int32), one[None]
        users = np.array([0, n]), hole(tmp_path, np.int32, n), np.zeros(2, np.int64), NONE32
        starts = np.zeros(2, np.int64)
        _core.find_neighbors(
            starts, NONE32, empty, empty, empty, *users, one[None], one[None], 1, 1, 1, 1, *neighbors, 1
        )


def wide_design():
    """Return two blocks of as many ids as there can be, and one interaction, of the last row of each."""
    design = _core.Design32()
    for _ in range(2):
        design.add_block(MOST, np.array([MOST - 1], np.int32))
        design.add_identity(MOST)
    return design


def test_features_beyond_32_bits_are_found(tmp_path):
    last = 2 * MOST - 1
    weights = hole(tmp_path, np.float32, last + 1, at=last, value=2.5)
    gains = hole(tmp_path, np.float32, last + 1, at=[MOST - 1, last], value=[1, 0.5])
    codes = hole(tmp_path, np.uint8, last + 1, 2, at=last, value=[255, 0])
    arrays = weights, codes, gains
    assert _core.predict_codes(wide_design(), 1.0, *arrays, True, 1) == [3.5]  # half of the bits agree
    codes[last] = 0
    assert _core.predict_codes(wide_design(), 1.0, *arrays, True, 1) == [3.5 + 16 * 0.5]
    constants, vectors = _core.side_rows(wide_design(), 1.0, *arrays, True, True, 1)
    assert constants == [3.5 + 16 * 0.5]
    assert (vectors == -1.5).all()
    assert _core.single_features(wide_design(), gains, 1)[0] == [-2]  # several
    with refused(last + 1, "features"):
        _core.score_pairs(wide_design(), 1.0, *arrays, True, 1)


def test_items_of_catalogues(tmp_path):
    n = 2**31 - 63
    biases, positions = hole(tmp_path, np.float32, n), hole(tmp_path, np.int32, n)
    with refused(n, "items"):
        _core.arrange_codes(hole(tmp_path, np.uint8, n, 1), biases, biases, positions, 1.0)
    with refused(n, "items"):
        _core.arrange_vectors(hole(tmp_path, np.float32, n, 2), biases, positions, np.eye(2), 1.0, False)


@pytest.mark.parametrize("chunks", [2**25, 2**40, 2**62])
def test_chunks_of_catalogues(chunks):
    with refused(chunks, "chunks of items"):
        _core.CodeCatalogue.shapes(chunks, 8)
    with refused(chunks, "chunks of items"):
        _core.VectorCatalogue.shapes(chunks, 8, 8, 0)
    with pytest.raises(ValueError, match="of all chunks or of none"):
        _core.VectorCatalogue.shapes(2, 8, 8, chunks)
    for shapes in (_core.CodeCatalogue.shapes, lambda n, width: _core.VectorCatalogue.shapes(n, width, width, 0)):
        with pytest.raises(ValueError, match="from 0 up, got -1"):
            shapes(-1, 8)


def test_a_catalogue_over_arrays_that_are_too_long(tmp_path):
    live = hole(tmp_path, np.uint64, 2**25)
    with refused(2**25, "chunks of items"):
        _core.CodeCatalogue({"live": live, "codes": np.zeros((1, 8, 64), np.uint8)})
    with refused(2**25, "chunks of items"):
        _core.VectorCatalogue({"live": live, "basis": np.eye(8)})


@pytest.mark.parametrize("n", [2**31, 2**62])
def test_positions_of_catalogues(n):
    one = np.ones(1, np.float32)
    arrays = _core.arrange_codes(np.zeros((1, 1), np.uint8), one, one, np.zeros(1, np.int32), 1.0)
    with refused(n, "positions"):
        _core.CodeCatalogue(arrays).check(n)


def test_metrics(tmp_path):
    nothing = np.zeros(1, np.int64), NONE32
    with refused(2**31, "items"):
        _core.auc(np.empty((0, 2**31)), *nothing, None, None, 1)
    with refused(2**31, "items"):
        _core.best_of_scores(np.empty((0, 2**31), np.float32), None, None, 1, 1)
    with refused(2**31, "users"):
        _core.bootstrap_means(hole(tmp_path, np.float64, 2**31, 1), 0, 1, 1)
    with refused(2**31, "users"):
        _core.count_far_flips(hole(tmp_path, np.float64, 2**31, 1), 0, 1, 1)


def test_factors_of_the_d_step():
    values, mean, square = np.empty((0, 2**16), np.float32), np.zeros(2**16), np.empty((0, 0))  # its square is 2^32
    with refused(2**16, "factors"):
        _core.moments(values, mean, square, 1)
    with refused(2**16, "factors"):
        _core.map_features(values, mean, square, np.empty((0, 2**16), np.float32), 1)
    with pytest.raises(ValueError, match="the values' width"):
        _core.moments(np.empty((0, 8), np.float32), np.zeros(8), np.zeros((8, 7)), 1)


def test_sums_of_stochastic_gradient_descent():
    rank, n_blocks, design = 2**20, 2048, _core.Design32()
    for _ in range(n_blocks):
        design.add_block(0, NONE32)
        design.add_identity(0)
    trainer = _core.Trainer32(design, np.zeros(0, np.float32), None, True)
    ridge = np.zeros(n_blocks)
    with refused(rank * (n_blocks + 1), r"sums \(rank × blocks\)"):
        trainer.sweep_sgd(
            0.0, np.zeros(0, np.float32), np.empty((0, rank), np.float32), ridge, ridge, 0.1, np.zeros(0, np.int32)
        )


def test_products_that_wrap():
    for multiply, zero in ((_core.multiply32, np.float32(0)), (_core.multiply64, np.float64(0))):
        column = np.broadcast_to(zero, (2**32, 1))
        with pytest.raises(ValueError, match=r"would have 4,294,967,296 × 4,294,967,296 numbers"):
            multiply(column, column.T, 1)
        assert multiply(column, column.T[:, :0], 1).shape == (2**32, 0)
    with pytest.raises(ValueError, match=r"would have 4,294,967,296 × 4,294,967,296 numbers"):
        _core.bootstrap_means(np.empty((0, 2**32)), 0, 2**32, 1)
    ks = np.ones(2**17, np.int64)
    with pytest.raises(ValueError, match=r"would have 1,099,511,627,776 × 131,072 numbers"):
        _core.rank_metrics(np.empty((2**40, 0), np.int64), np.zeros(1, np.int64), NONE32, 1, ks, 1)
    with pytest.raises(ValueError, match="below 2\\^63"):
        _core.normal(0, 2**63 - 2, 3)


def test_squares_that_wrap(tmp_path):
    """2^32 rows and no columns have as many numbers as their square, modulo 2^64."""
    empty = np.empty((2**32, 0))
    with pytest.raises(ValueError, match="must be square"):
        _core.solve_positive(empty, empty)
    with pytest.raises(ValueError, match="must be square"):
        _core.eigenvectors(empty, hole(tmp_path, np.float64, 2**32))


def test_vectors_of_candidates_that_wrap():
    """16 vectors of 2^60 numbers are as many as none, modulo 2^64."""
    nothing = np.empty((0, 2**60), np.float32)
    positions, biases = np.arange(16, dtype=np.int32), np.zeros(16, np.float32)
    with pytest.raises(ValueError, match="one vector per item"):
        _core.rescore(positions, biases, nothing, nothing, np.zeros(16), np.zeros((16, 1), np.int64), 1, 1)


@pytest.mark.parametrize("n", [2**62, pytest.param(2**60, marks=pytest.mark.memory)])
def test_more_than_memory_holds_is_a_sentence(n):
    with pytest.raises(MemoryError, match="there is not enough memory for what was asked"):
        _core.normal(0, 0, n)


def test_memory_that_was_freed_may_be_given_back_at_any_time():
    kept = np.arange(10**6)
    release_memory()
    np.testing.assert_array_equal(kept, np.arange(10**6))
