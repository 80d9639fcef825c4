"""Five models on the same ratings: accuracy, size and speed."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from bitfm.data import Block
from bitfm.demo.shop import ITEM, USER, Shop
from bitfm.models import FM, BiasModel, DiscreteFM
from bitfm.models.progress import Callback
from bitfm.recommender import Recommender
from bitfm.retrieval import Index

__all__ = ["CAPTION", "Result", "Watch", "compare", "fit_recommender", "queries_per_second"]

CAPTION = (
    "NDCG@10, RMSE: on the held-out half. kB: the model file with all parameters, of all draws for Gibbs, but without "
    "the tables of readers and books. queries per second: the ten best of all books for every reader in one batch, "
    "from readers' features, by Index.search on one thread. "
    "The paper's codes share one gain; distilled codes have one each."
)
Watch: TypeAlias = Callable[[str], AbstractContextManager[Callback]]  # says what is fitted, and shows progress
_DISTILLED = "DistilledFM, 64 bits"
_ROUNDS = 7


class Result(NamedTuple):
    """What was measured of a model; `line` is its name in the style of pictures."""

    name: str
    line: str
    ndcg: float
    rmse: float
    kilobytes: float
    queries: float

    def row(self) -> dict[str, Any]:
        """Return the figures by the names that the table shows."""
        accuracy = {"NDCG@10": f"{self.ndcg:.4f}", "RMSE": f"{self.rmse:.4f}"}
        queries = int(float(f"{self.queries:.2g}"))  # more digits would be noise
        return {"model": self.name, **accuracy, "kB": round(self.kilobytes), "queries per second": queries}


def fit_recommender(shop: Shop, seed: int, watch: Watch) -> Recommender:
    """Fit the recommender: distilled codes of 64 bits, on half of the ratings."""
    columns: dict[str, Any] = {"users": shop.readers, "items": shop.books, "user": USER, "item": ITEM}
    with watch(f"fitting {_DISTILLED}") as callback:
        return Recommender(bits=64, random_state=seed).fit(shop.train, **columns, callback=callback)


def compare(rec: Recommender, shop: Shop, seed: int, watch: Watch) -> list[Result]:
    """Fit baselines to what the recommender was fitted to, and measure all of them on the held-out half."""
    X, y = rec.training_data(shop.train)
    users, items = (Block(np.arange(X.blocks[name].n_rows), X.blocks[name].tables) for name in ("user", "item"))
    shared: dict[str, Any] = {"pairs": "across", "random_state": seed}
    models: dict[tuple[str, str], Any] = {
        ("bias only", "bias only"): BiasModel(),
        ("FM, ALS, rank 16", "FM, ALS"): FM(16, early_stopping=True, **shared),
        ("FM, Gibbs, rank 16", "FM, Gibbs"): FM(16, solver="gibbs", **shared),
        ("DiscreteFM, 64 bits", "DFM, paper"): DiscreteFM(64, **shared),
        (_DISTILLED, "DFM, distilled"): rec.model_,
    }
    results = []
    for (name, line), model in models.items():
        if name != _DISTILLED:
            with watch(f"fitting {name}") as callback:
                model.fit(X, y, callback=callback)
        found = rec.evaluate(shop.test, model=model)
        speed = queries_per_second(model, users, items)
        results.append(Result(name, line, found.ndcg, float(found.rmse or 0), _kilobytes(model), speed))
    return results


def queries_per_second(model: Any, users: Block, items: Block) -> float:
    """Time a batch of all users on one thread, from their features to their ten best items; the best of some rounds."""
    index, seconds = Index(model.parameters_, items, "item"), []
    for _ in range(_ROUNDS):
        begin = time.perf_counter()
        index.search(users, 10, n_jobs=1)
        seconds.append(time.perf_counter() - begin)
    return len(users) / min(seconds)


def _kilobytes(model: Any) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.bitfm"
        model.save(path)
        return path.stat().st_size / 1e3
