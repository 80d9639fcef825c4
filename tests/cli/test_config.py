"""bitfm.toml: what it may hold, what it does, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from bitfm.cli import main  # noqa: F401  the commands that may be configured
from bitfm.cli._config import ConfigError, defaults


def write(folder, text):
    path = folder / "bitfm.toml"
    path.write_text(text, "utf-8")
    return path


def test_without_a_file_there_are_no_defaults(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert defaults("fit") == {}


def test_the_file_of_the_current_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "[fit]\nbits = 32\n")
    assert defaults("fit") == {"bits": "32"}
    assert defaults("recommend") == {}


def test_the_model_is_what_fit_writes_and_others_read(tmp_path):
    path = write(tmp_path, 'model = "shop.bitfm"\n[recommend]\nn = 5\n')
    assert defaults("fit", path) == {"out": "shop.bitfm"}
    assert defaults("recommend", path) == {"model": "shop.bitfm", "n": "5"}
    assert defaults("tune", path) == {}


def test_a_table_of_a_command_overrules_the_model_on_top(tmp_path):
    path = write(tmp_path, 'model = "shop.bitfm"\n[fit]\nout = "other.bitfm"\n')
    assert defaults("fit", path) == {"out": "other.bitfm"}


def test_lists_and_tables_become_what_the_command_line_has(tmp_path):
    path = write(
        tmp_path,
        """
        [fit]
        interactions = "ratings.dat"
        columns = ["user_id", "item_id", "rating"]
        users = "users.dat"
        user-columns = ["user_id", "age"]
        items = ["items.csv", "texts.csv"]
        item_columns = [["item_id", "genre"], ["item_id", "text"]]
        context = "daytime, weather"
        kind = {year = "number", "zip code" = "category"}
        no-target = true
        test = 0.5
        [recommend]
        context = {daytime = "evening"}
        feature = ["age=25-34"]
        """,
    )
    assert defaults("fit", path) == {
        "interactions": "ratings.dat",
        "columns": "user_id,item_id,rating",
        "users": ["users.dat"],
        "user_columns": ["user_id,age"],
        "items": ["items.csv", "texts.csv"],
        "item_columns": ["item_id,genre", "item_id,text"],
        "context": "daytime, weather",
        "kind": ["year=number", "zip code=category"],
        "no_target": "True",
        "test": "0.5",
    }
    assert defaults("recommend", path) == {"context": ["daytime=evening"], "feature": ["age=25-34"]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[fit]\nbit = 8", "[fit]: there is no 'bit'; did you mean 'bits'?"),
        ("[fits]\nbits = 8", "there is no 'fits'; did you mean 'fit'?"),
        ("seed = 1", "there is no 'seed'; there are model, "),
        ("fit = 3", "fit must be a table of options, as in [fit], got 3"),
        ("[model]\nbits = 8", "model as model: expected a value, or a list of names without commas, got {'bits': 8}"),
        ("[fit]\nbits = 'eight'", "[fit] bits: "),
        ("[fit]\nbits = true", "got True"),
        ("[fit]\nbits = [8, 16]", "got [8, 16]"),
        ("[fit]\ntest = 'half'", "got 'half'"),
        ("[fit]\nseed = -1", "[fit] seed: "),
        ("[fit]\nno-target = 'maybe'", "got 'maybe'"),
        ("[fit]\ncolumns = ['a,b']", "[fit] columns: expected a value, or a list of names without commas, got ['a,b']"),
        ("[fit]\ntitle = {a = 1}", "[fit] title: expected a value, or a list of names without commas, got {'a': 1}"),
        ("[fit]\nmodel = 'best'", "'best' is not one of 'distilled', 'discrete', got 'best'"),
        ("[recommend]\nusers = 'u42'", "[recommend]: there is no 'users'"),
        ("[fit]\nconfig = 'other.toml'", "[fit]: there is no 'config'"),
        ("[fit", "is not TOML"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_key(tmp_path, text, said):
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as error:
        defaults("recommend", path)
    assert str(error.value).startswith(str(path))
    assert said in str(error.value)


def test_a_named_file_must_be_there():
    with pytest.raises(FileNotFoundError):
        defaults("fit", Path("nowhere.toml"))
