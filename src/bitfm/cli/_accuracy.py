"""How good a recommender is on interactions it has not seen, beside baselines of the same tables."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bitfm.cli._progress import busy

if TYPE_CHECKING:
    from bitfm import Recommender
    from bitfm.data import Interactions

__all__ = ["OURS", "baseline_rows", "own_row", "remark_on"]

OURS = "ours"


def own_row(
    rec: Recommender, test: Interactions, name: str = OURS, *, k: int = 10, without: Sequence[str] = ()
) -> dict[str, Any]:
    """Return what a recommender reaches, with all of its fields or without some."""
    with busy(f"testing {name}"):
        return {"model": name, **rec.evaluate(test, k=k, without=without).rows()}


def remark_on(rows: Sequence[dict[str, Any]]) -> str | None:
    """Return what to say if a simpler model ranks better than ours, which people should not have to find out."""
    measure = next(name for name in rows[0] if name.startswith("NDCG"))
    ours = next(row for row in rows if row["model"] == OURS)
    better = [row["model"] for row in rows if not row["model"].startswith(OURS) and row[measure] > ours[measure]]
    if not better:
        return None
    return f"{' and '.join(better)} did better here: try another seed, more ratings, or fewer columns"


def baseline_rows(
    rec: Recommender, training_data: tuple[Any, Any], test: Interactions, *, k: int = 10, seed: int = 0
) -> list[dict[str, Any]]:
    """Fit baselines to what the recommender was fitted to, and return what they reach."""
    from bitfm.cli._baselines import BASELINES

    rows = []
    for name, fit in BASELINES.items():
        begin = time.perf_counter()
        with busy(f"fitting {name}"):
            model = fit(*training_data, seed)
        seconds = time.perf_counter() - begin
        with busy(f"testing {name}"):
            rows.append({"model": name, **rec.evaluate(test, k=k, model=model).rows(), "seconds": seconds})
    return rows
