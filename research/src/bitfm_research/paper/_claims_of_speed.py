"""What the paper says of Table 1: how many times as fast as libFM the codes score every user and item."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from bitfm_research.paper.claim import AS_FAST, Claim, Finding, judged, ratio
from bitfm_research.paper.means import Means
from bitfm_research.paper.names import (
    BITS,
    CODE_PAIRS,
    CODE_PAIRS_ACROSS,
    FLOAT_PAIRS,
    LOOP,
    PRODUCT,
    PRODUCT_AND_BEST,
    RETRIEVAL,
    WITH_IDS,
)

__all__ = ["like_for_like", "ratios", "speed_claims"]

_WAYS = {"pairs": CODE_PAIRS, "retrieval": RETRIEVAL}
_AVERAGE = {"yelp": 15.99, "amazon": 16.04}
_AT_64 = {"yelp": 17.51, "amazon": 17.46}
_TARGET = 100
_TARGET_OF_PRODUCT = 3


def speed_claims(means: Means) -> list[Claim]:
    """Return the paper's ratios beside pairs from raw features, and the targets of ours."""
    claims = []
    for what in ("ids and words", "ids"):
        for title, bits, numbers in (("on average", BITS, _AVERAGE), ("at 64 bits", (64,), _AT_64)):
            found = {d: ratios(means, d, what, LOOP, CODE_PAIRS, bits) for d in WITH_IDS}
            claims.append(
                Claim(
                    f"Pairs of DFM against libFM's loop, {title} ({what})",
                    "Section 5.4, Table 1",
                    "×",
                    AS_FAST.text,
                    tuple(
                        judged(d, AS_FAST, numbers, _mean(it), _told(it), partial=len(it) < len(bits))
                        for d, it in found.items()
                    ),
                )
            )
        claims += [_target(means, what, way, method) for way, method in _WAYS.items()]
        than = "FM's matrix product, which selects nothing,"
        claims.append(_target(means, what, "retrieval", RETRIEVAL, slow=PRODUCT, than=than, target=_TARGET_OF_PRODUCT))
        claims += [_beside_floats(means, what, *ways) for ways in like_for_like(what)]
    return claims


def like_for_like(what: str) -> list[tuple[str, str, str]]:
    """Return what to compare codes with, in words, and the names of the best float way and of the codes' way.

    >>> like_for_like("ids")[0]
    ('pairs given one by one', 'FM; float32 pairs', 'DFM, paper; pairs')
    """
    return [
        ("pairs given one by one", FLOAT_PAIRS, CODE_PAIRS if what == "ids" else CODE_PAIRS_ACROSS),
        ("the best ten items of every user", PRODUCT_AND_BEST, RETRIEVAL),
    ]


def ratios(
    means: Means, dataset: str, what: str, slow: str, fast: str, bits: tuple[int, ...] = BITS
) -> dict[int, float]:
    """Return how many times as long the slow one takes, by length, where both were timed.

    Examples
    --------
    >>> from bitfm_research.paper._claims_of_speed import ratios
    >>> from bitfm_research.paper.means import Means
    >>> from bitfm_research.paper.results import Measure
    >>> rows = [("slow", 6.0), ("fast", 0.5)]
    >>> ratios(Means(Measure("yelp", m, 8, 0, "TTC, ids", None, s) for m, s in rows), "yelp", "ids", "slow", "fast")
    {8: 12.0}
    """
    found = {}
    for length in bits:
        long, short = (means.value(dataset, method, length, f"TTC, {what}") for method in (slow, fast))
        if long and short:
            found[length] = long / short
    return found


def _target(
    means: Means,
    what: str,
    way: str,
    method: str,
    *,
    slow: str = LOOP,
    than: str = "libFM's loop",
    target: int = _TARGET,
) -> Claim:
    findings = []
    for dataset in WITH_IDS:
        found = ratios(means, dataset, what, slow, method)
        if 64 in found:
            findings.append(Finding(dataset, None, found[64], found[64] >= target, _told(found)))
        else:
            findings.append(Finding(dataset, None))
    return Claim(
        f"{way.capitalize()} of DFM: {target} times as fast as {than} at 64 bits ({what})",
        "a target of ours",
        "×",
        f"the ratio is at least {target}",
        tuple(findings),
    )


def _beside_floats(means: Means, what: str, job: str, floats: str, codes: str) -> Claim:
    findings = []
    for dataset in WITH_IDS:
        found = ratios(means, dataset, what, floats, codes)
        if 64 in found:
            findings.append(Finding(dataset, None, found[64], found[64] > 1, _told(found), len(found) < len(BITS)))
        else:
            findings.append(Finding(dataset, None))
    return Claim(
        f"Codes are faster than the best float way at 64 bits: {job} ({what})",
        "not in the paper",
        "×",
        "the ratio is above 1; same features, same pairs, one thread, both in C++",
        tuple(findings),
    )


def _mean(found: Mapping[int, float]) -> float | None:
    return statistics.fmean(found.values()) if found else None


def _told(found: Mapping[int, float]) -> str:
    return ", ".join(f"{ratio(value)} at {bits}" for bits, value in found.items()) + " bits."
