"""Items are named by id, or by title where that is no id."""

from __future__ import annotations

import json

import polars as pl
import pytest

import bitfm
from bitfm.cli._titles import item_id, item_ids, rated_items
from cli_process import call, run

TITLES = {
    1: "Fallout 4",
    2: "Fallout: New Vegas",
    3: "Portal",
    4: "Portal",
    5: "The Good, the Bad, the Game",
    6: "1",  # the id of another
    7: None,
    8: "portal 2",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("titles")
    rows = [(f"u{user}", item, 1 + (user * item) % 5) for user in range(12) for item in TITLES if (user + item) % 3]
    pl.DataFrame(rows, ["user_id", "item_id", "rating"], orient="row").write_csv(folder / "ratings.csv")
    pl.DataFrame({"item_id": list(TITLES), "title": list(TITLES.values())}).write_csv(folder / "games.csv")
    tables = ["--interactions", "ratings.csv", "--items", "games.csv", "--kind", "title=ignore"]
    assert call("fit", *tables, "--bits", 8, "--model", "discrete", "-o", "games.bitfm", cwd=folder).returncode == 0
    return folder


@pytest.fixture(scope="module")
def rec(folder):
    return bitfm.load(folder / "games.bitfm")


def test_a_title_stands_for_its_id_and_an_id_wins(rec):
    named = {"Fallout 4": "1", "fallout 4": "1", "1": "1", "6": "6", "Portal 2": "8", "nothing": "nothing"}
    assert {text: item_id(rec, text) for text in named} == named


def test_a_title_of_several_items_is_refused_with_their_ids(rec, folder):
    with pytest.raises(bitfm.UnknownIdError, match="'Portal' is no id, but the title of 2 items: 3, 4; give one"):
        item_id(rec, "Portal")
    done = run("similar", "games.bitfm", "PORTAL", cwd=folder)
    assert done.returncode == 11
    assert done.stderr == "bitfm: 'PORTAL' is no id, but the title of 2 items: 3, 4; give one of these ids.\n"


def test_commands_take_titles(folder):
    by_title, by_id = (
        json.loads(run("similar", "games.bitfm", item, "--json", cwd=folder).stdout) for item in ("Fallout 4", "1")
    )
    assert by_title == by_id
    assert by_title["item"] == 1
    explained = json.loads(call("explain", "games.bitfm", "u1", "fallout: new vegas", "--json", cwd=folder).stdout)
    assert explained["item"] == 2
    named, plain = (
        json.loads(call("recommend", "games.bitfm", "--history", text, "--json", cwd=folder).stdout)
        for text in ("Fallout 4:5,The Good, the Bad, the Game:1,8", "1:5,5:1,8")
    )
    assert named == plain
    assert not {1, 5, 8} & {row["item"] for row in named["recommendations"]}


@pytest.mark.parametrize(
    ("history", "past"),
    [
        ("", []),
        ("1", ["1"]),
        ("1:5, 2:3", [("1", 5.0), ("2", 3.0)]),
        ("Fallout: New Vegas:4", [("2", 4.0)]),
        ("Fallout: New Vegas", ["2"]),
        ("The Good, the Bad, the Game,Fallout 4:2", ["5", ("1", 2.0)]),
        ("nothing,1,,no:thing,none:5", ["nothing", "1", "no:thing", ("none", 5.0)]),
    ],
)
def test_a_history_may_have_commas_and_colons_in_titles(rec, history, past):
    assert rated_items(rec, history) == past


@pytest.mark.parametrize(
    ("listed", "ids"),
    [
        (None, None),
        ("", []),
        ("1, 8,,nothing", ["1", "8", "nothing"]),
        ("Fallout: New Vegas,The Good, the Bad, the Game,2", ["2", "5", "2"]),
    ],
)
def test_lists_of_items_may_have_commas_in_titles(rec, listed, ids):
    assert item_ids(rec, listed) == ids


def test_titles_are_allowed_denied_and_removed(folder):
    def items(*how):
        done = call("recommend", "games.bitfm", "u1", "--seen", "--json", *how, cwd=folder)
        return {row["item"] for row in json.loads(done.stdout)["recommendations"]}

    assert items("--allow", "fallout 4,The Good, the Bad, the Game,8") == {1, 5, 8}
    assert items("--deny", "Fallout 4,The Good, the Bad, the Game") == set(TITLES) - {1, 5}
    assert run("recommend", "games.bitfm", "u1", "--deny", "Portal", cwd=folder).returncode == 11
    similar = json.loads(call("similar", "games.bitfm", "1", "--allow", "Portal 2", "--json", cwd=folder).stdout)
    assert [row["item"] for row in similar["similar"]] == [8]
    assert run("remove", "games.bitfm", "--item", "Portal", "-o", "less.bitfm", cwd=folder).returncode == 11
    done = call("remove", "games.bitfm", "--item", "Fallout 4", "-o", "less.bitfm", "--json", cwd=folder)
    assert json.loads(done.stdout)["removed"] == {"users": 0, "items": 1}
    assert 1 not in bitfm.load(folder / "less.bitfm").items["item_id"].to_list()


def test_without_titles_ids_are_all_there_is(bookshop, model):
    rec = bitfm.load(model.path)
    assert item_id(rec, "nothing") == "nothing"
    assert rated_items(rec, "nothing:2") == [("nothing", 2.0)]
