"""What a command writes is never what it reads, and a model never takes the place of another kind of file."""

from __future__ import annotations

import os
import subprocess

import pytest

from bitfm.cli._writing import may_hold_model, need_writable
from cli_process import COMMAND, call

RATINGS = "user_id,item_id,rating\n" + "".join(f"u{n % 5},i{n % 7},{n % 5 + 1}\n" for n in range(35))
FIT = ("fit", "--bits", 8, "--model", "discrete", "--interactions", "ratings.csv")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "ratings.csv").write_text(RATINGS)
    (tmp_path / "users.csv").write_text("user_id,age\n" + "".join(f"u{n},{n}\n" for n in range(5)))
    (tmp_path / "link.bitfm").symlink_to("ratings.csv")
    os.link(tmp_path / "users.csv", tmp_path / "hard.bitfm")
    return tmp_path


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["plainly", "by force"])
@pytest.mark.parametrize(
    "out", ["ratings.csv", "./ratings.csv", "link.bitfm", "users.csv", "hard.bitfm", "defaults.toml"]
)
def test_fit_does_not_write_over_what_it_reads(folder, out, force):
    (folder / "defaults.toml").write_text("[fit]\nbits = 8\n")
    before = (folder / out).read_bytes()
    done = call(*FIT, "--users", "users.csv", "--config", "defaults.toml", "-o", out, *force, cwd=folder)
    assert done.returncode == 2
    assert "is the same file as the input" in done.stderr
    assert (folder / out).read_bytes() == before


def test_nor_by_bitfm_toml_or_by_standard_input(folder):
    with open(folder / "ratings.csv") as file:
        command = [*COMMAND, "fit", "--interactions", "-", "-o", "ratings.csv", "--force"]
        done = subprocess.run(command, stdin=file, capture_output=True, text=True, cwd=folder, timeout=240, check=False)
    assert done.returncode == 2, done.stderr
    (folder / "bitfm.toml").write_text('model = "ratings.csv"\n[fit]\ninteractions = "ratings.csv"\n')
    done = call("fit", cwd=folder)
    assert done.returncode == 2
    assert "ratings.csv is the same file as the input ratings.csv" in done.stderr
    assert (folder / "ratings.csv").read_text() == RATINGS


def test_a_model_takes_the_place_of_another_file_by_force_only(folder):
    (folder / "notes.txt").write_text("mine")
    done = call(*FIT, "-o", "notes.txt", cwd=folder)
    assert done.returncode == 2
    assert "notes.txt exists and is not a bitfm model; give another name, or --force" in done.stderr
    assert (folder / "notes.txt").read_text() == "mine"
    assert not may_hold_model(folder / "notes.txt")
    assert call(*FIT, "-o", "notes.txt", "--force", cwd=folder).returncode == 0
    assert may_hold_model(folder / "notes.txt")
    assert call(*FIT, "-o", "notes.txt", cwd=folder).returncode == 0  # by now it is one of bitfm's


def test_the_demo_leaves_a_file_that_is_no_model(tmp_path):
    (tmp_path / "bookshop.bitfm").write_text("mine")
    done = call("demo", "--out", ".", cwd=tmp_path)
    assert done.returncode == 2
    assert [file.name for file in tmp_path.iterdir()] == ["bookshop.bitfm"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("-o", "ratings.csv"),
        ("--study", "link.bitfm"),
        ("-o", "new", "--study", "new"),
        ("--study", "bitfm.toml"),
    ],
    ids=" ".join,
)
def test_tune_does_not_write_over_what_it_reads(folder, arguments):
    done = call("tune", "--interactions", "ratings.csv", *arguments, cwd=folder)
    assert done.returncode == 2
    assert "is the same file as the input" in done.stderr
    assert (folder / "ratings.csv").read_text() == RATINGS
    need_writable(folder / "best.toml", [folder / "ratings.csv"])  # any other file may be written


def test_a_path_with_a_nul_is_one_sentence(folder):
    told = {
        "interactions": "bitfm: 'a\\x00b' is no path: it",
        "out": "bitfm: bitfm.toml: [fit] out: Value error",
    }
    for key, said in told.items():
        files = {"interactions": "ratings.csv", "out": "new.bitfm"} | {key: "a\\u0000b"}
        (folder / "bitfm.toml").write_text("[fit]\n" + "".join(f'{name} = "{file}"\n' for name, file in files.items()))
        done = call("fit", cwd=folder)
        assert done.returncode in (1, 2)
        assert done.stderr.startswith(said)
        assert done.stderr.count("\n") == 1
