"""Damage files at random for some seconds and print what came of it: ``python tests/attacks/fuzz.py 300``.

Mutants are made and used in a child process, so that a crash or a hang is found and counted as well. A mutant that is
handled wrongly is printed with its number, which makes it again: ``python tests/attacks/fuzz.py --only NUMBER``.
"""

from __future__ import annotations

import faulthandler
import os
import subprocess
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from attacks.mutators import mutant
from attacks.subjects import subjects

SECONDS_PER_MUTANT = 30


def run(first: int, count: int, seconds: float, folder: str, *, loud: bool = False) -> None:
    """Try mutants and print a line each: number, subject, mutator, outcome."""
    warnings.simplefilter("ignore")  # numbers of a damaged file may overflow
    os.fsync = lambda _: None
    path, files, end = Path(folder) / "mutant.bitfm", subjects(), time.monotonic() + seconds
    for number in range(first, first + count):
        subject = files[number % len(files)]
        name, raw = mutant(subject.file, number)
        print(number, subject.name, name, sep="\t", end="\t", flush=True)
        faulthandler.dump_traceback_later(SECONDS_PER_MUTANT, exit=True)
        try:
            outcome = subject.survives(raw, path)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            outcome = (
                f"WRONG: {type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {str(error)[:200]!r}"
            )
            if loud:
                traceback.print_exc()
        faulthandler.cancel_dump_traceback_later()
        print(outcome, flush=True)
        if time.monotonic() > end:
            break


def main(seconds: float) -> int:
    """Run until the time is up; return how many mutants were handled wrongly."""
    counts: Counter[str] = Counter()
    by_mutator: Counter[tuple[str, str]] = Counter()
    number, start = int(os.environ.get("FUZZ_FIRST", time.time())) * 1000, time.monotonic()
    print(f"from mutant {number} on, for {seconds:g} s", flush=True)
    while (left := seconds - (time.monotonic() - start)) > 0:
        with TemporaryDirectory() as folder:
            command = [sys.executable, __file__, "--run", str(number), str(left), folder]
            child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            last: list[str] = []
            for line in child.stdout or ():
                last = line.rstrip("\n").split("\t")
                if len(last) == 4:
                    number = int(last[0]) + 1
                    outcome = last[3].partition(":")[0]
                    counts[outcome] += 1
                    by_mutator[last[2], outcome] += 1
                    if outcome == "WRONG":
                        print(*last, flush=True)
            if child.wait() and not last:
                return 1
            if child.returncode:
                counts["CRASHED"] += 1
                print("CRASHED", child.returncode, *last, flush=True)
                number = int(last[0]) + 1
    outcomes = sorted(counts)
    print(f"{'mutator':24}", *(f"{outcome:>14}" for outcome in outcomes))
    for name in sorted({name for name, _ in by_mutator}):
        print(f"{name:24}", *(f"{by_mutator[name, outcome]:14,}" for outcome in outcomes))
    print(f"{f'{sum(counts.values()):,} in all':24}", *(f"{counts[outcome]:14,}" for outcome in outcomes))
    return counts["WRONG"] + counts["CRASHED"]


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        run(int(sys.argv[2]), sys.maxsize // 2, float(sys.argv[3]), sys.argv[4])
    elif sys.argv[1] == "--only":
        with TemporaryDirectory() as folder:
            run(int(sys.argv[2]), 1, 60, folder, loud=True)
    else:
        sys.exit(main(float(sys.argv[1])) > 0)
