"""``bitfm compare``: two files, one table, a test for each measure."""

from __future__ import annotations

import json

import polars as pl
import pytest

import bitfm
from cli_process import call, run

COLUMNS = ("--user", "reader", "--item", "title", "--model", "discrete")


@pytest.fixture(scope="module")
def folder(bookshop, tmp_path_factory):
    """Ratings in two parts, and models of 8 and of 32 bits; the second does not know all readers."""
    folder = tmp_path_factory.mktemp("compared")
    ratings = pl.read_csv(bookshop.folder / "ratings.csv")
    readers = ratings["reader"].unique(maintain_order=True)
    early, later = ratings[:2000], ratings[2000:]
    early.write_csv(folder / "early.csv")
    early.filter(pl.col("reader").is_in(readers[:60].to_list())).write_csv(folder / "some.csv")
    pl.concat([later, early[:50]]).write_csv(folder / "later.csv")
    for name, bits in (("early", 32), ("some", 8)):
        arguments = ["--interactions", f"{name}.csv", *COLUMNS, "--bits", bits, "-o", f"{name}.bitfm"]
        assert call("fit", *arguments, cwd=folder).returncode == 0
    return folder


def test_the_difference_of_each_measure_is_tested_and_what_was_left_out_is_said(folder):
    done = run("compare", "early.bitfm", "some.bitfm", "--interactions", "later.csv", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    expected = bitfm.compare(folder / "early.bitfm", folder / "some.bitfm", folder / "later.csv")
    assert report["rows"] == json.loads(json.dumps(expected.rows()))
    assert report["left_out"] == 50
    assert "left out, since a model has learnt from them: 50 interactions\n" in done.stderr
    unknown = report["unknown_users"]
    assert unknown[0] < unknown[1]
    for name, count in zip(("early", "some"), unknown, strict=True):
        said = f"not known to {name}.bitfm, so served without personalisation: {count} of the users\n"
        assert said in done.stderr


def test_people_see_a_table(folder):
    done = call("compare", "early.bitfm", "some.bitfm", "--interactions", "later.csv", "--k", 5, cwd=folder)
    assert done.returncode == 0, done.stderr
    for expected in ("NDCG@5", "RMSE", "difference", "p adjusted", "Holm", "1,000 interactions"):
        assert expected in done.stdout


def test_what_is_no_model_is_refused(folder):
    done = call("compare", "early.bitfm", "later.csv", "--interactions", "later.csv", cwd=folder)
    assert done.returncode == 12
    assert call("compare", "early.bitfm", "--interactions", "later.csv", cwd=folder).returncode == 2
