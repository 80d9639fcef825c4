"""An index lives in the model's file, and is searched there; a damaged one is refused, or does no harm."""

from __future__ import annotations

import copy
import json
import mmap
import pickle

import numpy as np
import pytest

from bitfm import BiasModel, Block, DiscreteFM, ModelFileError, load, persist
from bitfm.data import FieldSpan
from bitfm.parameters import CodeParameters, FactorParameters, ModelRecord
from bitfm.retrieval import Index, pack_index, unpack_index
from holes import hole
from problems import random_blocks

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


def made_of(fields, seed=0):
    """Return a model of codes without a fit."""
    rng = np.random.default_rng(seed)
    n = fields[-1].stop
    codes, gains = rng.integers(0, 256, (n, 2), dtype=np.uint8), rng.random(n).astype(np.float32)
    parameters = CodeParameters(fields, 3.5, rng.normal(size=n).astype(np.float32), codes, gains, "across")
    return DiscreteFM.from_record(ModelRecord("DiscreteFM", {"bits": 16, "max_iter": 1}, [], "codes"), parameters)


@pytest.fixture
def ids():
    return made_of((FieldSpan("user", "id", 0, 20), FieldSpan("item", "id", 20, 170)))


@pytest.fixture
def rich():
    X = random_blocks("shared")
    items = X.blocks["item"]
    return made_of(X.fields), Block(np.arange(items.n_rows), items.tables)


def base_of(array):
    while getattr(array, "base", None) is not None:
        array = array.base
    return array.obj if isinstance(array, memoryview) else array


def assert_same(index, other, n=200):
    for a, b in zip(index.search(np.arange(6), n), other.search(np.arange(6), n), strict=True):
        np.testing.assert_array_equal(a, b)


def test_codes_come_back_by_memory_map(ids, tmp_path):
    index = ids.index()
    index.remove([3, 5])
    index.add([7, 7])
    ids.save(tmp_path / "m.bitfm", index=index)
    opened = load(tmp_path / "m.bitfm").index()
    assert_same(opened, index)
    assert len(opened) == len(index) == 150
    for segment in opened.segments:
        assert all(isinstance(base_of(array), mmap.mmap) for array in segment.arrays.values())


@pytest.mark.parametrize("mode", ["exact", "codes"])
def test_vectors_come_back(rich, tmp_path, mode):
    model, items = rich
    index = model.index(items, mode=mode)
    model.save(tmp_path / "m.bitfm", index=index)
    opened = load(tmp_path / "m.bitfm").index()
    assert opened.mode == mode
    assert_same(opened, index)


def test_an_opened_index_can_change(ids, tmp_path):
    ids.save(tmp_path / "m.bitfm", index=ids.index(np.arange(100)))
    before = (tmp_path / "m.bitfm").read_bytes()
    index = load(tmp_path / "m.bitfm").index()
    index.remove(np.arange(50))
    index.add(np.arange(100, 150))
    index.change([60, 61], [0, 1])
    fresh = ids.index(np.concatenate([np.arange(100), np.arange(100, 150)]))
    fresh.change([60, 61], [0, 1])
    fresh.remove(np.arange(50))
    assert_same(index, fresh)
    assert (tmp_path / "m.bitfm").read_bytes() == before


def test_the_same_index_gives_the_same_file(ids, tmp_path):
    for name in "ab":
        ids.save(tmp_path / name, index=ids.index())
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("mode", ["exact", "codes"])
@pytest.mark.parametrize("through", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "pickle"])
def test_an_index_can_be_copied(ids, rich, tmp_path, through, mode):
    model, items = rich
    for index in (ids.index(), model.index(items, mode=mode)):
        index.search(np.arange(3))
        copied = through(index)
        assert_same(copied, index)
        copied.remove([0])
        assert len(copied) == len(index) - 1
    ids.save(tmp_path / "m.bitfm", index=ids.index())
    opened = load(tmp_path / "m.bitfm")
    assert_same(through(opened).index(), opened.index())


def test_which_index_a_model_has(ids, rich, tmp_path):
    ids.save(tmp_path / "m.bitfm", index=ids.index([1, 2, 3]))
    opened = load(tmp_path / "m.bitfm")
    assert len(opened.index()) == 3
    assert len(opened.index(block="user")) == 20
    assert len(opened.index(np.arange(10))) == 10
    opened.set_params(bits=8).fit(random_blocks("bare"), np.arange(40.0))
    assert len(opened.index()) == 5
    with pytest.raises(ValueError, match="another model"):
        rich[0].save(tmp_path / "n.bitfm", index=ids.index())
    before = opened.index()
    opened.fit(random_blocks("bare"), np.arange(40.0))
    with pytest.raises(ValueError, match="another fit"):
        opened.save(tmp_path / "n.bitfm", index=before)
    assert not (tmp_path / "n.bitfm").exists()


# Damage


@pytest.fixture(params=["codes", "vectors", "rows"])
def packed(request, ids, rich):
    """Return parameters, and an index of each kind of segment as a file holds it."""
    model, items = rich
    if request.param == "codes":
        index = ids.index()
    else:
        index = model.index(items, mode="codes" if request.param == "rows" else "exact")
    tensors, metadata = pack_index(index)
    assert json.loads(metadata["index"])["segments"] == [request.param]
    return index.parameters, tensors, json.loads(metadata["index"])


def opened(parameters, tensors, about):
    return unpack_index(parameters, persist.Contents(tensors, {"index": json.dumps(about)}))


def refused(parameters, tensors, about, message):
    with pytest.raises(ModelFileError, match=message):
        opened(parameters, tensors, about)


def test_every_tensor_of_a_segment_is_declared(packed):
    parameters, tensors, about = packed
    for name, array in tensors.items():
        refused(
            parameters, {k: v for k, v in tensors.items() if k != name}, about, f"lacks the tensor '{name}'|leading"
        )
        for other in (array[None], array[..., None], np.concatenate([array, array]), array.reshape(-1)[:1]):
            if other.shape != array.shape:
                refused(parameters, tensors | {name: other}, about, "expected")
        for dtype in (np.int64, np.uint16, bool):
            refused(parameters, tensors | {name: array.astype(dtype)}, about, f"'{name}' as .*expected")
    for more in ("index.0.more", "index.1.live", "index.more"):
        refused(parameters, tensors | {more: np.zeros(3)}, about, f"holds the tensor '{more}'")


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "block": [None, 3, "shop", ""],
        "n_positions": [None, -1, True, 1.5, 2**31, 10**30, "5"],
        "segments": [None, "codes", [None], [[]], ["maps"], ["codes", "codes"], [], ["x" * 9999]],
        "row_code_bits": [None, 0, 63, 520, "64", 64.0],
        "rescore": [None, 0, 10**6 + 1, "50"],
    }.items(),
)
def test_every_entry_of_an_index_is_declared(ids, name, values):
    tensors, metadata = pack_index(ids.index())
    about = json.loads(metadata["index"])
    refused(ids.parameters_, tensors, {k: v for k, v in about.items() if k != name}, f"malformed entry 'index'.*{name}")
    for value in values:
        refused(ids.parameters_, tensors, about | {name: value}, "index|block")
    refused(ids.parameters_, tensors, about | {"more": 1}, "malformed entry 'index'.*more")
    refused(ids.parameters_, tensors, [], "malformed entry 'index'")


@pytest.mark.parametrize("leading", [0, 1, 3, 18])
def test_a_basis_of_the_wrong_size_is_found(rich, leading):
    model, items = rich
    tensors, metadata = pack_index(model.index(items))
    tensors |= {"index.0.basis": np.zeros((16, leading)), "index.0.values": np.zeros(64 * leading, np.int8)}
    refused(model.parameters_, tensors, json.loads(metadata["index"]), "leading dimensions")


@pytest.mark.parametrize("kind", ["codes", "rows", "vectors"])
def test_an_index_of_more_items_than_can_be_is_refused(ids, kind, tmp_path):
    tensors, metadata = pack_index(ids.index())
    about = json.loads(metadata["index"]) | {"segments": [kind]}
    tensors |= {"index.0.live": hole(tmp_path, np.uint64, 2**25), "index.0.basis": np.eye(16)}
    refused(ids.parameters_, tensors, about, "has 33,554,432 chunks of items; at most 33,554,431 are supported")


def test_an_index_of_codes_that_are_too_long_is_refused(ids):
    fields = (FieldSpan("user", "id", 0, 1), FieldSpan("item", "id", 1, 2))
    wide = FactorParameters(fields, 0.0, np.zeros(2), np.zeros((2, 1024)), "across")
    tensors, metadata = pack_index(ids.index())
    refused(wide, tensors, json.loads(metadata["index"]), "codes must have 1 to 64 bytes per row, got 128")


def test_an_error_names_the_file(ids, tmp_path):
    path = tmp_path / "m.bitfm"
    ids.save(path, index=ids.index())
    contents = persist.read(path)
    for tensors, metadata in (
        ({k: v for k, v in contents.tensors.items() if k != "index.0.gain"}, contents.metadata),
        (contents.tensors, {"model": contents.metadata["model"]}),
    ):
        persist.write(tmp_path / "bad.bitfm", tensors, metadata)
        with pytest.raises(ModelFileError, match=r"bad\.bitfm: .*index.*; get a fresh copy or save the model again"):
            load(tmp_path / "bad.bitfm")


@pytest.mark.parametrize("kind", ["FM", "BiasModel"])
def test_a_model_that_has_no_index_is_not_given_one(ids, tmp_path, kind):
    bias = BiasModel(max_iter=1).fit(random_blocks("bare"), np.arange(40.0))
    model = ids.to_float() if kind == "FM" else bias
    model.save(tmp_path / "m.bitfm")
    contents = persist.read(tmp_path / "m.bitfm")
    tensors, metadata = pack_index(Index(model.parameters_))
    persist.write(tmp_path / "bad.bitfm", {**contents.tensors, **tensors}, {**contents.metadata, **metadata})
    with pytest.raises(ModelFileError, match=f"holds an index, which an? {kind} does not have"):
        load(tmp_path / "bad.bitfm")


def test_values_of_a_segment_are_checked_when_it_is_first_used(packed):
    parameters, tensors, about = packed
    n = about["n_positions"]
    changes = [
        ("index.0.position", n),
        ("index.0.position", -5),
        ("index.0.position", int(tensors["index.0.position"][1])),
    ]
    if about["segments"] == ["rows"]:
        changes += [("index.0.row_position", n + 7), ("index.0.row_vectors", np.nan)]
    for name, value in changes:
        other = tensors[name].copy()
        other.reshape(-1)[0] = value
        contents = persist.Contents(tensors | {name: other}, {"index": json.dumps(about)}, path="bad.bitfm")
        index = unpack_index(parameters, contents)
        for use, given in ((index.search, np.arange(6)), (index.remove, [0])):
            with pytest.raises(ModelFileError, match=r"^bad\.bitfm: the index is damaged: .*; get a fresh copy"):
                use(given)


def test_two_segments_with_the_same_item_are_refused(packed):
    parameters, tensors, about = packed
    twice = tensors | {name.replace("index.0.", "index.1."): array for name, array in tensors.items()}
    index = opened(parameters, twice, about | {"segments": about["segments"] * 2})
    with pytest.raises(ModelFileError, match="two segments hold the same item"):
        index.search([1], 3)


def test_numbers_of_the_model_that_are_none_name_the_file(ids, tmp_path):
    ids.save(tmp_path / "m.bitfm", index=ids.index())
    contents = persist.read(tmp_path / "m.bitfm")
    weights = np.full_like(contents.tensors["weights"], np.inf)
    persist.write(tmp_path / "bad.bitfm", {**contents.tensors, "weights": weights}, dict(contents.metadata))
    index = load(tmp_path / "bad.bitfm").index()
    with pytest.raises(ModelFileError, match=r"bad\.bitfm: the model is damaged"):
        index.search([1], 3)
    with pytest.raises(ModelFileError, match=r"bad\.bitfm: the model is damaged"):
        index.add([1])
