"""Each layout of parameters in a file: it comes back as it was, and everything that is not as declared is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

import bitfm
from bitfm import ModelFileError, persist
from bitfm.data import FieldSpan
from bitfm.parameters import (
    KINDS,
    LAYOUTS,
    CodeParameters,
    FactorParameters,
    ModelRecord,
    pack_model,
    unpack_model,
)

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")

FIELDS = (FieldSpan("user", "id", 0, 3), FieldSpan("user", "age", 3, 4), FieldSpan("item", "id", 4, 7))
N, RANK, DRAWS = 7, 3, 2
RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(size=N).astype(np.float32)
OF_DRAWS = {
    "sample_biases": RNG.normal(size=DRAWS),
    "sample_weights": RNG.normal(size=(DRAWS, N)),
    "sample_factors": RNG.normal(size=(N, DRAWS, RANK)).astype(np.float32),
    "noise_precisions": np.ones(DRAWS),
}
LOG = [{"stage": "als", "number": 1, "total": 2, "loss": 3.5, "objective": 4.0, "flips": 0, "validation": None}]


def factors(values, n_draws=1):
    return FactorParameters(FIELDS, 3.5, WEIGHTS, values, "all", n_draws)


CODES = RNG.integers(0, 256, (N, 2), dtype=np.uint8)
PARAMETERS = {
    "linear": ("BiasModel", factors(np.zeros((N, 0), np.float32)), {}),
    "factors": ("FM", factors(RNG.normal(size=(N, RANK))), {}),
    "draws": ("FM", factors(OF_DRAWS["sample_factors"].reshape(N, -1), DRAWS), OF_DRAWS),
    "codes": ("DiscreteFM", CodeParameters(FIELDS, 3.5, WEIGHTS, CODES, np.ones(N, np.float32), "across"), {}),
}
SETTINGS = {"BiasModel": {}, "FM": {"rank": RANK}, "DiscreteFM": {"bits": 16}}
EVERY_TENSOR = [(layout, name) for layout in PARAMETERS for name in LAYOUTS.get(layout).tensors]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "hand-made.bitfm"


def packed(layout):
    """Return the tensors of a hand-made model and what its file says of it."""
    kind, parameters, extra = PARAMETERS[layout]
    tensors, metadata = pack_model(ModelRecord(kind, SETTINGS[kind], LOG, layout, extra), parameters)
    assert set(metadata) == {"model"}
    return tensors, json.loads(metadata["model"])


def refused(path, tensors, about, message, **more):
    """Check that a file of these contents is refused by a message that names it and says what to do."""
    text = about if isinstance(about, str) else json.dumps(about)
    persist.write(path, tensors, {"model": text, **more})
    with pytest.raises(ModelFileError, match=message) as error:
        bitfm.load(path)
    assert str(error.value).startswith(f"{path}: ")
    assert str(error.value).endswith("; get a fresh copy or save the model again.")
    assert len(str(error.value)) < len(str(path)) + 500


@pytest.mark.parametrize("layout", PARAMETERS)
def test_parameters_come_back_as_they_were(path, layout):
    kind, parameters, extra = PARAMETERS[layout]
    record = ModelRecord(kind, SETTINGS[kind], LOG, layout, extra)
    persist.write(path, *pack_model(record, parameters))
    found, back = unpack_model(persist.read(path))
    assert (found.kind, found.settings, found.fit_log, found.layout) == (kind, SETTINGS[kind], LOG, layout)
    assert found.extra.keys() == extra.keys()
    for name, value in vars(parameters).items():
        np.testing.assert_array_equal(getattr(back, name), value)
        assert np.asarray(getattr(back, name)).dtype == np.asarray(value).dtype
    assert type(bitfm.load(path)) is KINDS.get(kind)


@pytest.mark.parametrize(("layout", "name"), EVERY_TENSOR)
def test_every_tensor_is_declared(path, layout, name):
    tensors, about = packed(layout)
    array = np.asarray(tensors[name])
    refused(path, {key: value for key, value in tensors.items() if key != name}, about, f"lacks the tensor '{name}'")
    for other in (array[None], array[..., None], array[:-1] if array.ndim else array.reshape(1, 1)):
        refused(path, tensors | {name: other}, about, rf"'\w+' as .*expected|'{name}' of|parameters that")
    for dtype in (np.float16, np.int64, bool):
        refused(path, tensors | {name: array.astype(dtype)}, about, f"'{name}' as {np.dtype(dtype)}.*expected")


@pytest.mark.parametrize("layout", PARAMETERS)
def test_a_layout_holds_nothing_else(path, layout):
    tensors, about = packed(layout)
    refused(path, tensors | {"more": np.zeros(3)}, about, "holds the tensor 'more'")
    refused(path, tensors | {"indexes": np.zeros(3)}, about, "holds the tensor 'indexes'")
    refused(path, tensors | {"index.0.live": np.zeros(3)}, about, "tensors of an index, but no index")
    refused(path, tensors | {"tables.log.values": np.zeros(3)}, about, "lacks the entry 'recommender'")
    for other in set(PARAMETERS) - {layout}:
        refused(path, tensors, about | {"layout": other}, "lacks the tensor|which does not belong there")


@pytest.mark.parametrize("layout", PARAMETERS)
@pytest.mark.parametrize("bias", [np.nan, np.inf, -np.inf])
def test_a_bias_is_a_number(path, layout, bias):
    tensors, about = packed(layout)
    refused(path, tensors | {"bias": np.array(bias)}, about, "'bias' with values that are not numbers")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("sample_biases", x) for x in (np.nan, np.inf, -np.inf)]
    + [("noise_precisions", x) for x in (np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0)],
)
def test_numbers_of_draws_are_numbers(path, name, wrong):
    tensors, about = packed("draws")
    for place in (0, DRAWS - 1):
        array = tensors[name].copy()
        array[place] = wrong
        refused(path, tensors | {name: array}, about, f"'{name}' with values")


def test_draws_agree_on_their_number(path):
    tensors, about = packed("draws")
    for name in ("sample_biases", "sample_weights", "noise_precisions"):
        for other in (tensors[name][:1], np.concatenate([tensors[name]] * 2)):
            refused(path, tensors | {name: other}, about, name)
    none = {name: tensors[name][:0] for name in ("sample_biases", "sample_weights", "noise_precisions")}
    refused(path, tensors | none | {"sample_factors": np.zeros((N, 0, RANK))}, about, "0 draws of rank 3")


def test_no_feature_has_more_numbers_than_can_be_scored(path):
    tensors, about = packed("draws")
    one = {"weights": np.zeros(1, np.float32), "sample_weights": np.zeros((1025, 1)), "sample_biases": np.zeros(1025)}
    many = one | {"sample_factors": np.zeros((1, 1025, 1024), np.float32), "noise_precisions": np.ones(1025)}
    about |= {"fields": [["user", "id", 1]], "settings": {"rank": 1024}}
    refused(path, tensors | many, about, "1025 draws of rank 1024")
    tensors, about = packed("factors")
    about |= {"fields": [["user", "id", 1]], "settings": {"rank": 2**20 + 1}}
    wide = {"weights": np.zeros(1, np.float32), "factors": np.zeros((1, 2**20 + 1), np.float32)}
    refused(path, tensors | wide, about, "rank 1048577")
    refused(path, packed("factors")[0] | {"factors": np.zeros((N, 0))}, packed("factors")[1], "rank 0")


def test_codes_have_1_to_64_bytes(path):
    tensors, about = packed("codes")
    for n_bytes in (0, 65):
        codes = np.zeros((N, n_bytes), np.uint8)
        refused(path, tensors | {"codes": codes}, about | {"settings": {"bits": 8 * n_bytes}}, f"of {n_bytes} bytes")


@pytest.fixture
def cold():
    """Return codes of features most of which have learned nothing."""
    learned = np.zeros(N * 3, bool)
    learned[[0, 2, 9, 20]] = True
    codes, gains, weights = np.zeros((N * 3, 2), np.uint8), np.zeros(N * 3, np.float32), np.zeros(N * 3)
    codes[[0, 9]], gains[[0, 2]], weights[[2, 20]] = 255, 0.5, -1.5
    fields = (FieldSpan("user", "id", 0, 9), FieldSpan("item", "id", 9, 21))
    parameters = CodeParameters(fields, 3.5, weights, codes, gains, "across")
    tensors, metadata = pack_model(ModelRecord("DiscreteFM", SETTINGS["DiscreteFM"], LOG, "codes"), parameters)
    return parameters, tensors, json.loads(metadata["model"])


def test_only_features_that_have_learned_are_in_a_file(path, cold):
    parameters, tensors, about = cold
    assert [len(tensors[name]) for name in ("codes", "gains", "weights", "has_learned")] == [4, 4, 4, 3]
    persist.write(path, tensors, {"model": json.dumps(about)})
    found, back = unpack_model(persist.read(path))
    assert not found.extra
    for name in ("codes", "gains", "weights"):
        np.testing.assert_array_equal(getattr(back, name), getattr(parameters, name))
        assert getattr(back, name).dtype == getattr(parameters, name).dtype
        with pytest.raises(ValueError, match="read-only"):
            getattr(back, name)[0] = 0
    again, _ = pack_model(found, back)
    assert {name: tensor.tobytes() for name, tensor in again.items()} == {
        name: tensor.tobytes() for name, tensor in tensors.items()
    }


def test_features_that_a_file_does_not_have_are_found(path, cold):
    _, tensors, about = cold
    refused(path, {name: t for name, t in tensors.items() if name != "has_learned"}, about, "'weights' as .*expected")
    for name in ("codes", "gains", "weights"):
        refused(path, {key: t for key, t in tensors.items() if key != name}, about, f"lacks the tensor '{name}'")
        refused(path, tensors | {name: tensors[name][:-1]}, about, "expected")
    for wrong in (tensors["has_learned"][:-1], np.append(tensors["has_learned"], np.uint8(0))):
        refused(path, tensors | {"has_learned": wrong}, about, "has 4 of 21 features, and . bytes that say which")
    for wrong in (0, 255):
        bits = np.full(3, wrong, np.uint8)
        refused(path, tensors | {"has_learned": bits}, about, "says of .* features that it has them, but has 4")
    many = {"fields": [["user", "id", 9], ["item", "id", 8 * 1000 - 9]]}
    zeros = {"has_learned": np.zeros(1000, np.uint8)}
    refused(path, tensors | zeros, about | many, "has 4 of 8,000 features")  # more memory than the file is worth


# What a file says of a model


@pytest.mark.parametrize("name", ["kind", "layout", "settings", "fields", "pairs", "fit_log"])
def test_every_entry_is_declared(path, name):
    tensors, about = packed("codes")
    refused(path, tensors, {key: value for key, value in about.items() if key != name}, f"'model'.*{name}")
    for other in (None, 3, True, [] if name in ("settings", "kind", "layout", "pairs") else {}, [[]]):
        refused(path, tensors, about | {name: other}, "malformed entry 'model'")


@pytest.mark.parametrize("text", ["", "{", "null", "[]", "[" * 100_000, "9" * 5000, '"x"'], ids=lambda text: text[:4])
def test_an_entry_that_is_something_else_is_refused(path, text):
    refused(path, packed("linear")[0], text, "malformed entry 'model'")


def test_a_file_without_a_model_is_refused(path):
    persist.write(path, packed("linear")[0], {})
    with pytest.raises(ModelFileError, match=r"hand-made\.bitfm: lacks the entry 'model'"):
        bitfm.load(path)
    refused(path, packed("linear")[0], packed("linear")[1] | {"more": 1}, "malformed entry 'model'.*more")


@pytest.mark.parametrize("kind", ["", "Pipeline", "biasmodel", "FM ", "FeatureModel", "builtins:list", "F" * 9999])
def test_an_unknown_kind_is_refused(path, kind):
    tensors, about = packed("factors")
    refused(path, tensors, about | {"kind": kind}, "unknown kind")


@pytest.mark.parametrize("layout", PARAMETERS)
def test_parameters_of_another_kind_are_refused(path, layout):
    tensors, about = packed(layout)
    for kind in {"BiasModel", "FM", "DiscreteFM"} - {about["kind"]}:
        refused(path, tensors, about | {"kind": kind, "settings": {}}, "parameters that an? .* does not have")


def test_another_size_than_that_of_the_arrays_is_refused(path):
    for layout, name in (("factors", "rank"), ("draws", "rank"), ("codes", "bits")):
        tensors, about = packed(layout)
        for value in (0, -8, 8, 4, 5000, 2**70):
            refused(path, tensors, about | {"settings": {name: value}}, f"parameters that .*{name}")
        refused(path, tensors, about | {"settings": {}}, f"parameters that .*{name}")


@pytest.mark.parametrize("layout", ["", "code", "Codes", "x" * 9999])
def test_an_unknown_layout_is_refused(path, layout):
    tensors, about = packed("codes")
    refused(
        path,
        tensors,
        about | {"layout": layout},
        "unknown layout .*expected codes or draws or events or factors or linear",
    )


@pytest.mark.parametrize(
    "targets", [3, [], [1, 2], [0, 1, 1], [-1, 1, 1], [1, 1, -1], [1, "x", 1], [1, None, 1], [1] * 4]
)
def test_moments_of_targets_are_of_their_range(path, targets):
    tensors, about = packed("factors")
    refused(path, tensors, about | {"targets": targets}, "malformed entry 'model'.*targets")


@pytest.mark.parametrize("pairs", ["", "auto", "cross", "x" * 9999])
def test_unknown_pairs_are_refused(path, pairs):
    tensors, about = packed("codes")
    refused(path, tensors, about | {"pairs": pairs}, "malformed entry 'model'.*pairs")


def test_pairs_are_those_of_the_settings(path):
    tensors, about = packed("factors")
    refused(path, tensors, about | {"pairs": "across"}, "pairs 'all'")
    refused(path, tensors, about | {"settings": {"rank": RANK, "pairs": "x"}}, "pairs 'x'")


@pytest.mark.parametrize(
    "fields",
    [
        [],
        [["user", "id"]],
        [["user", "id", N, 0]],
        [["user", "id", N - 1]],
        [["user", "id", N + 1]],
        [["user", "id", -1], ["item", "id", N + 1]],
        [["user", "id", float(N)]],
        [["user", "id", str(N)]],
        [["user", "id", True], ["item", "id", N - 1]],
        [[1, "id", N]],
        [["user", None, N]],
        [N],
        [None],
        [{"block": "user"}],
        [["user", "id", 2**31]],
        [["user", "id", 10**30]],
        [["user", "id", 2**31 - 1]] * 3,
        [[f"b{i}", "id", 2**31 - 1] for i in range(99)],
        [["a", "x", 3], ["b", "x", 2], ["a", "y", 2]],
        [["a", "x", 3], ["a", "x", 4]],
    ],
)
def test_fields_that_do_not_make_up_the_features_are_refused(path, fields):
    tensors, about = packed("codes")
    refused(path, tensors, about | {"fields": fields}, "malformed|no fields|twice|expected")


def test_an_unknown_layout_is_not_packed():
    _, parameters, _ = PARAMETERS["linear"]
    with pytest.raises(ValueError, match="no layout 'own'"):
        pack_model(ModelRecord("BiasModel", {}, [], "own"), parameters)
