"""A damaged file is refused, or found out where the damage is read, by an error of bitfm's own; it can do no harm.

The container, the model and the index in a file have tests of their own: here it is the recommender's tables and entry.
"""

from __future__ import annotations

import contextlib
import copy
import json
import math

import numpy as np
import polars as pl
import pytest

import bitfm
from bitfm import BitfmError, ModelFileError, Recommender, persist
from bitfm.recommender import open_recommender

pytestmark = [
    pytest.mark.usefixtures("no_waiting_for_the_disk"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # numbers out of a damaged file may overflow
]


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
def whole(small, tmp_path_factory):
    path = tmp_path_factory.mktemp("damage") / "whole.bitfm"
    small.save(path)
    return path


@pytest.fixture(scope="module")
def contents(whole):
    read = persist.read(whole)
    return dict(read.tensors), dict(read.metadata)


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


def survives(tensors, metadata, also=()):
    """Open these contents and use them; return the error by which they are refused, if they are."""
    for array in tensors.values():
        array.flags.writeable = False  # as in a file
    try:
        use(open_recommender(persist.Contents(tensors, metadata)))
    except (BitfmError, *also) as error:
        return error
    return None


def of_tables(tensors):
    return {name: array for name, array in tensors.items() if name.startswith("tables.")}


def about(metadata):
    return json.loads(metadata["recommender"])


def with_about(metadata, values):
    return metadata | {"recommender": json.dumps(values)}


def test_the_whole_file_works(contents):
    assert survives(*contents) is None


def test_a_missing_tensor_is_refused(contents):
    tensors, metadata = contents
    for name in tensors:
        error = survives({k: v for k, v in tensors.items() if k != name}, metadata)
        assert isinstance(error, ModelFileError), name


def test_tensors_of_another_shape_or_type_are_refused(contents):
    tensors, metadata = contents
    for name, array in of_tables(tensors).items():
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


def test_wild_numbers_do_no_harm(contents):
    tensors, metadata = contents
    for number, (name, array) in enumerate(of_tables(tensors).items()):
        for value in list(wild_values(array))[number % 3 :: 3]:
            other = array.copy()
            other.reshape(-1)[array.size // 2 :][:1] = value
            survives(tensors | {name: other}, metadata)
        survives(tensors | {name: np.full_like(array, np.array(-(number % 2)).astype(array.dtype))}, metadata)


@pytest.mark.parametrize("seed", range(2))
def test_random_bytes_in_tensors_do_no_harm(contents, seed):
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


def test_an_index_with_items_that_there_are_not_is_refused(contents):
    tensors, metadata = contents
    for value in (11, 2**31 - 1):
        wild = {name: np.full_like(t, value) for name, t in tensors.items() if name.endswith(".position")}
        assert wild
        damaged = open_recommender(persist.Contents(tensors | wild, metadata))
        with pytest.raises(ModelFileError, match="index"):
            damaged.recommend("nobody")


def test_moments_that_are_no_squares_leave_an_id_without_a_code(contents):
    tensors, metadata = contents
    values = about(metadata)
    values["negatives_per"]["user"] = [4.0, 0.0]
    wild = tensors | {"tables.moments.user.unseen": -1e9 * np.eye(18)}
    damaged = open_recommender(persist.Contents(wild, with_about(metadata, values)))
    told, silent = damaged.recommend_new([("i1", 5)], n=5), damaged.recommend_new(["i1"], n=5)
    assert np.isfinite(told["score"].to_numpy()).all()
    np.testing.assert_array_equal(told["score"], silent["score"])


def test_every_entry_is_declared(contents):
    tensors, metadata = contents
    whole = about(metadata)
    for part in (whole, whole["user"], whole["settings"], whole["columns"][0]):
        for name in [*part, "more"]:
            kept = part.pop(name, None)
            if name == "more":
                part[name] = 1
            error = survives(tensors, with_about(metadata, whole))
            assert isinstance(error, ModelFileError), name
            assert name in str(error)
            part[name] = kept
        del part["more"]
    assert survives(tensors, with_about(metadata, whole)) is None


def test_no_threads_at_all_are_refused(contents):
    tensors, metadata = contents
    values = about(metadata)
    values["settings"]["n_jobs"] = 0
    assert "n_jobs = 0" in str(survives(tensors, with_about(metadata, values)))


@pytest.mark.parametrize("text", ["", "x", "{", "null", "3", "[]", "{}", "[" * 100_000, '{"user": NaN}', "9" * 5000])
def test_metadata_that_is_something_else_is_refused(contents, text):
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


def test_odd_entries_do_no_harm(contents):
    """Every entry, however deep, is changed to odd ones in turn."""
    tensors, metadata = contents
    values = about(metadata)
    every = list(places(values))
    assert len(every) > 100
    for number, place in enumerate(every):
        for odd in ODD if len(place) == 1 else ODD[number % 9 :: 9]:
            survives(tensors, with_about(metadata, with_change(values, place, odd)))


def test_fields_in_another_order_are_refused(contents):
    tensors, metadata = contents
    model = json.loads(metadata["model"])
    fields = model["fields"]
    for a in range(len(fields) - 1):
        other = [*fields[:a], fields[a + 1], fields[a], *fields[a + 2 :]]
        changed = metadata | {"model": json.dumps(model | {"fields": other})}
        assert isinstance(survives(tensors, changed), ModelFileError)


def test_tables_without_their_model_or_index_are_refused(contents):
    tensors, metadata = contents
    bare = {name: array for name, array in tensors.items() if not name.startswith("index.")}
    without_index = {name: text for name, text in metadata.items() if name != "index"}
    assert "without its model and index" in str(survives(bare, without_index))
    assert "no index" in str(survives(tensors, without_index))
    assert "'model'" in str(survives(tensors, {"index": metadata["index"], "recommender": metadata["recommender"]}))
    paired = json.loads(metadata["model"]) | {"pairs": "all"}
    assert isinstance(survives(tensors, metadata | {"model": json.dumps(paired)}), ModelFileError)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "Unheard"},
        {"kind": "FM"},
        {"settings": {"unknown": 1}},
        {"settings": {"bits": 8}},
        {"settings": {"bits": 16, "tol": "x"}},
        {"settings": {"bits": 16, "n_jobs": 0}},
        {"fit_log": [{}]},
        {"fit_log": [{"stage": 3, "number": 1, "total": 1, "loss": 1, "objective": 1}]},
    ],
    ids=str,
)
def test_the_estimator_is_looked_at_when_it_is_asked_for(contents, change):
    """A query needs none."""
    tensors, metadata = contents
    model = json.loads(metadata["model"]) | change
    damaged = open_recommender(persist.Contents(tensors, metadata | {"model": json.dumps(model)}))
    assert damaged.recommend(3).height
    with pytest.raises(ModelFileError, match=r"kind of model|get a fresh copy or save the model again\.$"):
        _ = damaged.model_


# Files


def test_an_error_names_the_file_and_what_to_do(contents, tmp_path):
    tensors, metadata = contents
    path = tmp_path / "damaged.bitfm"
    column = next(name for name in tensors if ".column." in name)
    for missing in ("tables.log.values", "tables.user.ids.bytes", column, "codes", "index.0.live"):
        persist.write(path, {name: array for name, array in tensors.items() if name != missing}, metadata)
        with pytest.raises(ModelFileError, match=r"damaged\.bitfm: ") as error:
            bitfm.load(path)
        assert str(error.value).count("save the model again.") == 1
        assert str(error.value).endswith("; get a fresh copy or save the model again.")


def test_entries_nested_deeply_are_refused(contents, tmp_path):
    """Also where they can just be decoded, and are quoted in the message."""
    tensors, metadata = contents
    path = tmp_path / "nested.bitfm"
    for depth in [5, 500, *range(900, 1000, 3)]:
        values = about(metadata)
        values["user"]["columns"][0]["settings"] = "?"
        text = json.dumps(values).replace('"?"', "[" * depth + "]" * depth)
        persist.write(path, tensors, metadata | {"recommender": text})
        with pytest.raises(ModelFileError, match=r"nested\.bitfm"):
            bitfm.load(path)


def test_every_truncation_is_refused(whole, tmp_path):
    raw = whole.read_bytes()
    part = tmp_path / "part.bitfm"
    for length in [*range(0, 64, 7), *np.linspace(64, len(raw) - 1, 40).astype(int)]:
        part.unlink(missing_ok=True)
        part.write_bytes(raw[:length])
        with pytest.raises(ModelFileError, match=r"part\.bitfm"):
            bitfm.load(part)


@pytest.mark.parametrize("seed", range(2))
def test_random_bytes_in_the_file_do_no_harm(whole, tmp_path, seed):
    raw, damaged = whole.read_bytes(), tmp_path / "damaged.bitfm"
    length = int.from_bytes(raw[:8], "little")
    rng = np.random.default_rng(seed)
    for _ in range(25):
        changed = bytearray(raw)
        changed[rng.integers(rng.choice([8, 8 + length, len(raw)]))] ^= rng.integers(1, 256)
        damaged.unlink(missing_ok=True)
        damaged.write_bytes(changed)
        with contextlib.suppress(BitfmError, ValueError):
            use(bitfm.load(damaged))


def test_other_files_are_no_recommender(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("user,item\n1,2\n")
    with pytest.raises(ModelFileError, match=r"notes\.txt"):
        bitfm.load(path)
    with pytest.raises(FileNotFoundError):
        bitfm.load(tmp_path / "missing.bitfm")
