"""The solver of new ids checks what it is given, and is the same on all instruction sets and threads."""

from __future__ import annotations

import numpy as np
import pytest

from bitfm import _core
from spoilt import REFUSED, each_spoilt

BITS, N_IDS, N_ROWS = 16, 9, 7


def ratings(bits=BITS, seed=0, **more):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 6, N_IDS)
    n = int(counts.sum())
    return {
        "start": np.concatenate([[0], np.cumsum(counts)]),
        "rows": rng.integers(N_ROWS, size=n, dtype=np.int32),
        "values": rng.normal(size=n),
        "before": np.where(rng.random(n) < 0.5, np.nan, rng.normal(size=n)),
        "constants": rng.normal(size=N_ROWS),
        "vectors": rng.normal(size=(N_ROWS, bits)).astype(np.float32),
        "own_constants": rng.normal(size=N_IDS),
        "own_vectors": rng.normal(size=(N_IDS, bits)).astype(np.float32),
        "noise": 0.5,
        "weight_variance": 0.1,
        "factor_variance": 0.2,
        "solved": np.zeros((N_IDS, bits + 1)),
        "n_threads": 1,
        **more,
    }


def codes(bits=BITS, n=N_IDS, seed=0, **more):
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(40, bits)).astype(np.float32)
    return {
        "vectors": rng.normal(size=(n, bits)).astype(np.float32),
        "hessian": q.T @ q / 40,
        "passes": 5,
        "rounds": 3,
        "codes": np.zeros((n, bits // 8), np.uint8),
        "gains": np.zeros(n, np.float32),
        "n_threads": 1,
        **more,
    }


def test_arguments_of_the_wrong_kind_are_refused():
    names = [name for name, value in ratings().items() if isinstance(value, np.ndarray)]
    each_spoilt(_core.solve_ids, ratings(), names)
    names = [name for name, value in codes().items() if isinstance(value, np.ndarray)]
    each_spoilt(_core.nearest_codes, codes(), names)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": -1},
        {"rows": N_ROWS},
        {"start": -1},
        {"start": 10**9},
        {"noise": -1.0},
        {"noise": float("nan")},
        {"factor_variance": -1.0},
        {"weight_variance": float("nan")},
    ],
)
def test_numbers_out_of_range_are_refused(wrong):
    given = ratings()
    for name, value in wrong.items():
        if isinstance(given[name], np.ndarray):
            given[name][2] = value
        else:
            given[name] = value
    with pytest.raises(REFUSED):
        _core.solve_ids(**given)


@pytest.mark.parametrize("wild", [np.nan, np.inf, -np.inf, 1e308, -1e300, 5e-324])
def test_wild_numbers_give_finite_ones(wild):
    for name in ("values", "constants", "vectors", "own_constants", "own_vectors"):
        given = ratings()
        with np.errstate(over="ignore"):
            given[name].flat[:3] = wild
        _core.solve_ids(**given)
        assert np.isfinite(given["solved"]).all(), name
    given = codes()
    with np.errstate(over="ignore"):
        given["vectors"].flat[:3] = wild
    _core.nearest_codes(**given)
    assert np.isfinite(given["gains"]).all()


def test_ids_do_not_depend_on_each_other_nor_on_threads_nor_on_the_instruction_set():
    reference = ratings()
    _core.solve_ids(**reference)
    threaded = ratings(n_threads=3)
    _core.solve_ids(**threaded)
    np.testing.assert_array_equal(threaded["solved"], reference["solved"])
    first = codes(64, 40)
    _core.nearest_codes(**first)
    for isa in _core.available_isas():
        before = _core.isa()
        try:
            _core.use_isa(isa)
            for threads in (1, 3):
                other = codes(64, 40, n_threads=threads)
                _core.nearest_codes(**other)
                np.testing.assert_array_equal(other["codes"], first["codes"])
                np.testing.assert_array_equal(other["gains"], first["gains"])
        finally:
            _core.use_isa(before)
    alone = codes(64, 40)
    one = {name: alone[name][5:6].copy() for name in ("vectors", "codes", "gains")}
    _core.nearest_codes(**{**alone, **one})
    np.testing.assert_array_equal(one["codes"][0], first["codes"][5])
    np.testing.assert_array_equal(one["gains"][0], first["gains"][5])
