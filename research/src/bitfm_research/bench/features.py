"""What features are worth: to users and items that are known, and to items that nobody has rated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bitfm import DistilledFM
from bitfm.models import FM, BiasModel
from bitfm.validation import check_bits, check_integer

from bitfm_research.bench.datasets import Split, load, need_data
from bitfm_research.bench.measure import WITH_HISTORY, Row, measure, scored

__all__ = ["run"]

Fields = tuple[str, ...]

_COLD_STEPS = (("genres", "year"), ("cast", "words"))  # then everything; raters, which cold items lack, at last


def run(
    dataset: str = "ml-1m",
    *,
    bits: int = 64,
    seeds: int = 1,
    folder: Path | None = None,
    say: Callable[[str], None] = print,
) -> Iterator[tuple[Split, list[Row]]]:
    """Fit Gibbs and distilled codes with more and more fields, on warm items and then on cold ones.

    Yields
    ------
    split, rows
        Of the warm and then of the cold items: for every model, fields and seed a row with ``dataset``, ``split``,
        ``method``, ``bits``, ``NDCG@1``, ``NDCG@5``, ``NDCG@10``, ``difference``, ``RMSE``, ``bytes per feature``,
        ``seconds``, ``fields`` and ``seed``. The difference is of NDCG@10 to the same model without the fields added.
    """
    check_bits(bits)
    check_integer("seeds", seeds, 1)
    folder = need_data(folder)
    for cold_items, compare in ((None, compare_warm), (0.2, compare_cold)):
        rows: list[Row] = []
        for seed in range(seeds):
            split = load(dataset, folder, seed, cold_items)
            rows += compare(split, bits, seed, say)
        yield split, rows


def compare_warm(split: Split, bits: int, seed: int, say: Callable[[str], None]) -> list[Row]:
    """Measure ids; histories beside them; then each other field beside those, and all of them."""
    others = (*split.user_fields, *split.item_fields)
    designs: dict[Fields, Fields | None] = {(): None, WITH_HISTORY: ()}  # fields, and those they are compared with
    designs |= {(*WITH_HISTORY, name): WITH_HISTORY for name in others}
    designs[(*WITH_HISTORY, *others)] = WITH_HISTORY
    return _rows(split, _machines(bits, seed), designs, seed, say)


def compare_cold(split: Split, bits: int, seed: int, say: Callable[[str], None]) -> list[Row]:
    """Measure random order, and each model with more and more of what tells a new item from another."""
    others = (*split.user_fields, *split.item_fields)
    start: Fields = ("history",)
    designs: dict[Fields, Fields | None] = {start: None}
    for step in (*_COLD_STEPS, others, ("raters",)):
        before = list(designs)[-1]
        added = tuple(name for name in step if name in (*others, "raters") and name not in before)
        if added:
            designs[(*before, *added)] = start
    constant = np.full(len(split.test[2]), split.train[2].mean())  # all tied, which counts as every order at once
    no_model = {"bytes per feature": None, "seconds": None, "fields": ""}
    by_chance = _row(split, "random order", None, None, {**scored(split, constant), **no_model}, seed)
    return [by_chance, *_rows(split, {"bias only": BiasModel(), **_machines(bits, seed)}, designs, seed, say)]


def _machines(bits: int, seed: int) -> dict[str, Any]:
    return {
        "FM, Gibbs": FM(rank=16, solver="gibbs", pairs="across", random_state=seed),
        "DFM, distilled": DistilledFM(bits, random_state=seed),
    }


def _rows(
    split: Split,
    models: dict[str, Any],
    designs: dict[Fields, Fields | None],
    seed: int,
    say: Callable[[str], None],
) -> list[Row]:
    rows = []
    for method, model in models.items():
        reached: dict[Sequence[str], float] = {}
        for fields, without in designs.items():
            measured = measure(split, model, fields)
            reached[fields] = measured["NDCG@10"]
            say(f"{split.name}, {split.protocol}, seed {seed}: {method}, {measured['fields']}: {reached[fields]:.4f}")
            gain = None if without is None else reached[fields] - reached[without]
            rows.append(_row(split, method, getattr(model, "bits", None), gain, measured, seed))
    return rows


def _row(split: Split, method: str, bits: int | None, gain: float | None, measured: Row, seed: int) -> Row:
    row: Row = {"dataset": split.name, "split": split.protocol, "method": method, "bits": bits}
    for name, value in measured.items():
        row[name] = value
        if name == "NDCG@10":
            row["difference"] = gain
    return {**row, "seed": seed}
