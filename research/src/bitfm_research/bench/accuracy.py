"""How accurate the models are: codes of every length beside baselines, on data that anyone can get."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bitfm import DistilledFM
from bitfm.models import FM, DiscreteFM
from bitfm.validation import check_bits, check_choice, check_integer

from bitfm_research.bench.datasets import READERS, Split, load, need_data
from bitfm_research.bench.measure import WITH_HISTORY, Row, measure
from bitfm_research.bench.tuning import Tuned, tune_als, tune_bias, tune_sgd

__all__ = ["BASELINES", "DISTILLED", "PAPER", "run"]

PAPER, DISTILLED = "DFM, paper", "DFM, distilled"
_TUNERS: dict[str, Callable[[Split, int], Tuned]] = {
    "bias only": tune_bias,
    "FM, ALS": tune_als,
    "FM, SGD": tune_sgd,
}
BASELINES = (*_TUNERS, "FM, Gibbs")
_BITS = {PAPER: (8, 16, 32, 64), DISTILLED: (8, 16, 32, 64, 128)}
_SEEDS = {"ml-100k": 3}  # of the others, which are larger, 1


def run(
    datasets: Sequence[str] | None = None,
    *,
    bits: Sequence[int] | None = None,
    seeds: int | None = None,
    folder: Path | None = None,
    say: Callable[[str], None] = print,
) -> Iterator[tuple[Split, list[Row]]]:
    """Fit every model on every data set and score the test part.

    Bias-only, ALS and SGD are tuned on a validation part of the training data, fields included. The others have no
    tuning: Gibbs and the distilled codes get ids, histories and raters; the paper's codes are as published, ids only,
    with β = 10 and α = 0.

    Parameters
    ----------
    datasets : names, by default all
    bits : code lengths of both kinds of codes; by default 8 to 64 and 8 to 128
    seeds : int, optional
        How many, counted from 0, each of them of both split and fits; by default 3 on ml-100k and 1 on the others. The
        split of yelp and amazon is given.
    folder : where the data sets are
    say : called with a line about each fit

    Yields
    ------
    split, rows
        When a data set is done: the split of the last seed, and for every model and seed a row with ``dataset``,
        ``split``, ``method``, ``bits``, ``NDCG@1``, ``NDCG@5``, ``NDCG@10``, ``RMSE``, ``bytes per feature``,
        ``seconds``, ``fields``, ``settings`` and ``seed``.
    """
    for b in bits or ():
        check_bits(b)
    if seeds is not None:
        check_integer("seeds", seeds, 1)
    folder = need_data(folder)
    for name in [check_choice("dataset", name, tuple(READERS)) for name in datasets or READERS]:
        rows: list[Row] = []
        for seed in range(seeds or _SEEDS.get(name, 1)):
            split = load(name, folder, seed)
            rows += compare(split, seed, bits, say)
        yield split, rows


def compare(split: Split, seed: int, bits: Sequence[int] | None, say: Callable[[str], None]) -> list[Row]:
    """Fit every model on one split, with one seed."""
    rows: list[Row] = []

    def add(method: str, length: int | None, model: Any, fields: Sequence[str], settings: str = "") -> None:
        measured = measure(split, model, fields)
        head = {"dataset": split.name, "split": split.protocol, "method": method, "bits": length}
        rows.append({**head, **measured, "settings": settings, "seed": seed})
        of = method if length is None else f"{method}, {length} bits"
        say(f"{split.name}, seed {seed}: {of}: NDCG@10 {measured['NDCG@10']:.4f}, {measured['seconds']:.1f} s")

    for method, tune in _TUNERS.items():
        tuned = tune(split, seed)
        say(f"{split.name}, seed {seed}: {method}: chose {tuned}")
        add(method, None, tuned.model, tuned.fields, str(tuned))
    add("FM, Gibbs", None, FM(rank=16, solver="gibbs", pairs="across", random_state=seed), WITH_HISTORY)
    for length in bits or _BITS[PAPER]:
        add(PAPER, length, DiscreteFM(length, random_state=seed), ())
    for length in bits or _BITS[DISTILLED]:
        add(DISTILLED, length, DistilledFM(length, random_state=seed), WITH_HISTORY)
    return rows
