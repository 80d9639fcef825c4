"""A process that saves a model over and over is killed: the file is whole, and nothing stays beside it."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

import bitfm
from bitfm import Recommender

_SAVER = """
import os, signal, sys
import bitfm

models = [bitfm.load(path) for path in sys.argv[1:3]]
while way := sys.stdin.readline().strip():
    pid = os.fork()
    if not pid:
        if way == "named":
            del os.O_TMPFILE  # as on systems that have none
        while True:
            for model in models:
                model.save(sys.argv[3])
    print(pid, flush=True)
    os.waitpid(pid, 0)
    print("dead", flush=True)
"""


class Saver:
    """Two models, and a process that starts others which save them in turn under one name."""

    def __init__(self, folder: Path) -> None:
        rng = np.random.default_rng(0)
        events = {"user": rng.integers(40, size=600), "item": rng.integers(30, size=600)}
        rec = Recommender(bits=16, n_jobs=1).fit(events, user="user", item="item", target=None)
        rec.save(folder / "old.bitfm")
        rec.add_users({"user": [1000]}).save(folder / "new.bitfm")
        self._whole = {(folder / f"{name}.bitfm").read_bytes(): name for name in ("old", "new")}
        self._into = folder / "into"
        self._into.mkdir()
        self.path = self._into / "model.bitfm"
        self.path.write_bytes((folder / "old.bitfm").read_bytes())
        command = [sys.executable, "-c", _SAVER, folder / "old.bitfm", folder / "new.bitfm", self.path]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        atexit.register(self.close)

    def close(self) -> None:
        """End the process that starts others; the last of these is dead by now."""
        self._process.communicate()

    def _say(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{text}\n")
        self._process.stdin.flush()

    def _hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def kill_one(self, way: str, after: float) -> str:
        """Start a process that saves, kill it after some seconds and return what it left."""
        self._say(way)
        victim = int(self._hear())
        time.sleep(after)
        os.kill(victim, signal.SIGKILL)
        assert self._hear() == "dead"
        return self.look()

    def look(self) -> str:
        """Return which model is there and whether anything is beside it; raise if it is neither of the two."""
        content = self.path.read_bytes()
        assert content in self._whole, "neither the old model nor the new one"
        assert bitfm.load(self.path).n_items == 30
        left = sorted(set(os.listdir(self._into)) - {self.path.name})
        if not left:
            return f"the {self._whole[content]} one"
        assert len(left) == 1, left
        assert left[0].startswith(".bitfm-"), left
        os.utime(self._into / left[0], (0, 0))  # as old as files are that nobody writes any more
        bitfm.load(self.path).save(self.path)
        assert os.listdir(self._into) == [self.path.name], "the next save left it"
        return f"the {self._whole[content]} one, swept later"


@cache
def saver(folder: Path) -> Saver:
    """Return the saver of this process."""
    return Saver(folder)


def trial(number: int, folder: Path) -> tuple[str, Callable[[], str]]:
    """Return the way to write files, and a function that kills at a random moment."""
    rng = np.random.default_rng(number)
    way = ("unnamed", "named")[number % 2]
    return way, lambda: saver(folder).kill_one(way, float(rng.uniform(0, 0.06)))
