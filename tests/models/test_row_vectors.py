"""Vectors of rows in parts are those of all rows at once, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bitfm.core import PRODUCT_SPAN, multiply, pack_signs, unpack_codes
from bitfm.data.feature_table import FeatureTable
from bitfm.models.solvers.block_rows import BlockRows, Field, columns_of
from bitfm.models.solvers.row_vectors import CodeVectors, RowVectors, parts

TABLES = {
    "ids": FeatureTable.eye(60),
    "short": FeatureTable.unit_rows(np.arange(100) % 60, np.arange(100) * 7 % 20, (60, 20)),
    "long": FeatureTable.of("x", sp.random(60, 20, 0.6, random_state=0, dtype=np.float32)),
    "wide": FeatureTable.unit_rows(np.arange(100) % 60, np.arange(100), (60, 100)),
    "double": FeatureTable.of("x", sp.random(60, 20, 0.1, random_state=0, dtype=np.float64)),
    "dense": FeatureTable.dense(np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)),
}


def random_codes(n, bits, seed=0):
    rng = np.random.default_rng(seed)
    return pack_signs(rng.normal(size=(n, bits))), rng.random(n).astype(np.float32)


@pytest.mark.parametrize("name", TABLES)
def test_sums_of_some_rows_are_those_of_all(name):
    table = TABLES[name]
    codes, gains = random_codes(table.n_columns, 16)
    plain = unpack_codes(codes) * gains[:, None]
    for vectors in (plain, CodeVectors(codes, gains)):
        found, expected = RowVectors(table, vectors, 1), table.sums(plain)
        assert found.width == 16
        for rows in (slice(None), slice(7, 31), slice(50, 80), slice(60, 70)):
            assert found[rows].dtype == np.float32
            assert found[rows].tobytes() == expected[rows].tobytes()


def test_vectors_of_codes_are_those_of_the_moment():
    codes, gains = random_codes(9, 8)
    vectors, before = CodeVectors(codes, gains), unpack_codes(codes) * gains[:, None]
    codes[:], gains[:] = 0, 0
    np.testing.assert_array_equal(vectors[:], before)
    np.testing.assert_array_equal(vectors[np.array([2, 5])], before[[2, 5]])


def test_codes_are_unpacked_from_the_lowest_bit_of_the_first_byte():
    assert unpack_codes(np.array([[1, 128]], np.uint8)).tolist() == [[1.0] + 14 * [-1.0] + [1.0]]
    assert unpack_codes(np.zeros((0, 2), np.uint8)).shape == (0, 16)


@pytest.mark.parametrize("n_fields", [1, 2, 5])
def test_moments_of_many_rows_in_parts_are_those_of_all_at_once(n_fields):
    n, rng = 5 * PRODUCT_SPAN // 2, np.random.default_rng(0)
    assert len(list(parts(n))) > 1
    weights = rng.random(n).astype(np.float32)
    tables = [FeatureTable.eye(n), *(FeatureTable.one_hot(rng.integers(30, size=n), 30) for _ in range(n_fields - 1))]
    fields, sums = [], []
    for number, table in enumerate(tables):
        codes, gains = random_codes(table.n_columns, 8, number)
        teacher = rng.normal(size=(table.n_columns, 3)).astype(np.float32)
        vectors = RowVectors(table, teacher, 1), RowVectors(table, CodeVectors(codes, gains), 1)
        fields.append(Field(number, table, columns_of(table), slice(0), *vectors))
        sums.append((table.sums(unpack_codes(codes) * gains[:, None]), table.sums(teacher)))
    rows = BlockRows(weights, fields, 2)
    P = np.sum([P for P, _ in sums], axis=0, dtype=np.float64).astype(np.float32)
    p = np.asarray(sum(p for _, p in sums), np.float32)

    def products(a, b):
        return multiply((weights[:, None] * a).T, b)

    expected = [products(P, P), products(P, p), products(p, p)]
    expected += [sum(products(a, b) for a, b in pairs) for pairs in ([(P, P) for P, _ in sums], sums)]
    expected.append(np.sum([products(p, p) for _, p in sums], axis=0, dtype=np.float64))
    H, C, H_field, C_field = rows.moments
    gram, gram_field = rows.teacher_grams
    for found, wanted in zip((H, C, gram, H_field, C_field, gram_field), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
