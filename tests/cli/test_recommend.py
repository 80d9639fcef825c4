"""``bitfm recommend``, ``similar`` and ``explain``."""

from __future__ import annotations

import csv
import io
import json

import pytest

import bitfm
from cli_process import call, run_into_closed_pipe


def test_the_best_items_of_a_user_are_those_of_the_recommender(bookshop, model):
    done = call("recommend", "shop.bitfm", bookshop.reader, "-n", 3, "--json", cwd=bookshop.folder)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["recommendations"]
    expected = bitfm.load(model.path).recommend(bookshop.reader, 3)
    assert [row["item"] for row in rows] == expected["item"].to_list()
    assert [row["score"] for row in rows] == pytest.approx(expected["score"].to_list())
    assert [row["rank"] for row in rows] == [1, 2, 3]
    assert {row["user"] for row in rows} == {bookshop.reader}


def test_people_see_a_table(bookshop, model):
    done = call("recommend", "shop.bitfm", bookshop.reader, "-n", 3, cwd=bookshop.folder)
    assert bookshop.reader in done.stdout
    assert bitfm.load(model.path).recommend(bookshop.reader, 1)["item"][0] in done.stdout


def test_a_context_changes_the_scores(bookshop, model):
    arguments = ["recommend", "shop.bitfm", bookshop.reader, "--json"]
    at = [
        json.loads(call(*arguments, "--context", f"daytime={daytime}", cwd=bookshop.folder).stdout)
        for daytime in ("evening", "morning")
    ]
    assert at[0]["context"] == {"daytime": "evening"}
    assert [row["score"] for row in at[0]["recommendations"]] != [row["score"] for row in at[1]["recommendations"]]


def test_users_come_from_standard_input_and_go_out_as_csv(bookshop, model):
    readers = bookshop.shop.readers["reader"][:5]
    arguments = ["recommend", "shop.bitfm", "-", "-n", 2, "--csv"]
    done = call(*arguments, stdin="\n".join(readers) + "\n\n", cwd=bookshop.folder)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["user"] for row in rows] == [reader for reader in readers for _ in range(2)]
    assert [row["rank"] for row in rows] == ["1", "2"] * 5
    assert done.stderr == ""


def test_no_users_at_all_give_a_header_and_no_rows(bookshop, model):
    done = call("recommend", "shop.bitfm", "-", "--csv", stdin="\n", cwd=bookshop.folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "user,known,rank,item,score\n", "")
    done = call("recommend", "shop.bitfm", "-", "--json", stdin="", cwd=bookshop.folder)
    assert json.loads(done.stdout)["recommendations"] == []


def test_integer_ids_are_numbers_in_json(tmp_path):
    pairs = [(user, item) for user in range(1, 9) for item in range(10, 20) if (user + item) % 3]
    rows = "".join(f"{user},{item},{1 + (user * item) % 5}\n" for user, item in pairs)
    (tmp_path / "ratings.csv").write_text("user_id,item_id,rating\n" + rows)
    quick = ["--bits", 8, "--model", "discrete", "-o", "numbers.bitfm"]
    assert call("fit", "--interactions", "ratings.csv", *quick, cwd=tmp_path).returncode == 0

    def asked(*arguments):
        return json.loads(call(*arguments, "--json", cwd=tmp_path).stdout)

    rows = asked("recommend", "numbers.bitfm", "3", "nobody", "77", "-n", 1)["recommendations"]
    assert [row["user"] for row in rows] == [3, "nobody", "77"]  # what is not known, as it was typed
    assert all(isinstance(row["item"], int) for row in rows)
    assert asked("similar", "numbers.bitfm", "12")["item"] == 12
    explained = asked("explain", "numbers.bitfm", "nobody", "12")
    assert (explained["user"], explained["item"]) == ("nobody", 12)


def test_an_unknown_user_is_served_and_remarked_on(bookshop, model):
    done = call("recommend", "shop.bitfm", "nobody", bookshop.reader, "-n", 2, "--json", cwd=bookshop.folder)
    assert done.returncode == 0
    assert len(json.loads(done.stdout)["recommendations"]) == 4
    assert "'nobody'" in done.stderr
    assert bookshop.reader not in done.stderr


def test_what_a_user_has_had_comes_back_only_if_asked_for(bookshop, model):
    counts = []
    for options in ([], ["--seen"]):
        done = call("recommend", "shop.bitfm", bookshop.reader, "-n", 60, "--json", *options, cwd=bookshop.folder)
        counts.append(len(json.loads(done.stdout)["recommendations"]))
    assert counts[0] < counts[1] == 60


def test_a_new_user_is_served_by_history_and_features(bookshop, model):
    books = bookshop.shop.books["title"]
    arguments = ["--history", f"{books[0]}:5,{books[1]}:1,{books[2]}", "--feature", "age_group=25-34"]
    done = call("recommend", "shop.bitfm", *arguments, "-n", 4, "--json", cwd=bookshop.folder)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["recommendations"]
    history = [(books[0], 5.0), (books[1], 1.0), books[2]]
    expected = bitfm.load(model.path).recommend_new(history, {"age_group": "25-34"}, 4)
    assert [row["item"] for row in rows] == expected["item"].to_list()
    assert done.stderr == ""
    assert not {row["item"] for row in rows} & set(books[:3])


def test_an_unknown_item_of_a_history_is_passed_over_and_remarked_on(bookshop, model):
    done = call(
        "recommend", "shop.bitfm", "--history", f"{bookshop.book}:5,no:such,book:2", "--json", cwd=bookshop.folder
    )
    assert len(json.loads(done.stdout)["recommendations"]) == 10
    assert done.stderr == "not known, so passed over: item 'no:such' and 1 more\n"


def test_similar_items(bookshop, model):
    done = call("similar", "shop.bitfm", bookshop.book, "-n", 3, "--json", cwd=bookshop.folder)
    found = json.loads(done.stdout)
    assert [row["item"] for row in found["similar"]] == (
        bitfm.load(model.path).similar_items(bookshop.book, 3)["item"].to_list()
    )
    assert bookshop.book in call("similar", "shop.bitfm", bookshop.book, cwd=bookshop.folder).stdout


def test_an_explanation_adds_up(bookshop, model):
    arguments = ["explain", "shop.bitfm", bookshop.reader, bookshop.book, "--context", "daytime=evening"]
    found = json.loads(call(*arguments, "--json", cwd=bookshop.folder).stdout)
    parts = [part["contribution"] for part in found["features"] + found["pairs"]]
    assert found["bias"] + sum(parts) == pytest.approx(found["score"])
    assert any(part["name"] == "context.daytime: evening" for part in found["features"])
    assert "score" in call(*arguments, cwd=bookshop.folder).stdout


def test_the_model_may_come_from_the_file_of_defaults(tmp_path, bookshop, model):
    (tmp_path / "bitfm.toml").write_text(f'model = "{model.path}"\n[recommend]\nn = 2\n')
    rows = json.loads(call("recommend", bookshop.reader, "--json", cwd=tmp_path).stdout)["recommendations"]
    assert len(rows) == 2
    rows = json.loads(call("recommend", bookshop.reader, "-n", 3, "--json", cwd=tmp_path).stdout)["recommendations"]
    assert len(rows) == 3
    named = json.loads(call("recommend", model.path, bookshop.reader, "--json", cwd=tmp_path).stdout)
    assert named["model"] == str(model.path)
    assert call("recommend", "--feature", "age_group=25-34", cwd=tmp_path).returncode == 0
    assert call("similar", bookshop.book, cwd=tmp_path).returncode == 0
    assert call("explain", bookshop.reader, bookshop.book, cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["recommend"], 2, "give a model file, or name one in bitfm.toml"),
        (["recommend", "shop.bitfm"], 2, "name users, or give --history or --feature"),
        (["recommend", "shop.bitfm", "someone", "--history", "a"], 2, "name users, or give --history or --feature"),
        (["recommend", "shop.bitfm", "someone", "--csv", "--json"], 2, "not both"),
        (["recommend", "shop.bitfm", "someone", "--context", "daytime"], 2, "expected NAME=VALUE"),
        (["recommend", "shop.bitfm", "someone", "--context", "weather=sunny"], 6, "weather"),
        (["recommend", "shop.bitfm", "--feature", "shoe=42"], 6, "shoe"),
        (["recommend", "nowhere.bitfm", "someone"], 3, "nowhere.bitfm"),
        (["recommend", "ratings.csv", "someone"], 12, "ratings.csv"),
        (["similar", "shop.bitfm"], 2, "expected ITEM after the model, got nothing"),
        (["similar", "shop.bitfm", "no such book"], 11, "no such book"),
        (["explain", "shop.bitfm", "someone"], 2, "expected USER ITEM after the model, got 'someone'"),
    ],
)
def test_mistakes_are_one_clear_line_with_an_exit_code(bookshop, model, arguments, code, said):
    done = call(*arguments, cwd=bookshop.folder)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("option", ["--json", "--csv", "--seen"])
def test_a_reader_that_has_seen_enough_is_no_error(bookshop, model, option):
    arguments = ["recommend", "shop.bitfm", bookshop.reader, option]
    assert run_into_closed_pipe(*arguments, cwd=bookshop.folder) == (0, "")
