"""Two recommenders on the same interactions: what is compared, and what is said of the rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import bitfm
from bitfm import Recommender
from bitfm.evaluation import compare as paired_test
from bitfm.evaluation import holm
from ratings_of_shop import quick


@pytest.fixture(scope="module")
def parts(shop):
    rows = shop.ratings.with_row_index()
    return rows.filter(pl.col("index") % 3 > 0), rows.filter(pl.col("index") % 3 == 0)


@pytest.fixture(scope="module")
def models(parts, tmp_path_factory):
    folder, train = tmp_path_factory.mktemp("models"), parts[0]
    columns = {"user": "reader", "item": "book"}
    for name, rows in (("all", train), ("few", train[: len(train) // 6])):
        quick(bits=16).fit(rows, **columns).save(folder / f"{name}.bitfm")
    return folder / "all.bitfm", folder / "few.bitfm"


def test_files_are_compared_measure_by_measure_with_the_paired_test(models, parts):
    found = bitfm.compare(*models, parts[1])
    whole, few = (bitfm.load(path) for path in models)
    one, two = whole.evaluate(parts[1]), few.evaluate(parts[1])
    assert (found.first, found.second) == (one, two)
    assert list(found.tests) == ["ndcg", "rmse", "mae"]
    for name, test in found.tests.items():
        assert test == paired_test(one.measures[name], two.measures[name])
        assert test.difference == pytest.approx(getattr(one, name) - getattr(two, name))
    assert list(found.adjusted.values()) == holm([test.p_value for test in found.tests.values()])
    assert found.tests["rmse"].difference < 0
    assert found.tests["rmse"].p_value < 0.01
    assert [row["measure"] for row in found.rows()] == ["NDCG@10", "RMSE", "MAE"]
    unknown = set(parts[1]["reader"]) - set(few.users["reader"])
    assert found.unknown_users == (0, len(unknown))
    assert found.left_out == 0
    assert bitfm.compare(whole, few, parts[1]).rows() == found.rows()


def test_a_model_and_itself_do_not_differ(models, parts):
    found = bitfm.compare(models[0], models[0], parts[1])
    assert all(test.difference == 0 and test.p_value == 1 for test in found.tests.values())


def test_what_one_of_them_has_learnt_from_is_left_out_for_both(models, parts, shop):
    found = bitfm.compare(*models, shop.ratings)
    assert found.left_out == len(parts[0])
    assert found.first.interactions == found.second.interactions == len(parts[1])
    with pytest.raises(ValueError, match="no interaction is new to both"):
        bitfm.compare(*models, parts[0])


@pytest.fixture(scope="module")
def events_parts(events):
    once = events.unique(["person", "thing"], maintain_order=True)
    return once[: len(once) // 2], once[len(once) // 2 :]


def test_events_are_compared_but_for_what_each_measures_by_itself(events_parts):
    train, later = events_parts
    columns = {"user": "person", "item": "thing", "target": None}
    good, bad = (
        Recommender(bits=bits, n_jobs=1).fit(rows, **columns) for bits, rows in ((32, train), (8, train[:300]))
    )
    found = bitfm.compare(good, bad, later, k=5)
    assert list(found.tests) == ["ndcg", "recall", "precision", "map", "mrr", "hit_rate"]
    assert found.tests["ndcg"].difference > 0
    assert [row["measure"] for row in found.rows()][-1] == "coverage@5"
    assert "p" not in found.rows()[-1]
    seen = {tuple(row) for row in train.select("person", "thing").iter_rows()}
    assert found.left_out == sum(tuple(row) in seen for row in later.select("person", "thing").iter_rows())


def test_if_one_has_a_context_both_rank_each_interaction(events_parts):
    train, later = events_parts
    columns = {"user": "person", "item": "thing", "target": None}
    plain = Recommender(bits=32, n_jobs=1).fit(train, **columns)
    context = Recommender(bits=32, n_jobs=1).fit(train, **columns, context=["daytime"])
    found = bitfm.compare(context, plain, later)
    assert found.first.interactions == len(later)
    assert found.first.ndcg > found.second.ndcg  # who buys by the time of day
    read = replace(plain.interactions(later), context=pl.DataFrame({"weather": np.zeros(len(later))}))
    with pytest.raises(ValueError, match="without the context 'daytime'"):
        bitfm.compare(plain, context, read)


def test_events_that_count_against_an_item_for_one_of_them_are_nothing_to_find(events_parts):
    train, later = (
        part.with_columns(what=pl.Series(np.arange(len(part)) % 2).cast(pl.String)) for part in events_parts
    )
    columns = {"user": "person", "item": "thing", "target": None, "event": "what"}
    both, one = (Recommender(bits=8, n_jobs=1, event_weights={"0": 1, "1": w}).fit(train, **columns) for w in (2, -1))
    found = bitfm.compare(both, one, later)
    assert found.first.interactions == found.second.interactions
    assert found.first.interactions <= (later["what"] == "0").sum()


def test_what_cannot_be_compared_is_refused(models, events, shop):
    of_events = Recommender(bits=8, n_jobs=1).fit(events, user="person", item="thing", target=None)
    with pytest.raises(ValueError, match="the first was fitted to ratings, the second to events"):
        bitfm.compare(models[0], of_events, shop.ratings)
    other = quick().fit(shop.ratings.rename({"book": "other"}), user="reader", item="other")
    table = shop.ratings.with_columns(other=pl.col("book") + 1)
    with pytest.raises(ValueError, match="two models of the same columns"):
        bitfm.compare(models[0], other, table)
