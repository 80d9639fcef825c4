"""A fit reads, deduplicates and splits once, builds its blocks once, and fits nothing that nobody asked for."""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter

from cli_process import call


def test_a_fit_does_everything_once(tmp_path, bookshop):
    calls = Counter()

    def count(frame, event, _):
        if event == "call" and "bitfm" in frame.f_code.co_filename:
            calls[frame.f_code.co_filename.rpartition("/bitfm/")[2], frame.f_code.co_name] += 1

    tables = ["--interactions", "ratings.csv", "--users", "readers.jsonl", "--items", "books.parquet"]
    columns = ["--user", "reader", "--item", "title"]
    sys.setprofile(count)
    threading.setprofile(count)
    try:
        done = call(
            "fit",
            *tables,
            *columns,
            "--bits",
            8,
            "--test",
            0.5,
            "-o",
            tmp_path / "m.bitfm",
            "--json",
            cwd=bookshop.folder,
        )
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert [row["model"] for row in json.loads(done.stdout)["accuracy"]] == ["ours"]
    assert calls["data/tables/values.py", "ids_of"] == 4  # of the interactions two columns, of users and items one each
    assert calls["data/tables/values.py", "numbers_of"] == 1
    assert calls["data/splits.py", "split_per_user"] == 1
    assert calls["recommender/_ratings/fitting.py", "_examples"] == 1
    assert 0 < calls["core/design.py", "make_design"] <= 12
    assert calls["models/bias.py", "fit"] == 0
    assert calls["models/fm.py", "fit"] == 2  # two teachers on trial, which finds nothing to teach
