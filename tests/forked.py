"""Forks a process again and again while it does more and more, and prints what works in its children.

``python forked.py model.bitfm``: one line of JSON per step of a child, as soon as it is done; of a child that hangs,
lines are missing.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, TypeAlias

import pandas as pd
import polars as pl
import pyarrow as pa

import bitfm
from bitfm import FM, DistilledFM, Recommender
from bitfm.data import read_table

Steps: TypeAlias = Iterator[tuple[str, Callable[[], Any]]]

SECONDS = 60
MANY = ("add many", "evaluate")  # which Polars reads, unless the process is forked
RATINGS = {
    "user_id": [f"user {i % 20}" for i in range(120)],
    "item_id": [i * 7 % 30 for i in range(120)],
    "rating": [i % 5 + 0.5 for i in range(120)],
    "time": [f"2018-07-{i % 28 + 1:02} 20:15" for i in range(120)],
    "sky": [["wet", "dry", None][i % 3] for i in range(120)],
}
USERS = {
    "user_id": [f"user {i}" for i in range(20)],
    "joined": [f"201{i % 7}-07-13" for i in range(20)],
    "income": [f"${i},500" for i in range(1, 21)],
}
ITEMS = {
    "item_id": list(range(30)),
    "title": [f"The {('red', 'green', 'blue')[i % 3]} book of {('cats', 'dogs')[i % 2]}, part {i}" for i in range(30)],
    "genres": ["|".join("abcd"[i % 3 : i % 4 + 1]) for i in range(30)],
    "tags": [["new", "old"][: i % 3] for i in range(30)],
    "shelf": ["abc"[i % 3] for i in range(30)],
    "stock": [i % 4 > 0 for i in range(30)],
}
MORE = {
    "user_id": ["user 3", "new", "user 3", "new"],
    "item_id": [2, 99, 2, 3],
    "rating": [5.0, 1.5, 4.0, 3.0],
    "time": ["2019-01-01", "2019-01-02T10:00Z", "2018-12-31", "1546300800"],
    "sky": ["wet", None, "dry", "green"],
}
NEW_ITEM = {"item_id": [100], "title": ["The book of red dogs"], "genres": ["['a'|\"d\"]"], "tags": [["old"]]}


def fitted() -> Recommender:
    model = DistilledFM(8, teacher=FM(2, n_iter=1))
    return Recommender(model=model).fit(RATINGS, users=USERS, items=ITEMS, time="time", context=["sky"])


def digest_of(rec: Recommender) -> str:
    with tempfile.TemporaryDirectory() as folder:
        rec.save(os.path.join(folder, "saved.bitfm"))
        with open(os.path.join(folder, "saved.bitfm"), "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()


def changed(rec: Recommender, table: Any) -> str:
    """Return what the file holds after changes, which are taken back."""
    before = rec.state
    try:
        rec.add_ratings(table).add_items(NEW_ITEM).add_users({"user_id": ["late"], "joined": ["2016-W02"]})
        return digest_of(rec)
    finally:
        rec._state = before


def updated(rec: Recommender) -> str:
    """Return what the file holds after other values, which are taken back."""
    before = rec.state
    try:
        rec.update_items({"item_id": [3, 4], "shelf": ["d", None], "tags": [["blue"], []], "stock": [False, None]})
        return digest_of(rec)
    finally:
        rec._state = before


def removed(rec: Recommender) -> str:
    """Return what the file holds after removals, which are taken back."""
    before = rec.state
    try:
        rec.remove_users(["user 4", "user 7"]).remove_items([5, 29])
        rec.remove_interactions({"user_id": ["user 3"], "item_id": [21]})
        return digest_of(rec)
    finally:
        rec._state = before


def serving(rec: Recommender) -> Steps:
    several = [f"user {i}" for i in range(20)]
    yield "recommend", lambda: rec.recommend("user 3", context={"sky": "wet"}).to_dicts()
    yield "recommend to several", lambda: rec.recommend(several, n=30, seen=True).to_dicts()
    yield "recommend_new", lambda: rec.recommend_new([(3, 5)], {"joined": "2015-01-01", "income": "$3"}).to_dicts()
    yield "similar_items", lambda: rec.similar_items(3).to_dicts()
    where = {"shelf": ["a", "b"], "tags": "new", "stock": True}
    yield "filters", lambda: rec.recommend(several, n=9, where=where, deny={"user 3": [4, 7]}, seen=True).to_dicts()
    yield "boosts", lambda: rec.recommend(several, boost={"stock": 0.5}, diversity={"shelf": 2}).to_dicts()
    yield "diversity", lambda: rec.recommend("user 3", diversity=0.5).to_dicts()
    yield "similar_users", lambda: rec.similar_users("user 3").to_dicts()
    yield "explain", lambda: str(rec.explain("user 3", 4))
    yield "predict", lambda: rec.predict(MORE).tolist()
    yield "describe", lambda: rec.describe().to_dicts()
    yield "save", lambda: digest_of(rec)
    yield "add columns", lambda: changed(rec, MORE)
    yield "add polars", lambda: changed(rec, pl.DataFrame(MORE))
    yield "add pandas", lambda: changed(rec, pd.DataFrame(MORE).astype({"sky": "category"}))
    yield "add arrow", lambda: changed(rec, pa.table(MORE))
    yield "update", lambda: updated(rec)
    yield "remove", lambda: removed(rec)
    yield "add many", lambda: changed(rec, {name: values * 5 for name, values in RATINGS.items()})
    yield "evaluate", lambda: str(rec.evaluate(RATINGS))


def learning(rec: Recommender) -> Steps:
    yield "fit a model", lambda: str(FM(2, n_iter=2, n_jobs=2).fit(*rec.training_data(RATINGS)))
    yield "fit", lambda: digest_of(fitted())
    yield "filter by an expression", lambda: rec.recommend("user 3", where=pl.col("shelf") != "a").to_dicts()
    yield "add a lazy frame", lambda: changed(rec, pl.DataFrame(MORE).lazy())
    yield "read a file", lambda: read_table(__file__, columns=["line"], separator="\x1f").height
    many = {"user_id": ["user 3"] * 100_001, "item_id": [2] * 100_001}
    yield "predict 100,001", lambda: len(rec.predict(many))


def forked(stage: str, steps: Callable[[], Steps]) -> None:
    """Do the steps in a child, one after the other, and print what comes of each."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        for name, step in steps():
            try:
                result = step()
            except bitfm.ForkedProcessError as error:
                result = f"{error.code}: {error}"
            except Exception as error:
                result = repr(error)
            print(json.dumps([stage, name, result]), flush=True)
        os._exit(0)
    end = time.monotonic() + SECONDS
    while not os.waitpid(child, os.WNOHANG)[0]:
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01)


def of_child_that_has_fitted(rec: Recommender) -> Steps:
    yield "fit", lambda: digest_of(fitted())
    grandchild = [("fit", fitted), ("add columns", lambda: changed(rec, MORE))]
    yield "fork", lambda: forked("child of a child that has fitted", lambda: iter(grandchild))


def main(path: str) -> None:
    warnings.simplefilter("ignore", DeprecationWarning)  # Python's own, of forks of processes with threads
    forked("imported", lambda: chain(serving(bitfm.load(path)), learning(bitfm.load(path))))
    rec = bitfm.load(path)
    forked("opened", lambda: chain(serving(rec), learning(rec)))
    for name, step in serving(rec):
        if name not in MANY:
            step()
    forked("served", lambda: chain(serving(rec), learning(rec)))
    forked("child", lambda: of_child_that_has_fitted(rec))
    holder = threading.Thread(target=rec._changing.acquire)
    holder.start()
    holder.join()
    forked("in a change", lambda: iter([("add columns", lambda: changed(rec, MORE))]))
    rec._changing.release()
    fitted()
    forked("fitted", lambda: chain(serving(rec), serving(bitfm.load(path)), learning(rec)))


if __name__ == "__main__":
    main(sys.argv[1])
