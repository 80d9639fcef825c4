"""The section of the report on what does the work in DFM: a table of its parts, and what that means for the paper."""

from __future__ import annotations

from collections.abc import Sequence

from bitfm_research.paper._claims_of_parts import Lead, lead_of_dfm
from bitfm_research.paper._document import Block, Table, Text
from bitfm_research.paper.claim import NOT_RUN
from bitfm_research.paper.means import Means
from bitfm_research.paper.names import BITS, FEATURES, PARTS, WITH_IDS, spoken
from bitfm_research.plotting import TITLES

__all__ = ["what_works"]

_INTRODUCTION = (
    "Of BCCF, DCF and DCMF, none has a bias or a weight per user and item; DFM has. *Linear part alone* ranks by bias "
    "and weights of the fitted DFM, *codes alone* by the rest of its score. *Without linear terms* is a fit of its "
    "own: on ids it is DCF but for its delegate. The bias only is a ridge regression on the same ids."
)


def what_works(means: Means, datasets: Sequence[str]) -> list[Block]:
    """Return NDCG@10 of DFM and its parts at each length, and what they mean for the paper's first claim."""
    blocks: list[Block] = [Text(_INTRODUCTION)]
    rows, said = [], []
    for dataset in datasets:
        suffix = "" if dataset in WITH_IDS else FEATURES
        names = [("DCF", ""), *((name, suffix) for name in ("DFM, paper", *PARTS)), ("bias only", "")]
        for name, given in names:
            values = [_value(means, dataset, name + given, bits) for bits in BITS]
            if any(value is not None for value in values):
                shown = [NOT_RUN if value is None else f"{value:.4f}" for value in values]
                rows.append([TITLES[dataset], name + given, *shown])
        longest = [lead for bits in BITS if (lead := lead_of_dfm(means, dataset, bits, suffix)) is not None][-1:]
        said += [Text(f"{TITLES[dataset]}, {lead.bits} bits: {_meaning(lead)}") for lead in longest]
    if not rows:
        return [Text("Not run.")]
    blocks.append(Table(["Data set", "Method", *(f"{bits} bits" for bits in BITS)], rows, 2))
    return [*blocks, *said]


def _value(means: Means, dataset: str, method: str, bits: int) -> float | None:
    value = means.ndcg(dataset, method, bits, 10)
    return means.ndcg(dataset, method, None, 10) if value is None else value


def _meaning(it: Lead) -> str:
    if it.lead <= 0:
        return f"DFM has {it.dfm:.4f} and {spoken(it.baseline)} {it.theirs:.4f}; there is no lead to explain."
    left = it.bare - it.theirs
    text = (
        f"DFM is {it.lead:.4f} above {spoken(it.baseline)}, the best of the three ({it.dfm:.4f}, {it.theirs:.4f}). "
        f"A fit without linear terms is {abs(left):.4f} {'above' if left >= 0 else 'below'} it ({it.bare:.4f}). "
    )
    if it.share < 50:
        text += (
            "The lead that the paper claims first is there, but not by its reason: it is that of the linear terms, "
            "which the other three lack, not of codes for features. "
        )
    else:
        text += f"So {it.share:.0f} % of the lead is there without linear terms, and the paper's reason stands. "
    if it.linear >= it.dfm:
        return text + (
            f"The linear part alone has {it.linear:.4f}, {it.linear - it.dfm:.4f} more than all of DFM: here its codes "
            f"({it.codes:.4f} alone) make the ranking worse."
        )
    return text + f"The linear part alone has {it.linear:.4f}; its codes ({it.codes:.4f} alone) add to it."
