"""Vectors that a file leaves out, since they are sums of few features that it has anyway."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest

from bitfm import Block, ModelFileError, persist
from bitfm.data import FeatureTable, FieldSpan
from bitfm.parameters import CodeParameters
from bitfm.retrieval import Index, ItemSums, pack_index, unpack_index

N, N_WORDS = 200, 400
RNG = np.random.default_rng(0)
# The first items have more words than are worth a sum.
WORDS = FeatureTable.unit_rows(
    np.repeat(np.arange(N), np.where(np.arange(N) < 20, 60, 3)),
    RNG.integers(N_WORDS, size=20 * 60 + 180 * 3),
    (N, N_WORDS),
)
FIELDS = FieldSpan("user", "id", 0, 30), FieldSpan("item", "words", 30, 430), FieldSpan("item", "id", 430, 430 + N)
PARAMETERS = CodeParameters(
    FIELDS,
    3.5,
    RNG.normal(size=430 + N).astype(np.float32),
    RNG.integers(0, 256, (430 + N, 2), dtype=np.uint8),
    RNG.random(430 + N, np.float32),
    "across",
)
ITEMS = Block(np.arange(N), {"words": WORDS, "id": FeatureTable.eye(N)})
USERS = np.arange(12)


def fields():
    return [WORDS, FeatureTable.eye(N)]


SUMS = ItemSums(PARAMETERS.codes[30:], PARAMETERS.gains[30:], N, fields)


@pytest.fixture
def index():
    found = Index(PARAMETERS, ITEMS, "item")
    found.remove([7, 150])
    return found


def reopened(index, sums=SUMS):
    tensors, metadata = pack_index(index, sums)
    return unpack_index(PARAMETERS, persist.Contents(tensors, metadata, path="x.bitfm"), SUMS)


def assert_same(index, other, **how):
    for a, b in zip(index.search(USERS, N, **how), other.search(USERS, N, **how), strict=True):
        np.testing.assert_array_equal(a, b)


def test_only_vectors_of_many_features_are_kept(index):
    tensors, _ = pack_index(index, SUMS)
    assert tensors["index.0.vectors"].shape == (19, 16)  # one of 20 was removed
    whole, _ = pack_index(index)
    assert whole["index.0.vectors"].shape == (256, 16)
    assert set(whole) == set(tensors)
    assert len(whole["index.0.kept"]) == 0


def test_an_opened_index_answers_and_changes_as_before(index):
    opened = reopened(index)
    assert_same(opened, index)
    assert_same(opened, index, allow=np.arange(100), deny=[3])
    boost = RNG.normal(size=N)
    selections = [one.select(allow=np.arange(40), boost=boost) for one in (opened, index)]
    for a, b in zip(*(one.search(USERS, 9, within=s) for one, s in zip((opened, index), selections)), strict=True):  # noqa: B905
        np.testing.assert_array_equal(a, b)
    few = [one.compact(one.select(allow=np.arange(40))) for one in (opened, index)]
    assert_same(opened, opened, within=few[0])
    np.testing.assert_array_equal(opened.search(USERS, 9, within=few[0])[1], index.search(USERS, 9, within=few[1])[1])
    for one in (opened, index):
        one.remove([0, 60])
        one.change([7, 61], Block([3, 190], ITEMS.tables))
    assert_same(opened, index)
    kept = np.delete(np.arange(N), [1, 99])
    both = [one.only(kept, PARAMETERS) for one in (opened, index)]
    assert_same(*both)


def test_it_can_be_saved_again_with_and_without_sums(index):
    opened = reopened(index)
    for sums in (SUMS, None):
        again, before = pack_index(opened, sums)[0], pack_index(index, sums)[0]
        assert again.keys() == before.keys()
        for name in set(again) - {"index.0.vectors"} if sums is None else again:
            np.testing.assert_array_equal(again[name], before[name])
        assert_same(reopened(opened, sums), index)


def test_vectors_that_are_something_else_are_kept(index):
    """The index may be of features that were other ones before."""
    index.change([30, 31], Block([40, 41], ITEMS.tables))
    tensors, _ = pack_index(index, SUMS)
    assert sum(len(tensors[f"index.{k}.vectors"]) for k in range(2)) == 19 + 64  # and all of a segment of two
    assert_same(reopened(index), index)
    others = ItemSums(SUMS.codes, SUMS.gains * 2, N, fields)
    assert len(pack_index(index, others)[0]["index.0.vectors"]) == 256


@pytest.mark.parametrize("through", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "pickle"])
def test_it_can_be_copied(index, through):
    opened = reopened(index)
    opened.search(USERS)
    assert_same(through(opened), index)


def test_damage_is_refused(index):
    tensors, metadata = pack_index(index, SUMS)
    with pytest.raises(ModelFileError, match="leaves vectors out, but not what they are sums of"):
        unpack_index(PARAMETERS, persist.Contents(tensors, metadata))
    assert json.loads(metadata["index"])["segments"] == ["vectors"]
    for name in ("vectors", "kept", "kept_before"):
        other = tensors[f"index.0.{name}"].copy()
        other.reshape(-1)[0] = np.nan if name == "vectors" else 1
        damaged = persist.Contents(tensors | {f"index.0.{name}": other}, metadata, path="bad.bitfm")
        opened = unpack_index(PARAMETERS, damaged, SUMS)
        for use in (lambda: opened.search([1]), lambda: opened.remove([3]), lambda: pack_index(opened, SUMS)):  # noqa: B023
            with pytest.raises(ModelFileError, match=r"^bad\.bitfm: the index is damaged: .*kept|finite"):
                use()
        for shape in (tensors[f"index.0.{name}"][:-1], tensors[f"index.0.{name}"][None]):
            wrong = persist.Contents(tensors | {f"index.0.{name}": shape}, metadata)
            with pytest.raises(ModelFileError, match="index"):
                unpack_index(PARAMETERS, wrong, SUMS).search([1])


def test_a_damaged_table_names_its_file(index):
    tensors = WORDS.tensors()
    tensors["members"][3] = 2**16 - 1
    words = FeatureTable.from_tensors(N, N_WORDS, tensors, "bad.bitfm")
    sums = ItemSums(SUMS.codes, SUMS.gains, N, lambda: [words, FeatureTable.eye(N)])
    packed, metadata = pack_index(index, SUMS)
    opened = unpack_index(PARAMETERS, persist.Contents(packed, metadata, path="bad.bitfm"), sums)
    with pytest.raises(ModelFileError, match=r"^bad\.bitfm: a table is damaged: field 0: .*get a fresh copy"):
        opened.search([1])
