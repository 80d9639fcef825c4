"""A forked child serves and changes a recommender; what needs Polars' threads says so where there are none."""

from __future__ import annotations

import json
import multiprocessing
import queue
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import bitfm
import forked

REFUSED = {
    "fit": "fit",
    "filter by an expression": "where, an expression,",
    "add a lazy frame": "ratings, a lazy frame,",
    "read a file": f"reading {forked.__file__}",
    "predict 100,001": "a table of 100,001 values",
}
MESSAGE = (
    "forked-process: {} needs Polars' threads, which this process lacks, as it was forked from one that had started"
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("forks") / "shop.bitfm"
    forked.fitted().save(path)
    return path


@pytest.fixture(scope="module")
def here(model):
    """Return what each step gives in a process that is not forked."""
    rec = bitfm.load(model)
    return {name: json.loads(json.dumps(step())) for name, step in [*forked.serving(rec), *forked.learning(rec)]}


@pytest.fixture(scope="module")
def found(model):
    """Return what each step gives in children of a process that does more and more."""
    command = [sys.executable, Path(forked.__file__), model]
    run = subprocess.run(command, capture_output=True, text=True, timeout=280, check=True)
    steps = defaultdict(dict)
    for line in run.stdout.splitlines():
        stage, name, result = json.loads(line)
        steps[stage][name] = result
    return steps


@pytest.mark.parametrize("stage", ["imported", "opened", "served"])
def test_everything_works_in_a_child_whose_parent_has_not_fitted(stage, here, found):
    assert found[stage] == here


def test_serving_and_changes_work_in_a_child_whose_parent_has_fitted(here, found):
    assert found["fitted"].keys() == here.keys()
    for name, result in found["fitted"].items():
        if name in REFUSED:
            assert result.startswith(MESSAGE.format(REFUSED[name]))
        else:
            assert result == here[name]


def test_a_child_that_has_fitted_is_a_parent_that_has(here, found):
    assert found["child"]["fit"] == here["fit"]
    grandchild = found["child of a child that has fitted"]
    assert grandchild["fit"].startswith(MESSAGE.format("fit"))
    assert grandchild["add columns"] == here["add columns"]


def test_a_change_by_another_thread_of_the_parent_does_not_block_the_child(here, found):
    assert found["in a change"] == {"add columns": here["add columns"]}


def _serve_events(rec, answers):
    more = {"user_id": ["user 3", "new", "new"], "item_id": [2, 99, 3]}
    before = rec.recommend("user 3").to_dicts()
    rec.add_events(more).add_items({"item_id": [100]})
    answers.put([before, rec.recommend(["user 3", "new"], n=40).to_dicts(), str(rec.explain("new", 4))])


def test_events_are_served_and_added_in_a_child(tmp_path):
    bitfm.Recommender(8).fit(forked.RATINGS, target=None).save(
        tmp_path / "events.bitfm"
    )  # which starts Polars' threads
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_serve_events, args=(bitfm.load(tmp_path / "events.bitfm"), answers))
    child.start()
    in_child = answers.get(timeout=60)
    child.join(60)
    here = queue.Queue()
    _serve_events(bitfm.load(tmp_path / "events.bitfm"), here)
    assert in_child == here.get()
