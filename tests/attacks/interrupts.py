"""Ctrl-C at a random moment of a fit: KeyboardInterrupt soon, and the process can fit again, to the same bytes."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bitfm import FM, BiasModel, DiscreteFM, DistilledFM, Recommender
from bitfm.datasets import make_bookshop

SOON = 2.0  # seconds from the signal to the exception
MODELS = {
    "BiasModel": BiasModel(),
    "FM": FM(rank=16, n_iter=30, tol=0),
    "FM, SGD": FM(rank=16, solver="sgd", n_iter=20),
    "FM, Gibbs": FM(rank=16, solver="gibbs", n_iter=20, n_samples=5),
    "FM, Gibbs, 2 threads": FM(rank=16, solver="gibbs", n_iter=20, n_samples=5, n_jobs=2),
    "DiscreteFM": DiscreteFM(bits=32, max_iter=10),
    "DistilledFM": DistilledFM(bits=32),
}
SUBJECTS = (*MODELS, "Recommender", "evaluate")


@cache
def _shop() -> Any:
    return make_bookshop(n_readers=300, n_books=200, n_ratings=8000, seed=0)


@cache
def _fitted() -> Recommender:
    return _fit_recommender()


def _fit_recommender() -> Recommender:
    shop = _shop()
    fitted = Recommender(bits=32)
    return fitted.fit(shop.ratings, users=shop.readers, items=shop.books, user="reader", item="title")


def work(name: str) -> bytes:
    """Do what is to be interrupted and return all of its result."""
    if name == "evaluate":
        return repr(_fitted().evaluate(_shop().ratings)).encode()
    made = _fit_recommender() if name == "Recommender" else _model(name)
    with TemporaryDirectory() as folder:
        made.save(Path(folder) / "model.bitfm")
        return (Path(folder) / "model.bitfm").read_bytes()


def _model(name: str) -> Any:
    from sklearn.base import clone

    return clone(MODELS[name]).fit(_shop().blocks(), np.asarray(_shop().ratings["rating"], float))


@cache
def whole(name: str) -> tuple[bytes, float]:
    """Return the result without an interrupt, and the seconds that it takes once all is imported."""
    result = work(name)
    begin = time.monotonic()
    assert work(name) == result, "two results without any interrupt"
    return result, time.monotonic() - begin


def interrupted(name: str, share: float) -> str:
    """Interrupt the work after a share of its time; return what came of it."""
    result, seconds = whole(name)
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(share * seconds, interrupt)
    outcome, late = "done before", 0.0
    try:
        with contextlib.suppress(KeyboardInterrupt):  # one that comes just after the work
            timer.start()
            try:
                work(name)
            except KeyboardInterrupt:
                outcome, late = "interrupted", time.monotonic() - sent[0]
            timer.cancel()
            timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert late < SOON, f"{late:.1f} s from the signal to the exception"
    assert work(name) == result, "another result after an interrupt"
    return outcome


def trial(number: int, _folder: Path) -> tuple[str, Callable[[], str]]:
    """Return what is interrupted, and a function that does so at a random moment."""
    name = SUBJECTS[number % len(SUBJECTS)]
    share = float(np.random.default_rng(number).uniform(0, 1))
    return name, lambda: interrupted(name, share)
