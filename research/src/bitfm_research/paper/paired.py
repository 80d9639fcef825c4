"""Two methods user by user: how large their difference is, how sure, and how many tests there were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bitfm.evaluation import PerUser, compare, holm

from bitfm_research.paper.claim import Claim, Finding, Tested, with_findings
from bitfm_research.paper.user_scores import UserScores

__all__ = ["Run", "adjusted", "tested", "tested_gap"]

Run = tuple[str, int | None]  # a method and its bits
_LEVEL = 0.05


def tested(
    users: UserScores | None, dataset: str, ours: Sequence[Run], theirs: Sequence[Run], column: int
) -> Tested | None:
    """Test whether a method differs from another, each averaged over seeds and over the runs given, one per length.

    The test is that of `bitfm.evaluation.compare`: signs of the users' differences flipped at random. None where the
    NDCG of the users is not there for one of the runs.
    """
    both = [] if users is None else [users.mean(dataset, runs, column) for runs in (ours, theirs)]
    known = [each for each in both if each is not None]
    return _compared(*known) if len(known) == 2 else None


def tested_gap(
    users: UserScores | None, dataset: str, later: tuple[Run, Run], earlier: tuple[Run, Run], column: int
) -> Tested | None:
    """Test whether the difference of two methods differs from their difference elsewhere, as at another length."""
    runs = (*later, *earlier)
    found = [None if users is None else users.mean_over_seeds(dataset, *run, column) for run in runs]
    if any(each is None for each in found):
        return None
    a, b, c, d = (each for each in found if each is not None)
    return _compared(PerUser(a.users, a.values - b.values), PerUser(c.users, c.values - d.values))


def _compared(ours: PerUser, theirs: PerUser) -> Tested:
    it = compare(ours, theirs)
    numbers: list[Any] = [it.difference, it.low, it.high, it.p_value]
    return Tested(it.n_users, *(float(number) for number in numbers))


def adjusted(claims: Sequence[Claim]) -> list[Claim]:
    """Return the claims with p-values adjusted over all of them; what chance may have made does not hold."""
    found = [it.tested for claim in claims for it in claim.findings if it.tested is not None]
    p_values = iter(holm([it.p_value for it in found]))

    def judged_again(it: Finding) -> Finding:
        return it if it.tested is None else it.with_p(next(p_values), _LEVEL)

    return [with_findings(claim, tuple(judged_again(it) for it in claim.findings)) for claim in claims]
