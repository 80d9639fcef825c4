"""An index lives in the model's file, and is searched there."""

from __future__ import annotations

import copy
import mmap
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from bitfm import Block, Blocks, DiscreteFM, ModelFileError, load, persist
from problems import random_blocks


@pytest.fixture
def ids():
    rng = np.random.default_rng(0)
    X = Blocks(
        user=Block(rng.integers(20, size=500), {"id": sp.identity(20)}),
        item=Block(rng.integers(150, size=500), {"id": sp.identity(150)}),
    )
    return DiscreteFM(16, max_iter=2, init_iter=2).fit(X, rng.normal(size=500))


@pytest.fixture
def rich():
    X = random_blocks("shared")
    model = DiscreteFM(16, max_iter=2, init_iter=2).fit(X, np.random.default_rng(0).normal(size=len(X)))
    items = X.blocks["item"]
    return model, Block(np.arange(items.n_rows), items.tables)


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
    for segment in opened._segments:
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


def test_another_process_finds_the_same(ids, tmp_path):
    ids.save(tmp_path / "m.bitfm", index=ids.index())
    code = "import sys, bitfm; print(bitfm.load(sys.argv[1]).index().search([4], n=9)[0].tolist())"
    out = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "m.bitfm")], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == str(ids.index().search([4], n=9)[0].tolist())


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


def rewritten(path, change):
    contents = persist.read(path)
    tensors, metadata = dict(contents.tensors), dict(contents.metadata)
    for reserved in ("format", "version"):
        metadata.pop(reserved, None)
    change(tensors, metadata)
    persist.write(path.with_suffix(".bad"), tensors, metadata)
    return path.with_suffix(".bad")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t, m: t.pop("index.0.gain"), "lacks the tensor 'index.0.gain'"),
        (lambda t, m: t.update({"index.0.more": np.zeros(3)}), "index.0.more"),
        (lambda t, m: t.update({"index.0.gain": t["index.0.gain"][:-1]}), "expected float32"),
        (lambda t, m: t.update({"index.0.live": t["index.0.live"][:-1]}), "expected"),
        (lambda t, m: t.update({"index.0.live": t["index.0.live"].astype(np.int64)}), "expected uint64"),
        (lambda t, m: t.update({"index.0.codes": t["index.0.codes"].reshape(-1)}), "expected uint8"),
        (lambda t, m: m.pop("index"), "lacks the entry 'index'"),
        (lambda t, m: m.update(index="[]"), "wrong kind"),
        (lambda t, m: m.update(index=m["index"].replace("segments", "boards")), "malformed entry 'segments'"),
        (lambda t, m: m.update(index=m["index"].replace("row_codes", "codes")), "malformed entry 'row_codes'"),
        (lambda t, m: m.update(index=m["index"].replace("[64, 50]", "[64]")), r"row codes of \[64\]"),
        (lambda t, m: m.update(index=m["index"].replace("[64, 50]", "[63, 50]")), r"row codes of \[63, 50\]"),
        (lambda t, m: m.update(index=m["index"].replace("[64, 50]", '["64", 50]')), "row codes of"),
        (lambda t, m: m.update(index=m["index"].replace('"codes"', '"maps"')), "unknown kind 'maps'"),
        (lambda t, m: m.update(index=m["index"].replace('"codes"', "[]")), "unknown kind"),
        (lambda t, m: m.update(index=m["index"].replace('"item"', '"shop"')), "'shop'"),
        (lambda t, m: m.update(index=m["index"].replace("150", "-1")), "-1 positions"),
        (lambda t, m: m.update(index=m["index"].replace("150", "true")), "malformed entry 'n_positions'"),
    ],
)
def test_damage_is_found(ids, tmp_path, change, message):
    ids.save(tmp_path / "m.bitfm", index=ids.index())
    with pytest.raises(ModelFileError, match=message):
        load(rewritten(tmp_path / "m.bitfm", change))


@pytest.mark.parametrize("leading", [0, 1, 3, 18])
def test_a_basis_of_the_wrong_size_is_found(rich, tmp_path, leading):
    model, items = rich
    model.save(tmp_path / "m.bitfm", index=model.index(items))

    def change(tensors, metadata):
        tensors["index.0.turn"] = np.zeros((16, leading))
        tensors["index.0.values"] = np.zeros(64 * leading, np.int8)

    with pytest.raises(ModelFileError, match="leading dimensions"):
        load(rewritten(tmp_path / "m.bitfm", change))
