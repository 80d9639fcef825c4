"""Tables of every kind come in, with whatever is missing in them, and go out as the same kind."""

from __future__ import annotations

import datetime
import pickle

import numpy as np
import polars as pl
import pytest

from bitfm import DiscreteFM, Recommender
from bitfm.data import Category, Text
from bitfm.errors import DuplicateRowsError, MissingColumnError, ValueInTableError
from bitfm.recommender._side import context_block
from ratings_of_shop import quick

IDS = {"user": "u", "item": "i"}


def ratings(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame({"u": rng.integers(20, size=n), "i": rng.integers(15, size=n), "rating": rng.integers(1, 6, n)})


def fitted(interactions, **more):
    return quick().fit(interactions, **IDS, **more)


# Kinds of tables


def test_polars_in_polars_out():
    rec = fitted(ratings())
    assert isinstance(rec.recommend(3), pl.DataFrame)
    lazy = fitted(ratings().lazy())
    assert lazy.recommend(3).equals(rec.recommend(3))


def test_pandas_in_pandas_out():
    pd = pytest.importorskip("pandas")
    expected = fitted(ratings())
    rec = fitted(pd.DataFrame(ratings().to_dict(as_series=False)))
    best = rec.recommend(3, n=5)
    assert isinstance(best, pd.DataFrame)
    assert best["item"].tolist() == expected.recommend(3, n=5)["item"].to_list()
    assert isinstance(rec.describe(), pd.DataFrame)
    several = rec.recommend(pd.Series([3, 4]), n=2)
    assert several["user"].tolist() == [3, 3, 4, 4]
    again = rec.recommend(pd.Series([3, None, 4]).dropna(), n=2)  # the gap has made floats of them
    assert again["item"].tolist() == several["item"].tolist()


def test_pandas_with_gaps():
    pd = pytest.importorskip("pandas")
    users = pd.DataFrame(
        {"u": range(20), "age": [np.nan, 30.0] * 10, "town": pd.Series([None, "A", "B", np.nan] * 5, dtype=object)}
    )
    rec = fitted(pd.DataFrame(ratings().to_dict(as_series=False)), users=users)
    assert {"user.age", "user.town"} & set(rec.fields)
    assert len(rec.recommend_new(features={"town": np.nan, "age": 30})) == 10
    rec.add_users(pd.DataFrame({"u": [77.0, 78.0], "town": [np.nan, "A"], "age": [30, np.nan]}))
    assert rec.recommend([77, 78], n=1)["user"].tolist() == [77, 78]


def test_arrow_in_arrow_out():
    pa = pytest.importorskip("pyarrow")
    expected = fitted(ratings())
    rec = fitted(ratings().to_arrow())
    best = rec.recommend(3, n=5)
    assert isinstance(best, pa.Table)
    assert best["item"].to_pylist() == expected.recommend(3, n=5)["item"].to_list()


def test_dictionaries_lists_and_files_in_polars_out(tmp_path):
    frame = ratings()
    frame.write_csv(tmp_path / "ratings.csv")
    expected = fitted(frame).recommend([1, 2], n=4)
    for table in (frame.to_dict(as_series=False), frame.to_dicts(), tmp_path / "ratings.csv"):
        assert fitted(table).recommend([1, 2], n=4).equals(expected)


# Ids


@pytest.mark.parametrize(
    ("make", "dtype"), [(int, pl.Int64), (str, pl.String), (float, pl.Int64), (lambda n: f"x{n}", pl.String)]
)
def test_ids_go_out_as_they_came_in(make, dtype):
    frame = ratings().with_columns(pl.Series("i", [make(one) for one in ratings()["i"]]))
    best = fitted(frame).recommend(3, n=20, seen=True)
    assert best["item"].dtype == dtype
    assert set(best["item"]) == {int(one) if dtype == pl.Int64 else one for one in frame["i"]}


def test_ids_match_between_tables_whatever_their_types():
    users = pl.DataFrame({"u": [str(n) for n in range(20)], "town": ["A", "B"] * 10})
    rec = fitted(ratings(), users=users)
    assert rec.n_users == 20
    assert "user.town: B" in {share.name for share in rec.explain(3.0, "4").features}
    assert rec.recommend(3)["item"].to_list() == rec.recommend("3")["item"].to_list()
    assert rec.recommend(np.int32(3))["item"].to_list() == rec.recommend(3.0)["item"].to_list()


def test_whole_ids_that_meet_a_text_go_out_as_texts():
    rec = fitted(ratings())
    rec.add_items({"i": ["special"]})
    best = rec.recommend(3, n=20, seen=True)
    assert best["item"].dtype == pl.String
    assert {"special", "4"} <= set(best["item"])


def test_whole_ids_beyond_64_bits_go_out_as_texts():
    frame = ratings().with_columns(i=pl.col("i").cast(pl.UInt64) + (2**63 + 5))
    assert set(fitted(frame).recommend(3, n=20, seen=True)["item"]) == {str(one) for one in frame["i"]}


def test_an_id_may_be_called_anything():
    names = ["None", "nan", "", " ", "ü", "鍵", "a\nb", "'; --", "-1", "1e3"]
    odd = [name for name in names if name.strip()]
    frame = pl.DataFrame({"u": odd, "i": odd[::-1], "rating": range(len(odd))})
    rec = fitted(frame)
    for name in odd:
        assert rec.recommend(name, n=50, seen=True)["item"].sort().to_list() == sorted(odd)
    assert rec.recommend_new(n=50)["item"].len() == len(odd)


def test_one_who_has_everything_gets_nothing():
    frame = pl.DataFrame({"u": ["a"] * 3 + ["b"], "i": [1, 2, 3, 1], "rating": [5, 4, 3, 1]})
    rec = fitted(frame)
    assert len(rec.recommend("a")) == 0
    both = rec.recommend(["a", "b"])
    assert both["user"].to_list() == ["b", "b"]
    assert both["rank"].to_list() == [1, 2]


# Columns


def test_columns_may_have_the_names_of_fields():
    users = pl.DataFrame({"u": range(20), "id": ["x", "y"] * 10, "history": ["long", "short"] * 10})
    items = pl.DataFrame({"i": range(15), "raters": ["many", "few", "none"] * 5, "id": ["p", "q", "r"] * 5})
    frame = ratings().with_columns(id=pl.Series(["m", "n"] * 100))
    rec = fitted(frame, users=users, items=items, context=["id"])
    names = {share.name for share in rec.explain(3, 4, context={"id": "m"}).features}
    expected = {"user.id (column): y", "user.history (column): short", "item.raters (column): few", "user.id: 3",
                "item.id (column): q", "context.id (column): m", "item.id: 4"}  # fmt: skip
    assert expected <= names
    assert rec.recommend_new(features={"id": "x", "history": "long"}, context={"id": "n"}).height == 10


def test_every_kind_of_column_at_once_with_gaps():
    n = 20
    users = pl.DataFrame(
        {
            "u": range(n),
            "member": [True, False, None, True] * 5,
            "born": [datetime.date(1950 + 2 * k, 1 + k % 12, 1) if k % 5 else None for k in range(n)],
            "income": [None if k % 4 == 0 else 1000.5 * k for k in range(n)],
            "likes": [None if k % 6 == 0 else ["a", "b", None][: k % 4] for k in range(n)],
            "nothing": [None] * n,
            "motto": [None if k % 3 == 0 else f"live {k} and let live on the hill {k % 2}" for k in range(n)],
        }
    )
    rec = fitted(ratings(), users=users)
    assert {"user.member", "user.born", "user.income", "user.likes"} <= set(rec.fields)
    assert "user.nothing" not in rec.fields
    told = rec.describe()
    assert told.filter(pl.col("column") == "nothing")["kind"].to_list() == ["ignore"]
    assert told.filter(pl.col("column") == "member")["missing"].to_list() == [0.25]
    assert np.isfinite(rec.predict(ratings())).all()
    rec.add_users({"u": [99], "born": ["1961-05-01"], "income": ["7000"], "likes": [["b", "zzz"]], "member": ["true"]})
    names = {share.name for share in rec.explain(99, 3).features}
    assert {"user.member: true", "user.likes: b"} <= names


def test_kinds_may_be_declared():
    users = pl.DataFrame({"u": range(20), "code": range(20), "town": ["A", "B"] * 10})
    rec = quick(kinds={"user.code": "category", "town": "ignore"}).fit(ratings(), users=users, **IDS)
    assert "user.code" in rec.fields
    assert "user.town" not in rec.fields
    with pytest.raises(ValueError, match=r"'shoe'.*user\.code"):
        quick(kinds={"shoe": "category"}).fit(ratings(), users=users, **IDS)


def test_titles_are_shown_and_may_be_of_any_type():
    items = pl.DataFrame({"i": range(15), "name": [None, 7, 8.5] * 5, "tags": [["a"], ["b"], []] * 5}, strict=False)
    best = fitted(ratings(), items=items).recommend(3, n=15, seen=True).sort("item")
    assert best["title"].to_list()[:3] == [None, "7", "8.5"]
    lists = fitted(ratings(), items=items, title="tags").recommend(3, n=15, seen=True)
    assert lists["title"].dtype == pl.String
    with pytest.raises(MissingColumnError, match="headline"):
        fitted(ratings(), items=items, title="headline")


def test_contexts_of_any_type_may_have_gaps():
    n = 200
    frame = ratings().with_columns(
        weather=pl.Series(["sun", None, "rain", "sun"] * 50),
        hour=pl.Series([None if k % 7 == 0 else k % 24 / 2 for k in range(n)]),
        tags=pl.Series([[["a"], ["a", "b"], None, []][k % 4] for k in range(n)]),
        when=pl.Series([datetime.datetime(2020, 1 + k % 12, 1, k % 24) for k in range(n)]),
    )
    rec = fitted(frame, context=["weather", "hour", "tags", "when"])
    assert {"context.weather", "context.hour", "context.tags"} <= set(rec.fields)
    for context in (
        None,
        {},
        {"weather": None, "hour": float("nan")},
        {"weather": "snow", "hour": "3", "tags": ("b",)},
        {"tags": [], "when": "2021-03-01"},
        {"when": datetime.datetime(2021, 3, 1, 5)},
    ):
        best = rec.recommend(["3", "nobody"], n=4, context=context)
        assert len(best) == 8
        assert best["score"].is_finite().all()
    plain = rec.predict(frame.select("u", "i"))
    np.testing.assert_allclose(plain, rec.predict([*frame.select("u", "i").iter_rows()]), atol=1e-6)
    assert np.abs(plain - rec.predict(frame)).max() > 1e-4
    rec.add_ratings(frame[:5].with_columns(u=pl.lit(777)))
    assert rec.recommend(777, n=15)["item"].len() == 15 - frame[:5]["i"].n_unique()


# Repeated pairs


def test_of_several_ratings_the_latest_counts():
    frame = pl.DataFrame({"u": [1, 1, 2, 1], "i": [5, 5, 5, 6], "rating": [5.0, 1.0, 3.0, 2.0], "t": [20, 10, 0, 0]})
    for time, kept in ((None, 1.0), ("t", 5.0)):
        rec = fitted(frame, time=time)
        blocks, y = rec.training_data(frame)
        assert sorted(y) == sorted([kept, 3.0, 2.0])
        assert len(blocks) == 3


@pytest.mark.parametrize(
    ("table", "error"),
    [
        ({"u": [1, 2], "i": [1, None], "rating": [1, 2]}, ValueInTableError),
        ({"u": [1, 2], "i": [1, 2], "rating": [1, float("inf")]}, ValueInTableError),
        ({"u": [1, 2], "i": [1, 2], "stars": [1, 2]}, MissingColumnError),
    ],
)
def test_tables_that_cannot_be_used_are_refused(table, error):
    with pytest.raises(error, match="interactions"):
        fitted(table)


def test_two_rows_for_one_user_are_refused():
    with pytest.raises(DuplicateRowsError, match="'3'"):
        fitted(ratings(), users={"u": [3, 3], "town": ["A", "B"]})


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_smallest_tables_work(n):
    frame = ratings(n)
    for target in ("rating", None):
        rec = (Recommender(bits=16) if target is None else quick()).fit(frame, **IDS, target=target)
        assert len(rec.recommend("nobody", n=50)) == frame["i"].n_unique()
        assert rec.recommend_new([frame["i"][0]]).height == frame["i"].n_unique() - 1
        assert rec.similar_items(frame["i"][0]).height == frame["i"].n_unique() - 1
        add = rec.add_events if target is None else rec.add_ratings
        add({"u": [500], "i": [600], "rating": [3]})
        assert np.isfinite(rec.predict([(500, 600)])).all()


def test_a_model_of_ones_own_may_be_given():
    rec = Recommender(model=DiscreteFM(bits=16, max_iter=3, n_jobs=1)).fit(ratings(), **IDS)
    assert rec.model_.bits == 16
    assert rec.model_.pairs_ == "across"
    with pytest.raises(TypeError, match="DistilledFM, a DiscreteFM"):
        Recommender(model="FM").fit(ratings(), **IDS)


def test_a_recommender_can_be_pickled():
    rec = fitted(ratings())
    back = pickle.loads(pickle.dumps(rec))
    assert back.add_users({"u": [500]}).n_users == rec.n_users + 1
    assert back.recommend(3).equals(rec.recommend(3))


def test_contexts_share_rows_unless_hardly_any_is_like_another():
    n, rng = 12_000, np.random.default_rng(0)
    column = Category().fit("sky", pl.Series(["wet", "dry"]))
    sky = pl.Series("sky", ["wet", "dry"])[rng.integers(2, size=n)]
    different = Text().fit("note", notes := pl.Series("note", [f"word{i} word{i % 7}" for i in range(n)]))
    for columns, frame, n_rows in (
        ([column], pl.DataFrame([sky]), 2),
        ([column, different], pl.DataFrame([sky, notes]), n),
    ):
        block = context_block(columns, frame)
        assert block.n_rows == n_rows
        for of in columns:
            found, expected = block.tables[of.name].take(block.rows[:50]), of.transform(frame[of.name][:50])
            np.testing.assert_array_equal(found.toarray(), expected.toarray())
