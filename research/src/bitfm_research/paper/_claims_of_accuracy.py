"""What the paper says of Figure 1: DFM beside other codes, beside libFM, and beside the bias it does not show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bitfm_research.paper.claim import HALF, SMALL_LOSS, Claim, Finding, Rule, judged, percent
from bitfm_research.paper.compare import Comparison, compare
from bitfm_research.paper.means import Means
from bitfm_research.paper.names import (
    BITS,
    FEATURES,
    HASHING,
    KS,
    PAPER_BASELINES,
    PUBLISHED_AMAZON,
    WITH_IDS,
    spoken,
)
from bitfm_research.paper.paired import tested_gap
from bitfm_research.paper.user_scores import MEAN_OVER_K

__all__ = ["bias_claims", "feature_claims", "id_claims", "published_claim"]

_WHERE = "Section 5.2, Figure 1"
_ABOVE = "it is above at every length"
_TOLERANCE = 0.003
_OTHER_CODES = (*HASHING, *PAPER_BASELINES, "DFM, paper")
_BEST_CODES = {"yelp": 7.95, "amazon": 2.38}
_LIBFM = {"yelp": -3.24, "amazon": -2.40}
_LIBFM_8 = {"yelp": -5.68, "amazon": -4.76}
_LIBFM_64 = {"yelp": -1.46, "amazon": -1.19}
_SHRINKS = {name: round(_LIBFM_64[name] - _LIBFM_8[name], 2) for name in WITH_IDS}
_DCMF = {"yelp": -1.58, "amazon": -0.76}


def id_claims(means: Means) -> list[Claim]:
    """Return the claims on the paper's data sets."""
    dfm = _against(means, "DFM, paper", PAPER_BASELINES)
    distilled = _against(means, "DFM, distilled", _OTHER_CODES, ks=[10])
    libfm, at_8, at_64 = (_against(means, "DFM, paper", ["FM, SGD"], bits=bits) for bits in (BITS, [8], [64]))
    return [
        _average("DFM is better than the other binarised methods BCCF, DCF and DCMF", HALF, _BEST_CODES, dfm),
        _above_all("DFM (distilled) is better than every other binarised method", WITH_IDS, distilled),
        _average("DFM loses little against libFM on average", SMALL_LOSS, _LIBFM, libfm),
        _average("DFM loses little against libFM at 8 bits", SMALL_LOSS, _LIBFM_8, at_8),
        _average("DFM loses little against libFM at 64 bits", SMALL_LOSS, _LIBFM_64, at_64),
        _shrinking(means, libfm),
        _average("DCF is slightly worse than DCMF", HALF, _DCMF, _against(means, "DCF", ["DCMF"])),
        _consistent("DCF is better than BCCF at every length", WITH_IDS, _against(means, "DCF", ["BCCF"])),
    ]


def feature_claims(means: Means, sets: Sequence[str]) -> list[Claim]:
    """Return the same claims where items have features, on other data than the paper's, or on its own from dumps."""
    with_and_without = [name for baseline in PAPER_BASELINES for name in (baseline, baseline + FEATURES)]
    dfm = _against(means, "DFM, paper" + FEATURES, with_and_without)
    all_codes = [*_OTHER_CODES, *(name + FEATURES for name in _OTHER_CODES)]
    distilled = _against(means, "DFM, distilled" + FEATURES, all_codes, ks=[10])
    libfm = _against(means, "DFM, paper" + FEATURES, ["FM, SGD" + FEATURES])
    dcmf = _against(means, "DCF", ["DCMF" + FEATURES])
    return [
        _average("DFM is better than BCCF, DCF and DCMF, given features", HALF, _BEST_CODES, dfm, sets),
        _above_all("DFM (distilled) is better than every other binarised method, given features", sets, distilled),
        _average("DFM loses little against libFM, both given features", SMALL_LOSS, _LIBFM, libfm, sets),
        _average("DCF is slightly worse than DCMF, which is given features", HALF, _DCMF, dcmf, sets),
        _consistent("DCF is better than BCCF at every length", sets, _against(means, "DCF", ["BCCF"])),
        *_beside_the_bias(means, sets, FEATURES),
    ]


def bias_claims(means: Means) -> list[Claim]:
    """Return what the bias alone has of the NDCG on the paper's data sets."""
    return _beside_the_bias(means, WITH_IDS, "")


def published_claim(means: Means) -> Claim:
    """Return the paper's codes on Amazon beside the numbers that its authors publish with their program."""
    found = means.curve("amazon", "DFM, paper", 64)
    gaps = {k: found[k] - (number - _TOLERANCE) for k, number in enumerate(PUBLISHED_AMAZON, 1) if k in found}
    finding = Finding("amazon", PUBLISHED_AMAZON[-1])
    if 10 in found:
        worst = min(gaps, key=gaps.__getitem__)
        why = (
            f"{sum(gap >= 0 for gap in gaps.values())} of {len(gaps)} values of K reach the published number minus "
            f"{_TOLERANCE}; the least is NDCG@{worst}, {found[worst]:.4f} against {PUBLISHED_AMAZON[worst - 1]:.4f}."
        )
        finding = Finding("amazon", PUBLISHED_AMAZON[-1], found[10], min(gaps.values()) >= 0, why, len(gaps) < 10)
    rule = f"NDCG@K is at least the published number minus {_TOLERANCE}, at every K"
    return Claim(
        "NDCG@10 of DFM at 64 bits, as its authors publish it", "the authors' program", "NDCG", rule, (finding,)
    )


def _against(
    means: Means, subject: str, baselines: Sequence[str], *, bits: Sequence[int] = BITS, ks: Sequence[int] = KS
) -> Callable[[str], Comparison]:
    """Return the comparison of a method with its baselines, given a data set."""
    return lambda dataset: compare(means, dataset, subject, baselines, bits=bits, ks=ks)


def _average(
    title: str,
    rule: Rule,
    numbers: Mapping[str, float],
    compared: Callable[[str], Comparison],
    datasets: Sequence[str] = WITH_IDS,
) -> Claim:
    found = [(dataset, compared(dataset)) for dataset in datasets]
    return Claim(
        title,
        _WHERE,
        "%",
        rule.text,
        tuple(judged(d, rule, numbers, it.average, it.told(), partial=it.partial, tested=it.tested) for d, it in found),
    )


def _shrinking(means: Means, libfm: Callable[[str], Comparison]) -> Claim:
    findings = []
    for dataset in WITH_IDS:
        gap = libfm(dataset).by_length()
        known = 8 in gap and 64 in gap
        why = f"From {percent(gap[8])} at 8 bits to {percent(gap[64])} at 64." if known else ""
        runs = [(("DFM, paper", bits), ("FM, SGD", bits)) for bits in (64, 8)]
        test = tested_gap(means.users, dataset, runs[0], runs[1], MEAN_OVER_K)
        findings.append(judged(dataset, HALF, _SHRINKS, gap[64] - gap[8] if known else None, why, tested=test))
    return Claim("DFM's loss against libFM shrinks from 8 to 64 bits", _WHERE, "points", HALF.text, tuple(findings))


def _consistent(title: str, datasets: Sequence[str], compared: Callable[[str], Comparison]) -> Claim:
    """Return a claim of being above at every length, with the average difference as its number."""
    findings = []
    for dataset in datasets:
        it = compared(dataset)
        holds = all(value > 0 for value in it.by_length().values()) if it.cells else None
        findings.append(Finding(dataset, None, it.average, holds, it.told(), it.partial, it.tested, needs_test=True))
    return Claim(title, _WHERE, "%", f"{_ABOVE}, on average over K", tuple(findings))


def _above_all(title: str, datasets: Sequence[str], compared: Callable[[str], Comparison]) -> Claim:
    """Return a target: above every baseline at every length, with the smallest lead as its number."""
    findings = []
    for dataset in datasets:
        it = compared(dataset)
        if it.cells:
            behind = it.not_below()
            lengths = ", ".join(str(bits) for bits in it.by_length())
            why = (
                f"Not above {'; '.join(behind)}."
                if behind
                else f"Above {', '.join(spoken(baseline) for baseline in it.baselines)} at {lengths} bits."
            )
            why += it.not_run()
            findings.append(Finding(dataset, None, it.lowest, not behind, why, it.partial, it.tested, needs_test=True))
        else:
            findings.append(Finding(dataset, None))
    return Claim(title, "a target of ours", "%", f"{_ABOVE} in NDCG@10; the number is its least lead", tuple(findings))


def _beside_the_bias(means: Means, datasets: Sequence[str], suffix: str) -> list[Claim]:
    return [
        Claim(
            f"{name} is better than the bias alone",
            "not in the paper",
            "%",
            f"{_ABOVE} in NDCG@10",
            tuple(_bias_finding(means, dataset, method + suffix) for dataset in datasets),
        )
        for name, method in (("DFM", "DFM, paper"), ("libFM", "FM, SGD"), ("DFM (distilled)", "DFM, distilled"))
    ]


def _bias_finding(means: Means, dataset: str, method: str) -> Finding:
    it = compare(means, dataset, method, ["bias only"], ks=[10])
    if not it.cells:
        return Finding(dataset, None)
    why = it.told()
    chance, last = means.ndcg(dataset, "random", None, 10), it.cells[-1]
    if chance is not None and last.ours > chance:
        share = 100 * (last.best - chance) / (last.ours - chance)
        why += (
            f" A random order has {chance:.4f}: of what {spoken(method)} gains over it at {last.bits} bits, "
            f"the bias alone gains {share:.0f} %."
        )
    return Finding(dataset, None, it.average, not it.not_below(), why, it.partial, it.tested, needs_test=True)
