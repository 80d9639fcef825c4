"""How fast training is: against the published way, against myFM, and on two threads."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from bitfm.core import make_trainer, nearest_delegate, pack_signs, unpack_codes
from bitfm.errors import BitfmError
from bitfm.validation import check_choice
from threadpoolctl import threadpool_limits

from bitfm_research.bench._gibbs import compare_gibbs
from bitfm_research.bench._myfm import fit_myfm
from bitfm_research.bench._peak import measure_fit
from bitfm_research.bench._reference import sweep_rows
from bitfm_research.bench.datasets import Split, load, need_data
from bitfm_research.bench.measure import Row

__all__ = ["run"]

_BITS, _BETA, _SWEEPS, _PASSES = 64, 10.0, 20, 5
_GRID = 2.0**-20  # the flips' fixed point; the reference is given the same numbers


def run(
    datasets: Sequence[str] | None = None,
    *,
    parts: Sequence[str] | None = None,
    folder: Path | None = None,
    say: Callable[[str], None] = print,
) -> list[Row]:
    """Measure discrete coordinate descent, coordinate descent on reals, whole fits, and Gibbs sampling.

    Parameters
    ----------
    datasets : names; by default yelp and amazon, and ml-1m for Gibbs sampling
    parts : of "codes", "reals", "fits" and "gibbs"; by default all
    folder : where the data sets are
    say : called with a line about each part

    Returns
    -------
    list of dict
        With ``dataset``, ``what``, ``method``, ``threads``, ``seconds`` and ``ratio`` (of the first row of its kind
        to this one).
    """
    wanted = {check_choice("part", part, tuple(_PARTS)): _PARTS[part] for part in parts or _PARTS}
    if not {"reals", "gibbs"}.isdisjoint(wanted) and importlib.util.find_spec("myfm") is None:
        raise BitfmError("bench train compares with myFM, which is not installed: pip install 'bitfm-research[bench]'")
    folder = need_data(folder)
    rows: list[Row] = []
    for name in dict.fromkeys(name for part in wanted.values() for name in datasets or part.datasets):
        split = load(name, folder)
        for part in wanted.values():
            if name in (datasets or part.datasets):
                say(f"{name}: {part.about}")
                rows += part.measure(split, folder)
    return rows


def _start(split: Split, threads: int) -> tuple[Any, npt.NDArray[np.float32], npt.NDArray[np.float32], Any]:
    """Return a trainer, factors after a few relaxed sweeps, their delegate and the scaled targets."""
    blocks, y = split.blocks(), split.train[2]
    targets = (y - 3) * _BITS
    rng = np.random.default_rng(0)
    trainer: Any = make_trainer(blocks.design(), targets, None, across=False)
    factors = rng.uniform(-0.5, 0.5, (blocks.n_features, _BITS)).astype(np.float32)
    weights = np.zeros(blocks.n_features, np.float32)
    delegate = nearest_delegate(factors, rng).matrix
    trainer.reset_reals(0.0, weights, factors, threads)
    for _ in range(5):
        trainer.sweep_factors(factors, np.full(2, _BETA), delegate, _BETA, threads)
    delegate = nearest_delegate(factors, rng).matrix
    return trainer, factors, delegate, targets


def _codes(split: Split) -> list[Row]:
    times: dict[int, list[float]] = {1: [], 2: []}
    results = []
    for _ in range(3):  # in turns, so that a busy moment does not fall on one of them alone
        for threads in times:
            trainer, factors, delegate, targets = _start(split, threads)
            codes = pack_signs(factors)
            trainer.reset_codes(0.0, np.zeros(len(codes), np.float32), codes, None, threads)
            begin = time.perf_counter()
            for _ in range(_SWEEPS):
                trainer.sweep_codes(codes, delegate, _BETA, _PASSES, threads)
            times[threads].append(time.perf_counter() - begin)
            results.append(codes)
    users, items, _ = split.train
    by_user = sp.csr_matrix((targets, (users, items)), shape=(split.n_users, split.n_items))
    by_item = sp.csr_matrix(by_user.T)
    signs = unpack_codes(pack_signs(factors)).astype(np.float64)
    of_users, of_items = signs[: split.n_users], signs[split.n_users :]
    pull = np.rint(_BETA * delegate.astype(np.float64) / _GRID) * _GRID
    with threadpool_limits(1):
        begin = time.perf_counter()
        for _ in range(_SWEEPS):
            sweep_rows(of_users, of_items, by_user, pull[: split.n_users], 1.0, _PASSES)
            sweep_rows(of_items, of_users, by_item, pull[split.n_users :], 1.0, _PASSES)
        published = time.perf_counter() - begin
    same = all(np.array_equal(pack_signs(signs), codes) for codes in results)
    if not same:
        raise RuntimeError("the codes differ from the published rule's; report this")
    what = f"{_SWEEPS} sweeps of codes, {_BITS} bits"
    rows = [_row(split.name, what, f"published way, NumPy {np.__version__}", 1, published, published)]
    for threads, taken in times.items():
        rows.append(_row(split.name, what, "bitfm, identical codes", threads, min(taken), published))
    return rows


def _reals(split: Split) -> list[Row]:
    trainer, factors, _, _ = _start(split, 2)
    weights, ridge = np.zeros(len(factors), np.float32), np.full(2, _BETA)
    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(9):
        for threads in times:
            begin = time.perf_counter()
            trainer.sweep_weights(0.0, weights, ridge, True, threads)
            trainer.sweep_factors(factors, ridge, None, 0.0, threads)
            times[threads].append(time.perf_counter() - begin)
    baseline = _myfm_iteration(split)
    what = f"1 sweep of weights and factors, rank {_BITS}"
    version = importlib.metadata.version("myfm")
    rows = [_row(split.name, what, f"myFM {version}, one iteration", 1, baseline, baseline)]
    for threads, taken in times.items():
        rows.append(_row(split.name, what, "bitfm, float32", threads, min(taken), baseline))
    return rows


def _myfm_iteration(split: Split) -> float:
    times = {}
    for n_iter in (1, 4):
        begin = time.perf_counter()
        fit_myfm(split, (), _BITS, n_iter, 1)
        times[n_iter] = time.perf_counter() - begin
    return (times[4] - times[1]) / 3


def _fits(split: Split, folder: Path) -> list[Row]:
    rows = []
    for threads in (1, 2):
        used = measure_fit(split.name, threads, folder)
        row = _row(split.name, f"fit: 20 + 20 iterations, {_BITS} bits", "bitfm", threads, used["seconds"], None)
        rows.append(row | {"peak MB": used["peak_mb"], "allowed MB": used["allowed_mb"]})
    return rows


class _Part(NamedTuple):
    """A kind of measurement, and the data sets it is made on by default."""

    about: str
    measure: Callable[[Split, Path], list[Row]]
    datasets: tuple[str, ...] = ("yelp", "amazon")


_PARTS = {
    "codes": _Part(f"{_SWEEPS} sweeps of discrete coordinate descent, both ways", lambda split, _: _codes(split)),
    "reals": _Part("a sweep of real factors, and an iteration of myFM", lambda split, _: _reals(split)),
    "fits": _Part("whole fits", lambda split, folder: _fits(split, folder)),
    "gibbs": _Part("Gibbs sampling, and myFM's", lambda split, _: compare_gibbs(split), ("ml-1m",)),
}


def _row(dataset: str, what: str, method: str, threads: int, seconds: float, first: float | None) -> Row:
    ratio = None if first is None else first / seconds
    return {
        "dataset": dataset, "what": what, "method": method, "threads": threads, "seconds": seconds, "ratio": ratio,
    }  # fmt: skip
