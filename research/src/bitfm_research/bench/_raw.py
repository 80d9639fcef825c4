"""The real data sets as the tables that their makers publish."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from bitfm.data.tables import read_table

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CONTEXT", "app_usage", "likes", "movie_ratings", "paper_likes"]

CONTEXT = ("daytime", "weekday", "isweekend", "homework", "weather", "country", "city")  # what an app costs is none
_RATINGS = ["user_id", "item_id", "rating", "timestamp"]


def movie_ratings(folder: Path) -> pl.DataFrame:
    """Return the ratings of MovieLens-100K."""
    return read_table(folder / "ml-100k" / "u.data", columns=_RATINGS)


def likes(folder: Path) -> pl.DataFrame:
    """Return the ratings of 4 and 5 of MovieLens-100K, as events."""
    ratings = movie_ratings(folder)
    return ratings.filter(ratings["rating"] >= 4)


def paper_likes(folder: Path) -> pl.DataFrame:
    """Return who has which paper in their library at CiteULike."""
    import polars as pl

    lines = (folder / "citeulike-t" / "users.dat").read_text().splitlines()
    lists = [[int(item) for item in line.split()[1:]] for line in lines]  # the first number counts the others
    return pl.DataFrame({"user_id": range(len(lists)), "item_id": lists}).explode("item_id").drop_nulls()


def app_usage(folder: Path) -> pl.DataFrame:
    """Return Frappe's log of apps, each with its context."""
    with tempfile.TemporaryDirectory() as unpacked:
        with zipfile.ZipFile(folder / "frappe" / "Mobile_Frappe.zip") as archive:
            path = archive.extract("Mobile_Frappe/frappe/frappe.csv", unpacked)
        return read_table(path).rename({"user": "user_id", "item": "item_id"})
