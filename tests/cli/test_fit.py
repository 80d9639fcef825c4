"""``bitfm fit``: tables in, a model file out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bitfm
from bitfm.cli._writing import need_writable
from bitfm.data import Interactions
from cli_process import call

COLUMNS = ("--user", "reader", "--item", "title")
QUICK = ("--bits", 8, "--model", "discrete")


def fit(cwd, *arguments):
    return call("fit", *QUICK, "-o", "out.bitfm", "--json", *arguments, cwd=cwd)


def test_fit_tells_of_columns_accuracy_time_memory_and_size(model):
    for column in ("age_group", "favourite_genres", "author", "blurb", "daytime"):
        assert column in model.printed
    for row in ("bias only", "FM (ALS)", "ours"):
        assert row in model.printed
    assert "0.5 of each user's interactions held out, seed 1" in model.printed
    assert "MB of memory at most" in model.printed
    assert "120 users, 60 items, 1," in model.printed
    assert "written to shop.bitfm" in model.printed


def test_a_fitted_model_remembers_its_split(model, bookshop):
    rec = bitfm.load(model.path)
    table = Interactions.of(bookshop.folder / "ratings.csv", user="reader", item="title")
    assert rec.held_out == (0.5, 1, 3000, table.digest(), "random")
    assert rec.model_.bits == 16
    known = sum(len(rec.recommend(bookshop.reader, 60, seen=seen)) * (1 if seen else -1) for seen in (True, False))
    ratings = bookshop.shop.ratings["reader"].count(bookshop.reader)
    assert known == (ratings + 1) // 2  # the half that was trained on, rounded up


def test_json_is_one_object_and_nothing_else(bookshop):
    arguments = ["--interactions", "ratings.csv", "--items", "books.parquet", *COLUMNS, "--test", 0.2]
    report = json.loads(fit(bookshop.folder, *arguments).stdout)
    assert [row["model"] for row in report["accuracy"]] == ["ours"]
    assert all(0 < row["NDCG@10"] <= 1 and 0 < row["RMSE"] < 2 for row in report["accuracy"])
    assert report["bytes"] == (bookshop.folder / "out.bitfm").stat().st_size
    assert report["interactions"] == 3000
    assert report["trained_on"] < 3000
    assert {row["column"] for row in report["columns"]} == {"author", "genre", "year", "blurb"}


def test_events_are_fitted_without_a_target(bookshop):
    arguments = ["--interactions", "ratings.csv", *COLUMNS, "--no-target", "--test", 0.5, "--baselines"]
    done = call("fit", "--bits", 8, "-o", "out.bitfm", "--json", *arguments, cwd=bookshop.folder)
    report = json.loads(done.stdout)
    assert [row["model"] for row in report["accuracy"]] == ["popularity", "real factors (iALS)", "ours"]
    assert all({"hit rate@10", "NDCG@10", "MRR@10"} <= set(row) for row in report["accuracy"])


def test_events_count_as_the_command_line_says(tmp_path):
    lines = ["user_id,item_id,what,amount,day", "a,x,view,1,2024-01-01", "a,y,buy,2,2024-01-02", "b,x,buy,1,2024-01-02"]
    (tmp_path / "events.csv").write_text("\n".join(lines))
    about = ["--event", "what", "--event-weight", "view=1", "--event-weight", "buy=10", "--weight", "amount"]
    about += ["--time", "day", "--half-life", 1, "--neighbors", 2, "--bits", 8]
    done = call("fit", "--interactions", "events.csv", "--no-target", *about, "-o", "m.bitfm", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rec = bitfm.load(tmp_path / "m.bitfm")
    np.testing.assert_allclose(rec.state.log.by_user.toarray(), [[0.5, 20], [10, 0]])
    assert rec.model_.n_neighbors == 2
    shown = call("inspect", "m.bitfm", cwd=tmp_path).stdout
    assert "ImplicitFM" in shown
    assert "user.history" in shown
    refused = call("fit", "--interactions", "events.csv", "--no-target", "--beta", 1, "-o", "n.bitfm", cwd=tmp_path)
    assert refused.returncode == 2
    assert "only for ratings" in refused.stderr or "only for --model" in refused.stderr
    wrong = ["--event", "what", "--event-weight", "buy=much", "-o", "n.bitfm"]
    refused = call("fit", "--interactions", "events.csv", "--no-target", *wrong, cwd=tmp_path)
    assert refused.returncode == 2
    forgot = call("fit", "--interactions", "events.csv", "--no-target", "--forget-users", "-o", "f.bitfm", cwd=tmp_path)
    assert forgot.returncode == 0, forgot.stderr
    asked = call("recommend", "f.bitfm", "a", cwd=tmp_path)
    assert asked.returncode == 11
    assert "keeps no users" in asked.stderr
    assert "non-personalised" not in asked.stderr
    assert "y" in call("recommend", "f.bitfm", "--history", "x", "--csv", cwd=tmp_path).stdout


def test_several_tables_of_items_are_joined_by_id(tmp_path, bookshop):
    books = pl.DataFrame(bookshop.shop.books)
    books.select("title", "author").write_csv(tmp_path / "authors.csv")
    years = books.select("title", "year")[::-1][:-5]  # another order, and not all of them
    years.write_csv(tmp_path / "years.txt", include_header=False, separator="\t")
    arguments = ["--interactions", bookshop.folder / "ratings.csv", *COLUMNS, "--items", "authors.csv"]
    arguments += ["--items", "years.txt", "--item-columns", "title,author", "--item-columns", "book,year"]
    report = json.loads(fit(tmp_path, *arguments, "--kind", "year=number").stdout)
    found = {row["column"]: row for row in report["columns"]}
    assert set(found) == {"author", "year"}
    assert found["year"]["missing"] == pytest.approx(5 / 60)
    assert found["year"]["kind"] == "number"
    assert report["items"] == 60


def test_a_column_of_two_tables_is_refused(tmp_path, bookshop):
    books = bookshop.folder / "books.parquet"
    done = fit(
        tmp_path, "--interactions", bookshop.folder / "ratings.csv", *COLUMNS, "--items", books, "--items", books
    )
    assert done.returncode == 5
    assert "has the column 'author', and so has a table before it" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--interactions", "nowhere.csv"], 3, "nowhere.csv"),
        (["--interactions", "ratings.csv"], 6, "user_id"),
        (["--interactions", "ratings.csv", *COLUMNS, "--target", "stars"], 6, "stars"),
        (["--interactions", "ratings.csv", *COLUMNS, "--test", "1.5"], 2, "expected a share above 0 and below 1"),
        (["--interactions", "ratings.csv", *COLUMNS, "--target", "rating", "--no-target"], 2, "not both"),
        (["--interactions", "ratings.csv", *COLUMNS, "--kind", "year"], 2, "expected NAME=VALUE, got 'year'"),
        (["--interactions", "ratings.csv", *COLUMNS, "--user-columns", "a"], 2, "but --users only 0 times"),
        (["--interactions", "ratings.csv", *COLUMNS, "--rank", "8"], 2, "only for --model distilled"),
        (["--interactions", "ratings.csv", *COLUMNS, "--beta", "x"], 2, "--beta"),
        (["--interactions", "nowhere.csv", *COLUMNS, "-o", "nowhere/shop.bitfm"], 3, "there is no folder nowhere"),
        (["--interactions", "nowhere.csv", *COLUMNS, "-o", "."], 3, "is a folder; give the name of a file"),
        ([], 2, "--interactions"),
    ],
)
def test_mistakes_are_one_clear_line_with_an_exit_code(bookshop, arguments, code, said):
    done = fit(bookshop.folder, *arguments)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no folder that nobody can write into")
def test_a_place_that_cannot_be_written_is_noticed_before_tables_are_read(tmp_path):
    done = call("fit", "--interactions", "nowhere.csv", "-o", "/proc/shop.bitfm", cwd=tmp_path)
    assert done.returncode == 3
    assert "/proc/shop.bitfm cannot be written" in done.stderr


def test_a_link_is_followed_before_it_is_judged(tmp_path):
    (tmp_path / "link.bitfm").symlink_to(tmp_path / "gone" / "shop.bitfm")
    with pytest.raises(FileNotFoundError, match="no folder"):
        need_writable(tmp_path / "link.bitfm")
    (tmp_path / "gone").mkdir()
    need_writable(tmp_path / "link.bitfm")
    assert list((tmp_path / "gone").iterdir()) == []


def test_the_command_line_wins_over_the_file_of_defaults(tmp_path, bookshop):
    (tmp_path / "bitfm.toml").write_text(
        f"""
        model = "default.bitfm"
        [fit]
        interactions = "{bookshop.folder / "ratings.csv"}"
        user = "reader"
        item = "title"
        no-target = true
        bits = 16
        model = "discrete"
        """
    )
    done = call("fit", "--bits", 8, "--target", "rating", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["model"] == "default.bitfm"
    rec = bitfm.load(tmp_path / "default.bitfm")
    assert rec.model_.bits == 8
    assert rec.evaluate(pl.read_csv(bookshop.folder / "ratings.csv")).rmse is not None  # ratings, not events


def test_a_mistake_in_the_file_of_defaults_names_file_and_key(tmp_path):
    (tmp_path / "other.toml").write_text("[fit]\nbit = 8\n")
    done = call("fit", "--config", "other.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "other.toml: [fit]: there is no 'bit'; did you mean 'bits'?" in done.stderr


def test_a_full_disk_has_its_own_exit_code_and_leaves_the_old_model(bookshop, tmp_path):
    resource = pytest.importorskip("resource")  # a limit on files is how a disk fills up here
    before = b"what was there"
    (tmp_path / "out.bitfm").write_bytes(before)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        done = fit(tmp_path, "--interactions", bookshop.folder / "ratings.csv", *COLUMNS, "--force")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert done.returncode == 14
    assert "out.bitfm" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["out.bitfm"]
    assert (tmp_path / "out.bitfm").read_bytes() == before


def test_a_name_that_is_no_text_is_noted_in_ascii(tmp_path):
    name = "ratings\udcff.csv"  # a byte that is no UTF-8, as a shell passes it on
    try:
        (tmp_path / name).write_text("user_id,item_id,rating\nann,tea,5\nann,milk,2\nbob,tea,4\n")
    except OSError:
        pytest.skip("names of files are Unicode here")
    done = fit(tmp_path, "--interactions", name)
    assert done.returncode == 0, done.stderr
    assert bitfm.load(tmp_path / "out.bitfm").notes == {"interactions": "ratings\\udcff.csv"}


def test_the_rank_of_the_teacher_is_noted(bookshop, tmp_path):
    tables = ["--interactions", bookshop.folder / "ratings.csv", *COLUMNS, "--bits", 8, "--rank", 4]
    done = call("fit", *tables, "--model", "distilled", "-o", "out.bitfm", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert bitfm.load(tmp_path / "out.bitfm").notes["teacher"] == "of rank 4"
    assert "teacher of rank 4" in call("inspect", "out.bitfm", cwd=tmp_path).stdout
