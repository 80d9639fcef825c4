"""What the paper says of Figure 2: how much de-correlation and L2 matter."""

from __future__ import annotations

from collections.abc import Mapping

from bitfm_research.paper.claim import HALF, Claim, Finding, judged
from bitfm_research.paper.means import Means
from bitfm_research.paper.names import WITH_IDS
from bitfm_research.paper.paired import Run, tested
from bitfm_research.paper.user_scores import AT_10

__all__ = ["setting_claims"]

_DFM = {"yelp": -1.91, "amazon": -2.05}
_VALUES = 8  # zero, and the powers of ten from 1e-4 to 100
_LIBFM = {"yelp": -10.44, "amazon": -6.56}


def setting_claims(means: Means) -> list[Claim]:
    """Return what setting β or L2 to zero costs, in NDCG@10 at 64 bits."""
    return [
        _claim(means, "DFM without de-correlation, β = 0, against the best β", "DFM, paper", "beta", "β", _DFM),
        _claim(means, "libFM without L2 of its factors against the best L2", "FM, SGD", "l2", "L2", _LIBFM),
    ]


def _claim(means: Means, title: str, method: str, name: str, letter: str, numbers: Mapping[str, float]) -> Claim:
    findings = tuple(_finding(means, d, method, name, letter, numbers) for d in WITH_IDS)
    return Claim(title, "Section 5.3, Figure 2", "%", HALF.text, findings)


def _finding(means: Means, dataset: str, method: str, name: str, letter: str, numbers: Mapping[str, float]) -> Finding:
    found = means.settings(dataset, method, name, 64)
    if 0 not in found or len(found) < 2:
        return judged(dataset, HALF, numbers, None, "")
    best = max(found, key=found.__getitem__)
    why = f"{found[0]:.4f} at {letter} = 0; "
    why += f"the best of the {len(found)} values tried is {found[best]:.4f} at {best:g}." if best else "none is better."
    runs: list[list[Run]] = [[(f"{method}; {name}={value:g}", 64)] for value in (0, best)]
    test = tested(means.users, dataset, runs[0], runs[1], AT_10) if best else None
    loss = 100 * (found[0] / found[best] - 1)
    return judged(dataset, HALF, numbers, loss, why, partial=len(found) < _VALUES, tested=test)
