"""A damaged file is refused, or found out where the damage is read, by an error of bitfm's own; it can do no harm.

The container, the model and the index in a file have tests of their own: here it is the recommender's tables and entry.
Random damage is in ``tests/attacks``.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import bitfm
from attacks.mutators import File
from attacks.subjects import bare_recommender, rich_recommender, use_rich
from bitfm import BitfmError, ModelFileError, persist
from bitfm.recommender import open_recommender

pytestmark = [
    pytest.mark.usefixtures("no_waiting_for_the_disk"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # numbers out of a damaged file may overflow
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("damage") / "whole.bitfm"
    rich_recommender().save(path)
    return path


@pytest.fixture(scope="module")
def contents(whole):
    read = persist.read(whole)
    return dict(read.tensors), dict(read.metadata)


def survives(tensors, metadata):
    """Open these contents and use them; return the error by which they are refused, if they are."""
    for array in tensors.values():
        array.flags.writeable = False  # as in a file
    try:
        use_rich(open_recommender(persist.Contents(tensors, metadata)))
    except BitfmError as error:
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


def test_an_index_with_items_that_there_are_not_is_refused(contents):
    tensors, metadata = contents
    for value in (11, 2**31 - 1):
        wild = {name: np.full_like(t, value) for name, t in tensors.items() if name.endswith(".position")}
        assert wild
        damaged = open_recommender(persist.Contents(tensors | wild, metadata))
        with pytest.raises(ModelFileError, match="index"):
            damaged.recommend("nobody")


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


def test_other_files_are_no_recommender(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("user,item\n1,2\n")
    with pytest.raises(ModelFileError, match=r"notes\.txt"):
        bitfm.load(path)
    with pytest.raises(FileNotFoundError):
        bitfm.load(tmp_path / "missing.bitfm")


@pytest.mark.parametrize(("name", "wrong"), [("numbers", 1e300), ("tables.log.values", 0), ("user_gram", -1e30)])
def test_numbers_that_events_cannot_have_are_found_where_they_are_read(tmp_path, name, wrong):
    """The core refuses them, or equations have no solution; either is the file's fault, and says so."""
    path = tmp_path / "events.bitfm"
    bare_recommender().save(path)
    file = File(path.read_bytes())
    path.unlink()  # the file may still be mapped
    path.write_bytes(file.with_tensor(name, np.full_like(file.tensor(name), wrong)))

    def use():
        rec = bitfm.load(path)
        rec.recommend(1)
        rec.add_events({"u": [1, 500], "i": ["i1", "i500"]})

    with pytest.raises(ModelFileError, match=r"events.bitfm: the model is damaged: .*get a fresh copy") as error:
        use()
    assert str(error.value).count(str(path)) == 1
