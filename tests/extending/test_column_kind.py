"""A third party's kind of column, in one file that is no part of the package."""

from __future__ import annotations

import copy
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import bitfm
from bitfm.data import Category, Kind, infer_kind, kind_names, kind_of, register_kind
from extending.geohash import Geohash

PLACES = ["u4pruyd", "u4pruzz", "u4xsudv", "9q8yyk8", None]


@pytest.fixture(scope="module")
def rec():
    rng = np.random.default_rng(0)
    users, items = [f"u{i}" for i in range(40)], [f"i{i}" for i in range(30)]
    ratings = {"user_id": rng.choice(users, 900), "item_id": rng.choice(items, 900), "rating": rng.integers(1, 6, 900)}
    homes = {"user_id": users, "home_geohash": PLACES * 8, "work": PLACES[::-1] * 8}
    return bitfm.Recommender(8, kinds={"work": Geohash(precision=3)}).fit(ratings, users=homes)


def test_it_is_one_of_the_kinds():
    assert "geohash" in kind_names()
    assert kind_of("geohash") == Geohash()
    assert kind_of("date").called == "date"
    column = Geohash(precision=2).fit("home", pl.Series(PLACES))
    assert [column.label(feature) for feature in range(column.width)] == [f"region {r}" for r in ("9", "9q", "u", "u4")]
    found = column.transform(pl.Series(["u4pruyd", "ud9wfzz", "nowhere!", None])).toarray()
    np.testing.assert_allclose(found, [[0, 0, 0.5**0.5, 0.5**0.5], [0, 0, 1, 0], [0] * 4, [0] * 4], rtol=1e-6)


def test_it_is_inferred_where_it_fits_and_nowhere_else():
    assert infer_kind("home_geohash", pl.Series(PLACES)).kind == Geohash()
    assert infer_kind("plate", pl.Series(PLACES * 2)).kind == Category()


def test_a_recommender_uses_it_declared_or_inferred(rec):
    told = {row["column"]: row for row in rec.describe().to_dicts()}
    assert told["home_geohash"]["kind"] == told["work"]["kind"] == "geohash"
    assert told["home_geohash"]["why"] == "places such as u4pruyd: 13 regions"
    names = [share.name for share in rec.explain("u0", "i0").features]
    assert {"user.home_geohash: region u4pru", "user.work: region u4x"} & set(names)
    with pytest.raises(bitfm.ValueInTableError, match="declared a geohash, but none of its 2 values"):
        bitfm.Recommender(8, kinds={"age": "geohash"}).fit(
            {"user_id": ["a", "b"], "item_id": ["c", "d"], "rating": [1, 2]},
            users={"user_id": ["a", "b"], "age": [1, 2]},
        )


def test_a_file_keeps_it(rec, tmp_path):
    rec.save(tmp_path / "places.bitfm")
    again = bitfm.load(tmp_path / "places.bitfm")
    new = {"features": {"home_geohash": "u4pruuu", "work": "9q8yyk8"}, "n": 5}
    assert again.recommend_new(**new).equals(rec.recommend_new(**new))
    assert again.recommend("u3").equals(rec.recommend("u3"))


def test_an_installed_package_need_not_be_imported(rec, tmp_path):
    rec.save(tmp_path / "places.bitfm")
    shutil.copy(Path(__file__).with_name("geohash.py"), tmp_path / "geohash.py")
    told = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": str(tmp_path)}, "capture_output": True, "text": True}
    code = "import bitfm; print(bitfm.load('places.bitfm').recommend('u3').rows(), bitfm.data.kind_names()[-1])"
    query = [sys.executable, "-c", code]
    refused = subprocess.run(query, check=False, **told)
    assert "is of the kind 'geohash', expected one of category, " in refused.stderr
    assert "install or import the package that registers this kind" in refused.stderr
    package = tmp_path / "places-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: places\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[bitfm.columns]\ngeohash = geohash:Geohash\n")
    assert subprocess.run(query, check=True, **told).stdout.strip() == f"{rec.recommend('u3').rows()} geohash"


def test_names_are_unique_and_kinds_are_classes():
    with pytest.raises(ValueError, match="there is a kind called 'date' already; give Mine another name"):

        @register_kind
        @dataclass(frozen=True)
        class Mine(Geohash):
            called: ClassVar[str] = "date"

    with pytest.raises(ValueError, match="a kind called 'geohash' already"):

        @register_kind
        @dataclass(frozen=True)
        class Other(Geohash):
            pass

    with pytest.raises(TypeError, match="a class derived from Kind"):
        register_kind(Geohash())
    with pytest.raises(TypeError, match="a name in `called`"):
        register_kind(Kind)
    assert kind_of("geohash") == Geohash()
    assert kind_of("date").called == "date"


def test_regions_that_nobody_else_is_in_go_with_a_user(rec, tmp_path):
    rec = copy.copy(rec).remove_users([f"u{n}" for n in range(3, 40, 5)])  # all who live at 9q8yyk8
    told = {row["column"]: row["why"] for row in rec.describe().to_dicts()}
    assert told["home_geohash"] == "8 regions"
    rec.save(tmp_path / "some.bitfm")
    assert b"9q8" in (tmp_path / "some.bitfm").read_bytes()  # where others work
    rec.remove_users([f"u{n}" for n in range(1, 40, 5)]).save(tmp_path / "some.bitfm")
    assert b"9q8" not in (tmp_path / "some.bitfm").read_bytes()
