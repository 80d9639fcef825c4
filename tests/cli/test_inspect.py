"""``bitfm inspect``: what is in a model file."""

from __future__ import annotations

import json

import pytest

import bitfm
from bitfm.datasets import make_bookshop
from cli_process import call


def test_everything_in_a_recommender_is_told(bookshop, model, monkeypatch):
    monkeypatch.setattr("bitfm.persist.layout.FORMAT_VERSION", 7)  # the file says 1
    done = call("inspect", "shop.bitfm", "--json", "--top", 2, cwd=bookshop.folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    rec = bitfm.load(model.path)
    assert (found["users"], found["items"], found["bits"], found["format_version"]) == (120, 60, 16, 1)
    assert found["bytes"] == model.path.stat().st_size
    assert [field["field"] for field in found["fields"]] == rec.fields
    assert sum(field["features"] for field in found["fields"]) == found["features"] == rec.model_.n_features_in_
    assert found["held_out"] == "0.5 of each user's interactions held out, seed 1"
    assert 0 < sum(found["bytes_by_part"].values()) <= found["bytes"]
    genre = next(field for field in found["fields"] if field["field"] == "item.genre")
    assert len(genre["largest weights"]) == 2
    assert {it["name"] for it in genre["largest weights"]} <= set(bookshop.shop.books["genre"])
    span = next(field for field in rec.model_.fields_ if (field.block, field.name) == ("item", "genre"))
    weights = sorted(rec.model_.weights_[span.start : span.stop].tolist(), key=lambda weight: -abs(weight))
    assert [it["value"] for it in genre["largest weights"]] == pytest.approx(weights[:2])


def test_people_see_tables(bookshop, model):
    printed = call("inspect", "shop.bitfm", cwd=bookshop.folder).stdout
    for expected in ("user.history", "item.author", "category", "mean gain", "largest weights", "codes", "held out"):
        assert expected in printed


def test_a_plain_model_is_told_of_as_well(tmp_path):
    shop = make_bookshop(40, 30, 300)
    X, y = shop.blocks(), shop.ratings["rating"]
    bitfm.DiscreteFM(bits=8, max_iter=2).fit(X, y).save(tmp_path / "plain.bitfm")
    bitfm.BiasModel().fit(X, y).save(tmp_path / "bias.bitfm")
    found = json.loads(call("inspect", "plain.bitfm", "--json", cwd=tmp_path).stdout)
    assert found["model"] == "DiscreteFM"
    assert found["columns"] == []
    assert all(field["mean gain"] > 0 and field["largest gains"] for field in found["fields"])
    assert "users" not in found
    found = json.loads(call("inspect", "bias.bitfm", "--json", cwd=tmp_path).stdout)
    assert not {"mean gain", "largest gains"} & set(found["fields"][0])


def test_what_is_no_model_is_refused(tmp_path):
    (tmp_path / "text.bitfm").write_text("no model")
    done = call("inspect", "text.bitfm", cwd=tmp_path)
    assert done.returncode == 12
    assert "text.bitfm" in done.stderr
    assert call("inspect", cwd=tmp_path).returncode == 2


def test_settings_and_declared_kinds_are_in_the_file(bookshop, tmp_path):
    tables = ["--interactions", bookshop.folder / "ratings.csv", "--items", bookshop.folder / "books.parquet"]
    tables += ["--user", "reader", "--item", "title", "--kind", "year=category", "--kind", "item.blurb=ignore"]
    done = call("fit", *tables, "--model", "discrete", "--bits", 8, "--beta", 3, "-o", "shop.bitfm", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(call("inspect", "shop.bitfm", "--json", cwd=tmp_path).stdout)["settings"]
    assert (found["model"]["beta"], found["model"]["bits"]) == (3.0, 8)
    kinds = found["recommender"]["kinds"]
    assert sorted(kinds) == ["item.blurb", "year"]
    assert kinds["year"].startswith("Category(")
    printed = call("inspect", "shop.bitfm", cwd=tmp_path).stdout
    for expected in ("beta", "Category(", "as declared", "Ignored("):
        assert expected in printed
    rec = bitfm.load(tmp_path / "shop.bitfm")
    ratings = rec.interactions(bookshop.folder / "ratings.csv")
    rec.fit(ratings, items=bookshop.folder / "books.parquet")  # a new fit has the kinds again
    by_column = {row["column"]: row["kind"] for row in rec.describe().to_dicts()}
    assert (by_column["year"], by_column["blurb"]) == ("category", "ignore")
