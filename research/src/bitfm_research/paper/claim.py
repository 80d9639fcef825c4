"""A claim of the paper, what was measured on each data set, and the rules by which it holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from bitfm_research.paper.names import WORDS

__all__ = [
    "AS_FAST",
    "HALF",
    "NOT_RUN",
    "SMALL_LOSS",
    "Claim",
    "Finding",
    "Rule",
    "Tested",
    "judged",
    "percent",
    "ratio",
    "with_findings",
]

NOT_RUN = "not run"


@dataclass(frozen=True)
class Rule:
    """When a claim holds: in words, and given the paper's number and the measured one."""

    text: str
    holds: Callable[[float, float], bool]
    needs_test: bool = False  # whether the difference must be more than chance


HALF = Rule(
    "the sign is the paper's, and the size at least half of the paper's",
    lambda paper, measured: paper * measured > 0 and 2 * abs(measured) >= abs(paper),
    needs_test=True,
)
SMALL_LOSS = Rule(
    "the loss is at most one and a half times the paper's; no loss at all will do, too",
    lambda paper, measured: measured >= 1.5 * paper,
)
AS_FAST = Rule("the ratio is at least the paper's", lambda paper, measured: measured >= paper)


@dataclass(frozen=True)
class Tested:
    """A paired test over users: the mean difference in NDCG, its 95 % interval, and how often chance makes as much."""

    n_users: int
    difference: float
    low: float
    high: float
    p_value: float

    @property
    def shown(self) -> str:
        """The p-value in short.

        >>> Tested(100, 0.01, 0.005, 0.015, 0.0004).shown, Tested(100, 0.01, -0.005, 0.025, 0.0321).shown
        ('<0.001', '0.032')
        """
        return "<0.001" if self.p_value < 0.001 else f"{self.p_value:.3f}"

    def told(self) -> str:
        """Return the test as a sentence."""
        low, high = (f"{value:+.4f}".replace("-", "−") for value in (self.low, self.high))
        difference = f"{self.difference:+.4f}".replace("-", "−")
        p = f"p {self.shown}" if self.p_value < 0.001 else f"p = {self.shown}"
        return f"Paired over {self.n_users:,} users: {difference} in NDCG, 95 % interval {low} to {high}, {p}."


@dataclass(frozen=True)
class Finding:
    """What was found of a claim on one data set."""

    dataset: str
    paper: float | None  # the paper's number, if it gives one
    measured: float | None = None  # None where the rows for it are missing
    holds: bool | None = None
    why: str = "Not run."  # a sentence or two, with the numbers behind the measured one
    partial: bool = False  # whether some of the rows for it are missing
    tested: Tested | None = None
    needs_test: bool = False  # whether the difference must be more than chance for the claim to hold

    def with_p(self, p_value: float, level: float) -> Finding:
        """Return the finding with an adjusted p-value, and judged by it if it has to be."""
        assert self.tested is not None
        holds = self.holds and not (self.needs_test and p_value > level)
        return replace(self, tested=replace(self.tested, p_value=p_value), holds=holds)

    @property
    def verdict(self) -> str:
        """Whether it holds, in a word or two."""
        if self.holds is None:
            return NOT_RUN
        return ("yes" if self.holds else "no") + (", in part" if self.partial else "")


@dataclass(frozen=True)
class Claim:
    """A claim, and what was found of it.

    Examples
    --------
    >>> from bitfm_research.paper.claim import Claim, Finding
    >>> claim = Claim("DFM is better", "Section 5.2", "%", "the sign is the paper's", (Finding("yelp", 7.95),))
    >>> claim.shown(7.95), claim.shown(None)
    ('+7.95 %', 'not run')
    """

    title: str
    where: str  # the section of the paper, or that it is a target of ours
    unit: str  # "%", "×", "points" or "NDCG"
    rule: str  # when it holds
    findings: tuple[Finding, ...]

    def finding(self, dataset: str) -> Finding | None:
        """Return what was found on a data set; None if the claim says nothing of it."""
        return next((finding for finding in self.findings if finding.dataset == dataset), None)

    def shown(self, value: float | None) -> str:
        """Return a number with the claim's unit."""
        if value is None:
            return NOT_RUN
        if self.unit == "×":
            return ratio(value)
        return f"{value:.4f}" if self.unit == "NDCG" else percent(value, self.unit)


def percent(value: float, unit: str = "%") -> str:
    """Return a signed number, with a true minus.

    >>> percent(-1.234), percent(0.0)
    ('−1.23 %', '+0.00 %')
    """
    text = f"{value:+.2f}".replace("-0.00", "+0.00")
    return f"{text.replace('-', '−')} {unit}"


def ratio(value: float) -> str:
    """Return how many times, with as many digits as mean something.

    >>> ratio(17.514), ratio(1234.5)
    ('17.51 ×', '1,234 ×')
    """
    return f"{value:,.{2 if value < 100 else 0}f} ×"


def with_findings(claim: Claim, findings: tuple[Finding, ...]) -> Claim:
    """Return the claim with other findings."""
    return replace(claim, findings=findings)


def judged(
    dataset: str,
    rule: Rule,
    numbers: Mapping[str, float],
    measured: float | None,
    why: str,
    *,
    partial: bool = False,
    tested: Tested | None = None,
) -> Finding:
    """Return a finding with the rule applied; on other data than the paper's, either of its numbers will do."""
    paper = numbers.get(dataset.removesuffix(WORDS))
    if measured is None:
        return Finding(dataset, paper)
    holds = any(rule.holds(number, measured) for number in (numbers.values() if paper is None else [paper]))
    return Finding(dataset, paper, measured, holds, why, partial, tested, rule.needs_test)
