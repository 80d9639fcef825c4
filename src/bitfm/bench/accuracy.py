"""How accurate the models are, on the paper's own splits."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bitfm.bench.datasets import Split, load
from bitfm.evaluation import ndcg
from bitfm.models import FM, BiasModel, DiscreteFM
from bitfm.models._base import check_bits

__all__ = ["run"]


def run(
    datasets: tuple[str, ...] = ("yelp", "amazon"),
    *,
    bits: tuple[int, ...] = (64,),
    seed: int = 0,
    folder: Path | None = None,
    say: Callable[[str], None] = print,
) -> list[dict[str, Any]]:
    """Fit bias-only, real-valued FM and the paper's DFM (β = 10, α = 0, 20 iterations) and score the test part.

    Returns
    -------
    list of dict
        With ``dataset``, ``method``, ``NDCG@1``, ``NDCG@5``, ``NDCG@10``, ``RMSE``, ``bytes a feature``, ``seconds``
        and ``seed``.
    """
    for b in bits:
        check_bits(b)
    rows = []
    for name in datasets:
        split = load(name, folder)
        models: dict[str, Any] = {
            "bias only": BiasModel(),
            "FM, ALS, rank 16": FM(rank=16, early_stopping=True, random_state=seed),
            **{f"DFM, paper, {b} bits": DiscreteFM(objective="paper", bits=b, random_state=seed) for b in bits},
        }
        for method, model in models.items():
            say(f"{name}: {method}")
            rows.append(_measure(split, method, model, seed))
    return rows


def _measure(split: Split, method: str, model: Any, seed: int) -> dict[str, Any]:
    users, _, truth = split.test
    begin = time.perf_counter()
    model.fit(split.blocks(), split.train[2])
    seconds = time.perf_counter() - begin
    scores = model.predict(split.blocks("test"))
    return {
        "dataset": split.name,
        "method": method,
        **{f"NDCG@{k}": round(ndcg(users, truth, scores, k), 4) for k in (1, 5, 10)},
        "RMSE": round(float(np.sqrt(np.mean((scores - truth) ** 2))), 4),
        "bytes a feature": _bytes_per_feature(model),
        "seconds": seconds,
        "seed": seed,
    }


def _bytes_per_feature(model: Any) -> int:
    if isinstance(model, DiscreteFM):
        return model.bits // 8 + 8  # code, gain and weight
    return 4 * model.rank + 4 if isinstance(model, FM) else 4
