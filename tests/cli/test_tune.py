"""``bitfm tune``: settings chosen on a part of the training data."""

from __future__ import annotations

import json
import sys
import tomllib

import polars as pl
import pytest

from bitfm.cli.fit import ModelOptions
from bitfm.evaluation import split_per_user
from cli_process import call

pytest.importorskip("optuna")

COLUMNS = ("--user", "reader", "--item", "title")


@pytest.fixture
def ratings(tmp_path, bookshop):
    pl.read_csv(bookshop.folder / "ratings.csv")[:800].write_csv(tmp_path / "ratings.csv")
    return ("--interactions", "ratings.csv", *COLUMNS, "--json")


def test_trials_are_counted_kept_and_gone_on_with(tmp_path, ratings):
    first = call("tune", *ratings, "--trials", 2, "--study", "trials.db", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    report = json.loads(first.stdout)
    assert len(report["trials"]) == 2
    assert (report["trials"][0]["bits"], report["trials"][0]["model"]) == (64, "distilled")  # as it is by default
    assert "trial 2: NDCG@10" in first.stderr
    second = json.loads(call("tune", *ratings, "--trials", 3, "--study", "trials.db", cwd=tmp_path).stdout)
    assert second["trials"][:2] == report["trials"]
    assert len(second["trials"]) == 3
    assert second["best"]["NDCG@10"] == max(trial["NDCG@10"] for trial in second["trials"])
    other = call("tune", *ratings, "--seed", 5, "--study", "trials.db", cwd=tmp_path)
    assert other.returncode == 1
    assert "give another study= (--study)" in other.stderr


def test_of_a_pair_that_was_rated_twice_the_latest_is_tuned_with(tmp_path, ratings):
    table = pl.read_csv(tmp_path / "ratings.csv")
    before = json.loads(call("tune", *ratings, "--trials", 1, cwd=tmp_path).stdout)["best"]
    pl.concat([table[:50].with_columns(rating=6 - pl.col("rating")), table]).write_csv(tmp_path / "ratings.csv")
    done = call("tune", *ratings, "--trials", 1, cwd=tmp_path)
    assert "rows left out, since a later one has the same user and item: 50\n" in done.stderr
    assert json.loads(done.stdout)["best"] == before


def test_the_best_settings_are_written_for_fit(tmp_path, ratings):
    arguments = ["--trials", 1, "--test", 0.5, "-o", "best.toml"]
    done = call("tune", *ratings, *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    written = tomllib.loads((tmp_path / "best.toml").read_text())["fit"]
    assert written["interactions"] == "ratings.csv"
    assert (written["user"], written["test"], written["bits"]) == ("reader", 0.5, 64)
    fitted = call("fit", "--config", "best.toml", "-o", "best.bitfm", "--json", cwd=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    assert json.loads(fitted.stdout)["accuracy"][-1]["model"] == "ours"


def test_what_would_be_lost_is_not_overwritten(tmp_path, ratings):
    (tmp_path / "bitfm.toml").write_text('model = "shop.bitfm"\n')
    done = call("tune", *ratings, "-o", "bitfm.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "which would be lost" in done.stderr
    (tmp_path / "text.db").write_text("no trials")
    done = call("tune", *ratings, "--study", "text.db", cwd=tmp_path)
    assert done.returncode == 1
    assert "text.db is not a file of trials" in done.stderr


def test_the_validation_part_is_held_out_in_the_same_way(tmp_path, bookshop):
    events = pl.read_csv(bookshop.folder / "ratings.csv")[:800].select("reader", "title").with_row_index("second")
    events.write_csv(tmp_path / "events.csv")
    tables = ["--interactions", "events.csv", *COLUMNS, "--no-target", "--trials", 1, "--split", "time"]
    done = call("tune", *tables, "--time", "second", "--test", 0.2, "-o", "best.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "validated on training data: the last 0.2 of all interactions held out, by time" in done.stdout
    assert tomllib.loads((tmp_path / "best.toml").read_text())["fit"]["split"] == "time"
    done = call("tune", *tables, "--test", 0.2, cwd=tmp_path)
    assert (done.returncode, "with --time" in done.stderr) == (2, True)


def test_an_empty_file_is_written_to_and_a_damaged_one_is_named(tmp_path, ratings):
    (tmp_path / "damaged.toml").write_text("[fit\n")
    done = call("tune", *ratings, "-o", "damaged.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "damaged.toml is not TOML" in done.stderr
    assert (tmp_path / "damaged.toml").read_text() == "[fit\n"
    (tmp_path / "empty.toml").write_text("")
    done = call("tune", *ratings, "--trials", 1, "-o", "empty.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "fit" in tomllib.loads((tmp_path / "empty.toml").read_text())


def test_the_test_part_has_no_say(tmp_path, ratings, bookshop):
    """Ratings of the test part may be anything: the trials are the same."""
    table = pl.read_csv(tmp_path / "ratings.csv")
    order = {reader: number for number, reader in enumerate(dict.fromkeys(table["reader"]))}
    train = split_per_user([order[reader] for reader in table["reader"]], 0.5, 0)
    spoilt = table.with_columns(rating=pl.when(pl.Series(train)).then("rating").otherwise(1))
    arguments = ["--trials", 1, "--test", 0.5]
    before = json.loads(call("tune", *ratings, *arguments, cwd=tmp_path).stdout)["trials"]
    spoilt.write_csv(tmp_path / "ratings.csv")
    after = json.loads(call("tune", *ratings, *arguments, cwd=tmp_path).stdout)["trials"]
    assert [trial["NDCG@10"] for trial in before] == [trial["NDCG@10"] for trial in after]
    assert spoilt["rating"].to_list() != table["rating"].to_list()


def test_without_optuna_it_says_what_to_install(tmp_path, ratings, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    done = call("tune", *ratings, cwd=tmp_path)
    assert done.returncode == 1
    assert "pip install 'bitfm[tune]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_settings_become_a_model_and_options():
    model = ModelOptions(32, "discrete", beta=3.0).recommender(4, {}).model
    assert (model.bits, model.beta, model.random_state) == (32, 3.0, 4)
    model = ModelOptions(anchor_strength="inf", rank=8).recommender(4, {}).model
    assert (model.anchor_strength, model.teacher.rank) == (float("inf"), 8)
    assert ModelOptions(anchor_strength="10").recommender(0, {}).model.anchor_strength == 10.0
    assert ModelOptions(64, rank=8).options() == {"bits": 64, "rank": 8}
