"""Rendle's own libFM, run as the paper ran it, where there is such a program; nothing of it is part of bitfm."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from bitfm.data.libfm import write_libfm
from bitfm.errors import DataFileError

from bitfm_research.bench.datasets import Split
from bitfm_research.paper.libfm import Setting

__all__ = ["LibFMRun", "find_libfm", "libfm_command", "run_libfm"]

_INIT = 0.1  # the program's own default, and ours


@dataclass(frozen=True)
class LibFMRun:
    """What the program gave: its scores of the test part, which it cuts off at the least and the largest rating."""

    scores: npt.NDArray[np.float64]
    seconds: (
        float  # of the whole process: reading both files, learning, a pass over both parts after each epoch, writing
    )
    seconds_per_pass: float  # user time of one pass over the test part, as the program logs it; NaN without its log


def find_libfm(given: Path | None) -> Path | None:
    """Return the program that was given, or ``libFM`` on the PATH, or None."""
    if given is None:
        found = shutil.which("libFM")
        return None if found is None else Path(found)
    if not given.is_file() or not os.access(given, os.X_OK):
        raise FileNotFoundError(
            f"--libfm {given} is not a program that can be run; give the path of libFM's executable"
        )
    return given.resolve()


def libfm_command(program: Path, folder: Path, setting: Setting, rank: int, seed: int) -> list[str]:
    """Return the command line: by SGD, with the settings of our own FM, the bias without a penalty as there.

    Examples
    --------
    >>> setting = Setting(l2=0.1, linear_l2=0.02, rate=0.01, epochs=12, rmse=0.9)
    >>> words = libfm_command(Path("libFM"), Path("run"), setting, 64, 0)
    >>> " ".join(words[7:19])
    '-dim 1,1,64 -iter 12 -method sgd -learn_rate 0.01 -regular 0,0.02,0.1 -init_stdev 0.1'
    """
    options = {
        "task": "r",
        "train": folder / "train.libfm",
        "test": folder / "test.libfm",
        "dim": f"1,1,{rank}",
        "iter": setting.epochs,
        "method": "sgd",
        "learn_rate": f"{setting.rate:g}",
        "regular": f"0,{setting.linear_l2:g},{setting.l2:g}",
        "init_stdev": _INIT,
        "seed": seed,
        "rlog": folder / "log.tsv",
        "out": folder / "scores.txt",
    }
    return [str(program), *(word for name, value in options.items() for word in (f"-{name}", str(value)))]


def run_libfm(program: Path, split: Split, setting: Setting, rank: int, seed: int) -> LibFMRun:
    """Write both parts of a split in libFM's format, ids alone, run the program on them and read what it wrote.

    The training rows are shuffled, once and by the seed: the program takes them in the order of the file, and asks for
    that. It ends with code 0 even after an error, so what tells is whether there are as many scores as test ratings.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(split.train[2]))
    with tempfile.TemporaryDirectory(prefix="libfm-") as name:
        folder = Path(name)
        write_libfm(folder / "train.libfm", split.blocks("train").to_csr()[order], split.train[2][order])
        write_libfm(folder / "test.libfm", split.blocks("test").to_csr(), split.test[2])
        begin = time.perf_counter()
        command = libfm_command(program, folder, setting, rank, seed)
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        seconds = time.perf_counter() - begin
        return LibFMRun(_scores(program, folder, len(split.test[2]), done), seconds, _seconds_per_pass(folder))


def _scores(
    program: Path, folder: Path, expected: int, done: subprocess.CompletedProcess[str]
) -> npt.NDArray[np.float64]:
    path = folder / "scores.txt"
    said = done.stderr.strip().splitlines()[-1:] or done.stdout.strip().splitlines()[-1:] or ["nothing"]
    if done.returncode or not path.exists():
        raise ChildProcessError(f"{program} ended with code {done.returncode} and no scores; it said: {said[0]}")
    try:
        scores = np.array([float(line) for line in path.read_text().split()])
    except ValueError as error:
        raise DataFileError(f"{program} wrote scores that are not numbers ({error}); is it libFM 1.4?") from None
    if len(scores) != expected or not np.isfinite(scores).all():
        raise DataFileError(
            f"{program} wrote {np.isfinite(scores).sum():,} finite scores for {expected:,} test ratings; "
            f"it said: {said[0]}"
        )
    return scores


def _seconds_per_pass(folder: Path) -> float:
    """Return the least time of a pass over the test part in the program's log, one line per epoch."""
    path = folder / "log.tsv"
    lines = [line.split("\t") for line in path.read_text().splitlines()] if path.exists() else []
    if len(lines) < 2 or "time_pred" not in lines[0]:
        return math.nan
    column = lines[0].index("time_pred")
    times = [float(line[column]) for line in lines[1:] if len(line) == len(lines[0])]
    return min((t for t in times if math.isfinite(t)), default=math.nan)
