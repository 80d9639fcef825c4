"""How long it takes from a model's file to its first score, and in how much memory: a process of its own."""

from __future__ import annotations

import json
import pickle
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import bitfm
import numpy as np
import numpy.typing as npt
from bitfm.data.blocks import Block, Blocks
from bitfm.data.feature_table import FeatureTable
from bitfm.models.discrete import DiscreteFM

from bitfm_research.bench._peak import in_own_process, own_bytes, resident_bytes
from bitfm_research.bench.generated import BITS, untrained

__all__ = ["FORMATS", "SCORES", "Opening", "first_score", "generated", "measure_opening", "open_here"]


class Opening(NamedTuple):
    """What it took to open a file, and the score it gave."""

    seconds: float
    resident: int  # bytes that came to the process; those of the file that are mapped count, too
    own: int  # those that no other process shares
    score: float


def measure_opening(form: str, score: str, small: Path, path: Path) -> Opening:
    """Open a model and score a pair in a fresh process.

    Parameters
    ----------
    form : of `FORMATS`
    score : of `SCORES`
    small : a file of the same form, opened and scored first, so that all libraries are there
    path : the file
    """
    found = in_own_process(f"opening {path.name}", "bitfm_research.bench._opening", form, score, small, path)
    return Opening(**found)  # type: ignore[arg-type]


def generated(n_features: int, seed: int = 0) -> DiscreteFM:
    """Return a model of bare ids, half of them users, with random codes, gains and weights of the usual types."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(256, size=(n_features, BITS // 8), dtype=np.uint8)
    return _model(codes, rng.random(n_features, np.float32), rng.standard_normal(n_features, np.float32))


def _model(
    codes: npt.NDArray[np.uint8], gains: npt.NDArray[np.float32], weights: npt.NDArray[np.float32]
) -> DiscreteFM:
    users = len(codes) // 2
    return untrained(codes, gains, weights, [("user", "id", users), ("item", "id", len(codes) - users)])


class _Format(NamedTuple):
    write: Callable[[DiscreteFM, Path], None]
    read: Callable[[Path], Any]


def _write_pickle(model: DiscreteFM, path: Path) -> None:
    with open(path, "wb") as file:
        pickle.dump(model, file, protocol=5)


def _read_pickle(path: Path) -> Any:
    with open(path, "rb") as file:
        return pickle.load(file)


def _write_npz(model: DiscreteFM, path: Path) -> None:
    with open(path, "wb") as file:
        np.savez(file, codes=model.codes_, gains=model.gains_, weights=model.weights_)


def _read_npz(path: Path) -> DiscreteFM:
    with np.load(path) as arrays:
        return _model(arrays["codes"], arrays["gains"], arrays["weights"])


FORMATS = {
    "bitfm": _Format(DiscreteFM.save, bitfm.load),
    "pickle": _Format(_write_pickle, _read_pickle),
    "npz": _Format(_write_npz, _read_npz),
}


def _score_pairs(model: DiscreteFM, user: int, item: int) -> float:
    return float(model.predict_pairs([user], [item])[0])


def _score_blocks(model: DiscreteFM, user: int, item: int) -> float:
    users, items = (FeatureTable.eye(field.size) for field in model.fields_)
    return float(model.predict(Blocks(user=Block([user], {"id": users}), item=Block([item], {"id": items})))[0])


SCORES = {"predict_pairs": _score_pairs, "predict": _score_blocks}


def first_score(model: DiscreteFM, score: str) -> float:
    """Score a pair from about the middle of the users and of the items."""
    users, items = model.fields_
    return SCORES[score](model, users.size // 2, items.size // 2)


def open_here(form: str, score: str, small: Path, path: Path) -> Opening:
    """Open a model and score a pair in this process; see `measure_opening`."""
    read = FORMATS[form].read
    first_score(read(small), score)
    resident, own = resident_bytes(), own_bytes()
    begin = time.perf_counter()
    model = read(path)
    value = first_score(model, score)
    seconds = time.perf_counter() - begin
    return Opening(seconds, resident_bytes() - resident, own_bytes() - own, value)


def _main(form: str, score: str, small: str, path: str) -> None:
    print(json.dumps(open_here(form, score, Path(small), Path(path))._asdict()))


if __name__ == "__main__":
    _main(*sys.argv[1:])
