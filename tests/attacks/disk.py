"""A disk without space: whatever bitfm writes there is whole or not there, and the error is one sentence.

The disk is a small tmpfs in a mount namespace of its own, which ends with its process; ``unshare`` makes it, for root
or where users may have namespaces.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

import bitfm
from bitfm import Recommender
from bitfm.data import write_libfm
from cli_process import COMMAND

DISK_FULL = 14  # the exit code
_PAGE = 4096
_MOUNT = 'mount -t tmpfs -o size=4m tmpfs "$1" && shift && exec "$@"'
_FIT = ("fit", "--interactions", "{here}/ratings.csv", "--bits", "8", "-o", "{disk}/model.bitfm")
_LISTED = ("recommend", "{here}/model.bitfm", *map(str, range(60)), "-n", "60", "--csv")
OPERATIONS = ("save", "libfm", "fit -o", "recommend --csv", "recommend --json", "demo")


@cache
def namespace() -> list[str] | None:
    """Return the command before one that may mount, or None where none does."""
    for options in (["-m"], ["-rm"]):
        command = ["unshare", *options, "sh", "-c", _MOUNT, "sh", "/mnt", "true"]
        try:
            if not subprocess.run(command, capture_output=True, check=False).returncode:
                return command[:-2]
        except FileNotFoundError:
            return None
    return None


def prepare(here: Path) -> None:
    """Write what the operations read."""
    rng = np.random.default_rng(0)
    pairs = sorted({(int(u), int(i)) for u, i in rng.integers(60, size=(900, 2))})
    rows = [f"{user},{item},{(user * item) % 5 + 1}" for user, item in pairs]
    (here / "ratings.csv").write_text("user_id,item_id,rating\n" + "\n".join(rows))
    Recommender(bits=16, n_jobs=1).fit(here / "ratings.csv").save(here / "model.bitfm")
    (here / "disk").mkdir()


def on_full_disk(operation: str, free: int, here: Path) -> str:
    """Run an operation on a disk with so many bytes left, in a process of its own; return what came of it."""
    before = namespace()
    assert before is not None
    if not (here / "disk").exists():
        prepare(here)
    command = [*before, here / "disk", sys.executable, __file__, operation, str(free), here]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-600:]
    return done.stdout.strip()


def trial(number: int, folder: Path) -> tuple[str, Callable[[], str]]:
    """Return the operation, and a function that runs it with a random space left."""
    operation = OPERATIONS[number % len(OPERATIONS)]
    free = int(np.random.default_rng(number).choice([0, 1, 2, 5, 10, 15, 20, 25, 30, 50])) * _PAGE
    return operation, lambda: on_full_disk(operation, free, folder) if namespace() else "may not mount"


def _attempt(operation: str, free: int, here: Path) -> str:
    """Fill the disk but for some bytes, write to it, and look at what is there; within the namespace."""
    disk = here / "disk"
    whole = (here / "model.bitfm").read_bytes()
    (disk / "model.bitfm").write_bytes(whole)
    with open(disk / "filling", "wb", buffering=0) as file:
        room = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        file.write(bytes(max(0, room - free)))
    said, done = _run(operation, disk, here)
    there = sorted(path.name for path in disk.iterdir())
    if done:
        bitfm.load(disk / "model.bitfm")
        return "done"
    assert "\n" not in said.strip(), f"more than one line: {said!r}"
    assert said.strip(), "no word of it"
    assert "space" in said, said
    assert (disk / "model.bitfm").read_bytes() == whole, "the old file is not as it was"
    wanted = {"filling", "model.bitfm"} | ({"printed"} if operation.startswith("recommend") else set())
    assert operation == "demo" or set(there) == wanted, f"left behind: {set(there) - wanted}"
    assert not any(name.endswith(".tmp") for name in there), there
    return "refused"


def _run(operation: str, disk: Path, here: Path) -> tuple[str, bool]:
    """Return what was said of it, and whether it worked."""
    if operation in ("save", "libfm"):
        try:
            if operation == "save":
                bitfm.load(here / "model.bitfm").add_users({"user_id": [1000]}).save(disk / "model.bitfm")
            else:
                write_libfm(disk / "table.libfm", np.ones((500, 40)), np.zeros(500))
        except OSError as error:
            problem = error
        else:
            return "", True
        assert problem.errno == errno.ENOSPC, problem
        assert str(disk) in str(problem.filename), problem
        return str(problem), False
    given = {"fit -o": _FIT, "demo": ("demo", "--out", "{disk}"), "recommend --csv": _LISTED}
    given["recommend --json"] = (*_LISTED[:-1], "--json")
    command = [*COMMAND, *(part.format(here=here, disk=disk) for part in given[operation])]
    with open(disk / "printed" if operation.startswith("recommend") else os.devnull, "w") as printed:
        done = subprocess.run(command, stdout=printed, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode in (0, DISK_FULL), f"{done.returncode}: {done.stderr[-500:]}"
    told = [line for line in done.stderr.splitlines() if line.startswith("bitfm: ") or " " not in line[:1]]
    return "\n".join(told[-1:] if operation in ("fit -o", "demo") else told), done.returncode == 0


if __name__ == "__main__":
    print(_attempt(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))
