"""The native core checks what it is given: wrong arguments raise, whatever they are, and nothing crashes."""

from __future__ import annotations

import contextlib
import gc
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitfm import _core
from spoilt import REFUSED, each_spoilt, spoilt

KINDS = {np.float32: (_core.Design32, _core.Trainer32), np.float64: (_core.Design64, _core.Trainer64)}
N, ROWS, COLUMNS = 6, 3, 2  # interactions, rows of the second block, columns of its table
FEATURES = 4 + ROWS + COLUMNS


@pytest.fixture(params=KINDS, ids=lambda real: real.__name__)
def real(request):
    return request.param


def table(real):
    """Return indptr, indices and values of a small table."""
    return np.array([0, 1, 1, 3]), np.array([0, 0, 1], np.int32), np.array([1, 2, 3], real)


def design(real):
    d = KINDS[real][0]()
    d.add_block(4, np.array([0, 1, 2, 3, 0, 1], np.int32))
    d.add_identity(4)
    d.add_block(ROWS, np.array([0, 1, 2, 0, 1, 2], np.int32))
    d.add_identity(ROWS)
    d.add_table(COLUMNS, *table(real))
    return d


def trainer(real, cross=False):
    return KINDS[real][1](design(real), np.arange(N, dtype=real), None, cross)


# The design


@pytest.mark.parametrize("rows", [[-1], [3], [0, 2**31 - 1], [-(2**31)]])
def test_rows_out_of_range_are_refused(real, rows):
    with pytest.raises(ValueError, match=str(rows[-1])):
        KINDS[real][0]().add_block(3, np.array(rows, np.int32))


@pytest.mark.parametrize("n_rows", [-1, 2**31 - 1, 2**62, 2**63, -(2**63), 2**100, 1.5, "3", None])
def test_impossible_numbers_of_rows_are_refused(real, n_rows):
    with pytest.raises(REFUSED):
        KINDS[real][0]().add_block(n_rows, np.zeros(1, np.int32))


def test_blocks_of_different_lengths_are_refused(real):
    d = design(real)
    for n in (0, N - 1, N + 1):
        with pytest.raises(ValueError, match=f"{n} interactions.*{N}"):
            d.add_block(4, np.zeros(n, np.int32))


def test_rows_of_another_kind_are_refused(real):
    d = KINDS[real][0]()
    good = np.zeros(4, np.int32)
    for wrong in (
        None,
        [0, 0],
        "abc",
        good.astype(np.int64),
        good.astype(np.uint32),
        good[::2],
        good[None],
        0,
        good.astype(">i4"),
    ):
        with pytest.raises(TypeError):
            d.add_block(4, wrong)


def test_a_field_needs_a_block_and_an_identity_its_size(real):
    for call in (lambda d: d.add_identity(3), lambda d: d.add_table(2, *table(real))):
        with pytest.raises(ValueError, match="block first"):
            call(KINDS[real][0]())
    for size in (-1, 0, ROWS - 1, ROWS + 1, 2**31, 2**63):
        d = KINDS[real][0]()
        d.add_block(ROWS, np.zeros(1, np.int32))
        with pytest.raises(REFUSED):
            d.add_identity(size)


DAMAGE = {
    "indptr": [
        [0, 1, 1, 4],
        [1, 1, 1, 3],
        [0, 2, 1, 3],
        [0, -1, 1, 3],
        [0, 1, 3],
        [0, 1, 1, 3, 3],
        [],
        [0, 2**62, 1, 3],
        [0, 1, 1, 2],
    ],
    "indices": [[0, 0, 2], [0, -1, 1], [0, 2**31 - 1, 1], [0, 0], [0, 0, 1, 1], []],
    "values": [[1, np.nan, 1], [1, np.inf, 1], [1, -np.inf, 1], [1, 1], [1, 1, 1, 1], []],
    "n_columns": [-1, 0, 1, 2**31, 2**63, -(2**63), None, 1.5],
}


@pytest.mark.parametrize(("name", "wrong"), [(k, v) for k, values in DAMAGE.items() for v in values], ids=repr)
def test_a_damaged_table_is_refused(real, name, wrong):
    indptr, indices, values = table(real)
    arguments = {"n_columns": COLUMNS, "indptr": indptr, "indices": indices, "values": values}
    arguments[name] = wrong if name == "n_columns" else np.array(wrong, arguments[name].dtype)
    d = KINDS[real][0]()
    d.add_block(ROWS, np.zeros(1, np.int32))
    with pytest.raises(REFUSED):
        d.add_table(**arguments)


def test_a_table_of_other_arrays_is_refused(real):
    def call(**arguments):
        d = KINDS[real][0]()
        d.add_block(ROWS, np.zeros(1, np.int32))
        d.add_table(COLUMNS, **arguments)

    each_spoilt(
        call,
        dict(zip(("indptr", "indices", "values"), table(real), strict=True)),
        ["indptr", "indices", "values"],
    )


def test_a_design_in_use_cannot_grow(real):
    used = design(real)
    _core.predict_reals(used, 0.0, np.zeros(FEATURES, real), np.zeros((FEATURES, 1), real), False, 1)
    trained = design(real)
    kept = KINDS[real][1](trained, np.zeros(N, real), None, False)
    for d in (used, trained):
        for call in (
            lambda d: d.add_block(1, np.zeros(N, np.int32)),
            lambda d: d.add_identity(ROWS),
            lambda d: d.add_table(COLUMNS, *table(real)),
        ):
            with pytest.raises(ValueError, match="in use"):
                call(d)
    assert kept.loss(1) == 0


def test_a_refused_field_leaves_the_design_as_it_was(real):
    d = design(real)
    with pytest.raises(ValueError, match="column index"):
        d.add_table(1, *table(real))
    weights = np.arange(FEATURES, dtype=real)
    scores = _core.predict_reals(d, 0.0, weights, np.zeros((FEATURES, 0), real), False, 1)
    np.testing.assert_array_equal(
        scores, _core.predict_reals(design(real), 0.0, weights, np.zeros((FEATURES, 0), real), False, 1)
    )


def test_the_arrays_of_a_design_live_as_long_as_it_does(real):
    d = design(real)
    gc.collect()
    filler = [np.full(N, 10**8, np.int32) for _ in range(100)]
    t = KINDS[real][1](d, np.ones(N, real), None, False)
    del d
    gc.collect()
    t.reset_reals(0.0, np.ones(FEATURES, real), np.zeros((FEATURES, 1), real), 2)
    assert t.loss(1) == ((1 - np.array([3, 2, 7, 3, 2, 7])) ** 2).sum()
    assert len(filler) == 100


# Scores


def test_scores_of_other_parameters_are_refused(real):
    d = design(real)
    weights, codes = np.zeros(FEATURES, real), np.zeros((FEATURES, 2), np.uint8)
    factors, gains = np.zeros((FEATURES, 3), np.float32), np.ones(FEATURES, np.float32)
    common = {"design": d, "bias": 0.0, "weights": weights, "across": False, "n_threads": 1}
    for width in (np.float32, np.float64):
        arguments = common | {"factors": factors.astype(width)}
        each_spoilt(_core.predict_reals, arguments, ["weights"])
        for wrong in (
            None,
            [],
            factors[0],
            factors[:-1],
            factors.T,
            factors[:, ::2],
            factors.astype(int),
            factors.astype(">f4"),
        ):
            with pytest.raises(REFUSED):
                _core.predict_reals(**common, factors=wrong)
    with_codes = common | {"codes": codes, "gains": gains}
    each_spoilt(_core.predict_codes, with_codes, ["gains"])
    either = [weights.astype(np.float32), weights.astype(np.float64)]
    for good in either:
        _core.predict_codes(**with_codes | {"weights": good})
    for wrong in spoilt(weights):
        if not any(isinstance(wrong, np.ndarray) and wrong.dtype == good.dtype and wrong.shape == good.shape
                   and wrong.flags.c_contiguous for good in either):  # fmt: skip
            with pytest.raises(REFUSED):
                _core.predict_codes(**with_codes | {"weights": wrong})
    for wrong in (
        None,
        codes[0],
        codes[:-1],
        codes[:, :0],
        codes.T.copy().T,
        np.zeros((FEATURES, 65), np.uint8),
        codes.astype(np.int8),
        codes.astype(bool),
        np.zeros((0, 2), np.uint8),
    ):
        with pytest.raises(REFUSED):
            _core.predict_codes(**common, codes=wrong, gains=gains)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("design", None),
        ("design", 3),
        ("bias", "x"),
        ("bias", None),
        ("across", None),
        ("across", "x"),
        ("n_threads", None),
        ("n_threads", 2**31),
        ("n_threads", -(2**40)),
        ("n_threads", 1.5),
    ],
)
def test_scores_need_arguments_of_their_kinds(real, name, wrong):
    arguments = {
        "design": design(real),
        "bias": 0.0,
        "weights": np.zeros(FEATURES, real),
        "factors": np.zeros((FEATURES, 3), real),
        "across": False,
        "n_threads": 1,
    }
    with pytest.raises(TypeError):
        _core.predict_reals(**arguments | {name: wrong})


def test_a_design_of_the_other_precision_is_refused(real):
    other = np.float32 if real is np.float64 else np.float64
    with pytest.raises(TypeError):
        _core.predict_reals(design(other), 0.0, np.zeros(FEATURES, real), np.zeros((FEATURES, 1), real), False, 1)
    with pytest.raises(TypeError):
        KINDS[real][1](design(other), np.zeros(N, real), None, False)


@pytest.mark.parametrize("n_threads", [-5, 0, 1, 3])
def test_any_number_of_threads_will_do(real, n_threads):
    scores = _core.predict_reals(
        design(real), 1.0, np.zeros(FEATURES, real), np.zeros((FEATURES, 9), real), True, n_threads
    )
    np.testing.assert_array_equal(scores, np.ones(N))


def test_a_design_without_blocks_is_refused_and_one_without_interactions_is_not(real):
    make, train = KINDS[real]
    none, nothing = np.zeros(0, real), np.zeros((0, 1), real)
    with pytest.raises(ValueError, match="at least one block"):
        _core.predict_reals(make(), 0.0, none, nothing, False, 1)
    with pytest.raises(ValueError, match="at least one block"):
        train(make(), none, None, False)
    d = make()
    d.add_block(2, np.zeros(0, np.int32))
    d.add_identity(2)
    assert _core.predict_reals(d, 0.0, np.zeros(2, real), np.zeros((2, 3), real), False, 2).shape == (0,)
    t = train(d, none, None, False)
    codes = np.zeros((2, 1), np.uint8)
    t.reset_codes(0.0, np.zeros(2, real), codes, None, 2)
    t.sweep_codes(codes, np.zeros((2, 8), np.float32), 1.0, 1, 2)
    t.sweep_factors(np.zeros((2, 3), real), np.ones(1), None, 0.0, 2)
    t.draw_factors(np.zeros((2, 3), real), np.ones((1, 3)), np.ones((1, 3)), 1.0, 7, 2)
    assert t.sweep_weights(0.5, np.zeros(2, real), np.ones(1), True, 2) == 0.5
    assert t.draw_weights(0.5, np.zeros(2, real), np.ones(1), np.ones(1), 1.0, 7, 2) == 0.5
    assert t.sweep_sgd(
        0.5, np.zeros(2, real), np.zeros((2, 3), real), np.ones(1), np.ones(1), 0.1, np.zeros(0, np.int32)
    ) == (0.5, 0.0)
    assert t.loss(2) == 0


def test_a_block_without_fields_or_rows_is_no_trouble(real):
    make, train = KINDS[real]
    d = make()
    d.add_block(2, np.zeros(3, np.int32))
    t = train(d, np.ones(3, real), None, False)
    t.reset_reals(0.0, np.zeros(0, real), np.zeros((0, 2), real), 2)
    assert t.loss(1) == 3
    t.sweep_weights(0.0, np.zeros(0, real), np.zeros(0), True, 2)
    t.sweep_factors(np.zeros((0, 2), real), np.zeros(0), None, 0.0, 1)
    t.draw_weights(0.0, np.zeros(0, real), np.zeros(0), np.zeros(0), 1.0, 7, 2)
    t.draw_factors(np.zeros((0, 2), real), np.zeros((0, 2)), np.zeros((0, 2)), 1.0, 7, 1)
    t.sweep_weights(0.0, np.zeros(0, real), np.zeros(0), True, 2)
    assert t.sweep_codes(np.zeros((0, 1), np.uint8), np.zeros((0, 8), np.float32), 1.0, 1, 1) == 0
    assert t.loss(1) == 0


# The trainer


def test_targets_and_weights_must_be_numbers_one_an_interaction(real):
    make = KINDS[real][1]
    good = np.ones(N, real)
    for wrong in spoilt(good):
        with pytest.raises(REFUSED):
            make(design(real), wrong, None, False)
        if wrong is not None:
            with pytest.raises(REFUSED):
                make(design(real), good, wrong, False)
    for value in (np.nan, np.inf, -np.inf):
        bad = good.copy()
        bad[2] = value
        with pytest.raises(ValueError, match="finite"):
            make(design(real), bad, None, False)
        with pytest.raises(ValueError, match="finite"):
            make(design(real), good, bad, False)
    with pytest.raises(ValueError, match="negative"):
        make(design(real), good, -good, False)


DRAW = {"noise_precision": 2.0, "seed": 7, "n_threads": 1}


def methods(real, t):
    """Return each method with good arguments, and those among them that are arrays."""
    weights, factors = np.zeros(FEATURES, real), np.zeros((FEATURES, 3), real)
    codes, delegate = np.zeros((FEATURES, 2), np.uint8), np.zeros((FEATURES, 16), np.float32)
    gains, ridge, order = np.ones(FEATURES, np.float32), np.ones(3), np.arange(N, dtype=np.int32)
    return {
        "reset_reals": (t.reset_reals, {"bias": 0.0, "weights": weights, "factors": factors, "n_threads": 1}),
        "reset_codes": (
            t.reset_codes,
            {"bias": 0.0, "weights": weights, "codes": codes, "gains": gains, "n_threads": 1},
        ),
        "sweep_weights": (
            t.sweep_weights,
            {"bias": 0.0, "weights": weights, "ridge": ridge, "fit_bias": True, "n_threads": 1},
        ),
        "sweep_factors": (
            t.sweep_factors,
            {
                "factors": factors,
                "ridge": ridge,
                "linear": factors.astype(np.float32),
                "scale": 1.0,
                "n_threads": 1,
            },
        ),
        "draw_weights": (
            t.draw_weights,
            {"bias": 0.0, "weights": weights, "precision": ridge, "mean": ridge.copy()} | DRAW,
        ),
        "draw_factors": (
            t.draw_factors,
            {"factors": factors, "precision": np.ones((3, 3)), "mean": np.zeros((3, 3))} | DRAW,
        ),
        "sweep_codes": (
            t.sweep_codes,
            {"codes": codes, "delegate": delegate, "beta": 1.0, "passes": 2, "n_threads": 1},
        ),
        "sweep_sgd": (
            t.sweep_sgd,
            {
                "bias": 0.0,
                "weights": weights,
                "factors": factors,
                "factor_ridge": ridge,
                "weight_ridge": ridge.copy(),
                "learning_rate": 0.1,
                "order": order,
            },
        ),
    }


SWEPT = {
    "sweep_weights": ["weights"],
    "sweep_factors": ["factors"],
    "draw_weights": ["weights"],
    "draw_factors": ["factors"],
    "sweep_codes": ["codes"],
    "sweep_sgd": ["weights", "factors"],
}
METHODS = ["reset_reals", "reset_codes", *SWEPT]


@pytest.mark.parametrize("name", METHODS)
def test_every_array_of_every_step_is_checked(real, name):
    call, arguments = methods(real, trainer(real))[name]
    call(**arguments)
    for array, good in arguments.items():
        for wrong in spoilt(good) if isinstance(good, np.ndarray) else ():
            if not allowed(name, array, good, wrong):
                with pytest.raises(REFUSED):
                    call(**arguments | {array: wrong})


def allowed(name, array, good, other):
    """Tell what some steps leave open: a linear term, which interactions, the rank or the bits."""
    if other is None or not isinstance(other, np.ndarray):
        return array in ("linear", "gains") and other is None
    if other.dtype != good.dtype or other.ndim != good.ndim or not other.flags.c_contiguous:
        return False
    if array in ("linear", "gains", "order"):
        return array == "order" or other.size == 0
    return (
        array in ("factors", "codes") and name in ("reset_reals", "reset_codes", "sweep_sgd") and len(other) == FEATURES
    )


@pytest.mark.parametrize("name", METHODS)
def test_every_number_of_every_step_is_checked(real, name):
    call, arguments = methods(real, trainer(real))[name]
    for argument in [k for k, v in arguments.items() if not isinstance(v, np.ndarray)]:
        for wrong in (None, "x", [], 1j):
            with pytest.raises(TypeError):
                call(**arguments | {argument: wrong})
        if argument in ("n_threads", "passes", "seed"):
            for wrong in (-1, 2**64, 1.5) if argument == "seed" else (2**31, 1.5, -(2**33)):
                with pytest.raises(TypeError):
                    call(**arguments | {argument: wrong})


@pytest.mark.parametrize("name", METHODS)
def test_no_number_makes_a_step_crash(real, name):
    wild = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -1.0, 0.0]
    for cross in (False, True):
        call, arguments = methods(real, trainer(real, cross))[name]
        for argument, value in list(arguments.items()):
            for number in wild:
                if isinstance(value, float):
                    with contextlib.suppress(ValueError):  # a clear refusal is as good
                        call(**arguments | {argument: number})
                elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
                    with np.errstate(over="ignore"), contextlib.suppress(ValueError):
                        call(**arguments | {argument: np.full_like(value, number)})
            if argument in ("passes", "n_threads"):
                for number in (-(2**31), -1, 0, 5):
                    call(**arguments | {argument: number})


@pytest.mark.parametrize("name", ["draw_weights", "draw_factors"])
@pytest.mark.parametrize("cross", [False, True], ids=["all", "across"])
def test_draws_are_finite_or_refused_whatever_the_prior(real, name, cross):
    wild = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, -1e308, 1e100, 1e25, 1e19, 1e-19, 1e-45, 5e-324]
    for argument, number in itertools.product(("precision", "mean", "noise_precision"), wild):
        used = trainer(real, cross)
        call, arguments = methods(real, used)[name]
        used.reset_reals(0.0, np.zeros(FEATURES, real), np.ones((FEATURES, 3), real), 1)
        good = arguments[argument]
        values = arguments[SWEPT[name][0]]
        values[...] = 1 if name == "draw_factors" else 0
        fits = (number > 0 or argument == "mean") and abs(number) <= float(np.finfo(real).max) ** 0.5
        with contextlib.nullcontext() if fits else pytest.raises(ValueError, match=r"precisions|means"):
            call(**arguments | {argument: np.full_like(good, number) if isinstance(good, np.ndarray) else number})
        assert np.isfinite(values).all(), (argument, number)


def test_priors_have_a_row_a_field_and_a_column_a_factor(real):
    call, arguments = methods(real, trainer(real))["draw_factors"]
    factors = np.zeros((FEATURES, 2), real)
    for argument in ("precision", "mean"):
        good = arguments | {"factors": factors, "precision": np.ones((3, 2)), "mean": np.ones((3, 2))}
        call(**good)
        for shape in ((2, 3), (6, 1), (1, 6), (3, 1), (3, 3), (4, 2), (2, 2), (0, 0), (0, 2)):
            with pytest.raises(ValueError, match="fields × rank"):
                call(**good | {argument: np.ones(shape)})


@pytest.mark.parametrize("name", SWEPT)
def test_arrays_that_cannot_be_written_are_not_swept(real, name):
    call, arguments = methods(real, trainer(real))[name]
    for array in SWEPT[name]:
        fixed = arguments[array].copy()
        fixed.flags.writeable = False
        with pytest.raises(TypeError):
            call(**arguments | {array: fixed})


@pytest.mark.parametrize("order", [[-1], [N], [0, 2**31 - 1], [-(2**31)]])
def test_an_order_of_interactions_that_are_not_there_is_refused(real, order):
    call, arguments = methods(real, trainer(real))["sweep_sgd"]
    with pytest.raises(ValueError, match="order"):
        call(**arguments | {"order": np.array(order, np.int32)})


def test_a_step_may_follow_any_other(real):
    for first, second, third in itertools.permutations(METHODS, 3):
        used = trainer(real)
        steps = methods(real, used)
        for name in (first, second, third):
            steps[name][0](**steps[name][1])
        assert np.isfinite(used.loss(1))


@pytest.mark.filterwarnings("ignore:nanobind:RuntimeWarning")
def test_objects_that_were_never_made_or_are_made_twice_do_no_harm(real):
    make, train = KINDS[real]
    for kind in (make, train):
        with pytest.raises(TypeError), pytest.warns(RuntimeWarning):
            kind.add_identity(kind.__new__(kind), 1) if kind is make else kind.loss(kind.__new__(kind), 1)
    d, t = design(real), trainer(real)
    t.reset_reals(0.0, np.zeros(FEATURES, real), np.zeros((FEATURES, 1), real), 1)
    expected = t.loss(1)
    for again in (lambda: t.__init__(d, np.zeros(N, real), None, False), d.__init__):
        with contextlib.suppress(*REFUSED):
            again()
    assert t.loss(1) in (expected, 0.0)


@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_random_designs_are_refused_or_scored(data):
    real = data.draw(st.sampled_from([np.float32, np.float64]))
    small = st.integers(-1, 4)
    d, n_features = KINDS[real][0](), 0
    try:
        for _ in range(data.draw(st.integers(1, 3))):
            n_rows = data.draw(small)
            d.add_block(n_rows, np.array(data.draw(st.lists(small, max_size=3)), np.int32))
            for _ in range(data.draw(st.integers(0, 2))):
                n_columns = data.draw(small)
                if data.draw(st.booleans()):
                    d.add_identity(n_columns)
                else:
                    indptr = np.array(data.draw(st.lists(small, max_size=5)), np.int64)
                    entries = data.draw(st.lists(st.tuples(small, st.sampled_from([0.0, 1.0, np.nan])), max_size=4))
                    indices = np.array([e[0] for e in entries], np.int32)
                    d.add_table(n_columns, indptr, indices, np.array([e[1] for e in entries], real))
                n_features += n_columns
    except ValueError:
        pass
    for n in {n_features, data.draw(st.integers(0, 8))}:
        for cross in (False, True):
            try:
                _core.predict_reals(d, 0.0, np.ones(n, real), np.ones((n, 3), np.float32), cross, 2)
                _core.predict_codes(
                    d, 0.0, np.ones(n, real), np.ones((n, 1), np.uint8), np.ones(n, np.float32), cross, 2
                )
            except ValueError:
                pass
