"""``bitfm remove``."""

from __future__ import annotations

import json

import pytest

import bitfm
from cli_process import call


def test_removed_users_and_items_are_not_in_the_new_file(bookshop, model, tmp_path):
    old = model.path.read_bytes()
    readers = bookshop.shop.readers["reader"][:2]
    arguments = [*(part for one in readers for part in ("--user", one)), "--item", bookshop.book]
    done = call("remove", "shop.bitfm", *arguments, "-o", tmp_path / "new.bitfm", cwd=bookshop.folder)
    assert done.returncode == 0, done.stderr
    assert "removed users: 2, items: 1; 118 users and 59 items are left" in done.stdout
    assert model.path.read_bytes() == old
    new = (tmp_path / "new.bitfm").read_bytes()
    for one in (*readers, bookshop.book):
        assert one.encode() in old
        assert one.encode() not in new
    expected = bitfm.load(model.path).remove_users(readers).remove_items(bookshop.book)
    other = bookshop.shop.readers["reader"][5]
    assert bitfm.load(tmp_path / "new.bitfm").recommend(other).equals(expected.recommend(other))


def test_a_file_can_take_its_own_place(bookshop, model, tmp_path):
    path = tmp_path / "own.bitfm"
    path.write_bytes(model.path.read_bytes())
    done = call("remove", "own.bitfm", "--user", bookshop.reader, "--json", "-o", "own.bitfm", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said == {"model": "own.bitfm", "removed": {"users": 1, "items": 0}, "users": 119, "items": 60}
    assert bookshop.reader.encode() not in path.read_bytes()
    again = call("remove", "own.bitfm", "--user", bookshop.reader, "-o", "own.bitfm", cwd=tmp_path)
    assert again.returncode == 0
    assert f"remove_users: user {bookshop.reader!r} not known, so passed over" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["-o", "new.bitfm"], 2, "name who or what is to be removed"),
        (["--user", "x"], 2, "--out"),
        (["--user", "x", "-o", "ratings.csv"], 2, "exists and is not a bitfm model"),
        (["--user", "x", "-o", "nowhere/new.bitfm"], 3, "there is no folder"),
    ],
)
def test_mistakes_are_told(bookshop, model, arguments, code, told):
    done = call("remove", "shop.bitfm", *arguments, cwd=bookshop.folder)
    assert done.returncode == code
    assert told in " ".join(done.stderr.split())
    assert not (bookshop.folder / "new.bitfm").exists()
