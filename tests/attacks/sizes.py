"""Tables of sizes that nobody has: each is read or refused by one sentence; what it takes is printed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path

_WIDE, _MEGA = 10**6, 10**6
_ROW = "123,some text,4.5\n"
_READ = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (12 << 30,) * 2)  # the other processes of this computer go on
from bitfm.data import read_table
from bitfm.errors import BitfmError
said = ""
try:
    frame = read_table(sys.argv[1])
except BitfmError as error:
    said = str(error)
print(said or f"read {frame.height:,} rows of {frame.width:,} columns")
"""
_FIT = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (12 << 30,) * 2)
from bitfm import Recommender
from bitfm.errors import BitfmError
size, place = int(sys.argv[2]), sys.argv[1]
long = "x" * size
users, items = [n % 7 for n in range(70)], [f"i{n % 10}" for n in range(70)]
items = [long if one == "i0" and place == "id" else one for one in items]
ratings = {"u": users, "i": items, "rating": [1, 2, 3, 4, 5] * 14}
column = {"i": sorted(set(ratings["i"])), "c": ["a", "b"] * 5}
column["c"][0] = long if place == "category" else "a"
said = ""
try:
    rec = Recommender(bits=8, n_jobs=1).fit(ratings, items=column, user="u", item="i")
    assert rec.recommend(1, n=20, seen=True).height == 10
except BitfmError as error:
    said = str(error)
print(said or "fitted")
"""


def _of(*parts: str | Iterator[str]) -> Iterator[str]:
    for part in parts:
        yield from [part] if isinstance(part, str) else part


def _many(text: str, megabytes: float) -> Iterator[str]:
    """Yield a text again and again, some of it at a time: a child begins with the peak memory of this process."""
    size = int(megabytes * _MEGA)
    some = text * (min(size, _MEGA) // len(text))
    return repeat(some, size // len(some))


def _wide(columns: int) -> Iterator[str]:
    yield ",".join(f"c{place}" for place in range(columns)) + "\n"
    yield from repeat(",".join(str(place % 1000) for place in range(columns)) + "\n", 3)


def _wide_json(columns: int) -> Iterator[str]:
    yield from repeat("{" + ",".join(f'"c{place}":{place % 1000}' for place in range(columns)) + "}\n", 3)


# By name: the file, and its content for a scale from 0 to 1, where 1 is the size that the name says.
TABLES: dict[str, tuple[str, Callable[[float], Iterator[str]]]] = {
    "1,000,000 columns, CSV": ("t.csv", lambda scale: _wide(int(_WIDE * scale))),
    "1,000,000 columns, JSON": ("t.jsonl", lambda scale: _wide_json(int(_WIDE * scale))),
    "a cell of 50 MB, CSV": ("t.csv", lambda scale: _of("a,b\n1,", _many("x", 50 * scale), "\n")),
    "a cell of 50 MB, JSON": ("t.jsonl", lambda scale: _of('{"a":"', _many("x", 50 * scale), '"}\n')),
    "a cell of 1 GB, CSV": ("t.csv", lambda scale: _of("a,b\n1,", _many("x", 1000 * scale), "\n")),
    "a cell of 1 GB, JSON": ("t.jsonl", lambda scale: _of('{"a":"', _many("x", 1000 * scale), '"}\n')),
    "a quote without a second": ("t.csv", lambda scale: _of('a,b,c\n1,"x,3\n', _many(_ROW, 100 * scale))),
    "quoted cell without an end": ("t.csv", lambda scale: _of('a,b,c\n1,"a, b",3\n1,"c, ', _many(_ROW, 100 * scale))),
    "100 MB of quotes": ("t.csv", lambda scale: _of("a,b\n", _many('"', 100 * scale))),
    "a line of 300 MB, CSV": ("t.csv", lambda scale: _of("a,b\n", _many("1,2", 300 * scale), "\n1,2\n")),
    "a line of 300 MB, words": ("t.csv", lambda scale: _many("word ", 300 * scale)),
    "a line of 300 MB, JSON": ("t.jsonl", lambda scale: _of('{"a":[', _many("1,", 300 * scale), "1]}\n")),
    "1 GB of zeros": ("t.csv", lambda scale: _many("\0", 1000 * scale)),
}
FITS = {"a category of 1 GB": "category", "an id of 1 GB": "id"}
NAMES = (*TABLES, *FITS)
TRIALS = len(NAMES)


def attempt(name: str, folder: Path, scale: float = 1.0) -> tuple[str, float, int]:
    """Read or fit in a process of its own; return what it said, its processor seconds and its peak MiB."""
    if name in FITS:
        arguments = [_FIT, FITS[name], str(int(1000 * _MEGA * scale))]
    else:
        file, content = TABLES[name]
        with open(folder / file, "w") as out:
            out.writelines(content(scale))
        arguments = [_READ, str(folder / file)]
    child = subprocess.Popen([sys.executable, "-c", *arguments], stdout=subprocess.PIPE, text=True, cwd=folder)
    assert child.stdout is not None
    said = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, f"exit {child.returncode}"
    assert said.count("\n") == 1, said[:300]
    assert len(said) < 600, f"{len(said):,} characters: {said[:300]}"
    return said.strip().replace(f"{folder}/", ""), used.ru_utime + used.ru_stime, used.ru_maxrss >> 10


def trial(number: int, folder: Path) -> tuple[str, Callable[[], str]]:
    """Return the name of a size, and a function that tries it."""

    def measured() -> str:
        begin = time.monotonic()
        said, seconds, peak = attempt(NAMES[number], folder)
        spent = time.monotonic() - begin
        print(f"{NAMES[number]}: {seconds:.1f} s CPU, {spent:.1f} s, {peak:,} MiB: {said}", file=sys.stderr, flush=True)
        return "worked" if said.startswith(("read", "fitted")) else "refused"

    return NAMES[number], measured
