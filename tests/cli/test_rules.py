"""Which items ``bitfm recommend`` and ``similar`` choose from."""

from __future__ import annotations

import json

import polars as pl

import bitfm
from cli_process import call


def asked(bookshop, command, *arguments):
    done = call(command, "shop.bitfm", *arguments, "--json", cwd=bookshop.folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return [row["item"] for row in found["recommendations" if command == "recommend" else "similar"]], done.stderr


def test_values_and_comparisons(bookshop, model):
    rec = bitfm.load(model.path)
    genres = pl.DataFrame(bookshop.shop.books)["genre"].unique().sort().to_list()[:2]
    where = [{"genre": genres}, pl.col("year") > 1980, pl.col("year") <= 2010]
    options = [f"--where=genre={genres[0]}", f"--where=genre={genres[1]}", "--where=year>1980", "--where=year <= 2010"]
    expected = rec.recommend(bookshop.reader, 20, where=where)["item"].to_list()
    assert len(expected) > 0
    assert asked(bookshop, "recommend", bookshop.reader, "-n", 20, *options)[0] == expected
    alike = rec.similar_items(bookshop.book, 20, where=where)["item"].to_list()
    assert asked(bookshop, "similar", bookshop.book, "-n", 20, *options)[0] == alike
    new = rec.recommend_new([(bookshop.book, 5)], n=20, where=where)["item"].to_list()
    assert asked(bookshop, "recommend", "--history", f"{bookshop.book}:5", "-n", 20, *options)[0] == new


def test_lists_of_items(bookshop, model):
    books = bookshop.shop.books["title"][:4]
    found, notes = asked(
        bookshop, "recommend", bookshop.reader, "--seen", "--allow", ",".join([*books, "Nope"]), "--deny", books[0]
    )
    assert set(found) == set(books[1:])
    assert "allow: item 'Nope' not known, so passed over" in notes


def test_what_cannot_be_gone_by_is_said(bookshop, model):
    found, notes = asked(bookshop, "recommend", bookshop.reader, "--where", "genre=Fantsy")
    assert found == []
    assert "where: no item has genre 'Fantsy'" in notes
    done = call("recommend", "shop.bitfm", bookshop.reader, "--where", "colour=red", cwd=bookshop.folder)
    assert done.returncode > 0
    assert "there is no column 'colour' of items to go by" in done.stderr
    done = call("recommend", "shop.bitfm", bookshop.reader, "--where", "Fantasy", cwd=bookshop.folder)
    assert "expected COLUMN=VALUE, got 'Fantasy'" in done.stderr


def test_columns_to_keep_are_named_at_the_fit(bookshop, tmp_path):
    tables = ("--interactions", "ratings.csv", "--items", "books.parquet", "--user", "reader", "--item", "title")
    path = tmp_path / "some.bitfm"
    done = call("fit", *tables, "--bits", 8, "--filters", "genre,blurb", "-o", path, cwd=bookshop.folder)
    assert done.returncode == 0, done.stderr
    assert bitfm.load(path).filters == ["genre", "blurb"]


def test_what_was_bought_is_hidden(tmp_path):
    table = {
        "user_id": ["ann", "ann", "bob", "bob", "cy"],
        "item_id": ["tea", "milk", "tea", "jam", "milk"],
        "what": ["buy", "view", "view", "buy", "buy"],
    }
    rec = bitfm.Recommender(bits=8, n_jobs=1, event_weights={"view": 1, "buy": 5})
    rec.fit(table, target=None, event="what").save(tmp_path / "shop.bitfm")
    done = call("recommend", "shop.bitfm", "ann", "--exclude", "buy", "--json", cwd=tmp_path)
    assert {row["item"] for row in json.loads(done.stdout)["recommendations"]} == {"milk", "jam"}
    done = call("recommend", "shop.bitfm", "--history", "tea", "--exclude", "buy", cwd=tmp_path)
    assert "use --deny for a new one" in done.stderr


def test_boosts_and_diversity(bookshop, model):
    rec, reader = bitfm.load(model.path), bookshop.reader
    for options, how in (
        (["--boost", "year=0.05"], {"boost": {"year": 0.05}}),
        (["--boost", "year"], {"boost": "year"}),
        (["--diversity", "0.7"], {"diversity": 0.7}),
        (["--diversity", "genre=1,author=2"], {"diversity": {"genre": 1, "author": 2}}),
    ):
        expected = rec.recommend(reader, 8, **how)["item"].to_list()
        assert asked(bookshop, "recommend", reader, "-n", 8, *options)[0] == expected
        if how != {"diversity": 0.7}:  # to this model books are hardly alike
            assert expected != rec.recommend(reader, 8)["item"].to_list()
    for options in (["--boost", "year=much"], ["--diversity", "much"]):
        done = call("recommend", "shop.bitfm", reader, *options, cwd=bookshop.folder)
        assert "expected a number, got 'much'" in done.stderr


def test_similar_users(bookshop, model):
    expected = bitfm.load(model.path).similar_users(bookshop.reader, 4)
    done = call("similar", "shop.bitfm", "--users", bookshop.reader, "-n", 4, "--json", cwd=bookshop.folder)
    found = json.loads(done.stdout)
    assert found["user"] == bookshop.reader
    assert [row["user"] for row in found["similar"]] == expected["user"].to_list()
    done = call("similar", "shop.bitfm", "--users", bookshop.reader, "--where", "genre=Fantasy", cwd=bookshop.folder)
    assert "are about items" in done.stderr
