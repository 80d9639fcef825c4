"""The data sets are read whole, split as said, and their fields belong to the right rows."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from bitfm.data import history, raters

from bitfm_research.bench.datasets import Split, load

SIZES = {  # users, items, ratings
    "ml-100k": (943, 1_682, 100_000),
    "ml-1m": (6_040, 3_706, 1_000_209),
    "douban": (13_367, 12_677, 1_068_278),
    "yelp": (13_679, 12_922, 323_348 + 316_795),
    "amazon": (35_151, 33_195, 874_780 + 857_280),
}
FIELDS = {  # columns of each field, users' first
    "ml-100k": ({"gender": 2, "age": 7, "occupation": 21}, {"genres": 19, "year": 71}),
    "ml-1m": ({"gender": 2, "age": 7, "occupation": 21}, {"genres": 18, "year": 81, "cast": 4198, "words": 8000}),
    "douban": ({"groups": 2_753, "location": 349}, {"directors": 2_449, "actors": 6_311, "types": 38}),
    "yelp": ({}, {}),
    "amazon": ({}, {}),
}
FOLDERS = {"douban": "douban-movie", "yelp": "paper", "amazon": "paper"}  # of the others, the name
each_set = pytest.mark.parametrize("name", SIZES)


def each_real_set(*names):
    """Run a test on these data sets, or on all, where they are."""
    marks = {name: pytest.mark.data(FOLDERS.get(name, name)) for name in names or SIZES}
    return pytest.mark.parametrize("name", [pytest.param(name, marks=mark) for name, mark in marks.items()])


@cache  # reading takes seconds
def loaded(name, **options):
    return load(name, **options)


def small():
    """Three users and four items; item 3 and user 2 are in the test part only."""
    train = np.array([0, 0, 1], np.int32), np.array([0, 1, 2], np.int32), np.array([5.0, 3, 4])
    test = np.array([0, 2], np.int32), np.array([3, 1], np.int32), np.array([1.0, 2])
    age, genres = sp.csr_matrix(np.eye(3, 2, dtype=np.float32)), sp.csr_matrix(np.eye(4, 5, 1, dtype=np.float32))
    return Split("small", 3, 4, train, test, {"age": age}, {"genres": genres})


def layout(X):
    return [f"{field.block}.{field.name}" for field in X.fields]


def test_blocks_are_bare_ids_unless_fields_are_named():
    X = small().blocks()
    assert layout(X) == ["user.id", "item.id"]
    assert len(X) == 3
    assert all(table.identity for block in X.blocks.values() for table in block.tables.values())


@pytest.mark.parametrize("part", ["train", "test"])
def test_named_fields_come_first_and_ids_last_on_their_sides(part):
    split = small()
    X = split.blocks(part, fields=("raters", "history", "genres", "age"))
    assert layout(X) == ["user.history", "user.age", "user.id", "item.raters", "item.genres", "item.id"]
    assert X.dtype == np.float32
    users, items, _ = getattr(split, part)
    expected = [
        [[0.5**0.5, 0.5**0.5, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]],
        np.eye(3, 2),
        np.eye(3),
        [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0]],  # of the training part: nobody has rated item 3
        np.eye(4, 5, 1),
        np.eye(4),
    ]
    rows = [users] * 3 + [items] * 3
    whole = np.hstack([np.array(table)[row] for table, row in zip(expected, rows, strict=True)])
    np.testing.assert_allclose(X.to_csr().toarray(), whole, rtol=1e-6)


def test_a_validation_part_is_taken_from_the_training_part_alone():
    rng = np.random.default_rng(0)
    train = tuple(rng.integers(1, 20, 200).astype(kind) for kind in (np.int32, np.int32, np.float64))
    split = Split("many", 20, 20, train, tuple(part[:0] for part in train))
    part = split.validation(0.1, seed=3)
    assert (len(part.train[0]), len(part.test[0])) == (180, 20)
    both = np.stack([np.concatenate(pair) for pair in zip(part.train, part.test, strict=True)])
    assert sorted(map(tuple, both.T)) == sorted(map(tuple, np.stack(train).T))
    assert (split.validation(0.1, seed=3).test[1] == part.test[1]).all()
    assert (split.validation(0.1, seed=4).test[1] != part.test[1]).any()
    table = part.blocks("test", fields=("history",)).blocks["user"].tables["history"].to_csr()
    assert (table != history(*part.train[:2], 20, 20).to_csr()).nnz == 0
    assert (table != history(*split.train[:2], 20, 20).to_csr()).nnz > 0


def test_an_unknown_field_is_refused_with_those_that_there_are():
    with pytest.raises(ValueError, match="small has no field 'plot'; there are age, history, genres, raters"):
        small().blocks(fields=("age", "plot"))


def test_an_unknown_data_set_is_refused_with_those_that_there_are(tmp_path):
    with pytest.raises(ValueError, match="one of 'ml-100k', 'ml-1m', 'douban', 'yelp', 'amazon', got 'netflix'"):
        load("netflix", tmp_path)


@each_set
def test_a_missing_file_is_named(name, tmp_path):
    with pytest.raises(FileNotFoundError, match=str(tmp_path)):
        load(name, tmp_path)


@each_real_set()
def test_every_rating_is_in_one_part(name):
    split = loaded(name)
    users, items, ratings = (np.concatenate(pair) for pair in zip(split.train, split.test, strict=True))
    assert (split.n_users, split.n_items, len(ratings)) == SIZES[name]
    assert users.dtype == items.dtype == np.int32
    assert set(ratings) == {1, 2, 3, 4, 5}
    gaps = 1 if name == "amazon" else 0  # one of its users has rated nothing
    assert len(np.unique(users)) == split.n_users - gaps
    assert len(np.unique(items)) == split.n_items
    pairs = users.astype(np.int64) * split.n_items + items
    assert len(np.unique(pairs)) == len(pairs)


@each_real_set("ml-100k", "ml-1m", "douban")
def test_half_of_each_users_ratings_are_to_train_on(name):
    split = loaded(name)
    train, test = (np.bincount(part[0], minlength=split.n_users) for part in (split.train, split.test))
    assert set(train - test) <= {0, 1}
    if name == "ml-100k":
        assert (loaded(name, seed=1).train[1][:1000] != split.train[1][:1000]).any()


@each_real_set()
def test_side_tables_have_a_row_for_each_and_rows_of_unit_length(name):
    split = loaded(name)
    for fields, columns, n_rows in zip(
        (split.user_fields, split.item_fields), FIELDS[name], (split.n_users, split.n_items), strict=True
    ):
        assert {key: table.to_csr().shape for key, table in fields.items()} == {
            key: (n_rows, size) for key, size in columns.items()
        }
        for table in (table.to_csr() for table in fields.values()):
            assert table.dtype == np.float32
            squares = np.asarray(table.multiply(table).sum(axis=1)).ravel()
            np.testing.assert_allclose(squares, table.getnnz(axis=1) > 0, atol=1e-5)


def matrices(fields):
    return {name: table.to_csr() for name, table in fields.items()}


@pytest.mark.data("ml-100k", "ml-1m")
def test_movies_and_users_have_their_own_features():
    """Toy Story and Jumanji lead both sets' lists of movies; user 1 is a technician of 24, or a girl under 18."""
    for name in ("ml-100k", "ml-1m"):
        fields = matrices(loaded(name).item_fields)
        assert fields["genres"][0].nnz == 3
        assert (fields["year"][0] != fields["year"][1]).nnz == 0  # 1995, as all of the first movies
        assert fields["year"].getnnz() >= fields["year"].shape[0] - 1
    first = {name: matrices(loaded(name).user_fields) for name in ("ml-100k", "ml-1m")}
    assert first["ml-100k"]["gender"][0].indices == first["ml-1m"]["gender"][1].indices == [1]  # F, M
    assert first["ml-1m"]["gender"][0].indices == [0]
    assert first["ml-100k"]["age"][0].indices == [1]  # 18 to 24
    assert first["ml-1m"]["age"][0].indices == [0]
    cast = loaded("ml-1m").item_fields["cast"].to_csr()
    toy_story, its_sequel = 0, 2898  # of the rated movies
    assert (cast[toy_story] @ cast[its_sequel].T).toarray() > 0.5


@each_real_set("ml-100k", "yelp")
def test_cold_items_are_only_in_the_test_part(name):
    split, warm = loaded(name, cold_items=0.2), loaded(name)
    assert (split.n_users, split.n_items) == SIZES[name][:2]
    cold = np.unique(split.test[1])
    assert 0.15 * split.n_items < len(cold) <= round(0.2 * split.n_items)
    assert not np.isin(cold, split.train[1]).any()
    assert len(split.train[0]) < len(warm.train[0])
    assert len(split.test[0]) == np.isin(warm.test[1], cold).sum()
    X = split.blocks("test", fields=("history", "raters"))
    tables = X.blocks["item"].tables
    assert tables["id"].identity
    assert tables["raters"].to_csr()[cold].nnz == 0
    assert X.blocks["user"].tables["history"].to_csr()[:, cold].nnz == 0


@each_real_set()
def test_histories_are_of_the_training_part(name):
    split = loaded(name)
    X = split.blocks("test", fields=("history", "raters", *split.user_fields, *split.item_fields))
    sizes = split.n_users, split.n_items
    for side, field, table in (("user", "history", history), ("item", "raters", raters)):
        assert (X.blocks[side].tables[field].to_csr() != table(*split.train[:2], *sizes).to_csr()).nnz == 0
        assert list(X.blocks[side].tables)[-1] == "id"
