"""``bitfm data prepare``, run as people run it: in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import raw_reviews as raw
from bitfm_research.prepare import Prepared, prepare

REVIEWS = raw.make_reviews()


def run(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-c", "from bitfm.cli import main; main()", "data", "prepare", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=240,
        check=False,
    )


@pytest.mark.parametrize(
    ("form", "command", "more"),
    [
        (raw.yelp, "yelp", []),
        (raw.amazon, "amazon", ["--max-words", "4"]),
        (raw.ml_1m_zip, "movielens", ["--iterate"]),
        (raw.table_tsv, "csv", [part for name, column in raw.COLUMNS.items() for part in (f"--{name}", column)]),
    ],
)
def test_each_form_is_prepared_and_told_of_in_a_table(tmp_path, form, command, more):
    source = form(tmp_path, raw.numbered(REVIEWS))
    done = run(command, source.path, "--out", "out", "--min-ratings", "5", *more, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # no bar in a pipe
    data = Prepared.load(tmp_path / "out")
    settings = {"iterate": "--iterate" in more, "max_words": 4 if "--max-words" in more else 8000}
    same = prepare(source, min_ratings=5, **settings)
    assert data.ratings.tolist() == same.ratings.tolist()
    assert (data.steps, data.settings) == (same.steps, same.settings)
    for expected in ("as read", "without users of fewer than 5 ratings", "written to out"):
        assert expected in done.stdout
    for counts in data.steps.values():
        assert str(counts["ratings"]) in done.stdout
    assert ("repeated until nothing changes" in done.stdout) == ("--iterate" in more)


def test_it_speaks_json_and_counts_what_it_skips(tmp_path):
    path = raw.write_lines(tmp_path / "review.json", [*map(raw.yelp_line, REVIEWS), "nonsense"])
    done = run("yelp", path, "--out", tmp_path / "out", "--min-ratings", "5", "--skip-bad", "--json", cwd=tmp_path)
    told = json.loads(done.stdout)
    data = Prepared.load(tmp_path / "out")
    assert [{key: row[key] for key in ("users", "items", "ratings")} for row in told["rows"]] == list(
        data.steps.values()
    )
    assert "1 bad lines skipped" in told["caption"]
    assert f"written to {tmp_path / 'out'}" in told["caption"]


def test_a_problem_is_one_line_and_an_exit_code(tmp_path):
    path = raw.write_lines(tmp_path / "review.json", [*map(raw.yelp_line, REVIEWS), "nonsense"])
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes").touch()
    for arguments, code, told in (
        ((path, "--out", "out"), 4, "line 601: not a record with"),
        ((path, "--out", "out", "--skip-bad", "--min-ratings", "500"), 4, "lower min_ratings (--min-ratings)"),
        (("nowhere.json", "--out", "out"), 3, "nowhere.json"),
        (("nowhere.json", "--out", "full"), 3, "full exists and holds other files"),  # told before anything is read
    ):
        done = run("yelp", *arguments, cwd=tmp_path)
        assert done.returncode == code
        assert told in " ".join(done.stderr.split())
        assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_progress_is_drawn_on_a_terminal(tmp_path):
    pty = pytest.importorskip("pty")
    path = raw.yelp(tmp_path, REVIEWS * 20).path
    screen, terminal = pty.openpty()
    command = [sys.executable, "-c", "from bitfm.cli import main; main()", "data", "prepare", "yelp", path]
    with subprocess.Popen(
        [*command, "--out", "out", "--min-ratings", "5"],
        stdout=subprocess.DEVNULL,
        stderr=terminal,
        cwd=tmp_path,
        env=os.environ | {"TERM": "xterm"},
    ) as process:
        os.close(terminal)
        drawn = b""
        try:
            while part := os.read(screen, 65536):
                drawn += part
        except OSError:
            pass  # how a terminal says that the other side is gone
        os.close(screen)
        assert process.wait(120) == 0
    for stage in (b"Reading ratings", b"Reading texts", b"Choosing words", b"Weighing words"):
        assert stage in drawn
