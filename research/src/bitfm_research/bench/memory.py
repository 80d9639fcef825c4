"""How small a model of codes is, and how soon its file gives a score: against real factors, pickle and NumPy."""

from __future__ import annotations

import math
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from bitfm_research.bench._opening import FORMATS, Opening, first_score, generated, measure_opening
from bitfm_research.bench.measure import Row

__all__ = ["run"]

_BYTES_PER_FEATURE = 16  # a code of 64 bits, a gain and a weight
_SMALL = 1000  # features of the model that has all libraries loaded
_ROUNDS = 3
_METHODS = {  # the name of each, its format and what scores
    "bitfm.load, predict_pairs": ("bitfm", "predict_pairs"),
    "bitfm.load, predict": ("bitfm", "predict"),
    f"pickle.load (Python {platform.python_version()}), predict_pairs": ("pickle", "predict_pairs"),
    f"np.load of npz (NumPy {np.__version__}), predict_pairs": ("npz", "predict_pairs"),
}


def run(
    *,
    n_features: int = 1_000_000,
    megabytes: float = 1000,
    folder: Path | None = None,
    say: Callable[[str], None] = print,
) -> Iterator[tuple[str, list[Row]]]:
    """Measure generated models on disk, and how they are opened.

    Parameters
    ----------
    n_features : of the model whose size is compared with real factors
    megabytes : the size of the file that is opened, roughly; three of them are written
    folder : where the files are for the time being, on a real disk; by default the working directory
    say : called with a line about what is done

    Yields
    ------
    title, rows
        First the sizes, with ``what``, ``bytes``, ``bytes per feature``, ``share`` and ``ratio``: how many times as
        large the same part of the float32 FM is. Then the openings, a row for each state of the ``file`` and each
        ``method``: ``ms to the first score`` is the least of three rounds, ``MB resident`` and ``MB of its own`` the
        most.

    Notes
    -----
    ``MB resident`` counts what is mapped of the file, too. It is the system's memory, shared by all who open the
    file. A page is mapped together with those that the system keeps in one piece with it; how many these are is up to
    the system, and to how the file came to be in memory.
    """
    with _scratch(folder) as scratch:
        say(f"save {n_features:,} features as codes and as real factors")
        rows = _sizes(n_features, Path(scratch))
    yield f"{n_features:,} features: codes of 64 bits against 64 real factors", rows
    if sys.platform != "linux":
        say("opening a model is left out: resident memory is read from /proc, which only Linux has")
        return
    with _scratch(folder) as scratch:
        size, rows = _openings(round(megabytes * 1e6 / _BYTES_PER_FEATURE), Path(scratch), say)
    yield f"From a file of {size / 1e6:,.1f} MB to the first score, in a fresh process", rows


def _scratch(folder: Path | None) -> tempfile.TemporaryDirectory[str]:
    """Return a folder that goes away; not in the usual place, which is often in memory, not on a disk."""
    return tempfile.TemporaryDirectory(prefix="bitfm-bench-", dir=folder or Path.cwd())


def _sizes(n_features: int, scratch: Path) -> list[Row]:
    model = generated(n_features)
    reals = model.to_float()
    files = scratch / "reals.bitfm", scratch / "codes.bitfm"
    reals.save(files[0])
    model.save(files[1])
    whole, ours = (file.stat().st_size for file in files)

    def row(what: str, size: int, of: int) -> Row:
        share = "1" if size == of else f"1/{of / size:.1f}"
        return {"what": what, "bytes": size, "bytes per feature": size / n_features, "share": share, "ratio": of / size}

    return [
        row("file: float32 FM, k = 64", whole, whole),
        row("file: DiscreteFM, codes with gains and weights", ours, whole),
        row("the factors alone", reals.factors_.nbytes, reals.factors_.nbytes),
        row("the codes alone", model.codes_.nbytes, reals.factors_.nbytes),
    ]


def _openings(n_features: int, scratch: Path, say: Callable[[str], None]) -> tuple[int, list[Row]]:
    """Return the size of bitfm's file and, for each state that a file is in, one row per method."""
    say(f"write {n_features:,} features as {', '.join(FORMATS)}")
    small, large = scratch / "small", scratch / "large"
    _write(_SMALL, small)
    expected = _write(n_features, large)
    rows: list[Row] = []
    for state in ("just written", "on disk", "opened before"):
        say(f"open them {_ROUNDS} times, {state}")
        taken: dict[str, list[Opening]] = {method: [] for method in _METHODS}
        for _ in range(_ROUNDS):
            for method, (form, score) in _METHODS.items():
                path = large.with_suffix(f".{form}")
                if state == "on disk":
                    _forget(path)
                taken[method].append(measure_opening(form, score, small.with_suffix(f".{form}"), path))
        rows += [_row(state, method, openings, expected) for method, openings in taken.items()]
    return large.with_suffix(".bitfm").stat().st_size, rows


def _write(n_features: int, stem: Path) -> float:
    """Save a model in all formats and return its first score; afterwards it is not in memory any more."""
    model = generated(n_features)
    for name, form in FORMATS.items():
        form.write(model, stem.with_suffix(f".{name}"))
    return first_score(model, "predict")


def _forget(path: Path) -> None:
    """Have the system drop what it keeps of the file in memory."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())  # it keeps what is not on the disk yet
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _row(state: str, method: str, openings: list[Opening], expected: float) -> Row:
    if not all(math.isclose(opening.score, expected, abs_tol=1e-4) for opening in openings):
        raise RuntimeError(f"{method}: the opened model scores differently from the one that was saved; report this")
    return {
        "file": state,
        "method": method,
        "ms to the first score": 1e3 * min(opening.seconds for opening in openings),
        "MB resident": max(opening.resident for opening in openings) / 1e6,
        "MB of its own": max(opening.own for opening in openings) / 1e6,
    }
