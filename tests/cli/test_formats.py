"""Files of every dialect and format on the command line: what was found is said, and what is not can be given."""

from __future__ import annotations

import json

import pytest

import bitfm
from cli_process import call

HEAD = "user_id;item_id;rating;time;price"


@pytest.fixture
def shop(tmp_path):
    """A folder with ratings in a European format, of which some are missing, in the encoding of Windows."""
    rows = [
        f"u{user};i{item};{(user * item) % 5},{item % 2}5;{1 + item:02}/{1 + 2 * user:02}/2018;{item + 1}.{item:03} €"
        for user in range(12)
        for item in range(9)
    ]
    rows[4] = "u0;i4;;05/01/2018;5.004 €"
    (tmp_path / "ratings.csv").write_bytes("\n".join([HEAD, *rows, ""]).encode("windows-1252"))
    (tmp_path / "items.csv").write_text(
        "item_id;price;tags\n" + "".join(f'i{n};{n + 1}.{n:03};["a, b","t{n % 3}"]\n' for n in range(9))
    )
    return tmp_path


def test_describe_says_how_a_table_is_written(shop):
    done = call("data", "describe", "ratings.csv", cwd=shop)
    assert "windows-1252, ';' between cells, no quotes, no escapes" in done.stdout
    found = json.loads(call("data", "describe", "ratings.csv", "--json", cwd=shop).stdout)
    assert found["file"] == {
        "format": "text",
        "encoding": "windows-1252",
        "separator": ";",
        "quote": "",
        "escape": "",
        "skipped": 0,
    }
    rows = {row["column"]: row for row in found["rows"]}
    assert "decimal commas as in" in rows["rating"]["why"]
    assert "the month first as in 01/13/2018" in rows["time"]["why"]
    assert rows["time"]["kind"] == "date"


def test_describe_says_what_nothing_decides_and_takes_what_is_given(shop):
    (shop / "open.csv").write_text("seen;price\n" + "".join(f"0{n}/0{n + 1}/2018;{n}.125 €\n" for n in range(1, 9)))

    def why(*options):
        found = json.loads(call("data", "describe", "open.csv", "--json", *options, cwd=shop).stdout)
        return [row["why"] for row in found["rows"]]

    seen, price = why()
    assert "the month first, as nothing decides" in seen
    assert "'1.125 €' read with a decimal point, as nothing decides" in price
    assert why("--decimal", ",", "--dates", "dmy") == ["dates such as 01/02/2018", "8 distinct whole numbers"]


def test_a_fit_reads_formats_and_counts_what_it_drops(shop):
    options = ["--interactions", "ratings.csv", "--items", "items.csv", "--time", "time", "--bits", 8]
    done = call("fit", *options, "-o", "m.bitfm", "--decimal", ",", "--json", cwd=shop)
    assert done.returncode == 0, done.stderr
    assert "dropped 1 of 108 rows, whose rating is missing" in done.stderr
    rec = bitfm.load(shop / "m.bitfm")
    assert (rec.state.roles.decimal, rec.state.roles.dates) == (",", "mdy")
    labels = [rec.feature_name("item.tags", feature) for feature in range(4)]
    assert labels == ["a, b", "t0", "t1", "t2"]
    columns = {row["column"]: row for row in json.loads(done.stdout)["columns"]}
    assert columns["tags"]["why"].startswith("lists in brackets")
    evaluated = call("evaluate", "m.bitfm", "--interactions", "ratings.csv", "--json", cwd=shop)
    assert json.loads(evaluated.stdout)["interactions"] == 107
    assert "dropped 1 of 108 rows" in evaluated.stderr
    refused = call("fit", *options, "-o", "n.bitfm", "--missing", "error", cwd=shop)
    assert (refused.returncode, "row 5: the value is missing" in refused.stderr) == (8, True)
    wrong = call("fit", *options, "-o", "n.bitfm", "--decimal", ".", cwd=shop)
    assert (wrong.returncode, "as its decimal mark" in wrong.stderr) == (8, True)


def test_lines_that_are_no_rows_are_skipped_and_said(shop):
    content = (shop / "ratings.csv").read_bytes()
    (shop / "bad.csv").write_bytes(content.replace(b"u3;i3", b"u3;i3;more") + b"u1\n")
    options = ["--interactions", "bad.csv", "--bits", 8, "-o", "m.bitfm"]
    done = call("fit", *options, cwd=shop)
    assert (done.returncode, "--skip-bad" in done.stderr) == (4, True)
    done = call("fit", *options, "--skip-bad", 2, cwd=shop)
    assert done.returncode == 0, done.stderr
    assert "bad.csv: 2 lines skipped that are no rows, the first is line 32" in done.stderr
    told = json.loads(call("data", "describe", "bad.csv", "--skip-bad", 9, "--json", cwd=shop).stdout)
    assert (told["file"]["skipped"], told["caption"]) == (2, "107 rows, 5 columns")


def test_quotes_escapes_and_encodings_can_be_given(shop):
    (shop / "odd.csv").write_bytes("a,b\n1,|x, y|\n2,|ή~||\n".encode("iso8859-7"))
    options = ["--quote", "|", "--escape", "~", "--encoding", "iso8859-7", "--json"]
    told = json.loads(call("data", "describe", "odd.csv", *options, cwd=shop).stdout)
    assert told["rows"][1]["examples"] == "x, y, ή|"
    assert (told["file"]["quote"], told["file"]["escape"], told["file"]["encoding"]) == ("|", "~", "iso8859-7")
    done = call("data", "describe", "odd.csv", "--encoding", "klingon", cwd=shop)
    assert (done.returncode, "encoding is 'klingon'" in done.stderr) == (1, True)


def test_what_the_file_of_defaults_says_counts(shop):
    (shop / "bitfm.toml").write_text('[fit]\ninteractions = "ratings.csv"\ndecimal = ","\ndates = "mdy"\nquote = ""\n')
    done = call("fit", "--bits", 8, "--time", "time", "-o", "m.bitfm", cwd=shop)
    assert done.returncode == 0, done.stderr
    assert bitfm.load(shop / "m.bitfm").state.roles.dates == "mdy"
