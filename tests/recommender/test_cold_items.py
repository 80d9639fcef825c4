"""A catalogue most of whose items have no rating: its file leaves out what it has elsewhere, and answers the same."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import bitfm
from attacks.mutators import File
from bitfm import ModelFileError, Recommender, persist

N_USERS, N_ITEMS = 60, 500


def tables():
    rng = np.random.default_rng(3)
    n = 900
    users = rng.integers(20, size=n)
    items = rng.integers(40, size=n) ** 2 // 20  # few items have many of the ratings
    liked = np.where((users % 7 < 3) == (items % 4 < 2), 2.0, -2.0)  # who is of some towns likes some genres
    ratings = 3 + liked + 0.3 * (users % 3) + rng.normal(0, 0.2, n)
    words = np.array(["dragon", "gold", "ship", "storm", "garden", "winter", "night", "river", "stone", "bird"])
    return {
        "interactions": {"user_id": users, "item_id": items, "rating": ratings},
        "users": {"user_id": range(N_USERS), "town": [f"town {i % 7}" for i in range(N_USERS)]},
        "items": {
            "item_id": range(N_ITEMS),
            "title": [" ".join(words[rng.integers(10, size=4)]) + f" {i}" for i in range(N_ITEMS)],
            "genre": [f"genre {i % 4}" for i in range(N_ITEMS)],
            "year": 1950 + rng.integers(60, size=N_ITEMS),
            "tags": [[f"tag {k}" for k in rng.integers(9, size=i % 4)] for i in range(N_ITEMS)],
        },
    }


@pytest.fixture(scope="module")
def fitted():
    told = tables()
    frames = {name: pl.DataFrame(told.pop(name)) for name in ("users", "items")}
    return Recommender(bits=16, n_jobs=1).fit(pl.DataFrame(told["interactions"]), **frames)


@pytest.fixture
def path(fitted, tmp_path):
    fitted.save(tmp_path / "cold.bitfm")
    return tmp_path / "cold.bitfm"


def answers(rec):
    users = [*range(0, N_USERS, 7), "nobody"]
    yield rec.recommend(users, n=40).to_dict(as_series=False)
    yield rec.recommend(3, n=9, where={"genre": "genre 1"}).to_dict(as_series=False)
    yield rec.recommend(3, n=9, allow=list(range(100, 140))).to_dict(as_series=False)
    yield rec.recommend([3, 4], n=9, boost={7: 0.5, 300: 0.25}).to_dict(as_series=False)
    yield rec.recommend_new([(1, 5), (3, 1)], n=20).to_dict(as_series=False)
    yield rec.similar_items(100, n=20).to_dict(as_series=False)
    yield rec.predict([(user, item) for user in users for item in (0, 1, 77, 499)]).tolist()
    yield str(rec.explain(0, 1))


def test_the_file_has_what_cold_items_are_made_of_and_nothing_twice(path):
    tensors = persist.read(path).tensors
    n_features = tensors["has_learned"].size * 8
    assert len(tensors["codes"]) == len(tensors["gains"]) == len(tensors["weights"]) < n_features / 2
    assert len(tensors["index.0.vectors"]) < N_ITEMS / 10
    assert tensors["tables.item.table.1.singles"].dtype == np.uint8
    assert tensors["tables.item.kept.1.values"].dtype == np.int16


def test_it_answers_as_it_did(fitted, path):
    opened = bitfm.load(path)
    assert list(answers(opened)) == list(answers(fitted))
    opened.save(path.with_name("again.bitfm"))
    assert path.read_bytes() == path.with_name("again.bitfm").read_bytes()


def test_it_changes_as_it_did(path, fitted, tmp_path):
    def change(rec):
        rec.add_ratings({"user_id": [0, 59, 60], "item_id": [0, 499, 77], "rating": [5, 1, 4]})
        rec.add_items({"item_id": [900], "title": ["gold night"], "genre": ["genre 1"]})
        rec.remove_items([5, 250]).remove_users([7]).remove_interactions([(0, 0)])
        return rec

    whole = tmp_path / "whole.bitfm"
    fitted.save(whole)
    here, opened = change(bitfm.load(whole)), change(bitfm.load(path))
    assert list(answers(opened)) == list(answers(here))
    opened.save(tmp_path / "changed.bitfm")
    assert list(answers(bitfm.load(tmp_path / "changed.bitfm"))) == list(answers(opened))


@pytest.mark.parametrize("name", ["tables.item.table.0.words", "tables.item.table.1.singles", "gains"])
def test_damage_is_found_where_a_vector_is_asked_for(path, name):
    file = File(path.read_bytes())
    array = file.tensor(name).copy()
    array[:] = np.inf if array.dtype.kind == "f" else np.iinfo(array.dtype).max
    path.unlink()  # the file may still be mapped
    path.write_bytes(file.with_tensor(name, array))
    opened = bitfm.load(path)
    with pytest.raises(ModelFileError, match="damaged") as error:
        opened.recommend("nobody")
    assert str(error.value).count(str(path)) == 1


def test_a_category_that_there_is_not_is_found_in_a_removal(path):
    file = File(path.read_bytes())
    name = "tables.item.kept.0.numbers"
    path.unlink()
    path.write_bytes(file.with_tensor(name, np.full_like(file.tensor(name), 255)))
    opened = bitfm.load(path)
    with pytest.raises(ModelFileError, match=r"cold\.bitfm: the column 'genre' is damaged"):
        opened.remove_items([5])
