"""Attack bitfm for some seconds and print what came of it: ``python tests/attacks/fuzz.py 300 [ATTACK ...]``.

The time is shared out among the attacks. Each is a module with a function ``trial(number, folder)`` that returns what
is done and a function that does it and says what came of it; whatever that raises is wrong. Trials run in a child
process, so that a crash or a hang is found and counted as well. A trial that went wrong is printed with its number,
which makes it again: ``python tests/attacks/fuzz.py --only ATTACK NUMBER``.
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

from attacks import guided
from attacks.tables import BY_POLARS, SECONDS_PER_TABLE, is_by_polars

ATTACKS = ("files", "tables", "guided", "calls", "kills", "disk", "interrupts", "sizes")
_SECONDS_PER_TRIAL = {"tables": SECONDS_PER_TABLE, "disk": 120, "sizes": 300}
_BAD = ("WRONG", "CRASHED")


def run(attack: str, first: int, seconds: float, folder: Path, *, only: bool = False) -> None:
    """Try one number after the other and print a line each: number, what was done, what came of it."""
    module, end = importlib.import_module(f"attacks.{attack}"), time.monotonic() + seconds
    for number in range(first, getattr(module, "TRIALS", sys.maxsize)):
        print(number, end="\t", flush=True)
        what, attempt = module.trial(number, folder)
        print(what, end="\t", flush=True)
        faulthandler.dump_traceback_later(_SECONDS_PER_TRIAL.get(attack, 30), exit=True)
        try:
            outcome = attempt()
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(place.filename).name}:{place.lineno}"
            outcome = f"WRONG: {type(error).__name__} at {where}: {str(error)[:200]!r}"
            if only:
                traceback.print_exc()
        faulthandler.cancel_dump_traceback_later()
        print(outcome, flush=True)
        if only or time.monotonic() > end:
            break


def outcomes(attack: str, first: int, seconds: float) -> Iterator[tuple[str, str]]:
    """Yield what was done and what came of it, from children that are started until the time is up."""
    number, end = first, time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        with TemporaryDirectory(prefix="bitfm-fuzz-") as folder, TemporaryFile("w+") as said:
            command = [sys.executable, __file__, "--run", attack, str(number), str(left), folder]
            child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True)
            last: list[str] = []
            for line in child.stdout or ():
                last = line.rstrip("\n").split("\t")
                if line.endswith("\n"):  # else the trial did not end
                    number = int(last[0]) + 1
                    if last[2].startswith("WRONG"):
                        print(attack, *last, flush=True)
                    yield last[1], last[2].partition(":")[0]
            child.wait()
            said.seek(0)
            if not child.returncode:
                print(said.read() if attack == "sizes" else "", end="", flush=True)
                return
            lines = said.readlines()
            if not last:
                raise SystemExit("".join(lines[-12:]))  # before the first trial: nothing to go on from
            number, outcome = int(last[0]) + 1, BY_POLARS if is_by_polars(lines) else "CRASHED"
            if outcome == "CRASHED":
                print(f"CRASHED {child.returncode}: {attack}", *last, "".join(lines[-12:]), flush=True)
            yield last[1] if len(last) > 1 else "?", outcome


def report(attack: str, seconds: float) -> int:
    """Attack, print the counts, and return how many trials went wrong."""
    if attack == "guided":
        return guided.report(seconds)
    finite = hasattr(importlib.import_module(f"attacks.{attack}"), "TRIALS")
    first = 0 if finite else int(os.environ.get("FUZZ_FIRST", time.time())) * 1000
    print(f"{attack}: from trial {first} on, for {seconds:.0f} s", flush=True)
    counts = Counter(outcomes(attack, first, seconds))
    kinds, ends = sorted({what for what, _ in counts}), sorted({outcome for _, outcome in counts})
    wide = [max(14, len(outcome)) for outcome in ends]
    print(f"{attack:28}", *(f"{outcome:>{width}}" for outcome, width in zip(ends, wide, strict=True)))
    for what in kinds:
        print(f"{what:28}", *(f"{counts[what, outcome]:{width},}" for outcome, width in zip(ends, wide, strict=True)))
    sums = [sum(counts[what, outcome] for what in kinds) for outcome in ends]
    print(f"{f'{counts.total():,} in all':28}", *(f"{n:{width},}" for n, width in zip(sums, wide, strict=True)), "\n")
    return sum(count for (_, outcome), count in counts.items() if outcome in _BAD)


def main(seconds: float, attacks: list[str]) -> int:
    """Share the time out among attacks; return how many trials went wrong."""
    unknown = set(attacks) - set(ATTACKS)
    if unknown:
        sys.exit(f"there is no attack {unknown.pop()!r}; the attacks are {', '.join(ATTACKS)}")
    return sum(report(attack, seconds / len(attacks)) for attack in attacks)


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        run(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), Path(sys.argv[5]))
    elif sys.argv[1] == "--only":
        with TemporaryDirectory() as made:
            run(sys.argv[2], int(sys.argv[3]), 60, Path(made), only=True)
    else:
        sys.exit(main(float(sys.argv[1]), sys.argv[2:] or list(ATTACKS)) > 0)
