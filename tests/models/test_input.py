"""What the models make of their input, beside the contract."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, settings
from hypothesis import given as for_any
from hypothesis import strategies as st
from sklearn.base import clone

from bitfm import FM, BiasModel, Block, Blocks, DiscreteFM, DistilledFM
from problems import scores


def wide(matrix):
    """Return the matrix with 64-bit indices."""
    matrix = matrix.copy()
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def shuffled(matrix):
    """Return the matrix with its entries in disorder, each split in two."""
    coo = matrix.tocoo()
    order = np.random.default_rng(0).permutation(2 * coo.nnz)
    twice = [np.concatenate([part, part])[order] for part in (coo.data / 2, coo.row, coo.col)]
    return sp.coo_matrix((twice[0], (twice[1], twice[2])), shape=coo.shape)


PLAIN = {
    "csc": sp.csr_matrix.tocsc,
    "coo": sp.csr_matrix.tocoo,
    "dense": sp.csr_matrix.toarray,
    "Fortran": lambda m: np.asfortranarray(m.toarray()),
    "list": lambda m: m.toarray().tolist(),
    "csr_array": sp.csr_array,
    "lil": sp.csr_matrix.tolil,
    "int64": wide,
    "shuffled": shuffled,
    "Blocks of one": Blocks.from_matrix,
}


# One matrix in many forms


@pytest.mark.parametrize("form", PLAIN)
def test_every_form_of_a_plain_matrix_gives_the_same_model(shop, form):
    X, y = shop[0].to_csr(), shop[1]
    model = FM(rank=5, n_iter=6)  # of every model, the contract tries the main ones
    expected = clone(model).fit(X, y).predict(X)
    given = PLAIN[form](X)
    np.testing.assert_array_equal(model.fit(given, y).predict(given), expected)
    np.testing.assert_array_equal(model.predict(X), expected)


@pytest.mark.parametrize("model", [FM(rank=5), DiscreteFM(bits=16, max_iter=2)], ids=str)
@pytest.mark.parametrize("pairs", ["all", "across"])
def test_blocks_and_their_expansion_are_scored_alike(model, shop, pairs):
    X, y = shop
    model = clone(model).set_params(pairs=pairs).fit(X, y)
    expected = model.predict(X)
    for form in (sp.csr_matrix.copy, *[PLAIN[name] for name in PLAIN if name != "Blocks of one"]):
        np.testing.assert_allclose(model.predict(form(X.to_csr())), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.predict(X.to_csr().astype(np.float32)), expected, rtol=0, atol=1e-4)


def test_a_bias_model_of_blocks_equals_that_of_their_expansion(shop):
    X, y = shop
    model = BiasModel(max_iter=1000, tol=1e-12)
    on_blocks, on_matrix = clone(model).fit(X, y), clone(model).fit(X.to_csr(), y)
    np.testing.assert_allclose(on_blocks.predict(X), on_matrix.predict(X), atol=1e-4)


def test_a_bias_model_is_ridge_regression(shop):
    X, y = shop
    model = BiasModel(regularization=2.0, max_iter=5000, tol=1e-14).fit(X, y)
    A = np.column_stack([np.ones(len(y)), X.to_csr().toarray()])
    penalty = 2.0 * np.diag([0.0, *np.ones(X.n_features)])
    exact = np.linalg.solve(A.T @ A + penalty, A.T @ y)
    np.testing.assert_allclose(model.predict(X), A @ exact, atol=1e-3)


def factors_of(model):
    """Return the factors of every draw, or the only ones."""
    return model.samples_.factors if model.solver == "gibbs" else [model.factors_]


def test_scores_are_those_of_the_formula(model, shop):
    X, y = shop
    model.fit(X, y)
    x = X.to_csr().toarray()
    if isinstance(model, FM):
        factors = factors_of(model)
    else:
        factors = [model.to_float().factors_ if hasattr(model, "codes_") else np.zeros((63, 1))]
    cross = getattr(model, "pairs_", "all") == "across"
    pairs = np.mean([scores(X, 0.0, np.zeros(63), V, cross) for V in np.float64(factors)], axis=0)
    np.testing.assert_allclose(model.predict(X), model.bias_ + x @ model.weights_ + pairs, atol=1e-5)


def test_bare_ids_may_come_as_a_plain_matrix(model):
    rng = np.random.default_rng(0)
    u, i = rng.integers(8, size=99), rng.integers(6, size=99)
    y = rng.normal(size=8)[u] + rng.normal(size=6)[i]
    X = Blocks(user=Block(u, {"id": sp.identity(8)}), item=Block(i, {"id": sp.identity(6)}))
    expected = clone(model).fit(X, y).predict(X)
    for given in (X.to_csr(), X.to_csr().toarray(), X.to_csr().astype(np.float32), X.to_csr().astype(int)):
        np.testing.assert_array_equal(clone(model).fit(given, y).predict(X), expected)
    given = X.to_csr().toarray()
    np.testing.assert_allclose(clone(model).fit(given, y, fields=[8, 6]).predict(given), expected, atol=1e-4)


def test_single_precision_comes_close_to_double(shop):
    X, y = shop[0].to_csr(), shop[1]
    for model in (BiasModel(), FM(rank=3, init_scale=0.0, n_iter=5)):
        single, double = clone(model).fit(X.astype(np.float32), y), clone(model).fit(X, y)
        assert (single.weights_.dtype, double.weights_.dtype) == (np.float32, np.float64)
        np.testing.assert_allclose(single.predict(X), double.predict(X), atol=1e-3)


def test_a_fitted_model_scores_either_precision_alike(model, shop):
    X, y = shop[0].to_csr(), shop[1]
    for fitted_on in (np.float32, np.float64):
        model.fit(X.astype(fitted_on), y)
        np.testing.assert_allclose(model.predict(X.astype(np.float32)), model.predict(X), atol=1e-4)
        assert model.predict(X.astype(np.float32)).dtype == np.float64


def test_the_order_of_interactions_does_not_matter_to_coordinate_descent(shop):
    X, y = shop
    order = np.random.default_rng(1).permutation(len(y))
    for model in (BiasModel(), FM(rank=3, n_iter=5)):
        expected = clone(model).fit(X, y).predict(X)
        np.testing.assert_allclose(clone(model).fit(X[order], y[order]).predict(X), expected, atol=1e-6)


@pytest.mark.parametrize("name", ["BiasModel", "FM"])
def test_a_weight_of_two_is_the_interaction_twice(shop, name):
    X, y = shop
    model = BiasModel() if name == "BiasModel" else FM(rank=3, n_iter=5)
    twice = np.r_[np.arange(500), np.arange(0, 500, 3)]
    weight = np.bincount(twice)
    expected = clone(model).fit(X[twice], y[twice]).predict(X)
    np.testing.assert_allclose(model.fit(X, y, weight).predict(X), expected, atol=1e-6)


# The edges


@pytest.mark.parametrize("value", [0.0, 3.5, -1e6, 1e-9])
def test_constant_targets_are_predicted(model, shop, value):
    X, y = shop
    if isinstance(model, FM):
        model.set_params(init_scale=0.0)
    np.testing.assert_allclose(model.fit(X, np.full(len(y), value)).predict(X), value, rtol=1e-6, atol=1e-12)


def test_rows_without_values_can_be_fitted(model):
    X = sp.csr_matrix(np.array([[0, 0, 0], [1, 0, 2], [0, 0, 0], [0, 0, 1.0]]))
    model.fit(X, [1, 2, 3, 4])
    assert np.isfinite(model.predict(X)).all()
    assert model.predict(X)[0] == model.predict(X)[2] == model.bias_


def test_a_column_without_values_gets_no_weight_and_changes_nothing(model, shop):
    X, y = shop[0].to_csr(), shop[1]
    model.fit(sp.hstack([X, sp.csr_matrix((len(y), 3))], format="csr"), y)
    prior = model.weights_[-1] if getattr(model, "solver", "") == "gibbs" else 0  # the mean of all that occur
    np.testing.assert_array_equal(model.weights_[-3:], prior)


def test_a_matrix_without_a_single_value_predicts_the_mean(model):
    y = np.array([1.0, 2.0, 6.0])
    atol = {"sgd": 0.1, "gibbs": 0.5}.get(getattr(model, "solver", ""), 1e-6)
    if atol == 0.5:
        model.set_params(n_iter=1000, n_samples=1000, thin=1)  # of three targets draws tell little
    prediction = model.fit(sp.csr_matrix((3, 4)), y).predict(sp.csr_matrix((1, 4)))
    np.testing.assert_allclose(prediction, 3.0, atol=atol)


def test_fields_without_columns_are_allowed(model, shop):
    X, y = shop
    none = Block(np.arange(len(y)) % 2, {"none": np.zeros((2, 0))})
    model.fit(Blocks(none=none, **X.blocks), y)
    assert model.n_features_in_ == X.n_features
    np.testing.assert_allclose(model.predict(X.to_csr()), model.predict(Blocks(none=none, **X.blocks)), atol=1e-9)


@pytest.mark.parametrize("scale", [1e30, 1e-30, 1e150, 1e200, 1e300, 1e-300])
@pytest.mark.parametrize("of", ["X", "y"])
@pytest.mark.parametrize("kind", ["blocks", "dense"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_of_any_size_are_fitted_or_refused(model, shop, of, scale, kind):
    X, y = shop
    table = np.random.default_rng(1).random((20, 2)) * (scale if of == "X" else 1)
    X = Blocks(user=X.blocks["user"], item=Block(X.blocks["item"].rows, {"id": sp.identity(20), "x": table}))
    y = y * (scale if of == "y" else 1)
    given = X.to_csr().toarray() if kind == "dense" else X
    try:
        model.fit(given, y)
    except ValueError as error:
        told = str(error)
    else:
        assert np.isfinite(model.predict(given)).all()
        return
    assert re.search("scale|diverged|finite|large", told)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_targets_beyond_single_precision_are_fitted_or_refused(model, shop):
    X = shop[0].to_csr().astype(np.float32)
    try:
        model.fit(X, shop[1] * 1e300)
    except ValueError:
        return
    assert np.isfinite(model.predict(X)).all()


def test_many_equal_rows_are_no_trouble(model):
    X = np.ones((3000, 3))
    y = np.resize([1.0, 2.0, 3.0], 3000)
    prediction = model.fit(X, y).predict(X)
    assert len(set(prediction)) == 1
    if not hasattr(model, "codes_"):
        np.testing.assert_allclose(prediction, 2.0, atol=0.2)


# What is refused at fit


def test_weights_that_cannot_be_are_refused(shop):
    X, y = shop
    for model in (BiasModel(), FM(rank=2)):
        for weight in (np.ones(499), -np.ones(500), np.full(500, np.nan), "x", np.ones((500, 2))):
            with pytest.raises(ValueError, match=r"weight|could not convert"):
                model.fit(X, y, weight)


def test_weights_of_zero_leave_the_interaction_out(shop):
    X, y = shop
    kept = np.arange(500) % 3 > 0
    for model in (BiasModel(), FM(rank=3, n_iter=5)):
        expected = clone(model).fit(X[kept], y[kept]).predict(X)
        np.testing.assert_allclose(model.fit(X, np.where(kept, y, 1e6), kept * 1.0).predict(X), expected, atol=1e-4)


@pytest.mark.parametrize("fields", [[30, 20], {"user": 31, "item": 33}, [64, -1], [63.0], 63, [True, 62]], ids=str)
def test_sizes_of_fields_that_do_not_fit_are_refused(model, shop, fields):
    X, y = shop
    with pytest.raises(ValueError, match="fields"):
        model.fit(X.to_csr(), y, fields=fields)


def test_blocks_know_their_fields(model, shop):
    with pytest.raises(ValueError, match="fields"):
        model.fit(*shop, fields=[31, 32])


def test_a_damaged_matrix_is_refused_and_does_not_crash(model, shop):
    X, y = shop[0].to_csr(), shop[1]
    fitted = clone(model).fit(X, y)
    for form in ("csr", "csc"):
        damaged = X.asformat(form, copy=True)
        damaged.indices = damaged.indices.copy()
        damaged.indices[5] = 10**7
        with pytest.raises(ValueError, match="indices"):
            model.fit(damaged, y)
        with pytest.raises(ValueError, match="indices"):
            fitted.predict(damaged)


def test_rows_cannot_change_under_a_design_that_relies_on_them(shop):
    X, y = shop
    rows = np.array(X.blocks["user"].rows)
    Y = Blocks(user=Block(rows, X.blocks["user"].tables), **{k: b for k, b in X.blocks.items() if k != "user"})
    expected = BiasModel().fit(Y, y).predict(Y)
    rows[:] = 10**6
    np.testing.assert_array_equal(BiasModel().fit(Y, y).predict(Y), expected)
    for changed in (Y.blocks["user"].rows, Y[3:9].blocks["user"].rows, Y[[1, 2]].blocks["user"].rows):
        with pytest.raises(ValueError, match="read-only"):
            changed[0] = 10**6


# What is refused at predict


def test_other_fields_of_the_same_width_are_refused(shop):
    X, y = shop
    swapped = Blocks(item=X.blocks["item"], user=X.blocks["user"])
    with pytest.raises(ValueError, match=r"\[20, 12, 30, 1\].*\[30, 1, 20, 12\]"):
        BiasModel().fit(X, y).predict(swapped)


@pytest.mark.parametrize("model_of", [FM(rank=3, pairs="across"), DiscreteFM(bits=8, pairs="across")], ids=str)
def test_pairs_across_blocks_need_the_blocks(shop, model_of):
    X, y = shop
    model = clone(model_of).fit(X, y)
    with pytest.raises(ValueError, match=r"blocks"):
        model.predict(Blocks.from_matrix(X.to_csr()))


# Parameters

N_JOBS = {"n_jobs": [0, 1.5, "2", True]}
EVERY = N_JOBS | {"tol": [-1, np.nan, np.inf, "x", None]}
CODES = {
    "bits": [0, -8, 7, 12, 520, 1024, 64.0, "64", None, True],
    "max_iter": [-1, 1.5, "x", None],
    "inner_iter": [0, -1, 1001, "x", None],
    "pairs": ["x", None],
}
REFUSED = {
    BiasModel: EVERY | {"max_iter": [0, -1, 1.5, "x", None, True], "regularization": [-1, np.nan, np.inf, "x", None]},
    FM: EVERY
    | {
        "rank": [0, -1, 4097, 2.0, "8", None, True],
        "solver": ["x", None, 3, ["als"]],
        "loss": ["x", None, 3, ["squared"]],
        "n_iter": [0, -1, 2.5, "x"],
        "n_samples": [0, -1, 2.5, "x", None],
        "thin": [0, -1, 2.5, "x", None],
        "n_chains": [0, -1, 2.5, "x", None],
        "regularization": [-1, np.nan, np.inf, "x", [1, 2]],
        "linear_regularization": [-1, np.nan, "x"],
        "init_scale": [-0.1, np.nan, np.inf, "x", None],
        "learning_rate": [0, -1, np.nan, np.inf, "x", None],
        "pairs": ["x", None, 1],
        "patience": [0, -1, 1.5, "x", None],
        "validation_fraction": [0, 1, -0.5, 1.5, np.nan, "x", None],
    },
    DiscreteFM: EVERY
    | CODES
    | {
        "alpha": [-1, np.nan, np.inf, "x", None],
        "beta": [-1, np.nan, np.inf, "x", None],
        "init": ["x", None],
        "init_iter": [-1, 1.5, "x"],
    },
    DistilledFM: N_JOBS
    | CODES
    | {
        "teacher": ["x", 3, FM, BiasModel()],
        "anchor_strength": [-1, np.nan, -np.inf, 1e13, "x", None, True],
        "validation_fraction": [-0.1, 1, 1.5, np.nan, "x", None],
    },
}
CASES = [(kind, name, value) for kind, own in REFUSED.items() for name, values in own.items() for value in values]


@pytest.mark.parametrize(("kind", "name", "value"), CASES, ids=lambda v: getattr(v, "__name__", repr(v)))
def test_a_parameter_out_of_range_is_refused_by_name_and_value(shop, kind, name, value):
    model = kind(**{name: value})
    if kind is FM and name == "validation_fraction":
        model.set_params(early_stopping=True)
    with pytest.raises(ValueError, match=rf"\b{name}\b.*{re.escape(repr(value))}"):
        model.fit(*shop)


@pytest.mark.parametrize("name", ["regularization", "linear_regularization"])
def test_a_mapping_must_name_fields_that_are_there_and_all_of_them(shop, name):
    kinds = [FM] if name.startswith("linear") else [BiasModel, FM]
    for kind in kinds:
        with pytest.raises(ValueError, match=f"{name}.*'shop'"):
            kind(**{name: {"shop": 1.0, "default": 1.0}}).fit(*shop)
        with pytest.raises(ValueError, match=f"{name}.*item.words"):
            kind(**{name: {"user": 1.0, "id": 1.0}}).fit(*shop)
        with pytest.raises(ValueError, match=f"{name}.*-1"):
            kind(**{name: {"item.words": -1, "default": 1.0}}).fit(*shop)


def test_a_mapping_of_one_number_is_that_number(shop):
    X, y = shop
    for model in (BiasModel(max_iter=5), FM(rank=2, n_iter=3)):
        plain = clone(model).set_params(regularization=7.0).fit(X, y).predict(X)
        for mapping in (
            {"default": 7.0},
            {"user": 7, "item": 7},
            {"id": 7, "age": 7, "item.words": np.float32(7)},
        ):
            np.testing.assert_array_equal(clone(model).set_params(regularization=mapping).fit(X, y).predict(X), plain)


def test_a_field_with_a_huge_penalty_gets_no_weight(shop):
    X, y = shop
    model = BiasModel(regularization={"item.words": 1e12, "default": 0.1}).fit(X, y)
    weight = {f"{f.block}.{f.name}": np.abs(model.weights_[f.start : f.stop]).max() for f in model.fields_}
    assert weight["item.words"] < 1e-6 < 0.1 < weight["user.id"]


# Anything at all


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@for_any(data=st.data())
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_any_small_matrix_is_fitted_alike_in_every_form(model, data):
    n, k = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    values = st.sampled_from([0.0, 0.0, 1.0, 1.0, -2.0, 0.5, 1e-40, 3e7])
    matrix = np.array(data.draw(st.lists(values, min_size=n * k, max_size=n * k))).reshape(n, k)
    y = data.draw(st.lists(st.sampled_from([0.0, 1.0, 5.0, -3.0, 1e6]), min_size=n, max_size=n))

    def attempt(given):
        try:
            return clone(model).set_params(n_jobs=1).fit(given, y).predict(given)
        except ValueError as error:
            if not re.search("diverged|overflow", str(error)):
                raise
            return np.zeros(n)

    expected = attempt(matrix)
    assert np.isfinite(expected).all()
    np.testing.assert_array_equal(attempt(sp.csc_matrix(matrix)), expected)
    np.testing.assert_array_equal(attempt(sp.coo_array(matrix)), expected)


def test_sgd_that_leaves_the_numbers_in_its_last_step_says_so():
    X = [[3e7, 0.0], [3e7, 1e-40]]
    with pytest.raises(ValueError, match="diverged"), np.errstate(all="ignore"):
        FM(rank=5, solver="sgd", n_iter=6, n_jobs=1).fit(X, [0, 1])
