"""What is declared of a part of a file is checked, whatever the file holds: everything else is refused."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import pytest

from bitfm.errors import ModelFileError
from bitfm.persist import Registry, Tensor, below, check_tensors, decode, encode, naming, plain, put

DECLARED = {
    "bias": Tensor("float64", "", -np.inf),
    "codes": Tensor("uint8", "features bytes"),
    "gains": Tensor("float32 float64", "features", 0),
    "cells": Tensor("int32", "bytes 3", -1, 7),
}


def arrays(**others):
    whole = {
        "bias": np.array(0.5),
        "codes": np.zeros((5, 2), np.uint8),
        "gains": np.ones(5, np.float32),
        "cells": np.zeros((2, 3), np.int32),
    }
    return whole | others


def refused(tensors, message, sizes=None):
    with pytest.raises(ModelFileError, match=message):
        check_tensors(tensors, DECLARED, sizes, prefix="part.")


# Tensors


def test_sizes_are_learnt_and_returned():
    assert check_tensors(arrays(), DECLARED) == {"features": 5, "bytes": 2}
    known = {"features": 5}
    assert check_tensors(arrays(gains=np.ones(5)), DECLARED, known) is known
    assert known["bytes"] == 2


def test_empty_tensors_are_as_good_as_others():
    empty = arrays(codes=np.zeros((0, 2), np.uint8), gains=np.zeros(0, np.float32))
    assert check_tensors(empty, DECLARED)["features"] == 0


@pytest.mark.parametrize("name", DECLARED)
def test_every_tensor_must_be_there(name):
    tensors = arrays()
    del tensors[name]
    refused(tensors, f"lacks the tensor 'part.{name}'")


def test_no_other_tensor_may_be_there():
    refused(arrays(more=np.zeros(3)), r"holds the tensor 'part\.more', which does not belong there")


@pytest.mark.parametrize("name", DECLARED)
def test_every_dimension_is_checked(name):
    array = arrays()[name]
    others = [array[None], array[..., None], array.reshape(-1)[:0]]
    if array.ndim:
        others += [array[:-1], np.concatenate([array, array]), array[0]]
    if array.ndim == 2:
        others += [array.T, array[:, :-1]]
    for other in others:  # a size that is learnt from the wrong one is refused where it occurs next
        refused(arrays(**{name: other}), r"part\.\w+' as \w+ \(.*expected")


@pytest.mark.parametrize("name", DECLARED)
def test_every_type_is_checked(name):
    array = arrays()[name]
    for dtype in (bool, np.int8, np.uint8, np.int32, np.uint32, np.int64, np.float16, np.float32, np.float64):
        if np.dtype(dtype).name not in DECLARED[name].dtypes.split():
            refused(arrays(**{name: array.astype(dtype)}), rf"'part\.{name}' as {np.dtype(dtype)}.*expected")


def test_sizes_that_are_known_are_kept():
    refused(arrays(), r"'part\.codes' as uint8 \(5, 2\), expected uint8 \(6, 2\)", {"features": 6})


def test_a_message_names_sizes_that_are_not_known():
    refused(arrays(codes=np.zeros(5, np.uint8)), r"expected uint8 \('features', 'bytes'\)")


@pytest.mark.parametrize("place", [0, 4])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1e-30])
def test_every_value_with_a_range_is_looked_at(value, place):
    gains = np.ones(5)
    gains[place] = value
    refused(arrays(gains=gains), "part.gains' with values")


@pytest.mark.parametrize("value", [-2, 8, 2**31 - 1, -(2**31)])
def test_integers_have_ranges_too(value):
    refused(arrays(cells=np.full((2, 3), value, np.int32)), "'part.cells' with values outside -1 to 7")
    check_tensors(arrays(cells=np.array([[-1] * 3, [7] * 3], np.int32)), DECLARED)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_number_alone_has_a_range(value):
    refused(arrays(bias=np.array(value)), "'part.bias' with values that are not numbers")


def test_values_without_a_range_are_not_looked_at():
    check_tensors({"weights": np.full(3, np.nan)}, {"weights": Tensor("float64", "n")})


def test_names_are_put_together_and_taken_apart():
    tensors = put("index.0.", {"bias": 3.5, "live": np.ones(2)})
    assert set(tensors) == {"index.0.bias", "index.0.live"}
    assert below(tensors | {"weights": np.ones(1)}, "index.0.").keys() == {"bias", "live"}


# Metadata


class Part(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    size: Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
    share: float
    flag: bool
    pairs: Literal["all", "across"]
    items: list[tuple[str, int]]
    free: dict[str, Any]


WHOLE = {"name": "x", "size": 3, "share": 0.5, "flag": True, "pairs": "all", "items": [["a", 1]], "free": {"b": None}}


def malformed(text):
    with pytest.raises(ModelFileError, match="malformed entry 'part'") as error:
        decode({"part": text}, "part", Part)
    assert len(str(error.value)) < 300


def test_what_was_encoded_is_decoded():
    part = decode({"part": json.dumps(WHOLE)}, "part", Part)
    assert decode({"part": encode(part)}, "part", Part) == part
    assert encode({"b": 1, "a": 2}) == '{"a":2,"b":1}'


def test_a_missing_entry_is_named():
    with pytest.raises(ModelFileError, match="lacks the entry 'part'"):
        decode({"other": "{}"}, "part", Part)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "{",
        "null",
        "3",
        '"a"',
        "true",
        "[]",
        "{}",
        "[" * 100_000,
        '{"a":' * 100_000,
        "NaN",
        "9" * 5000,
        "\ud800",
    ],
    ids=lambda text: text[:9],
)
def test_text_that_is_no_such_struct_is_refused(text):
    malformed(text)


@pytest.mark.parametrize("name", WHOLE)
def test_every_entry_of_a_struct_must_be_there(name):
    malformed(json.dumps({key: value for key, value in WHOLE.items() if key != name}))


def test_no_other_entry_of_a_struct_may_be_there():
    malformed(json.dumps(WHOLE | {"m" * 10_000: 1}))


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "name": [None, 3, [], {}, True],
        "size": [None, "3", 3.0, True, -1, 2**31, 2**64, 10**30, -(10**30), [], {}],
        "share": [None, "0.5", True, [], {}],
        "flag": [None, 0, 1, "true", []],
        "pairs": [None, "", "cross", "a" * 10_000, 1, []],
        "items": [None, {}, "x", [None], [["a"]], [["a", 1, 2]], [["a", "1"]], [{}], [["a", 1.5]]],
        "free": [None, [], 3, "x"],
    }.items(),
)
def test_every_entry_of_a_struct_has_its_type(name, values):
    for value in values:
        malformed(json.dumps(WHOLE | {name: value}))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 5000, "0x10", "01", "1."])
@pytest.mark.parametrize("name", ["size", "share", "free"])
def test_numbers_that_json_does_not_have_are_refused(name, number):
    text = number if name != "free" else f'{{"deep": [{number}]}}'
    malformed(json.dumps(WHOLE | {name: "?"}).replace('"?"', text))


def test_a_free_entry_may_not_be_nested_too_deeply():
    malformed(json.dumps(WHOLE).replace('{"b": null}', '{"b": ' + "[" * 50_000 + "]" * 50_000 + "}"))


@pytest.mark.parametrize("raw", [b'{"part": "\xff"}', b'"\xc0\x80"', b'"\xed\xa0\x80"', b'"\\ud800"'])
def test_bytes_that_are_no_text_are_refused(raw):
    with pytest.raises(ModelFileError, match="malformed entry 'part'"):
        decode({"part": raw}, "part", Any)  # type: ignore[dict-item]


# Settings, names, kinds


@pytest.mark.parametrize(
    ("value", "kind", "kept"),
    [
        (np.int64(3), int, 3),
        (np.float32(0.5), float, 0.5),
        (np.bool_(True), bool, True),
        (3, float, 3.0),
        (True, int, 1),
        (False, int, 0),
        (1, bool, True),
        (0, bool, False),
        (None, int | None, None),
        ({"user": np.float32(2), 7: 1}, float | dict[str, float], {"user": 2.0, "7": 1.0}),
        (2**70, int, 2**70),
    ],
)
def test_settings_become_plain(value, kind, kept):
    found = plain("x", value, kind)
    assert found == kept
    assert type(found) is type(kept)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (object(), int), (2, bool), (1.5, int), ("3", int), (None, float), (np.ones(3), float), ([1], float),
        (Registry("x"), Registry),
        ({"user": "x"}, dict[str, float]), (b"x", str), (1j, float), (np.datetime64("2020-01-01"), int),
    ],
)  # fmt: skip
def test_settings_of_other_types_cannot_be_kept(value, kind):
    with pytest.raises(TypeError, match=r"save: x = .* cannot be kept in a file; set it to a plain value"):
        plain("x", value, kind)


def test_an_error_names_the_file_and_what_to_do():
    advice = r"; get a fresh copy or save the model again\.$"
    with pytest.raises(ModelFileError, match=r"^a/b\.bitfm: lacks x" + advice), naming("a/b.bitfm"):
        raise ModelFileError("lacks x")
    with pytest.raises(ModelFileError, match="^b: A list is damaged" + advice), naming("b"):
        raise ModelFileError("A list is damaged; save the model again.")
    with pytest.raises(KeyError, match="other"), naming("b"):
        raise KeyError("other")


def test_a_registry_imports_what_is_asked_for():
    shapes: Registry[Any] = Registry("bitfm.nothing", {"ring": "no_such_module:Ring", "list": "builtins:list"})
    assert shapes.get("list") is list
    assert shapes.get("square") is None
    shapes.register("square", set)
    assert shapes.get("square") is set
    assert shapes.names() == ["list", "ring", "square"]
    with pytest.raises(ModuleNotFoundError):
        shapes.get("ring")
