"""The tables of the report: all scores, the settings of Figure 2, and Table 1 with its ratios."""

from __future__ import annotations

from collections.abc import Sequence

from bitfm_research.paper._claims_of_speed import LOOP, WAYS, ratios
from bitfm_research.paper._document import Block, Heading, Table, Text
from bitfm_research.paper.claim import NOT_RUN, ratio
from bitfm_research.paper.means import Means
from bitfm_research.paper.names import BITS, LEVELS, LIBFM, PAPER_TTC, WITH_BITS, WITH_IDS, is_main, plain
from bitfm_research.plotting import TITLES

__all__ = ["scores", "settings", "times"]

_FLOATS = ("FM; float32 pairs", "FM; matrix product")
# What each ratio of Table 1 compares: a slow way and a fast one.
_RATIOS = {
    "libFM's loop : pairs of DFM": (LOOP, WAYS["pairs"]),
    "libFM's loop : retrieval of DFM": (LOOP, WAYS["retrieval"]),
    "float32 pairs : pairs of DFM": (_FLOATS[0], WAYS["pairs"]),
    "matrix product : retrieval of DFM": (_FLOATS[1], WAYS["retrieval"]),
}


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
    cells = [_number(value) for value in at]
    spread = means.spread(dataset, method, bits, "NDCG", 10)
    if at[-1] is not None and at[-1] == best:
        cells[-1] = f"**{cells[-1]}**"
    cells[-1] += "" if spread is None else f" ± {spread:.4f}"
    low, high = (means.value(dataset, method, bits, f"NDCG {end}", 10) for end in ("low", "high"))
    interval = NOT_RUN if low is None or high is None else f"{low:.4f} to {high:.4f}"
    rmse, seconds = (means.value(dataset, method, bits, metric) for metric in ("RMSE", "seconds"))
    error = "–" if method in ("random", "popularity") else _number(rmse)  # whose scores are not ratings
    return [method, str(bits or "–"), *cells, interval, error, _number(seconds, 1)]


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
    return [Table(head, [[f"{x:g}", *(_number(curve.get(x)) for curve in found.values())] for x in values])]


def times(means: Means) -> list[Block]:
    """Return Table 1 of each data set, with and without words, the ratios, and how much was really timed."""
    blocks: list[Block] = []
    for dataset in WITH_IDS:
        for what in ("ids and words", "ids"):
            blocks.append(Heading(f"{TITLES[dataset]}, {what}", 3))
            blocks += _timed(means, dataset, what)
    return blocks


def _timed(means: Means, dataset: str, what: str) -> list[Block]:
    ways = [LOOP, *_FLOATS, *WAYS.values()]
    if any(means.value(dataset, LIBFM, bits, f"TTC, {what}") for bits in BITS):
        ways.insert(1, LIBFM)
    found = {way: [means.value(dataset, way, bits, f"TTC, {what}") for bits in BITS] for way in ways}
    if all(time is None for row in found.values() for time in row):
        return [Text("Not run.")]
    rows = [[f"{way}, s", *(_number(time, 3) for time in row)] for way, row in found.items()]
    for name, (slow, fast) in _RATIOS.items():
        known = ratios(means, dataset, what, slow, fast)
        rows.append([name, *(ratio(known[bits]) if bits in known else NOT_RUN for bits in BITS)])
    if what == "ids and words" and means.scores_all_pairs(dataset, what):
        libfm, dfm = PAPER_TTC[dataset]["libFM"], PAPER_TTC[dataset]["DFM"]
        rows.append(["the paper: libFM, s", *(f"{60 * minutes:,.0f}" for minutes in libfm)])
        rows.append(["the paper: DFM, s", *(f"{60 * minutes:,.0f}" for minutes in dfm)])
        rows.append(["the paper: libFM : DFM", *(ratio(a / b) for a, b in zip(libfm, dfm, strict=True))])
    return [Table(["Bits or factors", *map(str, BITS)], rows), Text(_sampled(means, dataset, what, ways))]


def _sampled(means: Means, dataset: str, what: str, ways: Sequence[str]) -> str:
    pairs, parts, known = means.pairs(dataset, what), [], 0
    for way in ways:
        found = [means.value(dataset, way, bits, f"pairs timed, {what}") for bits in BITS]
        counts = sorted({int(count) for count in found if count is not None})
        known += bool(counts)
        if counts and counts[0] < 0.999 * pairs:  # the file of results keeps six digits
            parts.append(f"{way} on {' to '.join(f'{count:,}' for count in dict.fromkeys((counts[0], counts[-1])))}")
    text = f"{pairs:,} pairs of users and items" + ("." if means.scores_all_pairs(dataset, what) else ", a sample.")
    if parts:
        text += f" Timed on a sample and scaled: {'; '.join(parts)} pairs."
    return text + (" All others were timed on all pairs." if parts and known == len(ways) > len(parts) else "")


def _number(value: float | None, digits: int = 4) -> str:
    return NOT_RUN if value is None else f"{value:,.{digits}f}"
