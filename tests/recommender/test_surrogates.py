"""Lone surrogates, as wrong decoding leaves them, and paths that cannot be: one sentence each."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest

import bitfm
from bitfm.data import read_table
from bitfm.errors import ValueInTableError

HALF = "\ud800"
RATINGS = {"user_id": ["ann", "ann", "bob"], "item_id": ["tea", "milk", "tea"], "rating": [5, 2, 4]}


@pytest.fixture(scope="module")
def rec():
    return bitfm.Recommender(bits=8).fit(RATINGS)


@pytest.mark.parametrize(
    "ask",
    [
        lambda rec: rec.recommend(HALF),
        lambda rec: rec.recommend(["ann", HALF]),
        lambda rec: rec.recommend("ann", deny=[HALF]),
        lambda rec: rec.recommend_new([(HALF, 5)]),
        lambda rec: rec.similar_items(HALF),
        lambda rec: rec.explain(HALF, "tea"),
        lambda rec: rec.predict([("ann", HALF)]),
    ],
)
def test_ids_of_queries(rec, ask):
    with pytest.raises(ValueError, match=r"id '\\ud800' holds half of a surrogate pair"):
        ask(rec)


def test_ids_values_and_names_of_columns_in_tables(rec):
    pd = pytest.importorskip("pandas")
    tables = [
        RATINGS | {"user_id": ["ann", "ann", HALF]},
        RATINGS | {HALF: [1, 2, 3]},
        [{"user_id": HALF, "item_id": "tea", "rating": 1}],
        pd.DataFrame({"user_id": pd.Series([HALF], dtype=object), "item_id": ["tea"], "rating": [1]}),
    ]
    for table in tables:
        for take in (rec.add_ratings, bitfm.Recommender(bits=8).fit, rec.evaluate):
            with pytest.raises(ValueInTableError, match=r", column '.*': '\\ud800' has half of a surrogate pair"):
                take(table)
    with pytest.raises(ValueInTableError, match="items, column 'kinds'"):
        rec.add_items({"item_id": ["tea"], "kinds": [["hot", HALF]]})


@pytest.mark.parametrize("notes", [{"from": HALF}, {HALF: "a shop"}])
def test_notes(rec, notes, tmp_path):
    noted = copy(rec)
    noted.notes = notes
    with pytest.raises(ValueError, match=r"^notes: .*'\\ud800'.* has half of a surrogate pair"):
        noted.save(tmp_path / "shop.bitfm")
    assert not list(tmp_path.iterdir())


def test_names_of_blocks_and_fields(tmp_path):
    for names in ({HALF: "id", "item": "id"}, {"user": HALF, "item": "id"}):
        X = bitfm.Blocks(**{block: bitfm.Block([0, 1], {field: np.eye(2)}) for block, field in names.items()})
        with pytest.raises(ValueError, match=r"^save: '\\ud800' has half of a surrogate pair"):
            bitfm.BiasModel().fit(X, [1.0, 2.0]).save(tmp_path / "m.bitfm")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", ["a\0b.csv", "a\0b.libfm", HALF + ".csv"])
def test_paths(rec, path):
    for use in (bitfm.load, bitfm.Recommender.load, rec.save, rec.model_.save, read_table, rec.add_ratings):
        with pytest.raises(ValueError, match="is no path"):
            use(path)


def test_names_and_separators_of_files(tmp_path):
    (tmp_path / "t.csv").write_text("1,2\n")
    for given in ({"columns": ["a", HALF]}, {"separator": HALF}):
        with pytest.raises(ValueError, match="surrogate"):
            read_table(tmp_path / "t.csv", **given)
