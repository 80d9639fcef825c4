"""Tables of the report: all scores, and the settings of Figure 2."""

from __future__ import annotations

from bitfm_research.paper._document import Block, Heading, Table, Text
from bitfm_research.paper.claim import NOT_RUN
from bitfm_research.paper.means import Means
from bitfm_research.paper.names import BITS, LEVELS, WITH_BITS, WITH_IDS, is_main, plain
from bitfm_research.plotting import TITLES

__all__ = ["number", "scores", "settings"]


def scores(means: Means, dataset: str) -> list[Block]:
    """Return the table of a data set, one row per method and length, and what is missing from it."""
    runs = sorted((run for run in means.runs(dataset) if is_main(run[0])), key=_place)
    expected = [*((method, None) for method in LEVELS), *((method, bits) for method in WITH_BITS for bits in BITS)]
    missing: dict[str, list[str]] = {}
    for method, bits in expected:
        if (method, bits) not in runs:
            missing.setdefault(method, []).extend([str(bits)] if bits else [])
    blocks: list[Block] = [Heading(TITLES[dataset], 3)]
    if not runs:
        return [*blocks, Text("Not run.")]
    best = max((value for m, b in runs if (value := means.ndcg(dataset, m, b, 10)) is not None), default=None)
    head = ["Method", "Bits", "NDCG@1", "NDCG@5", "NDCG@10", "95 % interval", "RMSE", "Fit, s"]
    blocks.append(Table(head, [_score(means, dataset, method, bits, best) for method, bits in runs]))
    if missing:
        names = "; ".join(f"{name} ({', '.join(bits)} bits)" if bits else name for name, bits in missing.items())
        blocks.append(Text(f"Not run: {names}."))
    return blocks


def _score(means: Means, dataset: str, method: str, bits: int | None, best: float | None) -> list[str]:
    at = [means.ndcg(dataset, method, bits, k) for k in (1, 5, 10)]
    cells = [number(value) for value in at]
    spread = means.spread(dataset, method, bits, "NDCG", 10)
    if at[-1] is not None and at[-1] == best:
        cells[-1] = f"**{cells[-1]}**"
    cells[-1] += "" if spread is None else f" ± {spread:.4f}"
    low, high = (means.value(dataset, method, bits, f"NDCG {end}", 10) for end in ("low", "high"))
    interval = NOT_RUN if low is None or high is None else f"{low:.4f} to {high:.4f}"
    rmse, seconds = (means.value(dataset, method, bits, metric) for metric in ("RMSE", "seconds"))
    error = "–" if method in ("random", "popularity") else number(rmse)  # whose scores are not ratings
    return [method, str(bits or "–"), *cells, interval, error, number(seconds, 1)]


def _place(run: tuple[str, int | None]) -> tuple[int, str, int]:
    order = (*LEVELS, *WITH_BITS)
    name = plain(run[0])
    return order.index(name) if name in order else len(order), run[0], run[1] or 0


def settings(means: Means) -> list[Block]:
    """Return NDCG@10 for each value of β and L2."""
    found = {
        (dataset, method): means.settings(dataset, method, name, 64)
        for dataset in WITH_IDS
        for method, name in (("DFM, paper", "beta"), ("FM, SGD", "l2"))
    }
    values = sorted({value for curve in found.values() for value in curve})
    if not values:
        return []
    head = ["β or L2", *(f"{TITLES[dataset]}: {method}" for dataset, method in found)]
    return [Table(head, [[f"{x:g}", *(number(curve.get(x)) for curve in found.values())] for x in values])]


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with so many digits, or that it was not run."""
    return NOT_RUN if value is None else f"{value:,.{digits}f}"
