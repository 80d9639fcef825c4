"""``bitfm demo``, and what it says can be tried next."""

from __future__ import annotations

import shlex
from unittest import mock

import pytest

import bitfm
from bitfm.cli import _demo
from bitfm.datasets import make_bookshop
from cli_process import call

pytestmark = pytest.mark.true_teacher

MODELS = ("bias only", "FM, ALS, rank 16", "FM, Gibbs, rank 16", "DiscreteFM, 64 bits", "DistilledFM")
TABLES = {"ratings.csv", "readers.csv", "books.csv"}


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The folder that the demo was run in, on a smaller shop, and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    with mock.patch.object(_demo, "make_bookshop", lambda seed: make_bookshop(500, 300, 15_000, seed)):
        done = call("demo", "--out", "here", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout, done.stderr


def test_one_table_compares_five_models(shown):
    _, printed, _ = shown
    rows = {name: next(row for row in printed.splitlines() if f"│ {name}" in row).split("│") for name in MODELS}
    ndcg = {name: float(cells[2]) for name, cells in rows.items()}
    kilobytes = {name: float(cells[4].replace(",", "")) for name, cells in rows.items()}
    assert all(float(cells[5].replace(",", "")) > 0 for cells in rows.values())  # queries per second
    assert ndcg["DistilledFM"] > ndcg["FM, ALS, rank 16"] > ndcg["bias only"]
    assert kilobytes["DistilledFM"] < kilobytes["FM, ALS, rank 16"] < kilobytes["FM, Gibbs, rank 16"]


def test_the_model_the_tables_and_a_picture_are_written(shown):
    folder, printed, _ = shown
    pytest.importorskip("matplotlib")
    files = {path.name for path in (folder / "here").iterdir()}
    assert files == {"bookshop.bitfm", "bookshop.png", "bookshop.svg"} | TABLES
    assert all(f"here/{name}" in printed for name in files)
    recommender = bitfm.load(folder / "here" / "bookshop.bitfm")
    assert (recommender.n_users, recommender.n_items) == (500, 300)
    assert "500 readers, 300 books, 15,000 ratings" in recommender.notes["data"]


def test_it_recommends_gives_reasons_and_serves_newcomers(shown):
    _, printed, said = shown
    for words in ("likes ", "by ", "liked by those who have read it (+", "A book that nobody has rated: ", "number "):
        assert words in printed
    assert "A new reader: " in printed
    assert "fitting DiscreteFM" in said


def test_what_it_says_to_try_next_works(shown):
    folder, printed, _ = shown
    steps = [shlex.split(step) for step in printed.split("Try next:\n")[1].splitlines()]
    assert [step[:2] for step in steps] == [["bitfm", name] for name in ("recommend", "inspect", "fit", "fit")]
    quick = {2: ["--model", "discrete", "--bits", "8"]}  # less to wait for
    for number, step in enumerate(steps):
        done = call(*step[1:], *quick.get(number, []), cwd=folder)
        assert done.returncode == 0, done.stderr
    columns = bitfm.load(folder / "here" / "mine.bitfm").describe()
    kinds = dict(zip(columns["column"], columns["kind"], strict=True))
    assert kinds["favourite_genres"] == "multi-category"
    assert kinds["blurb"] == "text"


def test_without_matplotlib_it_says_how_to_get_the_picture(tmp_path, monkeypatch):
    monkeypatch.setattr("bitfm.plotting.available", lambda: False)
    monkeypatch.setattr(_demo, "make_bookshop", lambda seed: make_bookshop(40, 150, 600, seed))
    done = call("demo", cwd=tmp_path)
    assert "pip install 'bitfm[plots]'" in done.stdout
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {"bookshop.bitfm"} | TABLES
