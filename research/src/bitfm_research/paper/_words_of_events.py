"""The section of the report on words where there are no ratings, with its paired tests."""

from __future__ import annotations

from bitfm_research.paper._document import Block, Table, Text
from bitfm_research.paper.claim import Claim, Finding
from bitfm_research.paper.compare import compare
from bitfm_research.paper.events import EVENT_METHODS
from bitfm_research.paper.means import Means
from bitfm_research.paper.names import BITS, EVENTS, FEATURES
from bitfm_research.plotting import TITLES

__all__ = ["event_claims", "words_of_events"]

_INTRODUCTION = (
    "CiteULike-t has papers that readers keep, Frappe has apps that users run; both have words of the items and no "
    "ratings. A fifth of each user's events is held out and found among all items that are new to the user, so NDCG is "
    "lower than where rated items are put in order. *DFM, pairs of items* are the paper's codes with the loss of "
    "discrete personalized ranking, four items drawn against each event, α chosen without words on a part of the "
    "training events. *ImplicitFM* chooses its own settings on such a part."
)


def words_of_events(means: Means) -> list[Block]:
    """Return NDCG@1, @5 and @10 of each method, without words and with them."""
    rows = []
    for dataset in EVENTS:
        for method, bits in means.runs(dataset):
            at = [means.ndcg(dataset, method, bits, k) for k in (1, 5, 10)]
            cells = ["–" if value is None else f"{value:.4f}" for value in at]
            spread = means.spread(dataset, method, bits, "NDCG", 10)
            cells[-1] += "" if spread is None else f" ± {spread:.4f}"
            rows.append([TITLES[dataset], method, str(bits or "–"), *cells])
    if not rows:
        return [Text("Not run.")]
    return [Text(_INTRODUCTION), Table(["Data set", "Method", "Bits", "NDCG@1", "NDCG@5", "NDCG@10"], rows, 2)]


def event_claims(means: Means) -> list[Claim]:
    """Return whether words help, for those data sets that were run."""
    run = [dataset for dataset in EVENTS if means.runs(dataset)]
    return [
        Claim(
            f"{method} is better with words than without, for events",
            "not in the paper",
            "%",
            "NDCG@10 is above that without words",
            tuple(_finding(means, dataset, method) for dataset in run),
        )
        for method in EVENT_METHODS[1:]
        if run
    ]


def _finding(means: Means, dataset: str, method: str) -> Finding:
    lengths = [bits for bits in BITS if means.ndcg(dataset, method, bits, 10) is not None]
    it = compare(means, dataset, method + FEATURES, [method], bits=lengths, ks=[10])
    if not it.cells:
        return Finding(dataset, None)
    return Finding(dataset, None, it.average, not it.not_below(), it.told(), it.partial, it.tested, needs_test=True)
