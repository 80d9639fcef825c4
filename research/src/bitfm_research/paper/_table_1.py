"""Table 1 in the report: the seconds of each way, in two jobs, their ratios, and where floats win."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bitfm_research.paper._claims_of_speed import like_for_like, ratios
from bitfm_research.paper._document import Block, Heading, Table, Text
from bitfm_research.paper._report_tables import number
from bitfm_research.paper.claim import NOT_RUN, ratio
from bitfm_research.paper.means import Means
from bitfm_research.paper.names import (
    BEST_WAYS,
    BITS,
    CODE_PAIRS,
    CODE_PAIRS_ACROSS,
    LIBFM,
    LOOP,
    PAIR_WAYS,
    PAPER_TTC,
    PRODUCT,
    RETRIEVAL,
    WITH_IDS,
)
from bitfm_research.plotting import TITLES

__all__ = ["times"]

_JOBS = (("Pairs given one by one", PAIR_WAYS), ("The best ten items of every user", BEST_WAYS))
_LIKE_FOR_LIKE = (
    "All ways have the same features of the same users and items, run on one thread and in C++. Pairs given one by one "
    "are read from raw features each time. The best ten items of every user are found from raw features as well, and "
    "what is worked out once is part of the time: vectors of floats, the index of codes. The bare matrix product, "
    "which finds nothing, stands beside the product with a selection. With words, the kernel for floats leaves out "
    "pairs within an item's features: *pairs across* is the same work by codes, and *pairs* that of libFM's loop."
)


def times(means: Means) -> list[Block]:
    """Return Table 1 of each data set, with and without words, the ratios, and how much was really timed."""
    blocks: list[Block] = [Text(_LIKE_FOR_LIKE)]
    for dataset in WITH_IDS:
        for what in ("ids and words", "ids"):
            blocks.append(Heading(f"{TITLES[dataset]}, {what}", 3))
            blocks += _timed(means, dataset, what)
    return blocks


def _timed(means: Means, dataset: str, what: str) -> list[Block]:
    optional = {LIBFM, CODE_PAIRS_ACROSS}  # there is no such way where there is no program, or no words
    found = {
        way: seconds
        for _, ways in _JOBS
        for way in ways
        if any(seconds := [means.value(dataset, way, bits, f"TTC, {what}") for bits in BITS]) or way not in optional
    }
    if all(time is None for row in found.values() for time in row):
        return [Text("Not run.")]
    rows = [
        [job, f"{way}, s", *(number(time, 3) for time in found[way])]
        for job, ways in _JOBS
        for way in ways
        if way in found
    ]
    for name, slow, fast in _ratios(what):
        known = ratios(means, dataset, what, slow, fast)
        rows.append(["Ratio", name, *(ratio(known[bits]) if bits in known else NOT_RUN for bits in BITS)])
    if what == "ids and words" and means.scores_all_pairs(dataset, what):
        libfm, dfm = PAPER_TTC[dataset]["libFM"], PAPER_TTC[dataset]["DFM"]
        rows.append(["The paper", "libFM, s", *(f"{60 * minutes:,.0f}" for minutes in libfm)])
        rows.append(["The paper", "DFM, s", *(f"{60 * minutes:,.0f}" for minutes in dfm)])
        rows.append(["The paper", "libFM : DFM", *(ratio(a / b) for a, b in zip(libfm, dfm, strict=True))])
    return [
        Table(["Job", "Bits or factors", *map(str, BITS)], rows, 2),
        Text(_who_wins(means, dataset, what)),
        Text(_sampled(means, dataset, what, list(found))),
    ]


def _ratios(what: str) -> list[tuple[str, str, str]]:
    """Return what each ratio compares: a slow way and a fast one."""
    (_, float_pairs, code_pairs), (_, product_and_best, retrieval) = like_for_like(what)
    return [
        ("libFM's loop : pairs of DFM", LOOP, CODE_PAIRS),
        ("libFM's loop : retrieval of DFM", LOOP, RETRIEVAL),
        ("float32 pairs : pairs of DFM, same work", float_pairs, code_pairs),
        ("product and best 10 : retrieval of DFM", product_and_best, retrieval),
        ("bare matrix product : retrieval of DFM", PRODUCT, RETRIEVAL),
    ]


def _who_wins(means: Means, dataset: str, what: str) -> str:
    """Say at which lengths floats are faster, like for like."""
    told = []
    for job, floats, codes in like_for_like(what):
        found = ratios(means, dataset, what, floats, codes)
        if found:
            told.append(f"{job[0].upper()}{job[1:]}: {_faster(found)}.")
    bare = ratios(means, dataset, what, PRODUCT, RETRIEVAL)
    if bare and min(bare.values()) < 1:
        lengths = ", ".join(str(bits) for bits, value in bare.items() if value < 1)
        told.append(f"The bare product, without a selection, takes less time than retrieval at {lengths} bits.")
    return " ".join(told)


def _faster(found: Mapping[int, float]) -> str:
    floats = {bits: value for bits, value in found.items() if value < 1}
    if not floats:
        return f"codes are faster at every length, {ratio(min(found.values()))} to {ratio(max(found.values()))}"
    lengths = ", ".join(str(bits) for bits in floats)
    text = f"**floats win** at {lengths} bits (they take {100 * min(floats.values()):.0f} % of the codes' time at best)"
    others = [bits for bits in found if bits not in floats]
    return text + (f", codes at {', '.join(map(str, others))}" if others else "")


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
