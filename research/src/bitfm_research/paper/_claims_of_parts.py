"""What does the work in DFM: its linear terms, or the codes to which the paper ascribes its lead."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bitfm_research.paper.claim import Claim, Finding
from bitfm_research.paper.compare import compare
from bitfm_research.paper.means import Means
from bitfm_research.paper.names import BITS, FEATURES, PAPER_BASELINES, spoken

__all__ = ["Lead", "lead_of_dfm", "part_claims"]

_LINEAR, _CODES, _BARE = "DFM, linear part alone", "DFM, codes alone", "DFM, without linear terms"
_HALF_OF_THE_LEAD = 50.0


@dataclass(frozen=True)
class Lead:
    """DFM's lead in NDCG@10 over the best of BCCF, DCF and DCMF at one length, and what its parts have of it."""

    bits: int
    baseline: str  # the best of the three
    theirs: float
    dfm: float
    linear: float
    codes: float
    bare: float  # a fit without linear terms

    @property
    def lead(self) -> float:
        """What DFM has above the baseline."""
        return self.dfm - self.theirs

    @property
    def share(self) -> float:
        """The share of the lead, in per cent, that a fit without linear terms has, too."""
        return 100 * (self.bare - self.theirs) / self.lead


def lead_of_dfm(means: Means, dataset: str, bits: int, suffix: str = "") -> Lead | None:
    """Return DFM's lead at a length, or None where a row for it is missing.

    Examples
    --------
    >>> from bitfm_research.paper.results import Measure
    >>> rows = {"DCF": 0.7, "DFM, paper": 0.8, _LINEAR: 0.81, _CODES: 0.65, _BARE: 0.72}
    >>> means = Means(Measure("yelp", m, 64, 0, "NDCG", 10, value) for m, value in rows.items())
    >>> round(lead_of_dfm(means, "yelp", 64).share)
    20
    """
    ours = [means.ndcg(dataset, name + suffix, bits, 10) for name in ("DFM, paper", _LINEAR, _CODES, _BARE)]
    names = dict.fromkeys((*PAPER_BASELINES, *(name + suffix for name in PAPER_BASELINES)))
    theirs = {name: value for name in names if (value := means.ndcg(dataset, name, bits, 10)) is not None}
    dfm, linear, codes, bare = ours
    if not theirs or dfm is None or linear is None or codes is None or bare is None:
        return None
    best = max(theirs, key=theirs.__getitem__)
    return Lead(bits, best, theirs[best], dfm, linear, codes, bare)


def part_claims(means: Means, datasets: Sequence[str], suffix: str = "") -> list[Claim]:
    """Return whether DFM beats its own linear part, and whether its lead is that of the codes."""
    given = ", given features" if suffix == FEATURES else ""
    return [
        Claim(
            f"DFM is better than its own linear part{given}",
            "not in the paper",
            "%",
            "it is above at every length in NDCG@10",
            tuple(_above_linear(means, dataset, suffix) for dataset in datasets),
        ),
        Claim(
            f"DFM's lead over BCCF, DCF and DCMF is due to its codes{given}",
            "Section 5.2",
            "% of the lead",
            "without linear terms DFM has at least half of the lead, on average over lengths",
            tuple(_share(means, dataset, suffix) for dataset in datasets),
        ),
    ]


def _above_linear(means: Means, dataset: str, suffix: str) -> Finding:
    it = compare(means, dataset, "DFM, paper" + suffix, [_LINEAR + suffix], ks=[10])
    if not it.cells:
        return Finding(dataset, None)
    return Finding(dataset, None, it.average, not it.not_below(), it.told(), it.partial, it.tested, needs_test=True)


def _share(means: Means, dataset: str, suffix: str) -> Finding:
    leads = [lead for bits in BITS if (lead := lead_of_dfm(means, dataset, bits, suffix)) is not None]
    if not leads:
        return Finding(dataset, None)
    told = "; ".join(
        f"at {it.bits} bits {spoken(it.baseline)} has {it.theirs:.4f}, DFM {it.dfm:.4f}, "
        f"without linear terms {it.bare:.4f}"
        for it in leads
    )
    if min(it.lead for it in leads) <= 0:  # no lead, hence no share of it
        return Finding(dataset, None, None, None, f"DFM has no lead at some length: {told}.")
    share = statistics.fmean(it.share for it in leads)
    why = f"{told[0].upper()}{told[1:]}."
    names = dict.fromkeys((*PAPER_BASELINES, *(name + suffix for name in PAPER_BASELINES)))
    bare = compare(means, dataset, _BARE + suffix, list(names), ks=[10])
    return Finding(dataset, None, share, share >= _HALF_OF_THE_LEAD, why, len(leads) < len(BITS), bare.tested)
