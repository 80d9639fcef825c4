"""Prints the memory of workers that serve one model file: started one by one, or forked from one parent.

    python examples/production/memory.py shop.bitfm --workers 4

RSS counts what workers share for each of them; PSS shares it out, so that the sum is what they take together.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import bitfm

SERVE = """
import sys
import bitfm
rec = bitfm.load(sys.argv[1])
rec.recommend(rec.users.to_series()[:1000], n=10)
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def started(file: str, n: int) -> Iterator[list[int]]:
    """Start workers of their own, which open the file and answer 1,000 users each; yield their processes' ids."""
    command = [sys.executable, "-c", SERVE, file]
    workers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(n)]
    for worker in workers:
        worker.stdout.readline()
    yield [worker.pid for worker in workers]
    for worker in workers:
        worker.communicate()


@contextmanager
def forked(file: str, n: int) -> Iterator[list[int]]:
    """Open the file, then fork workers that answer 1,000 users each, as gunicorn does with --preload."""
    rec = bitfm.load(file)
    ready, ended = os.pipe(), os.pipe()
    workers = []
    for _ in range(n):
        if worker := os.fork():
            workers.append(worker)
            continue
        os.close(ended[1])
        rec.recommend(rec.users.to_series()[:1000], n=10)
        os.write(ready[1], b".")
        os.read(ended[0], 1)
        os._exit(0)
    for _ in workers:
        os.read(ready[0], 1)
    yield workers
    os.close(ended[1])
    for worker in workers:
        os.waitpid(worker, 0)


def mebibytes(process: int) -> dict[str, float]:
    """Return what the system says of a process's memory."""
    text = Path(f"/proc/{process}/smaps_rollup").read_text()
    return {name: int(size) / 1024 for name, size in re.findall(r"^(\w+):\s+(\d+) kB", text, flags=re.MULTILINE)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--workers", type=int, default=4)
    asked = parser.parse_args()
    print(f"{asked.file}: {Path(asked.file).stat().st_size / 2**20:.0f} MiB")
    for way in (started, forked):
        with way(asked.file, asked.workers) as workers:
            sizes = [mebibytes(worker) for worker in workers]
        rss, pss = (sum(size[name] for size in sizes) for name in ("Rss", "Pss"))
        each = f"RSS {rss / len(sizes):.0f} MiB and PSS {pss / len(sizes):.0f} MiB each"
        print(f"{len(sizes)} workers, {way.__name__}: {each}, {pss:.0f} MiB together")
