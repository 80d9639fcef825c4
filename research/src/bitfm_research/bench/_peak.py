"""Peak memory of a fit, measured in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from bitfm.data.blocks import Blocks
from bitfm.models.discrete import DiscreteFM

from bitfm_research.bench.datasets import load

__all__ = [
    "in_own_process", "input_bytes", "measure_fit", "model_bytes", "own_bytes", "peak_bytes", "reset_peak",
    "resident_bytes",
]  # fmt: skip


def measure_fit(dataset: str, threads: int, folder: Path | None = None) -> dict[str, float]:
    """Fit the paper's model on one of its sets in a fresh process; returns seconds and megabytes.

    ``peak_mb`` is what the fit added to the process at its highest, ``allowed_mb`` three times the input arrays plus
    the model with its delegate.
    """
    more = {"BITFM_DATA": str(folder)} if folder else {}
    return in_own_process("the fit", "bitfm_research.bench._peak", dataset, threads, **more)


def in_own_process(what: str, module: str, *arguments: object, **environment: str) -> dict[str, float]:
    """Run a module in a fresh process and return what it prints as JSON."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{what} in a process of its own failed: {done.stderr.strip()[-500:]}")
    result: dict[str, float] = json.loads(done.stdout)
    return result


def reset_peak() -> int:
    """Start a new measurement of the peak and return the bytes resident now (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")
    return resident_bytes()


def resident_bytes() -> int:
    """Return the bytes resident now (Linux)."""
    return _status("VmRSS")


def own_bytes() -> int:
    """Return the bytes resident now that belong to no file (Linux)."""
    return _status("RssAnon")


def peak_bytes() -> int:
    """Return the most bytes resident since `reset_peak`."""
    return _status("VmHWM")


def input_bytes(X: Blocks, y: np.ndarray[Any, Any]) -> int:
    """Return the size of the arrays a fit is given; an identity counts nothing."""
    total = y.nbytes
    for block in X.blocks.values():
        total += block.rows.nbytes
        for table in block.tables.values():
            if not table.identity:
                total += sum(array.nbytes for array in table.arrays())
    return total


def model_bytes(model: DiscreteFM) -> int:
    """Return the size of the fitted arrays, the delegate included."""
    arrays = (model.codes_, model.gains_, model.weights_)
    return sum(int(array.nbytes) for array in arrays) + 4 * len(model.codes_) * model.bits


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {key}")


def _main(dataset: str, threads: str) -> None:
    split = load(dataset)
    X, y = split.blocks(), split.train[2]
    DiscreteFM(bits=8, max_iter=1, n_jobs=1).fit(X[:1000], y[:1000])  # load every library before measuring
    before = reset_peak()
    begin = time.perf_counter()
    model = DiscreteFM(bits=64, n_jobs=int(threads), tol=0.0).fit(X, y)
    seconds = time.perf_counter() - begin
    allowed = 3 * input_bytes(X, y) + model_bytes(model)
    print(json.dumps({"seconds": seconds, "peak_mb": (peak_bytes() - before) / 1e6, "allowed_mb": allowed / 1e6}))


if __name__ == "__main__":
    _main(*sys.argv[1:])
