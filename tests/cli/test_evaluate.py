"""``bitfm evaluate``: the rows that were held out, with all fields and without some."""

from __future__ import annotations

import json

import polars as pl
import pytest

import bitfm
from bitfm.evaluation import split_per_user
from cli_process import call


def evaluate(cwd, *arguments):
    return call("evaluate", "shop.bitfm", "--interactions", "ratings.csv", *arguments, cwd=cwd)


def test_the_rows_held_out_are_found_again(bookshop, model):
    done = evaluate(bookshop.folder, "--without", "user.history", "--without", "item.author", "--baselines", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    ratings = pl.read_csv(bookshop.folder / "ratings.csv")
    order = {reader: number for number, reader in enumerate(dict.fromkeys(ratings["reader"]))}
    train = split_per_user([order[reader] for reader in ratings["reader"]], 0.5, 1)
    expected = bitfm.load(model.path).evaluate(ratings.filter(~train))
    rows = {row["model"]: row for row in report["rows"]}
    assert list(rows) == ["bias only", "FM (ALS)", "ours", "ours, without user.history", "ours, without item.author"]
    assert rows["ours"]["RMSE"] == pytest.approx(expected.rmse)
    assert rows["ours"]["NDCG@10"] == pytest.approx(expected.ndcg)
    assert rows["ours, without user.history"]["RMSE"] != rows["ours"]["RMSE"]
    assert report["interactions"] == (~train).sum()
    assert report["seed"] == 1
    assert done.stderr == ""


def test_the_figures_are_those_that_fit_printed(bookshop, model):
    report = json.loads(evaluate(bookshop.folder, "--baselines", "--json").stdout)
    for row in report["rows"]:
        assert f"{row['NDCG@10']:#,.4g}" in model.printed
        assert f"{row['RMSE']:#,.4g}" in model.printed


def test_each_field_is_left_out_in_turn_and_nothing_compared_if_not_wanted(bookshop, model):
    report = json.loads(evaluate(bookshop.folder, "--without", "each", "--k", 5, "--json").stdout)
    fields = bitfm.load(model.path).fields
    assert [row["model"] for row in report["rows"]] == ["ours", *(f"ours, without {field}" for field in fields)]
    assert all("NDCG@5" in row for row in report["rows"])


def test_people_see_data_split_seed_and_time(bookshop, model):
    printed = evaluate(bookshop.folder).stdout
    assert "ratings.csv: 0.5 of each user's interactions held out, seed 1" in printed
    assert " s\n" in printed


def test_another_table_than_that_of_the_fit_is_refused_unless_all_of_it_is_meant(tmp_path, bookshop, model):
    pl.read_csv(bookshop.folder / "ratings.csv")[:-1].write_csv(tmp_path / "fewer.csv")
    arguments = ["evaluate", model.path, "--interactions", tmp_path / "fewer.csv"]
    done = call(*arguments, cwd=tmp_path)
    assert done.returncode == 5
    assert "has 2,999 rows" in done.stderr
    done = call(*arguments, "--all", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["interactions"] == 2999
    assert "of these interactions are in the model's own history" in done.stderr


def test_another_order_of_the_same_rows_is_refused_since_the_test_part_would_be_another(tmp_path, bookshop, model):
    ratings = pl.read_csv(bookshop.folder / "ratings.csv")
    ratings[::-1].write_csv(tmp_path / "reversed.csv")
    arguments = ["evaluate", model.path, "--json", "--interactions"]
    done = call(*arguments, tmp_path / "reversed.csv", cwd=tmp_path)
    assert done.returncode == 5
    assert "another order of rows" in done.stderr
    assert "--all" in done.stderr
    assert call(*arguments, tmp_path / "reversed.csv", "--all", cwd=tmp_path).returncode == 0
    ratings.write_parquet(tmp_path / "same.parquet")  # the format does not matter
    assert call(*arguments, tmp_path / "same.parquet", cwd=tmp_path).returncode == 0


def test_a_pair_that_was_rated_twice_is_not_on_both_sides_of_the_split(tmp_path, bookshop):
    ratings = pl.read_csv(bookshop.folder / "ratings.csv")
    earlier = ratings[:400].with_columns(rating=6 - pl.col("rating"))
    pl.concat([earlier, ratings]).write_csv(tmp_path / "twice.csv")
    said = "rows left out, since a later one has the same user and item: 400\n"
    columns = ["--user", "reader", "--item", "title"]
    arguments = ["--interactions", "twice.csv", *columns, "--bits", 8, "--model", "discrete", "--test", 0.5]
    done = call("fit", *arguments, "-o", "twice.bitfm", "--json", cwd=tmp_path)
    assert done.stderr.startswith(said)
    fitted = json.loads(done.stdout)
    assert fitted["interactions"] == 3000
    done = call("evaluate", "twice.bitfm", "--interactions", "twice.csv", "--json", cwd=tmp_path)
    assert done.stderr == said
    report = json.loads(done.stdout)
    assert report["interactions"] == 3000 - fitted["trained_on"]
    assert report["rows"][0]["RMSE"] == pytest.approx(fitted["accuracy"][-1]["RMSE"])
    rec = bitfm.load(tmp_path / "twice.bitfm")
    seen = rec.state.has_seen(rec.interactions(ratings)).mean()
    assert seen == pytest.approx(fitted["trained_on"] / 3000)  # and no pair of the test part


def test_ratings_too_large_for_ndcg_are_refused_before_a_fit(tmp_path, bookshop, model):
    pytest.importorskip("optuna")
    large = pl.read_csv(bookshop.folder / "ratings.csv").with_columns(pl.col("rating") * 400)
    large.write_csv(tmp_path / "large.csv")
    tables = ["--interactions", "large.csv", "--user", "reader", "--item", "title"]
    for arguments in (
        ["fit", *tables, "--test", 0.5, "-o", "large.bitfm"],
        ["tune", *tables, "--trials", 1],
        ["evaluate", model.path, "--interactions", "large.csv"],
    ):
        done = call(*arguments, cwd=tmp_path)
        assert done.returncode == 8, done.stderr
        assert "the largest rating is 2,000, but NDCG" in done.stderr
        assert "scale the ratings" in done.stderr
    assert not (tmp_path / "large.bitfm").exists()
    quick = ["--bits", 8, "--model", "discrete"]
    assert call("fit", *tables, *quick, "-o", "large.bitfm", cwd=tmp_path).returncode == 0  # nothing is measured


def test_a_rating_of_0_is_known_as_well(tmp_path, bookshop):
    ratings = pl.read_csv(bookshop.folder / "ratings.csv").with_columns(pl.col("rating") - 3)
    ratings.write_csv(tmp_path / "ratings.csv")
    columns = ["--user", "reader", "--item", "title", "--bits", 8, "--model", "discrete"]
    done = call("fit", "--interactions", "ratings.csv", *columns, "-o", "zero.bitfm", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (ratings["rating"] == 0).any()
    rec = bitfm.load(tmp_path / "zero.bitfm")
    assert rec.state.has_seen(rec.interactions(ratings)).all()


def test_events_are_ranked_in_the_catalogue(tmp_path, bookshop):
    ratings = bookshop.folder / "ratings.csv"
    arguments = ["--interactions", ratings, "--user", "reader", "--item", "title", "--no-target", "--test", 0.5]
    fitted = json.loads(
        call("fit", *arguments, "--bits", 8, "--baselines", "-o", "events.bitfm", "--json", cwd=tmp_path).stdout
    )
    report = json.loads(
        call("evaluate", "events.bitfm", "--interactions", ratings, "--baselines", "--json", cwd=tmp_path).stdout
    )
    assert [row["model"] for row in report["rows"]] == ["popularity", "real factors (iALS)", "ours"]
    for before, after in zip(fitted["accuracy"], report["rows"], strict=True):
        for measure in ("NDCG@10", "hit rate@10", "MRR@10"):
            assert before[measure] == pytest.approx(after[measure])


def test_the_help_says_that_nothing_is_fitted_again_without_a_field(tmp_path):
    printed = " ".join(call("evaluate", "--help", cwd=tmp_path).stdout.split())
    assert "left out of the fitted model, without a new fit" in printed


def test_an_unknown_field_is_refused(bookshop, model):
    done = evaluate(bookshop.folder, "--without", "user.shoe")
    assert done.returncode == 1
    assert "user.shoe" in done.stderr


# Splits


@pytest.fixture(scope="module")
def dated(bookshop, tmp_path_factory):
    """Events with the row's number for a time, in a folder of their own."""
    folder = tmp_path_factory.mktemp("dated")
    events = pl.read_csv(bookshop.folder / "ratings.csv").select("reader", "title").with_row_index("second")
    events.write_csv(folder / "events.csv")
    return folder


EVENTS = ("--interactions", "events.csv", "--user", "reader", "--item", "title", "--no-target", "--bits", 16)


@pytest.mark.parametrize("by", ["time", "user"])
def test_what_fit_holds_out_evaluate_finds_again(dated, by):
    arguments = [*EVENTS, "--time", "second", "--test", 0.2, "--split", by, "-o", f"{by}.bitfm", "--json"]
    fitted = json.loads(call("fit", *arguments, cwd=dated).stdout)
    assert [row["model"] for row in fitted["accuracy"]] == ["ours"]  # no baseline that nobody asked for
    done = call("evaluate", f"{by}.bitfm", "--interactions", "events.csv", "--json", cwd=dated)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert [row["model"] for row in report["rows"]] == ["popularity", "ours"]
    assert report["rows"][1]["NDCG@10"] == pytest.approx(fitted["accuracy"][0]["NDCG@10"])
    assert report["rows"][1]["intervals"]["recall@10"][0] < report["rows"][1]["recall@10"]
    rec = bitfm.load(dated / f"{by}.bitfm")
    assert rec.held_out.by == by
    assert report["split"] == str(rec.held_out)
    events = pl.read_csv(dated / "events.csv")
    train, test = rec.interactions(events).split_as(rec.held_out)
    assert fitted["trained_on"] == len(train)
    assert (train.times.max() < test.times.min()) == (by == "time")
    assert (not set(train.users) & set(test.users)) == (by == "user")


def test_a_split_needs_a_share_and_by_time_a_time(dated):
    done = call("fit", *EVENTS, "--split", "user", "-o", "no.bitfm", cwd=dated)
    assert (done.returncode, "needs --test" in done.stderr) == (2, True)
    done = call("fit", *EVENTS, "--split", "time", "--test", 0.2, "-o", "no.bitfm", cwd=dated)
    assert (done.returncode, "with --time" in done.stderr) == (2, True)
    assert not (dated / "no.bitfm").exists()


def test_a_file_of_its_own_may_be_tested_on(dated):
    events = pl.read_csv(dated / "events.csv")
    events[:2500].write_csv(dated / "before.csv")
    events[2500:].write_csv(dated / "later.csv")
    arguments = ["--interactions", "before.csv", *EVENTS[2:], "-o", "before.bitfm"]
    done = call("fit", *arguments, "--test-file", "later.csv", "--json", cwd=dated)
    assert done.returncode == 0, done.stderr
    fitted = json.loads(done.stdout)
    assert fitted["trained_on"] == 2500
    report = json.loads(call("evaluate", "before.bitfm", "--interactions", "later.csv", "--json", cwd=dated).stdout)
    assert report["rows"][-1]["MAP@10"] == pytest.approx(fitted["accuracy"][-1]["MAP@10"])
    done = call("fit", *arguments, "--test-file", "later.csv", "--test", 0.2, cwd=dated)
    assert (done.returncode, "not both" in done.stderr) == (2, True)
    done = call("fit", *arguments, "--test-file", "before.csv", cwd=dated)
    assert "100% of these interactions are in the model's own history" in done.stderr
    assert "Accuracy on before.csv" not in done.stdout  # nothing is left to be found
    assert done.returncode == 7


def test_a_picture_is_drawn_or_refused_before_the_work(dated, bookshop, model):
    pytest.importorskip("matplotlib")
    done = evaluate(bookshop.folder, "--plot", dated / "shop.svg")
    assert done.returncode == 0, done.stderr
    assert (dated / "shop.svg").read_text().count('id="axes_') == 3
    assert "drawn into" in done.stdout
    for name, code in (("shop.pdf", 2), ("nowhere/shop.svg", 3)):
        done = evaluate(bookshop.folder, "--plot", dated / name)
        assert done.returncode == code, done.stderr
