"""Tables that a fuzzer makes up, guided by the lines of bitfm that they reach; needs atheris (the extra ``fuzz``).

``python tests/attacks/guided.py FORMAT FOLDER [options of libFuzzer]`` keeps in FOLDER what reached new lines. Whatever
is read wrongly is printed and kept there, and the fuzzer goes on; it ends only if the process does.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import time
import traceback
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FunctionType
from typing import Any

from attacks.tables import BY_POLARS, FORMATS, SECONDS_PER_TABLE, TOKENS, is_by_polars, mutant, seeds, survives

_MOST_BYTES, _MOST_MIB = 1 << 13, 4096
_INSTRUMENTED = ("files", "parsing", "tables._dialect", "tables._separated", "tables.frames", "tables.read")


def report(seconds: float) -> int:
    """Fuzz one format after the other in processes of their own, print the counts, and return how many were wrong."""
    if find_spec("atheris") is None:
        print("guided: atheris is not installed; make .venv/.group-fuzz installs it\n")
        return 0
    folder, wrong = Path(os.environ.get("FUZZ_FOLDER", "build/fuzz")), 0
    rows = [f"{'guided':28} {'tables':>14} {'new lines':>14} {'WRONG':>14} {'CRASHED':>14} {BY_POLARS:>16}"]
    for kind in FORMATS:
        tables, reached, bad, crashed, known = 0, 0, 0, 0, 0
        end = time.monotonic() + seconds / len(FORMATS)
        while (left := int(end - time.monotonic())) > 0:
            command = [sys.executable, __file__, kind, str(folder / kind), f"-max_total_time={left}"]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            lines = done.stdout.decode(errors="replace").splitlines()
            tables += max((int(found[1]) for line in lines if (found := re.match(r"#(\d+)\t", line))), default=0)
            reached += sum(re.match(r"#\d+\tNEW", line) is not None for line in lines)
            said = [line for line in lines if line.startswith("WRONG")]
            bad += len(said)
            if done.returncode and is_by_polars(lines):
                known += 1
            elif done.returncode:
                crashed += 1
                said += [f"CRASHED {done.returncode}: guided {kind}", *lines[-12:]]
            print("".join(f"{line}\n" for line in said), end="", flush=True)
        rows.append(f"{kind:28} {tables:14,} {reached:14,} {bad:14,} {crashed:14,} {known:16,}")
        wrong += bad + crashed
    print(*rows, f"what reached new lines or went wrong is in {folder}\n", sep="\n", flush=True)
    return wrong


def instrument(atheris: Any) -> None:
    """Count the branches of the reader; atheris' own way, by the import, does not work with an editable install."""
    for name in _INSTRUMENTED:
        module = importlib.import_module(f"bitfm.data.{name}")
        own = [value for value in vars(module).values() if getattr(value, "__module__", "") == module.__name__]
        methods = [value for each in own if isinstance(each, type) for value in vars(each).values()]
        for function in (*own, *methods):
            if isinstance(function, FunctionType):
                atheris.instrument_func(function)


def fuzz(kind: str, folder: Path, options: list[str]) -> None:
    """Fuzz the reader of one format until the time is up."""
    import atheris

    corpus, wrong, words = folder / "corpus", folder / "wrong", folder / "tokens"
    for made in (corpus, wrong):
        made.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds(kind)):
        (corpus / f"seed-{number}").write_bytes(seed)
    words.write_text("".join('"' + "".join(f"\\x{byte:02x}" for byte in token) + '"\n' for token in TOKENS))
    instrument(atheris)
    seen: set[tuple[str, str, int]] = set()

    def attempt(raw: bytes) -> None:
        try:
            survives(kind, raw, Path(place))
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            key = type(error).__name__, Path(where.filename).name, where.lineno or 0
            if key not in seen:
                seen.add(key)
                kept = wrong / f"{'-'.join(map(str, key))}.{kind}"
                kept.write_bytes(raw)
                print(f"WRONG: {kept}: {str(error)[:200]!r}", flush=True)

    def damaged(data: bytes, most: int, seed: int) -> bytes:
        """Let libFuzzer mutate the bytes, or at times bitfm's own ways to damage a table."""
        return mutant(kind, seed)[1][:most] if seed % 4 == 0 else atheris.Mutate(data, most)

    with TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as place:
        limits = [f"-timeout={SECONDS_PER_TABLE}", f"-rss_limit_mb={_MOST_MIB}", f"-max_len={_MOST_BYTES}"]
        names = [f"-artifact_prefix={wrong}/", f"-dict={words}"]
        atheris.Setup([sys.argv[0], *limits, *names, *options, str(corpus)], attempt, custom_mutator=damaged)
        atheris.Fuzz()


if __name__ == "__main__":
    fuzz(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
