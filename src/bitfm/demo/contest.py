"""Five models on the same ratings: how good, how large, how fast."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from bitfm.data import Block
from bitfm.demo.shop import ITEM, USER, Shop
from bitfm.demo.speed import queries_a_second
from bitfm.models import FM, BiasModel, DiscreteFM
from bitfm.models.progress import Callback
from bitfm.recommender import Recommender

__all__ = ["CAPTION", "Judged", "Watch", "fit_recommender", "judge_all"]

CAPTION = (
    "NDCG@10, RMSE: on the held-out half. kB: the model file with all parameters, of all draws for Gibbs, but without "
    "the tables of readers and books. queries a second: the ten best of all books for every reader in one batch, from "
    "readers' features, on one thread; codes by Index.search, the others by NumPy's matrix product and argpartition. "
    "The paper's codes share one gain; anchored codes have one each."
)

Watch: TypeAlias = Callable[[str], AbstractContextManager[Callback]]  # tells what is going on, and how far a fit is

_ANCHORED = "DiscreteFM, anchored, 64 bits"


@dataclass(frozen=True)
class Judged:
    """A model and what was measured of it; `line` is its name in the style of pictures."""

    name: str
    line: str
    ndcg: float
    rmse: float
    kilobytes: float
    queries: float

    def row(self) -> dict[str, Any]:
        """Return the figures by the names that the table shows."""
        return {
            "model": self.name,
            "NDCG@10": f"{self.ndcg:.4f}",
            "RMSE": f"{self.rmse:.4f}",
            "kB": f"{self.kilobytes:,.0f}",
            "queries a second": f"{float(f'{self.queries:.2g}'):,.0f}",  # a busy machine allows for no more digits
        }


def fit_recommender(shop: Shop, seed: int, watch: Watch) -> Recommender:
    """Fit the recommender: anchored codes of 64 bits, on half of the ratings."""
    recommender = Recommender(bits=64, random_state=seed)
    with watch(f"fitting {_ANCHORED}") as callback:
        return recommender.fit(
            shop.train, users=shop.readers, items=shop.books, user=USER, item=ITEM, callback=callback
        )


def judge_all(
    recommender: Recommender, shop: Shop, seed: int, watch: Watch, say: Callable[[str], None]
) -> list[Judged]:
    """Fit the recommender's opponents to what it was fitted to, and judge all of them."""
    X, y = recommender.training_data(shop.train)
    users, items = (Block(np.arange(X.blocks[name].n_rows), X.blocks[name].tables) for name in ("user", "item"))
    opponents: dict[tuple[str, str], Any] = {
        ("bias only", "bias only"): BiasModel(),
        ("FM, ALS, rank 16", "FM, ALS"): FM(16, pairs="across", early_stopping=True, random_state=seed),
        ("FM, Gibbs, rank 16", "FM, Gibbs"): FM(16, pairs="across", solver="gibbs", random_state=seed),
        ("DiscreteFM, paper, 64 bits", "DFM, paper"): DiscreteFM(
            64, objective="paper", pairs="across", random_state=seed
        ),
    }
    judged = []
    for (name, line), model in {**opponents, (_ANCHORED, "DFM, anchored"): recommender.model_}.items():
        if (name, line) in opponents:
            with watch(f"fitting {name}") as callback:
                model.fit(X, y, callback=callback)
        say(f"judging {name}")
        found = recommender.evaluate(shop.test, model=model)
        speed = queries_a_second(model, users, items)
        assert found.rmse is not None
        judged.append(Judged(name, line, found.ndcg, found.rmse, _kilobytes(model), speed))
    return judged


def _kilobytes(model: Any) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.bitfm"
        model.save(path)
        return path.stat().st_size / 1e3
