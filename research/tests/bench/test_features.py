"""The benchmark of features: each field beside the same model without it, and cold items by features alone."""

from __future__ import annotations

import pytest

from bitfm_research.bench import datasets, features
from bitfm_research.bench.features import compare_cold, compare_warm
from ratings import N_ITEMS, small_ratings, small_split


def silent(_):
    pass


def by_fields(rows, method):
    return {row["fields"]: row for row in rows if row["method"] == method}


def test_warm_each_field_is_compared_with_leaving_it_out():
    rows = compare_warm(small_split(), 8, 0, silent)
    for method in ("FM, Gibbs", "DFM, distilled"):
        mine = by_fields(rows, method)
        base = "ids, history, raters"
        assert list(mine) == ["ids", base, f"{base}, age", f"{base}, genres", f"{base}, age, genres"]
        assert mine["ids"]["difference"] is None
        assert mine[base]["difference"] == mine[base]["NDCG@10"] - mine["ids"]["NDCG@10"]
        for fields in list(mine)[2:]:
            assert mine[fields]["difference"] == mine[fields]["NDCG@10"] - mine[base]["NDCG@10"]
    assert all(row["bits"] == (8 if row["method"] == "DFM, distilled" else None) for row in rows)


def test_cold_items_are_in_random_order_until_features_tell_them_apart():
    split = small_split(cold_items=0.3)
    assert len(set(split.test[1])) == round(0.3 * N_ITEMS)
    rows = compare_cold(split, 16, 0, silent)
    by_chance = rows[0]
    assert (by_chance["method"], by_chance["seconds"]) == ("random order", None)
    known = "ids, history"
    for method in ("bias only", "FM, Gibbs", "DFM, distilled"):
        mine = by_fields(rows, method)
        assert list(mine) == [known, f"{known}, genres", f"{known}, genres, age", f"{known}, genres, age, raters"]
        assert mine[known]["NDCG@10"] == pytest.approx(by_chance["NDCG@10"])  # ids of cold items say nothing
    assert by_fields(rows, "FM, Gibbs")[f"{known}, genres"]["NDCG@10"] > by_chance["NDCG@10"]


def test_warm_comes_first_and_then_cold_with_every_seed(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "READERS", {"one": lambda _: small_ratings(1)})
    for name in ("warm", "cold"):
        monkeypatch.setattr(features, f"compare_{name}", lambda split, bits, seed, say, kind=name: [(kind, bits, seed)])
    done = list(features.run("one", bits=8, seeds=2, folder=tmp_path, say=silent))
    assert [rows for _, rows in done] == [[("warm", 8, 0), ("warm", 8, 1)], [("cold", 8, 0), ("cold", 8, 1)]]
    assert [split.protocol for split, _ in done] == [
        "half of each user's ratings to train, half to test",
        "half of each user's ratings to train, half to test; 20% of the items to test alone, all others to train",
    ]
