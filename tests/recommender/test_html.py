"""What notebooks show: all that the texts say, whatever is in the data."""

from __future__ import annotations

import numpy as np
import polars as pl

import bitfm
from bitfm import Evaluation, Recommender
from bitfm.evaluation import PerUser, compare
from bitfm.recommender import Codes, Vectors
from markup import Reader

EVIL = "<script>alert('&')</script>"


def test_a_recommender_shows_its_sizes_and_columns(rec):
    texts = Reader(rec._repr_html_()).texts
    assert texts[:7] == ["Recommender", "users", "300", "items", "150", "ratings", "6,000"]
    assert "DistilledFM, 32 bits" in texts[8]
    assert f"{len(rec.describe())} columns" in texts
    assert {"user.age_group", "item.blurb"} < set(texts)


def test_before_the_fit_a_recommender_is_one_line():
    assert Recommender(bits=8)._repr_html_() is None


def test_ids_titles_columns_and_values_are_texts():
    ratings = {"user_id": [EVIL, "u"] * 4, "item_id": ["i", EVIL] * 4, "rating": [1, 5, 2, 4, 1, 5, 2, 4]}
    items = {"item_id": ["i", EVIL], "title": ["t", EVIL], EVIL: ["other", EVIL]}
    rec = Recommender(bits=8).fit(pl.DataFrame(ratings), items=pl.DataFrame(items))
    shown = [rec, rec.explain(EVIL, EVIL), rec.item_vectors(), rec.user_vectors()]
    for one in shown:
        read = Reader(one._repr_html_())
        assert any(EVIL in text for text in read.texts)
        assert "script" not in read.tags


def test_an_explanation_adds_up(rec, shop):
    why = rec.explain(shop.readers["reader"][0], 100)
    shown = Reader(why._repr_html_().split("<details>")[0]).texts
    assert shown[0].startswith(f"score {why.score:.4f} = bias {why.bias:.4f}")
    shares = [float(text) for text in shown[2::2]]
    assert len(shares) == 11
    assert abs(sum(shares) + why.bias - why.score) < 1e-3
    assert sorted(shares[:10], key=abs, reverse=True) == shares[:10]
    by_field = Reader(why._repr_html_().split("</summary>")[1].removesuffix("</details>")).texts
    assert by_field[::2] == list(why.by_field())[:10]


def test_an_explanation_is_one_line_of_plain_text(rec, shop):
    why = rec.explain(shop.readers["reader"][0], 100)
    n_pairs = len(why.pairs) + why.n_other_pairs
    assert repr(why) == f"Explanation(score {why.score:.4f}, {len(why.features)} features, {n_pairs} pairs)"


def test_an_evaluation_shows_its_measures():
    texts = Reader(Evaluation(ndcg=0.81, k=10, users=6040, interactions=497000, rmse=0.85)._repr_html_()).texts
    assert texts == ["Evaluation on 497,000 interactions of 6,040 users", "NDCG@10", "0.8100", "RMSE", "0.8500"]


def test_a_comparison_has_a_column_for_each_k():
    users = np.arange(6)
    one = compare(PerUser(users, np.full(6, 0.75)), PerUser(users, np.full(6, 0.5)))
    assert Reader(one._repr_html_()).texts[:3] == ["Comparison of 6 users", "difference", "0.2500"]
    two = compare(PerUser(users, np.full((6, 2), 0.75), (1, 5)), PerUser(users, np.full((6, 2), 0.5), (1, 5)))
    assert Reader(two._repr_html_()).texts[1:4] == ["difference", "0.2500", "0.2500"]


def test_intervals_and_comparisons_of_models_are_shown(rec, shop):
    tested = rec.evaluate(shop.ratings)
    texts = Reader(tested._repr_html_()).texts
    low, high = tested.intervals()["RMSE"]
    assert texts[texts.index("RMSE") :][:4] == ["RMSE", f"{tested.rmse:.4f}", f"{low:.4f}", f"{high:.4f}"]
    other = Recommender(bits=8).fit(**{**shop.tables, "interactions": shop.ratings[:3000]})
    found = bitfm.compare(rec, other, pl.DataFrame({**shop.ratings[:50].to_dict(), "reader": ["new"] * 50}))
    read = Reader(found._repr_html_()).texts
    assert [row["measure"] for row in found.rows()] == [text for text in read if text in ("NDCG@10", "RMSE", "MAE")]


def test_vectors_show_a_corner():
    vectors = Vectors([EVIL, *range(9)], np.ones((10, 8), np.float32))
    texts = Reader(vectors._repr_html_()).texts
    assert texts[:2] == ["Vectors(10 ids, 8 numbers each)", EVIL]
    assert texts.count("1.0000") == 25
    assert texts.count("…") == 6
    assert Reader(Vectors([], np.ones((0, 3), np.float32))._repr_html_()).texts == ["Vectors(0 ids, 3 numbers each)"]


def test_codes_show_the_first_of_them():
    codes = Codes([EVIL, *range(9)], np.full((10, 2), 171, np.uint8), np.ones(10, np.float32), np.ones(10, np.float32))
    assert Reader(codes._repr_html_()).texts[:3] == ["Codes(10 ids, 16 bits each)", EVIL, "abab"]
