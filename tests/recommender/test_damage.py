"""A damaged file is refused, or found out where the damage is read, by an error of bitfm's own; it can do no harm."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import os

import numpy as np
import polars as pl
import pytest

import bitfm
from bitfm import BitfmError, ModelFileError, Recommender, persist

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numbers out of a damaged file may overflow


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture(scope="module")
def small():
    """Return a recommender with columns of all kinds, titles, a context and ids that were added."""
    rng = np.random.default_rng(0)
    n = 150
    ratings = pl.DataFrame(
        {
            "u": rng.integers(12, size=n),
            "i": [f"i{one}" for one in rng.integers(10, size=n)],
            "rating": rng.integers(1, 6, n).astype(float),
            "c": ["wet", "dry", None] * 50,
        }
    )
    users = pl.DataFrame(
        {"u": range(12), "town": ["A", "B", None] * 4, "age": rng.random(12) * 60, "tags": [["x"], ["x", "y"], []] * 4}
    )
    items = pl.DataFrame(
        {
            "i": [f"i{one}" for one in range(10)],
            "title": [f"The book of {w}" for w in "abcdefgha"] + [None],
            "day": ["2020-01-05", "2021-02-07"] * 5,
        }
    )
    rec = Recommender(bits=16, n_jobs=1, kinds={"title": "text", "day": "date", "age": "standard"})
    rec.fit(ratings, users=users, items=items, user="u", item="i", context=["c"])
    rec.notes = {"source": "nowhere"}
    return rec.add_users({"u": [99], "town": ["B"]}).add_ratings({"u": [98], "i": ["new"], "rating": [4], "c": ["wet"]})


@pytest.fixture(scope="module")
def contents(small, tmp_path_factory):
    path = tmp_path_factory.mktemp("damage") / "whole.bitfm"
    small.save(path)
    read = persist.read(path)
    return {name: np.array(tensor) for name, tensor in read.tensors.items()}, dict(read.metadata)


def use(rec):
    """Ask everything that reads a table."""
    users = [*range(12), 98, 99, "nobody"]
    rec.recommend(users, n=5, context={"c": "wet"})
    rec.recommend(3, n=20, seen=True, allow=["i1", "i2"], deny=["new"])
    rec.recommend_new([("i1", 5), "i2"], {"town": "A", "age": 30, "tags": ["x"]}, context={"c": "dry"})
    rec.similar_items("i1")
    str(rec.explain(3, "i1", context={"c": "wet"}))
    rec.predict([(user, item) for user in users for item in ("i1", "new", None)])
    frame = {"u": [1, 2, 98], "i": ["i1", "i2", "i3"], "rating": [5, 3, 1], "c": ["wet", "dry", None]}
    rec.evaluate(frame, without=["user.town"])
    rec.training_data(frame)
    rec.describe()
    repr(rec)
    rec.add_users({"u": [1, 500], "town": ["A", "C"], "age": [1, None]})
    rec.add_items({"i": ["i1", "i500"], "title": ["The book of b", None], "day": ["2020-01-05", "?"]})
    rec.add_ratings(frame)
    rec.recommend([1, 500])


@pytest.fixture
def survives(tmp_path):
    """Return a check that a file with these contents is refused, or does nothing but wrong answers."""
    path = tmp_path / "damaged.bitfm"

    def check(tensors, metadata, also=()):
        path.unlink(missing_ok=True)
        persist.write(path, tensors, metadata)
        try:
            use(bitfm.load(path))
        except (BitfmError, *also) as error:
            return error
        return None

    return check


def about(metadata):
    return json.loads(metadata["recommender"])


def with_about(metadata, values):
    return metadata | {"recommender": json.dumps(values)}


def test_the_whole_file_works(contents, survives):
    assert survives(*contents) is None


def test_a_missing_tensor_is_refused(contents, survives):
    tensors, metadata = contents
    for name in tensors:
        error = survives({k: v for k, v in tensors.items() if k != name}, metadata)
        assert isinstance(error, ModelFileError), name
        assert "damaged.bitfm" in str(error)


def test_tensors_of_another_shape_or_type_are_refused(contents, survives):
    tensors, metadata = contents
    for name, array in tensors.items():
        others = [array[:-1] if array.ndim else array[None], array[None], array.reshape(-1)[:0]]
        others += [np.concatenate([array, array]) if array.ndim else array.reshape(1, 1)]
        others += [array.astype(np.float16), array.astype(np.uint16), array.astype(bool)]
        for other in others:
            if other.shape != array.shape or other.dtype != array.dtype:
                assert isinstance(survives(tensors | {name: other}, metadata), ModelFileError), (name, other.shape)


WILD = {
    "i": [-1, -2, 7, 10**9, "min", "max"],
    "u": [0, 1, 255, "max"],
    "f": [math.nan, math.inf, -math.inf, 1e30, -1.0, 0.0],
}


def wild_values(array):
    for value in WILD.get(array.dtype.kind, ()):
        if isinstance(value, str):
            value = getattr(np.iinfo(array.dtype), value)
        yield np.array(value).astype(array.dtype)


def test_wild_numbers_do_no_harm(contents, survives):
    tensors, metadata = contents
    of_tables = [name for name in tensors if name.startswith("tables.")]  # models and indices have tests of their own
    for number, name in enumerate(of_tables):
        array = tensors[name]
        for value in list(wild_values(array))[number % 2 :: 2]:
            other = array.copy()
            other.reshape(-1)[array.size // 2 :][:1] = value
            survives(tensors | {name: other}, metadata)
        for value in (0, -1):
            survives(tensors | {name: np.full_like(array, np.array(value).astype(array.dtype))}, metadata)


@pytest.mark.parametrize("seed", range(5))
def test_random_bytes_in_tensors_do_no_harm(contents, survives, seed):
    tensors, metadata = contents
    rng = np.random.default_rng(seed)
    for _ in range(25):
        changed = dict(tensors)
        for name in rng.choice(sorted(tensors), 2):
            raw = bytearray(changed[name].tobytes())
            for at in rng.integers(len(raw), size=3) if raw else ():
                raw[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.integers(256)])
            changed[name] = np.frombuffer(bytes(raw), tensors[name].dtype).reshape(tensors[name].shape)
        survives(changed, metadata, [ValueError])  # of the core, which takes finite numbers only


def test_an_index_with_items_that_there_are_not_is_refused(contents, tmp_path):
    tensors, metadata = contents
    path = tmp_path / "damaged.bitfm"
    for value in (11, 2**31 - 1):
        wild = {name: np.full_like(t, value) for name, t in tensors.items() if name.endswith(".position")}
        assert wild
        persist.write(path, tensors | wild, metadata)
        with pytest.raises(ModelFileError, match="index"):
            bitfm.load(path).recommend("nobody")


def test_moments_that_are_no_squares_leave_an_id_without_a_code(contents, tmp_path):
    tensors, metadata = contents
    path = tmp_path / "damaged.bitfm"
    values = about(metadata)
    values["unseen"]["user"] = [4.0, 0.0]
    persist.write(path, tensors | {"tables.opposite.user.unseen": -1e9 * np.eye(18)}, with_about(metadata, values))
    damaged = bitfm.load(path)
    told, silent = damaged.recommend_new([("i1", 5)], n=5), damaged.recommend_new(["i1"], n=5)
    assert np.isfinite(told["score"].to_numpy()).all()
    np.testing.assert_array_equal(told["score"], silent["score"])


def test_a_missing_entry_is_refused(contents, survives):
    tensors, metadata = contents
    for name in about(metadata):
        error = survives(tensors, with_about(metadata, {k: v for k, v in about(metadata).items() if k != name}))
        assert isinstance(error, ModelFileError) or name in ("target", "time"), name


@pytest.mark.parametrize("text", ["", "x", "{", "null", "3", "[]", "{}", "[" * 100_000, '{"user": NaN}', "9" * 5000])
def test_metadata_that_is_something_else_is_refused(contents, survives, text):
    tensors, metadata = contents
    assert isinstance(survives(tensors, metadata | {"recommender": text}), ModelFileError)


ODD = [
    None,
    True,
    0,
    -1,
    3,
    2**31,
    10**400,
    0.5,
    1e300,
    math.nan,
    math.inf,
    "",
    "x",
    "category",
    [],
    [1, 2, 3],
    {},
    {"a": 1},
]


def places(values, path=()):
    """Yield the place of everything in a JSON value."""
    for key in values if isinstance(values, dict) else range(len(values)):
        yield (*path, key)
        if isinstance(values[key], dict | list):
            yield from places(values[key], (*path, key))


def with_change(values, place, value):
    other = copy.deepcopy(values)
    parent = other
    for key in place[:-1]:
        parent = parent[key]
    parent[place[-1]] = value
    return other


def test_odd_entries_do_no_harm(contents, survives):
    """Every entry, however deep, is changed to odd ones in turn."""
    tensors, metadata = contents
    values = about(metadata)
    every = list(places(values))
    assert len(every) > 100
    for number, place in enumerate(every):
        for odd in ODD if len(place) == 1 else ODD[number % 7 :: 7]:
            survives(tensors, with_about(metadata, with_change(values, place, odd)))


def test_fields_in_another_order_are_refused(contents, survives):
    tensors, metadata = contents
    fields = json.loads(metadata["fields"])
    for a in range(len(fields) - 1):
        other = [*fields[:a], fields[a + 1], fields[a], *fields[a + 2 :]]
        assert isinstance(survives(tensors, metadata | {"fields": json.dumps(other)}), ModelFileError)


def test_every_truncation_is_refused(small, tmp_path):
    path = tmp_path / "whole.bitfm"
    small.save(path)
    raw = path.read_bytes()
    part = tmp_path / "part.bitfm"
    for length in [*range(0, 64, 7), *np.linspace(64, len(raw) - 1, 40).astype(int)]:
        part.unlink(missing_ok=True)
        part.write_bytes(raw[:length])
        with pytest.raises(ModelFileError, match=r"part\.bitfm"):
            bitfm.load(part)


@pytest.mark.parametrize("seed", range(5))
def test_random_bytes_in_the_file_do_no_harm(small, tmp_path, seed):
    path, damaged = tmp_path / "whole.bitfm", tmp_path / "damaged.bitfm"
    small.save(path)
    whole = path.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    rng = np.random.default_rng(seed)
    for _ in range(25):
        raw = bytearray(whole)
        raw[rng.integers(rng.choice([8, 8 + length, len(raw)]))] ^= rng.integers(1, 256)
        damaged.unlink(missing_ok=True)
        damaged.write_bytes(raw)
        with contextlib.suppress(BitfmError, ValueError):
            use(bitfm.load(damaged))


def test_other_files_are_no_recommender(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("user,item\n1,2\n")
    with pytest.raises(ModelFileError, match=r"notes\.txt"):
        bitfm.load(path)
    with pytest.raises(FileNotFoundError):
        bitfm.load(tmp_path / "missing.bitfm")
