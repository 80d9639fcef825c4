"""The same seed gives the same file, byte for byte, whatever the number of threads."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

from bitfm import Recommender, persist
from ratings_of_shop import quick


def saved(rec, path):
    rec.save(path)
    contents = persist.read(path)
    tensors = {name: np.array(tensor) for name, tensor in contents.tensors.items()}
    metadata = {name: json.loads(text) for name, text in contents.metadata.items()}
    for part in ("model", "recommender"):
        metadata[part]["settings"].pop("n_jobs")
    return tensors, metadata


def changed(rec):
    rec.add_users({"reader": ["late"], "age_group": ["35-49"]})
    rec.add_items({"book": [1], "genre": ["Horror"]})
    return rec.add_ratings({"reader": ["late", "later"] * 2, "book": [1, 2, 100, 101], "rating": [5, 1, 2, 3]})


def equal(one, other):
    assert one[1] == other[1]
    assert set(one[0]) == set(other[0])
    for name, tensor in one[0].items():
        assert tensor.tobytes() == other[0][name].tobytes(), name


@pytest.fixture(scope="module")
def quickly(shop):
    return quick(32).fit(**shop.tables)


def test_the_same_fit_gives_the_same_bytes(shop, fitted, tmp_path):
    fitted.save(tmp_path / "a")
    Recommender(bits=32, n_jobs=1).fit(**shop.tables).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_threads_do_not_matter(shop, quickly, tmp_path, n_jobs):
    rec, other = copy.copy(quickly), quick(32, n_jobs=n_jobs).fit(**shop.tables)
    equal(saved(other, tmp_path / "a"), saved(rec, tmp_path / "b"))
    equal(saved(changed(other), tmp_path / "c"), saved(changed(rec), tmp_path / "d"))


def test_threads_do_not_matter_for_events(events, fitted_on_contexts, tmp_path):
    other = Recommender(bits=32, n_jobs=3)
    other.fit(events, user="person", item="thing", target=None, context=["daytime"])
    equal(saved(other, tmp_path / "a"), saved(fitted_on_contexts, tmp_path / "b"))


def test_another_seed_gives_another_model(shop, quickly):
    other = quick(32, seed=1).fit(**shop.tables)
    assert (other.model_.codes_ != quickly.model_.codes_).any()


def test_the_order_of_side_tables_does_not_matter(shop, quickly):
    tables = {**shop.tables, "users": shop.readers[::-1], "items": shop.books.sample(fraction=1, shuffle=True, seed=0)}
    other = quick(32).fit(**tables)
    np.testing.assert_array_equal(other.model_.codes_, quickly.model_.codes_)
