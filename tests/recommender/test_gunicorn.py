"""The usual deployment: gunicorn opens a model once and forks workers, which serve it and add ratings."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

import forked

pytest.importorskip("gunicorn")

APP = """
import json, os
import bitfm
import polars as pl

rec = bitfm.load(os.environ["MODEL"])
if os.environ["WARM"]:
    pl.DataFrame({"a": [2, 1]}).lazy().sort("a").collect()  # which starts Polars' threads

def answer(method, user, given):
    if method == "POST":
        rec.add_ratings(given)
    elif method == "PUT":
        bitfm.Recommender(bits=8).fit(given)
    return rec.recommend(user, n=3).to_dicts()

def app(environ, start_response):
    status, length = "200 OK", int(environ.get("CONTENT_LENGTH") or 0)
    given = json.loads(environ["wsgi.input"].read(length) or "null")
    try:
        result = answer(environ["REQUEST_METHOD"], environ["PATH_INFO"][1:], given)
    except bitfm.BitfmError as error:
        status, result = "409 Conflict", error.code
    start_response(status, [("Content-Type", "application/json")])
    return [json.dumps({"worker": os.getpid(), "result": result}).encode()]
"""
RATINGS = {"user_id": ["ann", "ann"], "item_id": [3, 4], "rating": [5, 1]}


@pytest.fixture(params=["", "warm"], ids=["opened", "threads started"])
def served(request, tmp_path):
    """Serve with two workers, whose parent has opened the model, and yield where, and if it has started threads."""
    forked.fitted().save(tmp_path / "shop.bitfm")
    (tmp_path / "served.py").write_text(APP)
    options = ["--preload", "--workers=2", "--bind=127.0.0.1:0", f"--worker-tmp-dir={tmp_path}", "served:app"]
    options += ["--graceful-timeout=10"]  # from 1.42 to 2.0, Polars lets no forked process end by itself
    server = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", *options],
        cwd=tmp_path,
        env={**os.environ, "MODEL": str(tmp_path / "shop.bitfm"), "WARM": request.param},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stderr is not None
        address = next(found[0] for line in server.stderr if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
        yield address, request.param == "warm"
    finally:
        server.terminate()
        server.wait(30)


def asked(address, method, user, given=None):
    body = None if given is None else json.dumps(given).encode()
    request = urllib.request.Request(f"{address}/{user}", body, method=method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), Answers())
    with opener.open(request, timeout=60) as response:
        answer = json.load(response)
    return answer["worker"], answer["result"]


class Answers(urllib.request.HTTPErrorProcessor):
    """Takes an error's answer for an answer."""

    def http_response(self, request, response):
        return response


def test_workers_serve_and_add_ratings(served):
    address, warm = served
    unknown = asked(address, "GET", "ann")[1]
    workers, end = set(), time.monotonic() + 60
    with ThreadPoolExecutor(4) as askers:
        while len(workers) < 2 and time.monotonic() < end:
            for worker, found in askers.map(lambda _: asked(address, "POST", "ann", RATINGS), range(8)):
                assert len(found) == 3
                assert found != unknown
                assert {3, 4}.isdisjoint(row["item"] for row in found)  # she has had them
                workers.add(worker)
    assert len(workers) == 2
    if warm:
        assert asked(address, "PUT", "ann", RATINGS)[1] == "forked-process"
