"""bitfm.toml: what it may hold, what it does, and what is refused."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bitfm.cli import main  # noqa: F401  the commands that may be configured
from bitfm.cli._config import ConfigError, defaults
from bitfm.cli._toml import to_toml


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
    assert defaults("fit") == {"bits": 32}
    assert defaults("recommend") == {}


def test_the_model_is_what_fit_writes_and_others_read(tmp_path):
    path = write(tmp_path, 'model = "shop.bitfm"\n[recommend]\nn = 5\n')
    assert defaults("fit", path) == {"out": "shop.bitfm"}
    assert defaults("recommend", path) == {"model": "shop.bitfm", "n": 5}
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
        "no_target": True,
        "test": 0.5,
    }
    assert defaults("recommend", path) == {"context": ["daytime=evening"], "feature": ["age=25-34"]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[fit]\nbit = 8", "[fit]: there is no 'bit'; did you mean 'bits'?"),
        ("[fits]\nbits = 8", "there is no 'fits'; did you mean 'fit'?"),
        ("seed = 1", "there is no 'seed'; there are model, "),
        ("fit = 3", "fit must be a table of options, as in [fit], got 3"),
        ("model = 3", "model must be the path of a model file, got 3"),
        ("[fit]\nbits = '8'", "[fit] bits must be a whole number, got '8'"),
        ("[fit]\nbits = true", "[fit] bits must be a whole number, got True"),
        ("[fit]\ntest = 'half'", "[fit] test must be a number, got 'half'"),
        ("[fit]\nno-target = 1", "[fit] no-target must be true or false, got 1"),
        ("[fit]\ncolumns = [1, 2]", "[fit] columns must be a list of names, none of them with a comma, got [1, 2]"),
        ("[fit]\ncolumns = ['a,b']", "[fit] columns must be a list of names, none of them with a comma, got ['a,b']"),
        ("[fit]\nusers = [1]", "[fit] users must be a string, got 1"),
        ("[fit]\nkind = {year = 3}", "[fit] kind must be a string, got 3"),
        ("[fit]\nmodel = 'best'", "[fit] model must be one of distilled, discrete, got 'best'"),
        ("[fit]\nout = 3", "[fit] out must be the path of a file, as a string, got 3"),
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


plain = st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(max_size=20)
names = st.text(max_size=20)


@given(
    st.dictionaries(names, plain | st.lists(plain, max_size=5) | st.dictionaries(names, plain, max_size=5), max_size=5)
)
@settings(deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
def test_what_is_written_as_toml_reads_the_same(table):
    assert tomllib.loads(to_toml({"fit": table})) == {"fit": table}
