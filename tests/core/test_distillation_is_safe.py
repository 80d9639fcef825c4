"""The steps of distilled codes check what they are given, and are the same on all instruction sets and threads."""

from __future__ import annotations

import contextlib
import itertools

import numpy as np
import pytest

from bitfm import _core
from spoilt import REFUSED, each_spoilt

N_ROWS, N_COLUMNS, BITS, WIDTH = 5, 3, 16, 8
WILD = [np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-45, -1.0, 0.0]


def columns():
    """A field of three features; the second occurs in two rows, the third in none."""
    return {
        "start": np.array([0, 2, 4, 4]),
        "rows": np.array([0, 3, 1, 4], np.int32),
        "values": np.array([1, 2, -1, 0.5], np.float32),
    }


def field(bits=BITS, n_rows=N_ROWS, n_columns=N_COLUMNS, seed=0, **more):
    rng = np.random.default_rng(seed)
    Q = rng.normal(size=(30, bits)).astype(np.float32)
    return {
        "codes": rng.integers(256, size=(n_columns, bits // 8), dtype=np.uint8),
        "gains": rng.random(n_columns, np.float32),
        "error": rng.normal(size=(n_rows, bits)).astype(np.float32),
        "hessian": Q.T @ Q / 30,
        "row_weight": rng.random(n_rows, np.float32),
        **(columns() | {"passes": 3, "keep_gains": False, "n_threads": 1} | more),
    }


def pairs(bits=BITS, n=N_COLUMNS, width=WIDTH, seed=0, **more):
    rng = np.random.default_rng(seed)
    return {
        "codes": rng.integers(256, size=(n, bits // 8), dtype=np.uint8),
        "gains": rng.random(n, np.float32),
        "factors": rng.normal(size=(n, width)).astype(np.float32),
        "weights": rng.random(n, np.float32),
        "passes": 3,
    } | more


def trainer(cross=True, real=np.float32):
    """Two blocks: four rows of ids, and three rows with a table of two columns."""
    wide = real is np.float64
    design = _core.Design64() if wide else _core.Design32()
    design.add_block(4, np.array([0, 1, 2, 3, 0, 1], np.int32))
    design.add_identity(4)
    design.add_block(3, np.array([0, 1, 2, 0, 1, 2], np.int32))
    design.add_table(2, np.array([0, 1, 1, 3]), np.array([0, 0, 1], np.int32), np.array([1, 2, 3], real))
    t = (_core.Trainer64 if wide else _core.Trainer32)(design, np.arange(6, dtype=real), None, cross)
    t.reset_codes(0.0, np.zeros(6, real), np.zeros((6, BITS // 8), np.uint8), np.ones(6, np.float32), 1)
    return t


def swept(of=1):
    arguments = field(n_rows=(4, 3)[of], n_columns=6)
    wanted = ("codes", "gains", "error", "hessian", "passes", "n_threads")
    return {name: arguments[name] for name in wanted} | {"field": of, "strength": 2.0}


# What is refused


def test_every_array_of_a_field_is_checked():
    each_spoilt(_core.distill_field, field(), ["codes", "gains", "error", "hessian", "row_weight", *columns()])


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("start", [0, 2, 4, 5]),
        ("start", [1, 2, 4, 4]),
        ("start", [0, 3, 2, 4]),
        ("start", [0, -1, 4, 4]),
        ("start", [0, 2, 4]),
        ("start", [0, 2**62, 4, 4]),
        ("start", []),
        ("rows", [0, 3, 1, N_ROWS]),
        ("rows", [0, -1, 1, 4]),
        ("rows", [0, 3, 1, 2**31 - 1]),
    ],
    ids=repr,
)
def test_columns_that_are_no_columns_are_refused(name, wrong):
    arguments = field()
    with pytest.raises(ValueError, match=r"column|range"):
        _core.distill_field(**arguments | {name: np.array(wrong, arguments[name].dtype)})


def test_columns_come_all_together_or_as_an_identity():
    for name in columns():
        with pytest.raises(ValueError, match="none of them"):
            _core.distill_field(**field() | {name: None})
    none = dict.fromkeys(columns())
    with pytest.raises(ValueError, match="identity"):
        _core.distill_field(**field(**none))
    assert _core.distill_field(**field(n_rows=N_COLUMNS, **none)) >= 0


@pytest.mark.parametrize("n_bytes", [0, 65, 1000])
def test_codes_of_no_bits_or_too_many_are_refused(n_bytes):
    bits = 8 * n_bytes
    square, error = np.zeros((bits, bits), np.float32), np.zeros((N_ROWS, bits), np.float32)
    codes = np.zeros((N_COLUMNS, n_bytes), np.uint8)
    with pytest.raises(ValueError, match="bytes"):
        _core.distill_field(**field() | {"codes": codes, "hessian": square, "error": error})
    with pytest.raises(ValueError, match="bytes"):
        _core.distill_pairs(**pairs() | {"codes": codes})
    with pytest.raises(ValueError, match="bytes"):
        trainer().sweep_distilled(**swept() | {"codes": np.zeros((6, n_bytes), np.uint8)})


@pytest.mark.parametrize("wrong", [-1.0, np.nan, None, "1"])
def test_the_largest_gain_is_checked(wrong):
    with pytest.raises(REFUSED):
        _core.distill_field(**field(most_gain=wrong))


def test_every_array_of_pairs_is_checked():
    each_spoilt(_core.distill_pairs, pairs(), ["gains", "weights"])
    for wrong in (pairs(n=2)["codes"], pairs()["codes"].astype(np.int8), pairs()["codes"][0], None):
        with pytest.raises(REFUSED):
            _core.distill_pairs(**pairs() | {"codes": wrong})
    for shape in ((N_COLUMNS, 0), (N_COLUMNS, 7), (N_COLUMNS, 9), (N_COLUMNS - 1, WIDTH), (0, WIDTH)):
        with pytest.raises(ValueError, match="factors"):
            _core.distill_pairs(**pairs() | {"factors": np.zeros(shape, np.float32)})


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_every_array_of_a_sweep_with_the_data_is_checked(real):
    each_spoilt(trainer(real=real).sweep_distilled, swept(), ["codes", "gains", "error", "hessian"])
    each_spoilt(trainer(real=real).sweep_distilled, swept(0), ["error"])


@pytest.mark.parametrize(
    ("name", "wrong"),
    [(n, v) for n in ("field", "strength") for v in (-1, None, "x", 2**70)]
    + [("field", 2), ("field", 2**62), ("field", 0.5), ("strength", np.nan), ("strength", np.inf), ("passes", 1.5)],
)
def test_numbers_out_of_range_are_refused(name, wrong):
    with contextlib.nullcontext() if (name, wrong) == ("strength", 2**70) else pytest.raises(REFUSED):
        trainer().sweep_distilled(**swept() | {name: wrong})


def test_distillation_needs_pairs_across_blocks():
    with pytest.raises(ValueError, match="across blocks"):
        trainer(cross=False).sweep_distilled(**swept())


@pytest.mark.parametrize("name", ["codes", "gains", "error"])
def test_arrays_that_cannot_be_written_are_not_swept(name):
    for call, arguments in ((_core.distill_field, field()), (_core.distill_pairs, pairs())):
        if name in arguments:
            arguments[name].flags.writeable = False
            with pytest.raises(TypeError):
                call(**arguments)


# What is done with anything else


def test_nothing_to_do_is_no_trouble():
    empty = {"start": np.zeros(1, np.int64), "rows": np.zeros(0, np.int32), "values": np.zeros(0, np.float32)}
    for bits in (8, 64, 512):
        assert _core.distill_field(**field(bits, n_columns=0, **empty)) == 0
        assert _core.distill_field(**field(bits, 0, 0, **dict.fromkeys(columns()))) == 0
        assert _core.distill_pairs(**pairs(bits, n=0)) == 0
    for passes, n_threads in itertools.product((-(2**31), -1, 0, 1), (-1, 0, 3)):
        _core.distill_field(**field(passes=passes, n_threads=n_threads))
        _core.distill_pairs(**pairs(passes=passes))
        trainer().sweep_distilled(**swept() | {"passes": passes, "n_threads": n_threads})


@pytest.mark.parametrize("everywhere", [False, True], ids=["one", "all"])
def test_no_number_makes_a_step_crash_or_a_gain_that_is_none(everywhere):
    cases = [(_core.distill_field, field), (_core.distill_pairs, pairs), (trainer().sweep_distilled, swept)]
    for (call, make), number in itertools.product(cases, WILD):
        for name in [name for name, value in make().items() if getattr(value, "dtype", None) == np.float32]:
            arguments = make()
            arguments[name][... if everywhere else (1,) * arguments[name].ndim] = number
            call(**arguments)
            if name != "gains" or make is not swept:  # which leaves them alone
                assert np.isfinite(arguments["gains"]).all(), (name, number)


# The same bytes


def outcome(isa, n_threads, make, call):
    _core.use_isa(isa)
    arguments = make()
    if "n_threads" in arguments:
        arguments["n_threads"] = n_threads
    flips = call(**arguments)
    return flips, *(arguments[name] for name in ("codes", "gains", "error") if name in arguments)


def ids(bits):
    return field(bits, 130, 130, **dict.fromkeys(columns()))


CASES = [(make, bits) for make in (ids, field, pairs) for bits in (8, 24, 512)]


@pytest.mark.parametrize(("make", "bits"), [*CASES, (swept, 1)])
def test_instruction_sets_and_threads_do_not_matter(make, bits):
    before = _core.isa()
    try:
        for number in (None, 0.0, 1e-30, 1e30, np.inf, np.nan):

            def build(number=number):
                arguments = make(bits)
                if number is not None:
                    for array in arguments.values():
                        if getattr(array, "dtype", None) == np.float32:
                            array[-1:] = number
                return arguments

            def run(isa, n_threads, build=build):
                calls = {pairs: _core.distill_pairs, swept: trainer().sweep_distilled}
                return outcome(isa, n_threads, build, calls.get(make, _core.distill_field))

            expected = run("portable", 1)
            for isa, n_threads in itertools.product(_core.available_isas(), (1, 2, 7)):
                for got, wanted in zip(run(isa, n_threads), expected, strict=True):
                    np.testing.assert_array_equal(got, wanted)
    finally:
        _core.use_isa(before)
