"""Data never commands a terminal or a spreadsheet, and texts that are no Unicode are one sentence."""

from __future__ import annotations

import csv
import io
import json
import sys

import polars as pl
import pytest

import bitfm
from bitfm.cli.screen import plain, print_csv
from cli_process import call

RED = "\x1b[31m\x9bred\u202e\r\n"  # ids and titles may hold anything
SHOWN = "\\x1b[31m\\x9bred\\u202e\\r\\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("controls")
    users, items = ["=1+1" + RED, "@b", "c"], [RED, "-i1", "\ti2", "+i3"]
    rows = [(user, item, (3 * u + i) % 5 + 1) for u, user in enumerate(users) for i, item in enumerate(items) if u != i]
    ratings = pl.DataFrame(rows, ["user_id", "item_id", "rating"], orient="row")
    books = pl.DataFrame({"item_id": items, "title": [RED, "=two", "three", "four"], RED: ["x" + RED, "y", "x", "y"]})
    bitfm.Recommender(bits=8, kinds={RED: "category"}).fit(ratings, items=books).save(path / "shop.bitfm")
    return path


@pytest.mark.parametrize(
    "arguments",
    [("recommend", "=1+1" + RED, "-n", 4, "--seen"), ("similar", RED), ("explain", "=1+1" + RED, RED), ("inspect",)],
    ids=lambda arguments: arguments[0],
)
def test_control_characters_are_shown_escaped(folder, arguments):
    command, *rest = arguments
    done = call(command, "shop.bitfm", *rest, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert not set("\x1b\x9b\u202e\r") & set(done.stdout + done.stderr)
    assert "\\x1b[31m" in done.stdout.replace("\n", "")
    printed = call(command, "shop.bitfm", *rest, "--json", cwd=folder).stdout
    assert not set("\x1b\x9b\u202e\r") & set(printed)
    if command == "recommend":
        assert RED in [row["item"] for row in json.loads(printed)["recommendations"]]


def test_messages_escape_them_too_but_keep_letters_of_all_scripts(folder):
    assert plain(RED) == SHOWN
    assert plain("Ünï\u3000code 👩\u200d🔬 \u200fעברית\u00a0") == "Ünï\u3000code 👩\u200d🔬 \u200fעברית\u00a0"
    done = call("inspect", f"no{RED}where.bitfm", cwd=folder)
    assert done.returncode == 3
    assert "\x1b" not in done.stderr


def test_csv_for_spreadsheets_has_no_formulas(folder):
    users = ["=1+1" + RED, "@b", "c"]
    faithful, safe = (
        list(csv.reader(io.StringIO(call("recommend", "shop.bitfm", *users, option, cwd=folder).stdout, newline="")))
        for option in ("--csv", "--spreadsheet")
    )
    assert len(faithful) == len(safe) == 4
    for row, kept in zip(safe[1:], faithful[1:], strict=True):
        for cell, before in zip(row, kept, strict=True):
            is_formula = before[0] in "=+-@\t" and not before.lstrip("-")[0].isdigit()
            assert cell == ("'" + before if is_formula else before)
    done = call("recommend", "shop.bitfm", "c", "--spreadsheet", "--json", cwd=folder)
    assert done.returncode == 2


def test_numbers_stay_numbers_in_spreadsheets(monkeypatch):
    frame = pl.DataFrame({"user": [-5, 7], "item": ["-i", "i\n=x"], "score": [-0.5, 1.0]})
    for is_terminal, shown in ((False, "\x1b"), (True, "\\x1b")):
        out = io.StringIO()
        out.isatty = lambda answer=is_terminal: answer
        monkeypatch.setattr(sys, "stdout", out)
        print_csv(frame.with_columns(more=pl.lit("\x1b")), header=False, no_formulas=True)
        assert out.getvalue() == f'-5,\'-i,-0.5,{shown}\n7,"i\n=x",1.0,{shown}\n'


@pytest.mark.parametrize("command", ["recommend", "similar", "explain"])
def test_an_id_that_is_no_text_is_one_sentence(folder, command):
    done = call(command, "shop.bitfm", *["\udcff"] * (2 if command == "explain" else 1), cwd=folder)
    assert done.returncode == 1
    assert "id '\\udcff' holds half of a surrogate pair" in done.stderr
    assert done.stderr.count("\n") == 1
