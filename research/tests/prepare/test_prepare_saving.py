"""Prepared data on disk: what was saved comes back, whole or not at all."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, replace

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from bitfm import DataFileError

import raw_reviews as raw
from bitfm_research.prepare import MovieLens, Prepared, prepare


@pytest.fixture
def data(tmp_path):
    reviews = raw.numbered(raw.make_reviews())
    raw.ml_1m(tmp_path, reviews)
    plots = raw.write_lines(tmp_path / "plots.csv", ["movie,plot", *(f"{k},gold {k}x" for k in range(20))])
    return prepare(MovieLens(tmp_path, plots), min_ratings=3)


@pytest.fixture
def folder(data, tmp_path):
    data.save(tmp_path / "saved")
    return tmp_path / "saved"


def assert_same(one, other):
    for name in (field.name for field in fields(Prepared)):
        left, right = getattr(one, name), getattr(other, name)
        if isinstance(left, np.ndarray):
            assert left.dtype == right.dtype, name
            np.testing.assert_array_equal(left, right)
        elif name not in ("item_words", "item_fields", "item_field_names"):
            assert left == right, name
    assert list(one.item_tables()) == list(other.item_tables())
    for (left, names), (right, others) in zip(one.item_tables().values(), other.item_tables().values(), strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left.toarray(), right.toarray())
        assert list(names) == list(others)


def test_what_was_saved_comes_back(data, folder):
    assert_same(Prepared.load(folder), data)
    assert Prepared.load(folder).users.flags.writeable


def test_bare_ratings_come_back(data, tmp_path):
    bare = replace(data, times=None, item_words=None, words=None, item_fields={}, item_field_names={})
    bare.save(str(tmp_path / "deep" / "down"))
    assert_same(Prepared.load(str(tmp_path / "deep" / "down")), bare)
    assert len(list((tmp_path / "deep" / "down").iterdir())) == 4


def test_other_tools_can_read_it(data, folder):
    ratings, items = pl.read_parquet(folder / "ratings.parquet"), pl.read_parquet(folder / "items.parquet")
    assert ratings.columns == ["user", "item", "rating", "time"]
    assert items["id"].to_list() == list(data.item_ids)
    np.testing.assert_array_equal(sp.load_npz(folder / "item-words.npz").toarray(), data.item_words.toarray())
    page = json.loads((folder / "prepared.json").read_text())
    assert page["source"]["format"] == "movielens"
    assert page["steps"] == data.steps


def test_saving_again_replaces_and_leaves_nothing_beside(data, folder):
    smaller = replace(data, item_words=None, words=None)
    smaller.save(folder)
    assert_same(Prepared.load(folder), smaller)
    assert not (folder / "item-words.npz").exists()
    assert not list(folder.parent.glob(".bitfm*"))


def test_an_empty_folder_is_taken(data, tmp_path):
    (tmp_path / "empty").mkdir()
    data.save(tmp_path / "empty")
    assert_same(Prepared.load(tmp_path / "empty"), data)


def test_a_save_that_fails_leaves_what_was_there(data, folder):
    broken = replace(
        data,
        item_fields={"a/b": sp.identity(len(data.item_ids), format="csr")},
        item_field_names={"a/b": data.item_ids},
    )
    with pytest.raises(ValueError, match="the field 'a/b' cannot be saved; name it by letters"):
        broken.save(folder)
    assert_same(Prepared.load(folder), data)
    assert not list(folder.parent.glob(".bitfm*"))


def test_if_the_new_folder_cannot_take_its_place_the_old_one_comes_back(data, folder, monkeypatch):
    rename = type(folder).rename

    def fail(self, target):
        if self.suffix == ".tmp" and (self / "prepared.json").exists() and not moved:
            moved.append(target)
            raise OSError("no")
        return rename(self, target)

    moved = []
    monkeypatch.setattr(type(folder), "rename", fail)
    with pytest.raises(OSError, match="no"):
        replace(data, times=None).save(folder)
    assert_same(Prepared.load(folder), data)
    assert not list(folder.parent.glob(".bitfm*"))


def test_the_files_of_others_are_not_replaced(data, folder, tmp_path):
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="holds other files than prepared data; give a new folder"):
        data.save(folder)
    assert (folder / "notes.txt").read_text() == "mine"
    with pytest.raises(FileExistsError, match="is not a folder; give a new one"):
        data.save(tmp_path / "plots.csv")


def test_what_is_not_there_or_not_ours_is_refused(folder, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere is not a folder; give one that Prepared.save has written"):
        Prepared.load(tmp_path / "nowhere")
    with pytest.raises(DataFileError, match=r"holds no prepared.json; give a folder"):
        Prepared.load(tmp_path)
    for page in ("", "[]", "{}", '{"format": "other"}', "[" * 100_000):
        (folder / "prepared.json").write_text(page)
        with pytest.raises(DataFileError, match="does not describe prepared data; give a folder"):
            Prepared.load(folder)


def test_a_missing_cut_or_changed_file_is_named(data, folder):
    draw = np.random.default_rng(0)
    for name in [path.name for path in folder.iterdir() if path.name != "prepared.json"]:
        content = (folder / name).read_bytes()
        for _ in range(5):
            changed = bytearray(content)
            changed[draw.integers(len(content))] ^= 1 << draw.integers(8)
            for spoilt in (changed, content[: draw.integers(len(content))]):
                (folder / name).write_bytes(spoilt)
                with pytest.raises(DataFileError, match=rf"{name} is not as it was written, cut or changed; prepare"):
                    Prepared.load(folder)
        (folder / name).unlink()
        with pytest.raises(DataFileError, match=rf"{name} is missing; prepare the data again"):
            Prepared.load(folder)
        (folder / name).write_bytes(content)
    assert_same(Prepared.load(folder), data)


def test_a_page_with_other_bytes_is_refused_or_the_same_data(data, folder):
    draw = np.random.default_rng(0)
    page = (folder / "prepared.json").read_bytes()
    refused = 0
    for _ in range(100):
        spoilt = bytearray(page)
        spoilt[draw.integers(len(page))] = draw.integers(256)
        (folder / "prepared.json").write_bytes(spoilt)
        try:
            np.testing.assert_array_equal(Prepared.load(folder).ratings, data.ratings)
        except DataFileError:
            refused += 1
    assert refused > 50


def spoil(page, **changes):
    path = page / "prepared.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"version": 2}, "has version 2, but this bitfm reads 1"),
        ({"files": {}}, "is damaged"),
        ({"files": {"../x": 1}}, "is damaged"),
        ({"fields": ["../x"]}, "is damaged"),
        ({"fields": [["words"]]}, "is damaged"),
        ({"steps": 3}, "is damaged"),
    ],
)
def test_a_page_that_says_something_else_is_refused(folder, changes, problem):
    spoil(folder, **changes)
    with pytest.raises(DataFileError, match=problem):
        Prepared.load(folder)


def rewrite(folder, name, write):
    write(folder / name)
    files = json.loads((folder / "prepared.json").read_text())["files"]
    spoil(folder, files=files | {name: hashlib.sha256((folder / name).read_bytes()).hexdigest()})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"user": pl.lit(9999, pl.Int32)}, "users must be from 0 to"),
        ({"item": pl.lit(-1, pl.Int32)}, "items must be from 0 to"),
        ({"rating": pl.lit(float("nan"))}, "ratings must be finite"),
        ({"rating": pl.lit(None, pl.Float64)}, "no proper column 'rating'"),
        ({"user": pl.col("user").cast(pl.String)}, "no proper column 'user'"),
        ({"time": pl.col("time").cast(pl.Float64)}, "no proper column 'time'"),
    ],
)
def test_ratings_that_do_not_fit_are_refused(folder, change, problem):
    table = pl.read_parquet(folder / "ratings.parquet").with_columns(**change)
    rewrite(folder, "ratings.parquet", table.write_parquet)
    with pytest.raises(DataFileError, match=problem):
        Prepared.load(folder)


def test_tables_that_do_not_fit_are_refused(data, folder):
    for matrix, problem in (
        (data.item_words[1:], "words has shape"),
        (data.item_words.tocsc(), "a matrix in csc format"),
        (data.item_words * np.float32(np.nan), "values must be finite"),
    ):
        rewrite(folder, "item-words.npz", lambda path, m=matrix: sp.save_npz(path, m))
        with pytest.raises(DataFileError, match=problem):
            Prepared.load(folder)
    rewrite(folder, "item-words.npz", lambda path: path.write_bytes(b"PK nothing"))
    with pytest.raises(DataFileError, match=r"item-words.npz is damaged"):
        Prepared.load(folder)
    rewrite(folder, "users.parquet", pl.DataFrame({"id": ["a", "a"]}).write_parquet)
    rewrite(folder, "item-words.npz", lambda path: sp.save_npz(path, data.item_words))
    with pytest.raises(DataFileError, match="an id occurs twice"):
        Prepared.load(folder)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"users": np.zeros(1, np.int32)}, "1 users for"),
        ({"words": None}, "item_words and words go together"),
        ({"item_field_names": {}}, "must have the same names"),
        ({"item_fields": {"id": sp.identity(2)}, "item_field_names": {"id": np.arange(2)}}, "none is 'id'"),
    ],
)
def test_parts_that_do_not_fit_are_refused(data, change, problem):
    with pytest.raises(ValueError, match=problem):
        replace(data, **change)
