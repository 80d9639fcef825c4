"""A saved model comes back as it was; a file that is anything else is refused, and can do no harm."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import json
import os

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import bitfm
from bitfm import FM, BiasModel, Block, Blocks, DiscreteFM, DistilledFM, ModelFileError, persist

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numbers out of a damaged file may overflow
fuzz = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


FORGOTTEN = {DistilledFM: {"teacher": None}}  # a fitted model does not need it


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.bitfm"


@pytest.fixture(scope="module")
def fitted():
    return {}


@pytest.fixture
def saved(model, shop, path, fitted):
    """Return what the file of each model holds."""
    if repr(model) not in fitted:
        fitted[repr(model)] = model.fit(*shop)
    fitted[repr(model)].save(path)
    contents = persist.read(path)
    return dict(contents.tensors), dict(contents.metadata)


def arrays_of(model):
    return {k: v for k, v in vars(model).items() if k.endswith("_") and isinstance(v, np.ndarray)}


# The round trip


@pytest.mark.parametrize("kind", ["blocks", "plain", "float32", "across"])
def test_a_model_comes_back_as_it_was(model, shop, path, kind):
    X, y = shop
    if kind in ("plain", "float32"):
        X = X.to_csr().astype(np.float32 if kind == "float32" else np.float64)
    if kind == "across" and not isinstance(model, BiasModel):
        model.set_params(pairs="across")
    model.fit(X, y).save(path)
    back = bitfm.load(path)
    assert type(back) is type(model)
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    assert back.get_params(deep=False) == model.get_params(deep=False) | FORGOTTEN.get(type(model), {})
    assert (back.fields_, back.n_features_in_, back.bias_) == (
        model.fields_,
        model.n_features_in_,
        model.bias_,
    )
    timeless = [dataclasses.replace(item, seconds=0.0) for item in model.fit_log_]
    assert repr(back.fit_log_) == repr(timeless)  # by their text, for NaN equals nothing
    assert back.n_iter_ == model.n_iter_
    for name, array in arrays_of(back).items():
        np.testing.assert_array_equal(array, getattr(model, name))
        assert array.dtype == getattr(model, name).dtype


def test_settings_come_back_whatever_their_form(shop, path):
    X, y = shop
    for model in (
        BiasModel(regularization={"user": np.float32(2), "default": 1}, verbose=False, n_jobs=None),
        FM(
            rank=np.int64(3),
            n_iter=np.int32(2),
            regularization=np.float64(2),
            random_state=np.random.RandomState(1),
        ),
        FM(rank=2, n_iter=2, early_stopping=True, random_state=None, solver="sgd"),
        DistilledFM(bits=8, teacher=FM(rank=2, n_iter=2).fit(X, y), anchor_strength=np.inf, pairs="all", max_iter=2),
        DistilledFM(bits=8, teacher=FM(rank=2, n_iter=2), anchor_strength=10, validation_fraction=0, max_iter=2),
        DistilledFM(bits=8, teacher=FM(rank=2, n_iter=2), anchor_strength=np.float32(0.5), max_iter=2),
        DiscreteFM(
            bits=np.int16(8),
            max_iter=2,
            beta=np.float32(3),
            alpha=1,
            random_state=np.int64(4),
            n_jobs=-2,
        ),
    ):
        model.fit(X, y).save(path)
        back = bitfm.load(path)
        np.testing.assert_array_equal(back.predict(X), model.predict(X))
        for name, value in model.get_params(deep=False).items():
            if not isinstance(value, np.random.RandomState | FM):
                assert back.get_params()[name] == value


def test_names_of_any_script_come_back(shop, path):
    X, y = shop
    odd = 'ключ "x"\n\\ 鍵'
    X = Blocks(**{odd: X.blocks["user"], "self": Block(X.blocks["item"].rows, {odd: sp.identity(20)})})
    FM(rank=2, n_iter=1, regularization={odd: 2.0}).fit(X, y).save(path)
    assert bitfm.load(path).fields_ == X.fields
    assert bitfm.load(path).regularization == {odd: 2.0}


def test_arrays_of_a_loaded_model_are_read_only(model, shop, path):
    model.fit(*shop).save(path)
    arrays = arrays_of(bitfm.load(path))
    assert {"weights_"} <= set(arrays)
    for array in arrays.values():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_a_loaded_model_survives_the_end_of_its_file(model, shop, path):
    X, y = shop
    expected = model.fit(X, y).predict(X)
    model.save(path)
    back = bitfm.load(path)
    clone(model).fit(X, -y).save(path)
    np.testing.assert_array_equal(back.predict(X), expected)
    os.unlink(path)
    np.testing.assert_array_equal(back.predict(X), expected)
    with pytest.raises(FileNotFoundError):
        bitfm.load(path)


def test_a_loaded_model_can_be_saved_copied_and_fitted_again(model, shop, path):
    X, y = shop
    expected = model.fit(X, y).predict(X)
    model.save(path)
    back = bitfm.load(path)
    back.save(path)  # over the very file it is mapped from
    np.testing.assert_array_equal(bitfm.load(path).predict(X), expected)
    np.testing.assert_array_equal(copy.deepcopy(back).predict(X), expected)
    back.set_params(**{name: model.get_params()[name] for name in FORGOTTEN.get(type(model), ())})
    np.testing.assert_array_equal(back.fit(X, y).predict(X), expected)


def test_a_loaded_model_can_go_on_learning(shop, path):
    X, y = shop
    for solver in ("als", "sgd"):
        model = FM(rank=3, solver=solver, n_iter=2).fit(X, y)
        model.save(path)
        back = bitfm.load(path)
        np.testing.assert_array_equal(back.partial_fit(X, y).predict(X), model.partial_fit(X, y).predict(X))


def test_a_loaded_code_explains_itself(shop, path):
    X, y = shop
    DiscreteFM(bits=16, max_iter=2).fit(X, y).save(path)
    back = bitfm.load(path)
    np.testing.assert_allclose(back.explain(X[3]).score, back.predict(X[3])[0], atol=1e-5)
    np.testing.assert_allclose(back.to_float().predict(X), back.predict(X), atol=1e-5)
    back.to_float().save(path)
    np.testing.assert_allclose(bitfm.load(path).predict(X), back.predict(X), atol=1e-5)


def test_what_would_not_come_back_is_not_saved(shop, path):
    X, y = shop
    with pytest.raises(ValueError, match=r"rank.*8.*3"):
        FM(rank=3, n_iter=1).fit(X, y).set_params(rank=8).save(path)
    with pytest.raises(ValueError, match=r"bits.*64.*16"):
        DiscreteFM(bits=16, max_iter=1).fit(X, y).set_params(bits=64).save(path)

    discrete, distilled = DiscreteFM(bits=8, max_iter=1), DistilledFM(bits=8, teacher=FM(rank=2, n_iter=1))
    for model, wrong in (
        (discrete, {"tol": np.inf}),
        (discrete, {"alpha": -np.inf}),
        (distilled, {"anchor_strength": np.nan}),
    ):
        with pytest.raises(TypeError, match=next(iter(wrong))):
            model.fit(X, y).set_params(**wrong).save(path)
        model.set_params(**dict.fromkeys(wrong, 0.0))

    class Own(BiasModel):
        pass

    with pytest.raises(TypeError, match="Own"):
        Own().fit(X, y).save(path)
    assert not path.exists()


# What is refused


def refused(path, tensors, metadata, told=None):
    persist.write(path, tensors, metadata)
    with pytest.raises(ModelFileError, match=told) as error:
        bitfm.load(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("kind", ["", "Pipeline", "biasmodel", "FM ", "object", "FeatureModel"])
def test_an_unknown_kind_is_refused(saved, path, kind):
    refused(path, saved[0], saved[1] | {"model": kind}, "kind")


def test_another_kind_of_model_is_refused(saved, path):
    for kind in {"BiasModel", "FM", "DiscreteFM", "DistilledFM"} - {saved[1]["model"]}:
        refused(path, saved[0], saved[1] | {"model": kind})


def test_a_missing_entry_is_refused(saved, path):
    tensors, metadata = saved
    for name in metadata:
        refused(
            path,
            tensors,
            {k: v for k, v in metadata.items() if k != name},
            name if name != "model" else "kind",
        )


def test_a_missing_or_superfluous_tensor_is_refused(saved, path):
    tensors, metadata = saved
    for name in tensors:
        refused(path, {k: v for k, v in tensors.items() if k != name}, metadata, name)
    refused(path, tensors | {"more": np.zeros(3)}, metadata, "more")


def test_tensors_of_another_shape_are_refused(saved, path):
    tensors, metadata = saved
    for name, array in tensors.items():
        array = np.array(array)
        for other in (
            array[:-1] if array.ndim else array[None],
            array[..., None],
            array[None],
            array.reshape(-1)[:0],
        ):
            refused(path, tensors | {name: other}, metadata, name)
        if array.ndim == 2:
            refused(path, tensors | {name: array.T.copy()}, metadata, name)
            refused(path, tensors | {name: array[:, :-1].copy()}, metadata, name)


def test_tensors_of_another_type_are_refused(saved, path):
    tensors, metadata = saved
    for name, array in tensors.items():
        for dtype in (np.int8, np.int64, np.float16, bool, np.uint16, np.uint64):
            refused(path, tensors | {name: array.astype(dtype)}, metadata, name)


@pytest.mark.parametrize("name", ["settings", "fields", "history"])
@pytest.mark.parametrize(
    "text",
    ["", "x", "{", "null", "3", '"a"', "true", "[" * 100_000, "NaN", "[Infinity]", '{"tol": -Infinity}', "9" * 5000],
    ids=lambda t: t[:9],
)
def test_an_entry_that_is_no_json_of_its_kind_is_refused(saved, path, name, text):
    refused(path, saved[0], saved[1] | {name: text}, name)


@pytest.mark.parametrize(
    "fields",
    [
        "[]",
        "{}",
        '[["user", "id"]]',
        '[["user", "id", 63, 0]]',
        '[["user", "id", 62]]',
        '[["user", "id", 64]]',
        '[["user", "id", -1], ["item", "id", 64]]',
        '[["user", "id", 63.0]]',
        '[["user", "id", "63"]]',
        '[["user", "id", true], ["item", "id", 62]]',
        '[[1, "id", 63]]',
        '[["user", null, 63]]',
        "[63]",
        "[null]",
        '[["user", "id", 1e999]]',
        '[["user", "id", 2147483648]]',
        '[["user", "id", 99999999999999999999]]',
        '[["a", "x", 3], ["b", "x", 40], ["a", "y", 20]]',
        '[["a", "x", 3], ["a", "x", 60]]',
    ],
)
def test_fields_that_do_not_make_up_the_columns_are_refused(saved, path, fields):
    refused(path, saved[0], saved[1] | {"fields": fields})


WRONG = {
    "n_jobs": [0, True, 1.5, "2", [], {}],
    "tol": ["x", None, [], {}],
    "verbose": ["x", None, []],
    "unknown": [1],
    "fit": [1],
    "__class__": ["x"],
    "self": [1],
    "bits": [0, 7, 12, 520, -16, 16.0, "16", None, True, 2**70, [16]],
    "pairs": ["x", None, 1, [], {}],
    "alpha": ["x", None, [1]],
    "beta": ["x", {}],
    "init": [None, 3, []],
    "max_iter": ["x", 1.5, []],
    "rank": [0, 6, -5, 5.0, "5", None, True, 5000, 2**70],
    "solver": [None, 3, []],
    "loss": [None, 3, []],
    "regularization": ["x", [1], {"user": "x"}, {"user": [1]}, {"user": {"user": 1}}],
    "random_state": ["x", 1.5, [], {}],
    "early_stopping": ["x", [], None],
    "patience": ["x", None],
    "n_samples": ["x", 1.5, None, []],
    "thin": ["x", 1.5, None],
    "n_chains": ["x", 1.5, None],
    "gains": [3, None, []],
    "anchor_strength": [None, [], {}, [1]],
    "teacher": ["x", 3, {}, []],
    "validation_fraction": ["x", None, []],
}
KNOWN = {"unknown", "fit", "__class__", "self"}


def test_settings_that_are_none_of_the_models_or_of_the_wrong_type_are_refused(saved, path):
    tensors, metadata = saved
    settings = json.loads(metadata["settings"])
    for name, values in WRONG.items():
        if name in settings or name in KNOWN:
            for value in values:
                refused(
                    path,
                    tensors,
                    metadata | {"settings": json.dumps(settings | {name: value})},
                    f"{name}|factors",
                )


def test_a_size_that_is_not_set_is_refused(saved, path):
    settings = json.loads(saved[1]["settings"])
    for name in ("bits", "rank"):
        if settings.pop(name, None):
            refused(path, saved[0], saved[1] | {"settings": json.dumps(settings)}, name)


@pytest.mark.parametrize("bias", [np.nan, np.inf, -np.inf])
def test_a_bias_that_is_no_number_is_refused(saved, path, bias):
    refused(path, saved[0] | {"bias": np.array(bias)}, saved[1], "bias")


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
        {"loss": "x"},
        {"stage": 3},
        {"number": 1.5},
        {"flips": None},
        {"validation": []},
        {"total": "1"},
    ],
    ids=repr,
)
def test_a_history_of_anything_but_iterations_is_refused(saved, path, item):
    valid = json.loads(saved[1]["history"])[0]
    if isinstance(item, dict) and len(item) and "als" not in item.values():
        item = valid | item
    refused(path, saved[0], saved[1] | {"history": json.dumps([valid, item])}, "history")


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


@pytest.fixture(scope="module")
def survive(tmp_path_factory):
    """Return a check that a file is refused, or is a model that predicts or says why not."""
    path = tmp_path_factory.mktemp("fuzz") / "fuzz.bitfm"

    def check(raw, inputs):
        path.unlink(missing_ok=True)
        path.write_bytes(raw)
        try:
            model = bitfm.load(path)
        except ModelFileError:
            return
        assert model.n_features_in_ == len(model.weights_)
        for X in inputs:
            try:
                scores = model.predict(X)
            except ValueError:
                continue
            assert scores.shape == (X.shape[0],)
        if isinstance(model, FM):
            model.__dict__["n_iter"] = 1
        elif isinstance(model, DistilledFM):
            model.__dict__["teacher"] = FM(rank=2, n_iter=2)
        with contextlib.suppress(ValueError):
            model.fit(inputs[0], np.arange(inputs[0].shape[0]))

    return check


@pytest.fixture
def small(model, path):
    X = Blocks(
        user=Block([0, 0, 1], {"id": sp.identity(2)}),
        item=Block([0, 1, 0], {"id": sp.identity(2), "x": [[0.5], [2.0]]}),
    )
    if isinstance(model, FM):
        model.set_params(rank=2)
    model.fit(X, [5, 4, 3]).save(path)
    return path.read_bytes(), (X, X.to_csr())


@fuzz
@given(edits=st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 255)), min_size=1, max_size=6))
def test_random_bytes_do_no_harm(small, survive, edits):
    raw = bytearray(small[0])
    for position, change in edits:
        raw[position % len(raw)] ^= change
    survive(bytes(raw), small[1])


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.sampled_from([0, 1, -1, 2, 3, 5, 8, 16, 2**31, 2**40, -(2**40), 2**64, 10**30, 1e-300, 1e300])
    | st.floats()
    | st.sampled_from(["all", "across", "als", "sgd", "paper", "relaxed", "random", "id", "user", "default", ""])
    | st.text(max_size=3),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.sampled_from(["id", "default", "x"]), children)
    ),
    max_leaves=4,
)


@fuzz
@given(data=st.data())
def test_random_values_in_the_metadata_do_no_harm(small, survive, data):
    raw = small[0]
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    entries = {name: json.loads(header["__metadata__"][name]) for name in ("settings", "fields", "history")}
    for _ in range(data.draw(st.integers(1, 2))):
        parent = entries
        while True:
            key = data.draw(st.sampled_from(list(parent) if isinstance(parent, dict) else range(len(parent))))
            if isinstance(parent[key], dict | list) and parent[key] and data.draw(st.integers(0, 3)):
                parent = parent[key]
                continue
            parent[key] = data.draw(VALUES)
            break
    header["__metadata__"] |= {name: json.dumps(value) for name, value in entries.items()}
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    survive(len(text).to_bytes(8, "little") + text + raw[8 + length :], small[1])


@fuzz
@given(data=st.data())
def test_random_numbers_in_the_tensors_do_no_harm(small, survive, path, data):
    contents = persist.read(path)
    tensors = {name: np.array(array) for name, array in contents.tensors.items()}
    array = tensors[data.draw(st.sampled_from(sorted(tensors)))]
    wild = [np.nan, np.inf, -np.inf, 1e300, -1e300, 1e38, 5e-324, 0.0] if array.dtype.kind == "f" else [0, 255, 85]
    array.flat[data.draw(st.integers(0, array.size - 1))] = data.draw(st.sampled_from(wild))
    other = path.with_name("other.bitfm")
    persist.write(other, tensors, contents.metadata)
    survive(other.read_bytes(), small[1])
