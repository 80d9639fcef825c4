"""``bitfm data describe``."""

from __future__ import annotations

import json

from cli_process import call


def describe(*arguments, cwd, stdin=""):
    return call("data", "describe", *arguments, cwd=cwd, stdin=stdin)


def test_columns_are_told_of_in_a_table(tmp_path):
    (tmp_path / "items.csv").write_text("item\ttitle\tyear\n7\tTea for two\t1999\n8\t\t1999\n")
    done = describe("items.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for expected in ("items.csv", "title", "String", "Tea for two", "2 rows, 3 columns"):
        assert expected in done.stdout


def test_it_speaks_json_of_several_files(tmp_path):
    (tmp_path / "a.csv").write_text("item,score\n7,0.5\n8,NaN\n8,\n")
    (tmp_path / "b.jsonl").write_text('{"genres": ["x", "y"]}\n{"genres": ["x"]}\n{"genres": []}\n{"genres": null}\n')
    done = describe("a.csv", "b.jsonl", "--json", cwd=tmp_path)
    first, second = map(json.loads, done.stdout.splitlines())
    assert all(row.pop("why") for table in (first, second) for row in table["rows"])
    assert first["rows"] == [
        {"column": "item", "type": "Int64", "distinct": 2, "missing": 0, "examples": "7, 8", "kind": "category"},
        {"column": "score", "type": "Float64", "distinct": 1, "missing": 2, "examples": "0.5", "kind": "category"},
    ]
    assert second["rows"] == [
        {
            "column": "genres",
            "type": "List(String)",
            "distinct": 2,
            "missing": 1,
            "examples": "x, y",
            "kind": "multi-category",
        }
    ]
    assert second["caption"] == "4 rows, 1 columns"


def test_names_and_standard_input(tmp_path):
    done = describe("-", "--columns", "user,item", "--json", cwd=tmp_path, stdin="1::2\n3::4\n")
    assert [row["column"] for row in json.loads(done.stdout)["rows"]] == ["user", "item"]


def test_values_of_several_types_and_long_ones(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": true, "b": "%s"}\n{"a": 1, "b": "x"}\n' % ("long " * 50))
    rows = json.loads(describe("a.jsonl", "--json", cwd=tmp_path).stdout)["rows"]
    assert rows[0]["distinct"] == 2
    assert rows[1]["examples"] == "long " * 7 + "lo..., x"


def test_errors_are_one_line_with_a_code_of_their_own(tmp_path):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "bad.csv").write_text("a,b\n1\n")
    for arguments, code, message in (
        (["none.csv"], 3, "none.csv"),
        (["empty.csv"], 7, "is empty"),
        (["bad.csv"], 4, "line 2"),
        (["bad.csv", "empty.csv", "--columns", "a,b"], 2, "2 files"),
    ):
        done = describe(*arguments, cwd=tmp_path)
        assert done.returncode == code
        assert message in done.stderr
        assert "Traceback" not in done.stderr
