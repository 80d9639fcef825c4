"""A saved model comes back as it was; a file that is anything else is refused, and can do no harm.

What the layouts of parameters refuse is tested in ``tests/parameters/test_saving.py``.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import json
import mmap
import os
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import bitfm
from bitfm import FM, BiasModel, Block, Blocks, DiscreteFM, DistilledFM, ModelFileError, persist

pytestmark = [
    pytest.mark.usefixtures("no_waiting_for_the_disk"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # numbers out of a damaged file may overflow
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.bitfm"


@pytest.fixture(scope="module")
def fits():
    return {}


@pytest.fixture
def fitted(model, shop, fits):
    """Return each model in turn, fitted once for all tests."""
    if repr(model) not in fits:
        fits[repr(model)] = model.fit(*shop)
    return fits[repr(model)]


@pytest.fixture
def saved(fitted, path):
    """Return the tensors in the file of each model in turn, and what it says of the model."""
    fitted.save(path)
    contents = persist.read(path)
    return dict(contents.tensors), json.loads(contents.metadata["model"])


def kept(model):
    """Return the settings that come back: a fitted model does not need its teacher."""
    return model.get_params(deep=False) | dict.fromkeys(model.unsaved)


def arrays_of(model):
    found = {k: v for k, v in vars(model).items() if k.endswith("_") and isinstance(v, np.ndarray)}
    return found | (model.samples_._asdict() if hasattr(model, "samples_") else {})


def mapped(array):
    """Whether the numbers of an array are those of a file in memory."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array.obj if isinstance(array, memoryview) else array, mmap.mmap)


# The round trip


def assert_comes_back(model, X, path):
    model.save(path)
    back = bitfm.load(path)
    assert type(back) is type(model)
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    assert back.get_params(deep=False) == kept(model)
    for name in ("fields_", "n_features_in_", "bias_", "n_iter_"):
        assert getattr(back, name) == getattr(model, name)
    timeless = [dataclasses.replace(item, seconds=0.0) for item in model.fit_log_]
    assert repr(back.fit_log_) == repr(timeless)  # by their text, for NaN equals nothing
    assert arrays_of(back).keys() == arrays_of(model).keys() >= {"weights_"}
    for name, array in arrays_of(back).items():
        np.testing.assert_array_equal(array, arrays_of(model)[name])
        assert array.dtype == arrays_of(model)[name].dtype
        assert mapped(array)
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    return back


def test_a_model_comes_back_as_it_was(fitted, shop, path):
    assert_comes_back(fitted, shop[0], path)


@pytest.mark.parametrize("kind", ["float32", "float64", "across"])
@pytest.mark.parametrize(
    "model",
    [
        BiasModel(max_iter=3),
        FM(rank=3, n_iter=2),
        FM(rank=3, solver="gibbs", n_iter=3, n_samples=4),
        DiscreteFM(bits=16, max_iter=2, init_iter=2),
    ],
    ids=["BiasModel", "FM", "FM-gibbs", "DiscreteFM"],
)
def test_models_of_plain_matrices_and_of_blocks_come_back(model, shop, path, kind):
    X, y = shop
    model = clone(model)
    if kind != "across":
        X = X.to_csr().astype(kind)
    elif "pairs" in model.get_params():
        model.set_params(pairs="across")
    back = assert_comes_back(model.fit(X, y), X, path)
    if hasattr(model, "samples_"):
        np.testing.assert_array_equal(back.predict(X, return_std=True), model.predict(X, return_std=True))
        assert mapped(back.parameters_.factors)  # draws are scored where they lie


def test_a_loaded_model_outlives_its_file(fitted, shop, path):
    X, _ = shop
    expected = fitted.predict(X)
    fitted.save(path)
    back = bitfm.load(path)
    back.save(path)  # over the very file it is mapped from
    again = bitfm.load(path)
    os.unlink(path)
    for model in (back, again, copy.deepcopy(back), pickle.loads(pickle.dumps(back))):
        np.testing.assert_array_equal(model.predict(X), expected)
    with pytest.raises(FileNotFoundError):
        bitfm.load(path)


@pytest.mark.parametrize("solver", ["als", "sgd", "gibbs"])
def test_a_loaded_model_can_go_on_learning(shop, path, solver):
    X, y = shop
    model = FM(rank=3, solver=solver, n_iter=2, n_samples=2, warm_start=True).fit(X, y)
    model.save(path)
    back = bitfm.load(path)
    np.testing.assert_array_equal(back.fit(X, y).predict(X), model.fit(X, y).predict(X))


def test_draws_outlive_a_change_of_solver_until_the_next_fit(shop, path):
    X, y = shop
    model = FM(rank=3, solver="gibbs", n_iter=3, n_samples=2).fit(X, y).set_params(solver="als", n_iter=1)
    model.save(path)
    back = bitfm.load(path)
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    back.fit(X, y).save(path)
    assert not hasattr(bitfm.load(path), "samples_")
    assert set(persist.read(path).tensors) == {"bias", "weights", "factors"}


def test_a_loaded_code_explains_itself(shop, path):
    X, y = shop
    DiscreteFM(bits=16, max_iter=2).fit(X, y).save(path)
    back = bitfm.load(path)
    np.testing.assert_allclose(back.explain(X[3]).score, back.predict(X[3])[0], atol=1e-5)
    back.to_float().save(path)
    np.testing.assert_allclose(bitfm.load(path).predict(X), back.predict(X), atol=1e-5)


def test_the_same_fit_gives_the_same_file(shop, path):
    files = []
    for _ in range(2):
        FM(rank=2, n_iter=2, regularization={"user": 1.0, "item": 2.0}).fit(*shop).save(path)
        files.append(path.read_bytes())
    assert files[0] == files[1]


# Settings


@pytest.mark.parametrize(
    "model",
    [
        BiasModel(regularization={"user": np.float32(2), "default": 1}, verbose=False, n_jobs=None, max_iter=2),
        BiasModel(tol=np.float64(0.5), verbose=True, n_jobs=np.int8(2), max_iter=1),
        FM(rank=np.int64(3), n_iter=np.int32(2), regularization=np.float64(2), random_state=np.random.RandomState(1)),
        FM(rank=2, n_iter=2, early_stopping=1, random_state=None, solver="sgd", warm_start=np.bool_(False)),
        DistilledFM(bits=8, teacher=FM(rank=2, n_iter=2), anchor_strength=np.inf, pairs="all", max_iter=2),
        DistilledFM(
            bits=8, teacher=FM(rank=2, n_iter=2), anchor_strength=np.float32(0.5), validation_fraction=0, max_iter=2
        ),
        DiscreteFM(bits=np.int16(8), max_iter=2, beta=np.float32(3), alpha=1, n_jobs=-2),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_settings_come_back_whatever_their_form(model, shop, path, capsys):
    X, y = shop
    clone(model).fit(X, y).save(path)
    for name, value in bitfm.load(path).get_params(deep=False).items():
        if not isinstance(kept(model)[name], np.random.RandomState):
            assert value == kept(model)[name]


def test_names_of_any_script_come_back(shop, path):
    X, y = shop
    odd = 'ключ "x"\n\\ 鍵'
    X = Blocks(**{odd: X.blocks["user"], "self": Block(X.blocks["item"].rows, {odd: sp.identity(20)})})
    FM(rank=2, n_iter=1, regularization={odd: 2.0}).fit(X, y).save(path)
    assert bitfm.load(path).fields_ == X.fields
    assert bitfm.load(path).regularization == {odd: 2.0}


def test_infinite_settings_come_back(shop, path):
    given = {"tol": np.inf, "regularization": {"user": -np.inf, "item": np.float64(np.inf)}}
    BiasModel(max_iter=1).fit(*shop).set_params(**given).save(path)
    assert {name: getattr(bitfm.load(path), name) for name in given} == given


class Own(BiasModel):
    """No kind that anybody registered."""


class Other(BiasModel):
    """A class that is called like another."""


Other.__name__ = "BiasModel"


@pytest.mark.parametrize(
    ("model", "change", "error"),
    [
        (FM(rank=3, n_iter=1), {"rank": 8}, r"rank is 8.*with 3"),
        (FM(rank=3, n_iter=1, solver="gibbs", n_samples=1), {"rank": 8}, r"rank is 8.*with 3"),
        (DiscreteFM(bits=16, max_iter=1), {"bits": 64}, r"bits is 64.*with 16"),
        (BiasModel(max_iter=1), {"tol": np.nan}, "tol is nan"),
        (BiasModel(max_iter=1), {"regularization": {"user": np.nan}}, "regularization is nan"),
        (BiasModel(max_iter=1), {"tol": "x"}, "tol = 'x' cannot be kept"),
        (BiasModel(max_iter=1), {"regularization": np.ones(3)}, "regularization = .* cannot be kept"),
        (BiasModel(max_iter=1), {"verbose": object()}, "verbose = .* cannot be kept"),
        (FM(rank=3, n_iter=1), {"early_stopping": 2}, "early_stopping = 2 cannot be kept"),
        (Own(max_iter=1), {}, "Own is not a kind that files hold"),
        (Other(max_iter=1), {}, "BiasModel is not a kind that files hold"),
    ],
)
def test_what_would_not_come_back_is_not_saved(model, change, error, shop, path):
    model = clone(model).fit(*shop).set_params(**change)
    with pytest.raises((ValueError, TypeError), match=f"save: .*{error}"):
        model.save(path)
    assert os.listdir(path.parent) == []


# What is refused


def refused(path, tensors, about, told=None):
    persist.write(path, tensors, {"model": json.dumps(about)})
    with pytest.raises(ModelFileError, match=told) as error:
        bitfm.load(path)
    assert str(error.value).startswith(f"{path}: ")
    assert str(error.value).endswith("; get a fresh copy or save the model again.")


def test_every_tensor_of_a_model_is_needed(saved, path):
    tensors, about = saved
    for name, array in tensors.items():
        refused(path, {k: v for k, v in tensors.items() if k != name}, about, f"lacks the tensor '{name}'")
        refused(path, tensors | {name: array[:-1] if array.ndim else array[None]}, about, "expected")


WRONG = {
    "n_jobs": [0, True, 1.5, "2", [], {}],
    "tol": ["x", None, [], {}, True],
    "verbose": ["x", None, [], True],
    "unknown": [1],
    "fit": [1],
    "__class__": ["x"],
    "self": [1],
    "bits": [0, 7, 12, 520, -16, 16.0, "16", None, True, 2**70, [16]],
    "pairs": [None, 1, [], {}],
    "alpha": ["x", None, [1]],
    "beta": ["x", {}],
    "init": [None, 3, []],
    "linear": [None, 1, "x"],
    "max_iter": ["x", 1.5, []],
    "rank": [0, 6, -5, 5.0, "5", None, True, 5000, 2**70],
    "solver": [None, 3, []],
    "regularization": ["x", [1], {"user": "x"}, {"user": [1]}, {"user": {"user": 1}}],
    "random_state": ["x", 1.5, [], {}, True],
    "early_stopping": ["x", [], None, 1],
    "n_samples": ["x", 1.5, None, []],
    "gains": [3, None, []],
    "anchor_strength": [None, [], {}, [1]],
    "teacher": ["x", 3, {}, []],
    "validation_fraction": ["x", None, []],
}


def test_settings_that_are_none_of_the_models_or_of_the_wrong_type_are_refused(saved, fitted, path):
    tensors, about = saved
    others = {"unknown", "fit", "__class__", "self", "random_state"}  # the last is not a setting of every model
    for name, values in WRONG.items():
        if name in others or name in fitted.get_params(deep=False):
            for value in values:
                changed = about | {"settings": about["settings"] | {name: value}}
                refused(path, tensors, changed, f"{name}|parameters that an?")


def test_a_deeply_nested_setting_is_refused(shop, path):
    BiasModel(max_iter=1).fit(*shop).save(path)
    contents = persist.read(path)
    for depth in (10, 300, 700, 990):
        for begin, end in (("[", "]"), ('{"a":', "}")):
            text = contents.metadata["model"].replace('"tol":1e-7', f'"tol":{begin * depth}1{end * depth}')
            persist.write(path, contents.tensors, {"model": text})
            with pytest.raises(ModelFileError, match=r"tol|malformed"):
                bitfm.load(path)


@pytest.mark.parametrize(
    "item",
    [
        1,
        None,
        [],
        "x",
        {},
        {"stage": "als"},
        {"more": 1},
        {"x" * 999: None},
        {"loss": "x"},
        {"loss": 10**400},
        {"stage": 3},
        {"stage": None},
        {"number": 1.5},
        {"number": True},
        {"flips": None},
        {"validation": []},
        {"total": "1"},
    ],
    ids=lambda item: repr(item)[:20],
)
def test_a_fit_log_of_anything_but_iterations_is_refused(shop, path, item):
    FM(rank=2, n_iter=2).fit(*shop).save(path)
    contents = persist.read(path)
    about = json.loads(contents.metadata["model"])
    valid = about["fit_log"][0]
    if isinstance(item, dict) and item and item != {"stage": "als"}:
        item = valid | item
    refused(path, contents.tensors, about | {"fit_log": [valid, item]}, "fit_log")


def test_a_file_that_is_no_model_is_refused(tmp_path):
    for name, raw in {"empty": b"", "text": b"hello", "pickle": b"\x80\x04N.", "zeros": bytes(999)}.items():
        (tmp_path / name).write_bytes(raw)
        with pytest.raises(ModelFileError):
            bitfm.load(tmp_path / name)
    persist.write(tmp_path / "bare", {}, {})
    for other in (tmp_path, tmp_path / "bare"):
        with pytest.raises(ModelFileError):
            bitfm.load(other)


# Random damage


fuzz = settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
SMALL = Blocks(
    user=Block([0, 0, 1], {"id": sp.identity(2)}),
    item=Block([0, 1, 0], {"id": sp.identity(2), "x": [[0.5], [2.0]]}),
)
EACH = {
    "BiasModel": BiasModel(max_iter=2),
    "FM": FM(rank=2, n_iter=2),
    "FM-gibbs": FM(rank=2, solver="gibbs", n_iter=2, n_samples=2),
    "DiscreteFM": DiscreteFM(bits=8, max_iter=2),
}


@pytest.fixture(scope="module", params=EACH.values(), ids=EACH)
def small(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "small.bitfm"
    clone(request.param).fit(SMALL, [5, 4, 3]).save(path)
    return path


def survive(path, raw):
    """Check that a file is refused, or is a model that predicts and fits or says why not."""
    path = path.with_name("damaged.bitfm")
    path.unlink(missing_ok=True)
    path.write_bytes(raw)
    try:
        model = bitfm.load(path)
    except ModelFileError:
        return
    assert model.n_features_in_ == len(model.weights_)
    for X in (SMALL, SMALL.to_csr()):
        with contextlib.suppress(ValueError):
            assert model.predict(X).shape == (3,)
    for name, value in model.get_params(deep=False).items():
        if name.endswith("_iter") or name in ("n_samples", "n_chains", "thin"):
            model.__dict__[name] = value if value is not None and value < 3 else 1
    with contextlib.suppress(ValueError):
        model.fit(SMALL, np.arange(3))


@fuzz
@given(edits=st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 255)), min_size=1, max_size=6))
def test_random_bytes_do_no_harm(small, edits):
    raw = bytearray(small.read_bytes())
    for position, change in edits:
        raw[position % len(raw)] ^= change
    survive(small, bytes(raw))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.sampled_from([0, 1, -1, 2, 3, 5, 8, 16, 2**31, 2**40, -(2**40), 2**64, 10**30, 1e-300, 1e300])
    | st.floats()
    | st.sampled_from(["all", "across", "als", "sgd", "paper", "relaxed", "random", "id", "user", "inf", "codes", "FM"])
    | st.text(max_size=3),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.sampled_from(["id", "default", "x"]), children)
    ),
    max_leaves=4,
)


@fuzz
@given(data=st.data())
def test_random_values_in_the_metadata_do_no_harm(small, data):
    raw = small.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    about = json.loads(header["__metadata__"]["model"])
    for _ in range(data.draw(st.integers(1, 2))):
        parent = about
        while True:
            key = data.draw(st.sampled_from(list(parent) if isinstance(parent, dict) else range(len(parent))))
            if isinstance(parent[key], dict | list) and parent[key] and data.draw(st.integers(0, 3)):
                parent = parent[key]
                continue
            parent[key] = data.draw(VALUES)
            break
    header["__metadata__"]["model"] = json.dumps(about)
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    survive(small, len(text).to_bytes(8, "little") + text + raw[8 + length :])


@fuzz
@given(data=st.data())
def test_random_numbers_in_the_tensors_do_no_harm(small, data):
    contents = persist.read(small)
    tensors = {name: np.array(array) for name, array in contents.tensors.items()}
    array = tensors[data.draw(st.sampled_from(sorted(tensors)))]
    wild = [np.nan, np.inf, -np.inf, 1e300, -1e300, 1e38, 5e-324, 0.0] if array.dtype.kind == "f" else [0, 255, 85]
    array.flat[data.draw(st.integers(0, array.size - 1))] = data.draw(st.sampled_from(wild))
    other = small.with_name("other.bitfm")
    persist.write(other, tensors, contents.metadata)
    survive(small, other.read_bytes())
