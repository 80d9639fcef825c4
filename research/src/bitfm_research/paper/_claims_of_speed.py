"""What the paper says of Table 1: how many times as fast as libFM the codes score every user and item."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from bitfm_research.paper.claim import AS_FAST, Claim, Finding, judged, ratio
from bitfm_research.paper.means import Means
from bitfm_research.paper.names import BITS, WITH_IDS

__all__ = ["LOOP", "WAYS", "ratios", "speed_claims"]

LOOP = "FM; libFM loop"
WAYS = {"pairs": "DFM, paper; pairs", "retrieval": "DFM, paper; retrieval"}
_AVERAGE = {"yelp": 15.99, "amazon": 16.04}
_AT_64 = {"yelp": 17.51, "amazon": 17.46}
_TARGET = 100
_PRODUCT, _TARGET_OF_PRODUCT = "FM; matrix product", 3


def speed_claims(means: Means) -> list[Claim]:
    """Return the paper's ratios beside pairs from raw features, and the targets of ours."""
    claims = []
    for what in ("ids and words", "ids"):
        for title, bits, numbers in (("on average", BITS, _AVERAGE), ("at 64 bits", (64,), _AT_64)):
            found = {d: ratios(means, d, what, LOOP, WAYS["pairs"], bits) for d in WITH_IDS}
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
        claims += [_target(means, what, way, method) for way, method in WAYS.items()]
        claims.append(
            _target(
                means,
                what,
                "retrieval",
                WAYS["retrieval"],
                slow=_PRODUCT,
                than="FM's matrix product, which selects nothing,",
                target=_TARGET_OF_PRODUCT,
            )
        )
    return claims


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


def _mean(found: Mapping[int, float]) -> float | None:
    return statistics.fmean(found.values()) if found else None


def _told(found: Mapping[int, float]) -> str:
    return ", ".join(f"{ratio(value)} at {bits}" for bits, value in found.items()) + " bits."
